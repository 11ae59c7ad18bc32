"""What the tests of all adapters share: decoding a stream in pieces, and what the chunks come to."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from riverrun.chunks import (
    ChunkType,
    FilePayload,
    FinishChunk,
    FinishPayload,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    ResponseMetadataChunk,
    SourceChunk,
    SourcePayload,
    StepStartChunk,
    StepStartPayload,
    TextDeltaChunk,
    TextDeltaPayload,
    ToolCallChunk,
    ToolCallDeltaChunk,
    ToolCallDeltaPayload,
    ToolCallPayload,
    ToolResultChunk,
    ToolResultPayload,
    Usage,
)
from riverrun.chunks.content import FileChunk
from riverrun.chunks.grammar import problems
from riverrun.errors import ModelError
from riverrun.models.http import Decoder
from riverrun.models.sse import SseReader

RUN = "run-1"


@dataclass(frozen=True, slots=True)
class Decoded:
    """The chunks of a stream and its failure."""

    chunks: list[ChunkType]
    error: ModelError | None = None

    @property
    def types(self) -> list[str]:
        """The types of the chunks; repeated ones once."""
        found: list[str] = []
        for chunk in self.chunks:
            if not found or found[-1] != chunk.type:
                found.append(chunk.type)
        return found

    @property
    def text(self) -> str:
        return "".join(chunk.payload.text for chunk in self.chunks if isinstance(chunk, TextDeltaChunk))

    @property
    def reasoning(self) -> str:
        return "".join(chunk.payload.text for chunk in self.chunks if isinstance(chunk, ReasoningDeltaChunk))

    @property
    def calls(self) -> list[ToolCallPayload]:
        return [chunk.payload for chunk in self.chunks if isinstance(chunk, ToolCallChunk)]

    @property
    def sources(self) -> list[SourcePayload]:
        return [chunk.payload for chunk in self.chunks if isinstance(chunk, SourceChunk)]

    @property
    def files(self) -> list[FilePayload]:
        return [chunk.payload for chunk in self.chunks if isinstance(chunk, FileChunk)]

    @property
    def results(self) -> list[ToolResultPayload]:
        return [chunk.payload for chunk in self.chunks if isinstance(chunk, ToolResultChunk)]

    @property
    def finish(self) -> FinishPayload:
        (chunk,) = (chunk for chunk in self.chunks if isinstance(chunk, FinishChunk))
        return chunk.payload

    @property
    def usage(self) -> Usage:
        assert self.finish.output is not None
        assert self.finish.output.usage is not None
        return self.finish.output.usage

    @property
    def metadata(self) -> ResponseMetadataChunk | None:
        found = [chunk for chunk in self.chunks if isinstance(chunk, ResponseMetadataChunk)]
        assert len(found) <= 1
        return found[0] if found else None

    def only(self, kind: type[Any]) -> Any:
        """The payload of the one chunk of this class."""
        (chunk,) = (chunk for chunk in self.chunks if isinstance(chunk, kind))
        return chunk.payload


def decoded(decoder: Decoder, *pieces: bytes) -> Decoded:
    """Read a stream, given as the network cut it, and check that its chunks are in order."""
    reader = SseReader()
    chunks: list[ChunkType] = []
    for piece in (*pieces, b""):
        for item in reader.feed(piece) if piece else reader.close():
            chunks += decoder.feed(item.data, item.event)
    chunks += decoder.close()
    assert_in_order(chunks, failed=decoder.error is not None)
    return Decoded(chunks, decoder.error)


def assert_in_order(chunks: Iterable[ChunkType], *, failed: bool) -> None:
    """Every block is closed once, ids are not used again, and one finish chunk ends what did not fail."""
    chunks = list(chunks)
    assert all(chunk.run_id == RUN and chunk.from_ == "AGENT" for chunk in chunks)
    if not failed:
        first = StepStartChunk(StepStartPayload(), run_id=RUN, from_="AGENT")
        assert [str(problem) for problem in problems([first, *chunks], model=True)] == []
    assert sum(isinstance(chunk, FinishChunk) for chunk in chunks) == (0 if failed else 1)
    for kind in ("text", "reasoning", "tool-call-input-streaming"):
        starts = [_id(chunk) for chunk in chunks if chunk.type == f"{kind}-start"]
        ends = [_id(chunk) for chunk in chunks if chunk.type == f"{kind}-end"]
        assert len(starts) == len(set(starts)), starts
        assert sorted(starts) == sorted(ends)


def _id(chunk: Any) -> str:
    return getattr(chunk.payload, "tool_call_id", None) or chunk.payload.id


def joined(chunks: Iterable[ChunkType]) -> list[ChunkType]:
    """The chunks with neighbouring pieces of one block joined: how text is cut is not what a test is about."""
    out: list[ChunkType] = []
    for chunk in chunks:
        last = out[-1] if out else None
        match last, chunk:
            case TextDeltaChunk(a), TextDeltaChunk(b) if a.id == b.id:
                out[-1] = TextDeltaChunk(TextDeltaPayload(a.id, a.text + b.text), run_id=RUN, from_="AGENT")
            case ReasoningDeltaChunk(a), ReasoningDeltaChunk(b) if a.id == b.id:
                out[-1] = ReasoningDeltaChunk(ReasoningDeltaPayload(a.id, a.text + b.text), run_id=RUN, from_="AGENT")
            case ToolCallDeltaChunk(a), ToolCallDeltaChunk(b) if a.tool_call_id == b.tool_call_id:
                both = ToolCallDeltaPayload(
                    tool_call_id=a.tool_call_id,
                    tool_name=a.tool_name,
                    args_text_delta=a.args_text_delta + b.args_text_delta,
                )
                out[-1] = ToolCallDeltaChunk(both, run_id=RUN, from_="AGENT")
            case _:
                out.append(chunk)
    return out


def cut(stream: bytes, chance: random.Random, size: int) -> list[bytes]:
    """The stream in pieces of 1 to `size` bytes."""
    pieces: list[bytes] = []
    begin = 0
    while begin < len(stream):
        end = begin + chance.randint(1, size)
        pieces.append(stream[begin:end])
        begin = end
    return pieces
