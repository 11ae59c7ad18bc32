"""Assistant messages → content blocks: what the model said goes back as it came, byte for byte."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from typing import Any

from riverrun.chunks import (
    AssistantMessage,
    CustomPart,
    Message,
    MessagePart,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UserMessage,
)
from riverrun.chunks.codec import json_value
from riverrun.chunks.envelope import is_object, mapping
from riverrun.models.anthropic.calls import CallIds
from riverrun.models.anthropic.names import ToolNames
from riverrun.models.anthropic.options import wire_options

Block = dict[str, Any]

_CALL = "_tool_use"
_RESULT = "_tool_result"
_FALLBACK = "fallback"


class Replay:
    """Writes the assistant messages of one request. `warnings` tells what of them cannot be sent; `container` is the
    one in which the provider's code waits for the results of the last message's calls.

    What another provider gave beside texts and calls is left out. `fallbacks`: the request lets the provider fall back
    on other models, so that it may see where it did so.
    """

    def __init__(self, provider: str, names: ToolNames, calls: CallIds, *, fallbacks: bool) -> None:
        self.warnings: list[dict[str, Any]] = []
        self.container: Any = None
        self.toolsets: dict[str, str] = {}  # of calls by their id here, where the API wants it with the result too
        self._provider = provider
        self._names = names
        self._calls = calls
        self._fallbacks = fallbacks
        self._given_up: set[str] = set()

    def give_up(self, messages: Sequence[Message]) -> None:
        """Find the calls that the provider was to run and never did, as in a run that was cancelled: the API refuses
        them, but for those of the turn that is under way, with which it goes on.
        """
        parts = _parts(messages)
        answered = {part.tool_call_id for part in parts if isinstance(part, ToolResultPart) and self._is_remote(part)}
        over = [part for part in _parts(messages[: _begin_of_turn(messages)]) if isinstance(part, ToolCallPart)]
        self._given_up = {part.tool_call_id for part in over if self._is_remote(part)} - answered

    def _is_remote(self, part: ToolCallPart | ToolResultPart) -> bool:
        return _kind(self._own(part), _CALL if isinstance(part, ToolCallPart) else _RESULT) is not None

    def blocks(self, message: AssistantMessage) -> list[Block]:
        """The blocks of a message. Empty texts are left out: the API refuses them, though it may have sent them."""
        self.container = None
        blocks = [block for part in message.content if (block := self._block(part)) is not None]
        return self._served(blocks)

    def _block(self, part: MessagePart) -> Block | None:
        match part:
            case TextPart(text=text):
                return {**self._own(part), "type": "text", "text": text} if text.strip() else None
            case ReasoningPart():
                return self._reasoning(part)
            case ToolCallPart():
                return self._call(part)
            case ToolResultPart():
                return self._result(part)
            case CustomPart():
                return self._custom(part)
            case _:
                message = f"a part of type {part.type} in an assistant message is not sent"
                self.warnings.append({"type": "other", "message": message})
                return None

    def _reasoning(self, part: ReasoningPart) -> Block | None:
        own = self._own(part)
        if isinstance(own.get("signature"), str):
            return {"type": "thinking", "thinking": part.text, "signature": own["signature"]}
        if isinstance(own.get("redacted_data"), str):
            return {"type": "redacted_thinking", "data": own["redacted_data"]}
        return None

    def _call(self, part: ToolCallPart) -> Block | None:
        own = self._own(part)
        kind = _kind(own, _CALL)
        call_id = part.tool_call_id
        if (part.provider_executed and kind is None) or (kind is not None and call_id in self._given_up):
            return None
        if str(mapping(own.get("caller")).get("tool_id")) in self._given_up:
            del own["caller"]
        if isinstance(own.get("toolset_name"), str):
            self.toolsets[call_id] = own["toolset_name"]
        return {
            "id": self._calls.of_call(call_id),
            "name": self._names.theirs(part.tool_name),
            "input": _arguments(part.input),
            **own,
            "type": kind or "tool_use",
        }

    def _result(self, part: ToolResultPart) -> Block | None:
        own = self._own(part)
        if _kind(own, _RESULT) is None:
            return None
        content = json_value(part.output.value)
        said = {} if content is None else {"content": content}
        return {"tool_use_id": self._calls.of_result(part.tool_call_id), **said, **own}

    def _custom(self, part: CustomPart) -> Block | None:
        own = self._own(part)
        if "container" in own:
            self.container = own["container"]
        block = mapping(own.get("block"))
        return copy.deepcopy(block) if isinstance(block.get("type"), str) else None

    def _own(self, part: TextPart | ReasoningPart | ToolCallPart | ToolResultPart | CustomPart) -> Block:
        """What the provider gave beside the part; and where the caller wants a cache to begin."""
        own = wire_options(part.provider_options, self._provider)
        cache = wire_options(part.provider_options, "anthropic").get("cache_control")
        return own if cache is None else {**own, "cache_control": cache}

    # -- fallbacks

    def _served(self, blocks: list[Block]) -> list[Block]:
        """What the model said that had the last word. Of what one that declined said before, the API takes texts and
        finished calls of its own tools.
        """
        ends = [place for place, block in enumerate(blocks) if block["type"] == _FALLBACK]
        if not ends:
            return blocks
        declined, served = blocks[: ends[-1]], blocks[ends[-1] :]
        finished = {block.get("tool_use_id") for block in declined if block["type"].endswith(_RESULT)}
        for block in declined:
            if block["type"] == "tool_use":
                self._calls.leave_out(str(block.get("id")))
        kept = [block for block in declined if _may_stay(block, finished)] + served
        return [block for block in kept if block["type"] != _FALLBACK or self._fallbacks]


def _begin_of_turn(messages: Sequence[Message]) -> int:
    """The place of the last message that is neither the model's nor a tool's."""
    places = [place for place, message in enumerate(messages) if isinstance(message, UserMessage | SystemMessage)]
    return places[-1] if places else 0


def _parts(messages: Sequence[Message]) -> list[MessagePart]:
    """All that the model said."""
    return [part for message in messages if isinstance(message, AssistantMessage) for part in message.content]


def _arguments(given: object) -> dict[str, Any]:
    """A call's arguments, which are an object here. Those of a custom tool of OpenAI's are a text."""
    arguments = json_value(given)
    if isinstance(arguments, str):
        return {"input": arguments}
    return arguments if is_object(arguments) else {}


def _kind(own: Block, ending: str) -> str | None:
    """The type of a block that the provider runs."""
    kind = own.get("type")
    return kind if isinstance(kind, str) and kind.endswith(ending) else None


def _may_stay(block: Block, finished: Collection[object]) -> bool:
    match block["type"]:
        case "thinking" | "redacted_thinking" | "tool_use":
            return False
        case kind if kind.endswith(_CALL):
            return block.get("id") in finished
        case _:
            return True
