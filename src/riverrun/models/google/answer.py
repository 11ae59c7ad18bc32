"""What a stream says of its answer as a whole → the response-metadata and the finish chunk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from riverrun.chunks import Timestamp
from riverrun.chunks.envelope import is_list, mapping
from riverrun.errors import ModelError
from riverrun.models.answer import AnswerWriter
from riverrun.models.google.usage import holds_counts, read_usage
from riverrun.models.http import read_json

_FILTERED = (
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "MODEL_ARMOR",
    "ESCALATION",
    "PUP_LIMITED_DISABLED",
)
_REASONS = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(_FILTERED, "content-filter"),
}
_FAILURES = {
    "MALFORMED_FUNCTION_CALL": True,
    "MALFORMED_RESPONSE": True,
    "UNEXPECTED_TOOL_CALL": True,
    "MISSING_THOUGHT_SIGNATURE": False,
}
"""Reasons that leave nothing to go on with, and whether the same call may succeed later. As failures they are tried
again, and they say what went wrong; as finish reasons they would do neither."""
_KEPT = (
    "groundingMetadata",
    "urlContextMetadata",
    "citationMetadata",
    "safetyRatings",
    "finishMessage",
    "avgLogprobs",
    "continuationToken",
)
"""Members of the candidate that go into the finish chunk's provider metadata, as two of the events' do."""
_KEPT_OF_EVENTS = ("promptFeedback", "modelStatus")
_KEPT_OF_USAGE = ("serviceTier", "trafficType")


class Facts:
    """Gathers it, event by event. What is said again replaces what was said before, but for id, model and time."""

    def __init__(self, writer: AnswerWriter, headers: Mapping[str, str] | None) -> None:
        self.raw_reason: str | None = None
        self._writer = writer
        self._headers = headers
        self._about: dict[str, Any] = {}  # responseId, modelVersion and createTime: the first that are not empty
        self._usage: Mapping[str, Any] | msgspec.Raw | None = None
        self._logprobs: dict[str, list[object]] = {}
        self._kept: dict[str, Any] = {}

    def note(self, event: Mapping[str, Any]) -> None:
        """Take an event."""
        usage = mapping(event.get("usageMetadata"))
        if holds_counts(usage):
            self._usage = usage
        self._keep(event, _KEPT_OF_EVENTS)
        if not self._writer.announced:
            for member in ("responseId", "modelVersion", "createTime"):
                if value := event.get(member):
                    self._about.setdefault(member, value)

    def note_usage(self, usage: msgspec.Raw) -> None:
        """Take a usage as it came. It is read when it is the last."""
        text = bytes(usage)
        if b'TokenCount"' in text and text.startswith(b"{"):
            self._usage = usage

    def note_candidate(self, candidate: Mapping[str, Any]) -> None:
        """Take what a candidate has beside its content."""
        self._keep(candidate, _KEPT)
        for name, entries in mapping(candidate.get("logprobsResult")).items():
            if is_list(entries):
                self._logprobs.setdefault(name, []).extend(entries)
        reason = candidate.get("finishReason")
        if isinstance(reason, str) and reason:
            self.raw_reason = reason

    def _keep(self, members: Mapping[str, Any], names: tuple[str, ...]) -> None:
        for name in names:
            if value := members.get(name):
                self._kept[name] = value

    @property
    def ended(self) -> bool:
        """Whether the answer is known to be whole: it has its finish reason, or the prompt was blocked."""
        return self.raw_reason is not None or self._block_reason is not None

    @property
    def _block_reason(self) -> str | None:
        reason = mapping(self._kept.get("promptFeedback")).get("blockReason")
        return reason if isinstance(reason, str) and reason else None

    def failure(self) -> ModelError | None:
        """The failure that the finish reason stands for, if it is one."""
        reason = self.raw_reason
        if reason not in _FAILURES:
            return None
        told = self._kept.get("finishMessage")
        message = told if isinstance(told, str) else f"the model ended its answer with {reason}"
        return ModelError(message, code=reason, retryable=_FAILURES[reason])

    def announce(self) -> None:
        """The response-metadata chunk, once."""
        if not self._writer.announced:
            self._writer.announce(
                id=self._about.get("responseId"),
                model_id=self._about.get("modelVersion"),
                timestamp=_timestamp(self._about.get("createTime")),
                headers=self._headers,
            )

    def finish(self, *, called: bool) -> None:
        """The finish chunk. `called`: functions were called, for which the provider says STOP too."""
        raw_reason = self.raw_reason
        if raw_reason is None:
            raw_reason, reason = self._block_reason, "content-filter"
        else:
            reason = _REASONS.get(raw_reason, "other")
        usage = self._read_usage()
        self._keep(usage or {}, _KEPT_OF_USAGE)
        self._writer.finish(
            "tool-calls" if called and reason == "stop" else reason,
            raw_reason=raw_reason,
            usage=None if usage is None else read_usage(usage),
            metadata=self._kept,
            logprobs=self._logprobs,
            is_final=True,
        )

    def _read_usage(self) -> Mapping[str, Any] | None:
        if isinstance(self._usage, msgspec.Raw):
            return mapping(read_json(bytes(self._usage))) or None
        return self._usage


def _timestamp(created: object) -> Timestamp | None:
    if not isinstance(created, str):
        return None
    try:
        return Timestamp.parse(created)
    except ValueError:
        return None
