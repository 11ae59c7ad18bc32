"""What a stream says of its message as a whole → the response-metadata and the finish chunk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import mapping
from riverrun.models.answer import AnswerWriter
from riverrun.models.anthropic.usage import read_usage

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}
"""All others, such as pause_turn, are "other": what was said is sent back, and the model goes on."""
_KEPT = {
    "stop_sequence": "stopSequence",
    "stop_details": "stopDetails",
    "container": "container",
    "context_management": "contextManagement",
    "input_transformations": "inputTransformations",
    "diagnostics": "diagnostics",
    "amazon-bedrock-invocationMetrics": "invocationMetrics",
}
_KEPT_OF_USAGE = {
    "iterations": "iterations",
    "server_tool_use": "serverToolUse",
    "service_tier": "serviceTier",
    "inference_geo": "inferenceGeo",
    "speed": "speed",
    "fallback_credit": "fallbackCredit",
}
"""Members that go into the finish chunk's provider metadata, and their names there."""


class Facts:
    """Gathers it, event by event. What is said again replaces what was said before, unless it is null."""

    def __init__(self, writer: AnswerWriter, headers: Mapping[str, str] | None) -> None:
        self.raw_reason: str | None = None
        self._writer = writer
        self._headers = headers
        self._usage: dict[str, Any] = {}
        self._kept: dict[str, Any] = {}

    @property
    def container(self) -> Any:
        """The container that the provider's code runs in; None when there is none."""
        return self._kept.get("container")

    def note_message(self, message: Mapping[str, Any]) -> None:
        """Take a message, as far as it is known."""
        self._writer.announce(id=message.get("id"), model_id=message.get("model"), headers=self._headers)
        self.note(message)

    def note(self, members: Mapping[str, Any]) -> None:
        """Take what an event says of the message."""
        reason = members.get("stop_reason")
        if isinstance(reason, str) and reason:
            self.raw_reason = reason
        for name, value in mapping(members.get("usage")).items():
            if value is not None:
                self._usage[name] = value
        for name, kept_name in _KEPT.items():
            value = members.get(name)
            if value is not None:
                self._kept[kept_name] = value

    def announce(self) -> None:
        """The response-metadata chunk, if no message was begun: the headers are all that is known."""
        self._writer.announce(headers=self._headers)

    def finish(self, *, called: bool) -> None:
        """The finish chunk. `called`: tools of the program were called, whatever reason is given for the end.

        A whole answer without a reason has simply ended: "other" would have the loop ask again.
        """
        reason = "stop" if self.raw_reason is None else _REASONS.get(self.raw_reason, "other")
        for name, kept_name in _KEPT_OF_USAGE.items():
            if self._usage.get(name) is not None:
                self._kept[kept_name] = self._usage[name]
        self._writer.finish(
            "tool-calls" if called and reason == "stop" else reason,
            raw_reason=self.raw_reason,
            usage=read_usage(self._usage) if self._usage else None,
            metadata=self._kept,
        )
