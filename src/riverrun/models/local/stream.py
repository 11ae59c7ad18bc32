"""The events of one llama.cpp chat completion → chunks. Pure: no I/O, and all state belongs to this one answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from riverrun.chunks import ChunkType, Timestamp, Usage
from riverrun.models.answer import AnswerWriter
from riverrun.models.local.calls import Calls
from riverrun.models.local.request import PROVIDER

_REASONS = {"stop": "stop", "length": "length", "tool_calls": "tool-calls"}


class StreamDecoder:
    """Decodes one answer: `feed` every event, then `finish`; `close` when it fails instead.

    `model_id` is the name that the answer carries: the engine would give the path of the weights.
    """

    def __init__(self, run_id: str, *, model_id: str | None = None, include_raw: bool = False) -> None:
        self._model_id = model_id
        self._include_raw = include_raw
        self._writer = AnswerWriter(run_id, provider=PROVIDER)
        self._open: Literal["text", "reasoning"] | None = None
        self._id = ""
        self._calls = Calls(self._writer, self._end_block)
        self._raw_reason: str | None = None
        self._usage: Mapping[str, Any] = {}
        self._timings: Mapping[str, Any] | None = None

    @property
    def called(self) -> bool:
        """Whether something of a tool call was given."""
        return self._calls.given

    def feed(self, event: Mapping[str, Any]) -> list[ChunkType]:
        """The chunks of one event."""
        if self._include_raw:
            self._writer.raw(dict(event))
        self._usage = event.get("usage") or self._usage
        self._timings = event.get("timings") or self._timings
        for choice in event.get("choices") or ():
            self._raw_reason = choice.get("finish_reason") or self._raw_reason
            self._delta(choice.get("delta") or {}, event)
        return self._writer.take()

    def finish(self) -> list[ChunkType]:
        """The answer is whole: what is open is closed, and the finish chunk comes."""
        self._end_block()
        self._calls.finish()
        reason = "tool-calls" if self.called and self._raw_reason == "stop" else _REASONS.get(self._raw_reason or "")
        self._writer.finish(
            reason or "other",
            raw_reason=self._raw_reason,
            usage=_usage(self._usage),
            metadata=None if self._timings is None else {"timings": dict(self._timings)},
        )
        return self._writer.take()

    def close(self) -> list[ChunkType]:
        """Close what is open."""
        self._writer.abort()
        return self._writer.take()

    def _delta(self, delta: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        reasoning, text, calls = delta.get("reasoning_content"), delta.get("content"), delta.get("tool_calls")
        if reasoning or text or calls or self._raw_reason is not None:
            self._announce(event)
        if reasoning:
            self._begin("reasoning")
            self._writer.reasoning_delta(self._id, reasoning)
        if text:
            self._begin("text")
            self._writer.text_delta(self._id, text)
        for fragment in calls or ():
            self._calls.feed(fragment)

    def _begin(self, kind: Literal["text", "reasoning"]) -> None:
        """A block of this kind is open."""
        if self._open != kind:
            self._end_block()
            self._open = kind
            self._id = self._writer.text_start() if kind == "text" else self._writer.reasoning_start()

    def _end_block(self) -> None:
        if self._open == "text":
            self._writer.text_end(self._id)
        elif self._open == "reasoning":
            self._writer.reasoning_end(self._id)
        self._open = None

    def _announce(self, event: Mapping[str, Any]) -> None:
        """The response-metadata chunk, once, when something of the answer is there."""
        created = event.get("created")
        moment = Timestamp.of(datetime.fromtimestamp(created, UTC)) if created else None
        self._writer.announce(id=event.get("id"), model_id=self._model_id, timestamp=moment)


def _usage(given: Mapping[str, Any]) -> Usage:
    details: Mapping[str, Any] = given.get("prompt_tokens_details") or {}
    return Usage(
        input_tokens=given.get("prompt_tokens"),
        output_tokens=given.get("completion_tokens"),
        total_tokens=given.get("total_tokens"),
        cached_input_tokens=details.get("cached_tokens"),
        raw=dict(given) or None,
    )
