"""A run's log as it is kept while the run waits: deltas joined, and without what nobody asks for any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from msgspec.structs import replace

from riverrun.chunks import (
    ChunkType,
    FinishChunk,
    FinishPayload,
    RawChunk,
    ReasoningDeltaChunk,
    StepFinishChunk,
    StepFinishPayload,
    StepOutput,
    StepStartChunk,
    TextDeltaChunk,
    ToolCallApprovalChunk,
    ToolCallDeltaChunk,
    ToolCallInputStreamingEndChunk,
    ToolCallInputStreamingStartChunk,
    ToolCallSuspendedChunk,
    ToolOutputChunk,
)
from riverrun.chunks.fold import nested_usage

_UNTOLD = (
    RawChunk,
    ToolCallDeltaChunk,
    ToolCallInputStreamingStartChunk,
    ToolCallInputStreamingEndChunk,
    ToolCallApprovalChunk,
    ToolCallSuspendedChunk,
)


def shortened(log: Iterable[ChunkType]) -> list[ChunkType]:
    """The chunks that say the same of the answer, its steps and their tokens; not what was sent to the model."""
    kept: list[ChunkType] = []
    pieces: list[str] = []  # of the delta that was kept last
    for chunk in map(_reduced, log):
        if chunk is None:
            continue
        if kept and _continues(kept[-1], chunk):
            pieces.append(cast("TextDeltaChunk | ReasoningDeltaChunk", chunk).payload.text)
            continue
        _join(kept, pieces)
        if isinstance(chunk, TextDeltaChunk | ReasoningDeltaChunk):
            pieces = [chunk.payload.text]
        kept.append(chunk)
    _join(kept, pieces)
    return kept


def _reduced(chunk: ChunkType) -> ChunkType | None:
    """What is kept of a chunk. None: nothing."""
    match chunk:
        case StepStartChunk(payload):
            return replace(chunk, payload=replace(payload, request=None))
        case StepFinishChunk(payload):
            return replace(chunk, payload=_without_request(payload))
        case ToolOutputChunk(payload):
            usage = nested_usage(chunk)
            end = FinishChunk(FinishPayload(output=StepOutput(usage=usage)))
            return None if usage is None else replace(chunk, payload=replace(payload, output=end))
        case _:
            return None if isinstance(chunk, _UNTOLD) else chunk


def _without_request(payload: StepFinishPayload) -> StepFinishPayload:
    output, metadata = payload.output, payload.metadata
    if output is not None and output.steps:
        output = replace(output, steps=[replace(step, request=None) for step in output.steps])
    if metadata is not None:
        metadata = replace(metadata, request=None)
    return replace(payload, output=output, metadata=metadata)


def _continues(last: ChunkType, chunk: ChunkType) -> bool:
    match last, chunk:
        case (TextDeltaChunk(a), TextDeltaChunk(b)) | (ReasoningDeltaChunk(a), ReasoningDeltaChunk(b)):
            return a.id == b.id and b.provider_metadata is None
        case _:
            return False


def _join(kept: list[ChunkType], pieces: list[str]) -> None:
    """Give the last delta all of its text."""
    if len(pieces) > 1:
        last = cast("TextDeltaChunk", kept[-1])
        kept[-1] = replace(last, payload=replace(last.payload, text="".join(pieces)))
    pieces.clear()
