"""What the model said before → input items, so that the server sees its own answers as it gave them.

Ids, encrypted reasoning and whole items of the provider's own tools are in the parts' provider options, under the
name of the provider that gave them; what another provider gave is never sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from riverrun.chunks import (
    AssistantMessage,
    CustomPart,
    FilePart,
    Message,
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
)
from riverrun.chunks.arguments import parse_arguments
from riverrun.chunks.codec import json_text
from riverrun.chunks.envelope import is_list, is_object, mapping
from riverrun.models.files import file_base64
from riverrun.models.openai_format import valid_name
from riverrun.models.openai_responses.options import wire_options
from riverrun.models.openai_responses.outputs import approval, output_item
from riverrun.models.options import options_under

_UNANSWERED = (
    "custom_tool_call",
    "apply_patch_call",
    "local_shell_call",
    "shell_call",
    "computer_call",
    "tool_search_call",
)
"""Calls that nobody could run when they come as content of the provider's own kind: the API takes none without its
outcome."""
_CALL = ("namespace", "caller", "async")
"""Members of a function call that go back as they came."""


class Replay:
    """Writes the answers of one request, and the results of their calls, behind what is `written` already."""

    def __init__(
        self, written: list[dict[str, Any]], warn: Callable[[str], None], provider: str, *, is_stored: bool
    ) -> None:
        self._written = written
        self._warn = warn
        self._provider = provider
        self._is_stored = is_stored
        self._answered: set[str] = set()
        self._calls: dict[str, ToolCallPart] = {}
        self._items: dict[tuple[str, str], dict[str, Any]] = {}  # of the message, by type and id, while they grow
        self._cut_off: dict[str, bool] = {}  # of the message: whether the item of this id never came whole

    def look_at(self, messages: Sequence[Message]) -> None:
        """Take the messages of the request beforehand: which calls have a result."""
        for message in messages:
            if isinstance(message, AssistantMessage | ToolMessage):
                self._answered |= {part.tool_call_id for part in message.content if isinstance(part, ToolResultPart)}

    def write(self, message: AssistantMessage) -> None:
        """Write an answer. Items that were cut off are not sent as the server's own: it may not know them."""
        begin = len(self._written)
        self._items = {}
        kept = [self._kept(part) for part in message.content]
        self._cut_off = {str(options["itemId"]): "status" in options for options in kept if "itemId" in options}
        for part in message.content:
            self._part(part, message)
        if not self._is_stored:
            kept = [item for item in self._written[begin:] if not self._is_lost(item)]
            self._written[begin:] = kept
        self._written[begin:] = _with_a_purpose(self._written[begin:])

    def is_own(self, message: AssistantMessage) -> bool:
        """Whether this server gave the answer, which it knows by the ids of its items."""
        return any("itemId" in self._kept(part) for part in message.content)

    def result(self, part: ToolResultPart) -> None:
        """Write what a call came to; nothing for one that another provider ran."""
        call = self._calls.get(part.tool_call_id)
        options = self._kept(call)
        if is_object(self._kept(part).get("item")):
            self._item(part)
        elif "approvalRequestId" in options:
            self._written.append(approval(str(options["approvalRequestId"]), part.output))
        elif call is None or not call.provider_executed:
            item = output_item(part.tool_call_id, part.output, options)
            self._written.append(item | wire_options(part.provider_options, self._provider))

    # -- parts

    def _part(self, part: MessagePart, message: AssistantMessage) -> None:
        match part:
            case TextPart():
                self._text(part, message)
            case ReasoningPart():
                self._reasoning(part)
            case ToolCallPart():
                self._call(part)
            case ToolResultPart():
                self.result(part)
            case FilePart():
                self._file(part)
            case CustomPart():
                if mapping(self._kept(part).get("item")).get("type") not in _UNANSWERED:
                    self._item(part)
            case _:
                self._warn(f"a part of type {part.type} in an assistant message is not sent")

    def _text(self, part: TextPart, message: AssistantMessage) -> None:
        options = self._kept(part)
        item_id = self._whole_id(options)
        if not part.text and not item_id:
            return
        if item_id:
            item = self._grown("message", item_id)
            item["content"].append(_said(part.text, options))
        else:
            refusal = [_said(part.text, options)] if options.get("refusal") else None
            item = {"role": "assistant", "content": refusal or part.text}
            self._written.append(item)
        if options.get("phase"):
            item["phase"] = options["phase"]
        item.update(wire_options(message.provider_options, self._provider))

    def _reasoning(self, part: ReasoningPart) -> None:
        options = self._kept(part)
        encrypted = options.get("reasoningEncryptedContent")
        is_text = options.get("partType") == "reasoning_text"
        item_id = self._whole_id(options)
        if "itemId" in options and not item_id:
            return
        if not (item_id or encrypted or is_text):
            return
        item = self._grown("reasoning", item_id)
        if is_text:
            item.setdefault("content", []).append({"type": "reasoning_text", "text": part.text})
        elif part.text:
            item["summary"].append({"type": "summary_text", "text": part.text})
        if encrypted:
            item["encrypted_content"] = encrypted

    def _whole_id(self, options: dict[str, Any]) -> str:
        """The id of the item that a part is of; "" for none, and for an item that was cut off."""
        item_id = str(options.get("itemId") or "")
        return "" if self._cut_off.get(item_id) else item_id

    def _grown(self, kind: str, item_id: str) -> dict[str, Any]:
        """The item of this id, to which a part is added; a new one when the message has none yet."""
        item = self._items.get((kind, item_id))
        if item is None or not item_id:
            named = {"id": item_id} if item_id else {}
            rest: dict[str, Any] = (
                {"summary": []} if kind == "reasoning" else {"role": "assistant", "status": "completed", "content": []}
            )
            item = self._items[kind, item_id] = {"type": kind, **named, **rest}
            self._written.append(item)
        return item

    def _call(self, part: ToolCallPart) -> None:
        self._calls[part.tool_call_id] = part
        options = self._kept(part)
        if is_object(options.get("item")):
            if "approvalRequestId" not in options or part.tool_call_id in self._answered:
                self._item(part)
        elif not part.provider_executed:
            item_id = options.get("itemId")
            self._written.append(
                {
                    "type": "function_call",
                    **({"id": item_id} if item_id else {}),
                    "call_id": part.tool_call_id,
                    "name": valid_name(part.tool_name),
                    "arguments": _arguments(part, options.get("arguments")),
                    **{name: options[name] for name in _CALL if name in options},
                }
            )

    def _file(self, part: FilePart) -> None:
        item = self._kept(part).get("item")
        if is_object(item):
            is_url = isinstance(part.data, str) and part.data.startswith(("https://", "http://"))
            self._written.append({**item, "result": part.data if is_url else file_base64(part)})
        else:
            self._warn("a file in an assistant message is not sent")

    def _item(self, part: MessagePart) -> None:
        item = self._kept(part).get("item")
        if is_object(item):
            self._written.append(dict(item))

    def _is_lost(self, item: dict[str, Any]) -> bool:
        """Whether a server that keeps nothing cannot know this reasoning."""
        lost = item.get("type") == "reasoning" and not _is_self_contained(item)
        if lost:
            self._warn("reasoning without its encrypted content is not sent, since the server stores nothing")
        return lost

    def _kept(self, part: MessagePart | None) -> dict[str, Any]:
        """What this provider wants back of a part."""
        return options_under(getattr(part, "provider_options", None), self._provider)


def _with_a_purpose(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of an answer without the reasoning that led to nothing: the API takes none without what follows it.
    Reasoning that only the server knows has to be followed by an item of the server's.
    """
    kept: list[dict[str, Any]] = []
    is_needed = False
    for item in reversed(items):
        if item.get("type") == "reasoning" and not (kept and (is_needed or _is_self_contained(item))):
            continue
        is_needed |= item.get("type") not in ("reasoning", None)
        kept.append(item)
    return kept[::-1]


def _is_self_contained(reasoning: Mapping[str, Any]) -> bool:
    """Whether a server can read the reasoning though it may not know its id."""
    return bool(reasoning.get("encrypted_content") or reasoning.get("content"))


def _said(text: str, options: dict[str, Any]) -> dict[str, Any]:
    """A text as a part of its message."""
    if options.get("refusal"):
        return {"type": "refusal", "refusal": text}
    annotations = options.get("annotations")
    return {"type": "output_text", "text": text, "annotations": annotations if is_list(annotations) else []}


def _arguments(part: ToolCallPart, written: object) -> str:
    """The arguments as the model wrote them; a changed call has those that it was changed to."""
    if part.input is None:
        return "{}"
    if isinstance(written, str) and parse_arguments(written) == part.input:
        return written
    return json_text(part.input)
