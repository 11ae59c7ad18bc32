"""What a stream says of its answer as a whole → the response-metadata and the finish chunk."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import Any, cast

from riverrun.chunks import Timestamp
from riverrun.chunks.envelope import mapping
from riverrun.models.answer import AnswerWriter
from riverrun.models.openai_chat.usage import read_usage

_REASONS = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "done": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content-filter",
    "content_filtered": "content-filter",
    "safety": "content-filter",
    "recitation": "content-filter",
    "refusal": "content-filter",
    "guardrail_intervened": "content-filter",
    "tool_calls": "tool-calls",
    "tool_use": "tool-calls",
    "function_call": "tool-calls",
}
_KEPT = ("system_fingerprint", "service_tier", "provider", "moderation", "prompt_filter_results")
"""Members of the events that go into the finish chunk's provider metadata."""


class Facts:
    """Gathers it, event by event. What is said again replaces what was said before, but for id, model and time."""

    def __init__(self, writer: AnswerWriter, headers: Mapping[str, str] | None) -> None:
        self.raw_reason: str | None = None
        self.usage: Mapping[str, Any] | None = None
        self._writer = writer
        self._headers = headers
        self._about: dict[str, Any] = {}  # id, model and created: the first that are not empty
        self._logprobs: dict[str, list[object]] = {}
        self._refusal = ""
        self._kept: dict[str, Any] = {}

    def note(self, event: Mapping[str, Any]) -> None:
        """Take an event."""
        self._note_usage(mapping(event.get("x_groq")).get("usage"))
        self._note_usage(event.get("usage"))
        for member in _KEPT:
            if value := event.get(member):
                self._kept[member] = value
        if not self._writer.announced:
            for member in ("id", "model", "created"):
                if value := event.get(member):
                    self._about.setdefault(member, value)

    def note_choice(self, choice: Mapping[str, Any]) -> None:
        """Take what a choice has beside its delta."""
        self._note_usage(choice.get("usage"))
        for name, entries in mapping(choice.get("logprobs")).items():
            if isinstance(entries, list):
                self._logprobs.setdefault(name, []).extend(cast("list[object]", entries))
        if reason := choice.get("finish_reason"):
            self.raw_reason = str(reason)
        if native := choice.get("native_finish_reason"):
            self._kept["native_finish_reason"] = native

    def note_refusal(self, text: str) -> None:
        """Take a piece of a refusal."""
        self._refusal += text

    def keep(self, name: str, value: object) -> None:
        """Put something into the finish chunk's provider metadata."""
        self._kept[name] = value

    def _note_usage(self, usage: object) -> None:
        if isinstance(usage, dict) and usage:
            self.usage = cast("dict[str, Any]", usage)

    @property
    def known(self) -> bool:
        """Whether id and model were said, but not passed on."""
        return not self._writer.announced and "id" in self._about and "model" in self._about

    def announce(self) -> None:
        """The response-metadata chunk, once."""
        if not self._writer.announced:
            self._writer.announce(
                id=self._about.get("id"),
                model_id=self._about.get("model"),
                timestamp=_timestamp(self._about.get("created")),
                headers=self._headers,
            )

    def finish(self, *, called: bool) -> None:
        """The finish chunk. `called`: tools were called, which is why the answer ended if the server says no more.

        A whole answer without a reason has simply ended: "other" would have the loop ask again.
        """
        reason = "stop" if self.raw_reason is None else _REASONS.get(self.raw_reason.lower(), "other")
        if called and (reason == "stop" or self.raw_reason is None):
            reason = "tool-calls"
        if self._refusal:
            self._kept["refusal"] = self._refusal
        self._writer.finish(
            reason,
            raw_reason=self.raw_reason,
            usage=None if self.usage is None else read_usage(self.usage),
            metadata=self._kept,
            logprobs={name: tokens for name, tokens in self._logprobs.items() if tokens},
            is_final=True,
        )


def _timestamp(created: object) -> Timestamp | None:
    """`created` in seconds; some servers give milliseconds."""
    if not isinstance(created, int | float) or isinstance(created, bool):
        return None
    seconds = created / 1000 if created > 1e11 else created
    try:
        return Timestamp.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
