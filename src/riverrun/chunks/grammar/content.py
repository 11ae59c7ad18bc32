"""Rules of what a model gives: text, reasoning, objects, and content that comes whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverrun.chunks.content import (
    CustomChunk,
    FileChunk,
    ObjectChunk,
    ObjectResultChunk,
    ReasoningFileChunk,
    SourceChunk,
)
from riverrun.chunks.control import RawChunk, ResponseMetadataChunk
from riverrun.chunks.grammar.agent import AgentStream
from riverrun.chunks.text import (
    ReasoningDeltaChunk,
    ReasoningEndChunk,
    ReasoningSignatureChunk,
    ReasoningStartChunk,
    RedactedReasoningChunk,
    TextDeltaChunk,
    TextEndChunk,
    TextStartChunk,
)
from riverrun.chunks.union import ChunkType


def text_start(stream: AgentStream, chunk: TextStartChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is not None:
        step.text.start(chunk.payload.id, at, stream.log)


def text_delta(stream: AgentStream, chunk: TextDeltaChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is None or chunk.payload.id in step.text.opened:
        return
    id, text = chunk.payload.id, step.text
    if id not in text.closed and id not in text.loose:  # readers take such text as a block that needs no end
        stream.log.warn(at, f"text-delta of {id!r}, which is not open; expected text-start before")
        text.loose.add(id)
    text.inside(id, "text-delta", at, stream.log)


def text_end(stream: AgentStream, chunk: TextEndChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is not None:
        step.text.end(chunk.payload.id, at, stream.log)


def reasoning_start(stream: AgentStream, chunk: ReasoningStartChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is not None:
        step.reasoning.start(chunk.payload.id, at, stream.log)


def reasoning_inside(stream: AgentStream, chunk: ReasoningDeltaChunk | ReasoningSignatureChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is not None:
        step.reasoning.inside(chunk.payload.id, chunk.type, at, stream.log)


def reasoning_end(stream: AgentStream, chunk: ReasoningEndChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is not None:
        step.reasoning.end(chunk.payload.id, at, stream.log)


def structured(stream: AgentStream, chunk: ObjectChunk | ObjectResultChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is None:
        return
    if step.result is not None:
        stream.log.error(at, f"{chunk.type} after object-result (chunk {step.result}) of the same step")
    if isinstance(chunk, ObjectResultChunk):
        step.result = at


def whole(stream: AgentStream, chunk: ChunkType, at: int) -> None:
    stream.model_step(chunk, at)


def beside(stream: AgentStream, chunk: RawChunk | ResponseMetadataChunk, at: int) -> None:
    stream.any_step(chunk, at)


CONTENT_RULES: dict[type, Callable[[AgentStream, Any, int], None]] = {
    TextStartChunk: text_start,
    TextDeltaChunk: text_delta,
    TextEndChunk: text_end,
    ReasoningStartChunk: reasoning_start,
    ReasoningDeltaChunk: reasoning_inside,
    ReasoningSignatureChunk: reasoning_inside,
    ReasoningEndChunk: reasoning_end,
    RedactedReasoningChunk: whole,
    SourceChunk: whole,
    FileChunk: whole,
    ReasoningFileChunk: whole,
    CustomChunk: whole,
    ObjectChunk: structured,
    ObjectResultChunk: structured,
    RawChunk: beside,
    ResponseMetadataChunk: beside,
}
