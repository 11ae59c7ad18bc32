"""What a model said → the parts of a model's content. What this provider gave goes back as it came: its signatures, ids
and whole parts are in the options of the message's parts, under its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riverrun.chunks import CustomPart, FilePart, MessagePart, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from riverrun.chunks.codec import json_value
from riverrun.chunks.envelope import is_object
from riverrun.models.google.files import file_part
from riverrun.models.google.names import valid_name
from riverrun.models.google.server_tools import CODE_EXECUTION
from riverrun.models.options import merged, options_under

_UNSIGNED = "skip_thought_signature_validator"
"""What Google documents for a function call that has no signature, as one that another provider's model made."""


class AnswerParts:
    """Writes the answers of one request. `called` has the function calls so far, by the ids of their messages.

    `version` is the model's generation: from Gemini 3 on a model refuses an answer whose first function call has no
    signature; before it, the calls of server tools.
    """

    def __init__(self, provider: str, version: float) -> None:
        self.called: dict[str, dict[str, Any]] = {}
        self.warnings: list[dict[str, Any]] = []
        self._provider = provider
        self._signed = version >= 3
        self._without_server_tools = 0 < version < 3

    def write(self, content: Sequence[MessagePart]) -> list[dict[str, Any]]:
        """The parts of one answer. Reasoning, signatures and server tools of other providers are left out."""
        written = [made for part in content if (made := self._part(part)) is not None]
        calls = [part for part in written if "functionCall" in part]
        if self._signed and calls and "thoughtSignature" not in calls[0]:
            calls[0]["thoughtSignature"] = _UNSIGNED
        return written

    def _part(self, part: MessagePart) -> dict[str, Any] | None:
        if not isinstance(part, TextPart | ReasoningPart | FilePart | ToolCallPart | ToolResultPart | CustomPart):
            self.warnings.append({"type": "other", "message": f"a part of type {part.type} in an answer is not sent"})
            return None
        own = options_under(part.provider_options, self._provider)
        match part:
            case TextPart(text=text):
                return {"text": text, **own} if text or own else None
            case ReasoningPart(text=text):
                return {"text": text, **own, "thought": True} if own else None
            case FilePart():
                return merged(file_part(part), own)
            case ToolCallPart(provider_executed=True):
                return self._server_part(own, "toolCall", "args", part.input)
            case ToolCallPart():
                return self._function_call(part, own)
            case ToolResultPart():
                return self._server_part(own, "toolResponse", "response", part.output.value)
            case CustomPart():
                whole = own.get("part")
                return dict(whole) if is_object(whole) else None

    def _function_call(self, part: ToolCallPart, own: dict[str, Any]) -> dict[str, Any]:
        args: object = {} if part.input is None else json_value(part.input)
        call: dict[str, Any] = {
            "name": valid_name(part.tool_name),
            "args": args if is_object(args) else {"input": args},
        }
        given_id = own.pop("id", None)
        if given_id:
            call["id"] = given_id
        self.called[part.tool_call_id] = call
        return merged({"functionCall": call}, own)

    def _server_part(self, own: dict[str, Any], kind: str, member: str, value: object) -> dict[str, Any] | None:
        """The part of a server tool's call or result; None for another provider's."""
        tool_type, given_id = own.pop("serverToolType", None), own.pop("serverToolCallId", None)
        inner = json_value(value)
        if tool_type == CODE_EXECUTION:
            kind = "executableCode" if kind == "toolCall" else "codeExecutionResult"
            members = dict(inner) if is_object(inner) else {}
        elif tool_type is not None and not self._without_server_tools:
            members = {"toolType": tool_type, member: inner}
        else:
            return None
        if given_id is not None:
            members["id"] = given_id
        return merged({kind: members}, own)
