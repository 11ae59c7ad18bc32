"""The events of one llama.cpp chat completion → chunks. Pure: no I/O, and all state belongs to this one answer."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from riverrun.chunks import (
    ChunkType,
    FinishChunk,
    FinishPayload,
    RawChunk,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    ReasoningEndChunk,
    ReasoningEndPayload,
    ReasoningStartChunk,
    ReasoningStartPayload,
    ResponseMetadataChunk,
    ResponseMetadataPayload,
    StepMetadata,
    StepOutput,
    StepResult,
    TextDeltaChunk,
    TextDeltaPayload,
    TextEndChunk,
    TextEndPayload,
    TextStartChunk,
    TextStartPayload,
    Timestamp,
    Usage,
)
from riverrun.models.local.calls import Calls
from riverrun.models.local.request import PROVIDER

_REASONS = {"stop": "stop", "length": "length", "tool_calls": "tool-calls"}


class StreamDecoder:
    """Decodes one answer: `feed` every event, then `finish`; `close` when it fails instead.

    `model_id` is the name that the answer carries: the engine would give the path of the weights.
    """

    def __init__(self, run_id: str, *, model_id: str | None = None, include_raw: bool = False) -> None:
        self._run_id = run_id
        self._model_id = model_id
        self._include_raw = include_raw
        self._prefix = secrets.token_hex(8)
        self._blocks = 0
        self._open: str | None = None  # "text" or "reasoning"
        self._calls = Calls(run_id, self._prefix)
        self._announced = False
        self._raw_reason: str | None = None
        self._usage: Mapping[str, Any] = {}
        self._timings: Mapping[str, Any] | None = None

    @property
    def called(self) -> bool:
        """Whether something of a tool call was given."""
        return self._calls.given

    def feed(self, event: Mapping[str, Any]) -> list[ChunkType]:
        """The chunks of one event."""
        out: list[ChunkType] = []
        if self._include_raw:
            out.append(RawChunk(dict(event), run_id=self._run_id, from_="AGENT"))
        self._usage = event.get("usage") or self._usage
        self._timings = event.get("timings") or self._timings
        for choice in event.get("choices") or ():
            self._raw_reason = choice.get("finish_reason") or self._raw_reason
            delta: Mapping[str, Any] = choice.get("delta") or {}
            if reasoning := delta.get("reasoning_content"):
                self._grow("reasoning", reasoning, event, out)
            if text := delta.get("content"):
                self._grow("text", text, event, out)
            for fragment in delta.get("tool_calls") or ():
                self._announce(event, out)
                chunks = self._calls.feed(fragment)
                if chunks:
                    self._end_block(out)
                    out += chunks
            if self._raw_reason is not None:
                self._announce(event, out)
        return out

    def finish(self) -> list[ChunkType]:
        """The answer is whole: what is open is closed, and the finish chunk comes."""
        out = self.close()
        out += self._calls.finish()
        reason = "tool-calls" if self.called and self._raw_reason == "stop" else _REASONS.get(self._raw_reason or "")
        metadata = None if self._timings is None else {PROVIDER: {"timings": dict(self._timings)}}
        payload = FinishPayload(
            step_result=StepResult(reason=reason or "other", raw_reason=self._raw_reason),
            output=StepOutput(usage=_usage(self._usage)),
            metadata=StepMetadata(provider_metadata=metadata),
        )
        out.append(FinishChunk(payload, run_id=self._run_id, from_="AGENT"))
        return out

    def close(self) -> list[ChunkType]:
        """Close the block that is open."""
        out: list[ChunkType] = []
        self._end_block(out)
        return out

    def _grow(self, kind: str, text: str, event: Mapping[str, Any], out: list[ChunkType]) -> None:
        """A piece of text or reasoning; a block of its kind opens if need be."""
        self._announce(event, out)
        if self._open != kind:
            self._end_block(out)
            self._open = kind
            self._blocks += 1
            out.append(self._start())
        if kind == "text":
            out.append(TextDeltaChunk(TextDeltaPayload(self._id, text), run_id=self._run_id, from_="AGENT"))
        else:
            out.append(ReasoningDeltaChunk(ReasoningDeltaPayload(self._id, text), run_id=self._run_id, from_="AGENT"))

    @property
    def _id(self) -> str:
        return f"{self._prefix}-{self._blocks}"

    def _start(self) -> ChunkType:
        if self._open == "text":
            return TextStartChunk(TextStartPayload(self._id), run_id=self._run_id, from_="AGENT")
        return ReasoningStartChunk(ReasoningStartPayload(self._id), run_id=self._run_id, from_="AGENT")

    def _end_block(self, out: list[ChunkType]) -> None:
        if self._open == "text":
            out.append(TextEndChunk(TextEndPayload(self._id), run_id=self._run_id, from_="AGENT"))
        elif self._open == "reasoning":
            out.append(ReasoningEndChunk(ReasoningEndPayload(self._id), run_id=self._run_id, from_="AGENT"))
        self._open = None

    def _announce(self, event: Mapping[str, Any], out: list[ChunkType]) -> None:
        """The response-metadata chunk, once, when something of the answer is there."""
        if self._announced:
            return
        self._announced = True
        created = event.get("created")
        moment = Timestamp.of(datetime.fromtimestamp(created, UTC)) if created else None
        payload = ResponseMetadataPayload(id=event.get("id"), model_id=self._model_id, timestamp=moment)
        out.append(ResponseMetadataChunk(payload, run_id=self._run_id, from_="AGENT"))


def _usage(given: Mapping[str, Any]) -> Usage:
    details: Mapping[str, Any] = given.get("prompt_tokens_details") or {}
    return Usage(
        input_tokens=given.get("prompt_tokens"),
        output_tokens=given.get("completion_tokens"),
        total_tokens=given.get("total_tokens"),
        cached_input_tokens=details.get("cached_tokens"),
        raw=dict(given) or None,
    )
