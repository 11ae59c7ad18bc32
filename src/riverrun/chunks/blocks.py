"""Blocks that a stream leaves open: texts, reasoning, and arguments of calls."""

from __future__ import annotations

from collections.abc import Iterable

from riverrun.chunks.text import (
    ReasoningEndChunk,
    ReasoningEndPayload,
    ReasoningStartChunk,
    TextEndChunk,
    TextEndPayload,
    TextStartChunk,
)
from riverrun.chunks.tools import (
    ToolCallInputStreamingEndChunk,
    ToolCallInputStreamingEndPayload,
    ToolCallInputStreamingStartChunk,
)
from riverrun.chunks.union import ChunkType


def ends_of(chunks: Iterable[ChunkType]) -> list[ChunkType]:
    """The chunks that close what these leave open, the block that was opened last first."""
    opened: dict[tuple[str, str], ChunkType] = {}
    for chunk in chunks:
        match chunk:
            case TextStartChunk(p):
                text = TextEndPayload(id=p.id)
                opened["text", p.id] = TextEndChunk(text, run_id=chunk.run_id, from_=chunk.from_)
            case ReasoningStartChunk(p):
                reasoning = ReasoningEndPayload(id=p.id)
                opened["reasoning", p.id] = ReasoningEndChunk(reasoning, run_id=chunk.run_id, from_=chunk.from_)
            case ToolCallInputStreamingStartChunk(p):
                call = ToolCallInputStreamingEndPayload(tool_call_id=p.tool_call_id)
                opened["call", p.tool_call_id] = ToolCallInputStreamingEndChunk(
                    call, run_id=chunk.run_id, from_=chunk.from_
                )
            case TextEndChunk(p):
                opened.pop(("text", p.id), None)
            case ReasoningEndChunk(p):
                opened.pop(("reasoning", p.id), None)
            case ToolCallInputStreamingEndChunk(p):
                opened.pop(("call", p.tool_call_id), None)
            case _:
                pass
    return [*reversed(opened.values())]
