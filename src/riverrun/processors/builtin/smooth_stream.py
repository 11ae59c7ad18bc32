"""SmoothStream: text in even pieces, however the provider cuts it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Sequence
from typing import Literal

from riverrun.chunks import ChunkType
from riverrun.errors import ConfigError
from riverrun.numbers import is_number
from riverrun.processors.builtin.deltas import Delta, is_delta, one_delta, same_block, with_text
from riverrun.processors.context import ProcessorContext
from riverrun.processors.processor import Given, Processor

LONGEST = 1_000
"""Characters of a piece without an end after which it is streamed as it is."""

_PIECES = {"words": re.compile(r"\S\s+"), "lines": re.compile(r"\n")}


class SmoothStream(Processor):
    """Streams text and reasoning in words (each with the space after it), in lines, or in pieces that end where a
    pattern's find ends.

    `delay` is the time in seconds to take for each piece; 0, the default, never waits. What is left goes at the block's
    end, and before any chunk of another kind.
    """

    def __init__(
        self,
        pieces: Literal["words", "lines"] | re.Pattern[str] = "words",
        *,
        delay: float = 0.0,
        id: str | None = None,
    ) -> None:
        """Raises ConfigError for pieces or a delay that there cannot be."""
        super().__init__(id=id)
        pattern = _PIECES.get(pieces) if isinstance(pieces, str) else pieces
        if not isinstance(pattern, re.Pattern):
            raise ConfigError(f"SmoothStream: pieces are 'words', 'lines' or re.compile(…), not {pieces!r}")
        if not (is_number(delay) and delay >= 0):
            raise ConfigError(f"SmoothStream: delay is a number of seconds from 0 on, not {delay!r:.80}")
        self.pattern = pattern
        self.delay = delay

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> Given[ChunkType | Sequence[ChunkType]]:
        rest: Delta | None = ctx.state.get("rest")
        if not is_delta(chunk):
            if rest is None:
                return chunk
            ctx.state["rest"] = None
            return self._paced([rest, chunk])
        before: list[ChunkType] = []
        if rest is not None:
            if same_block(rest, chunk):
                chunk = one_delta([rest, chunk])
            else:
                before = [rest]
        pieces, ctx.state["rest"] = self._cut(chunk)
        return self._paced([*before, *pieces])

    def process_output_stream_end(self, ctx: ProcessorContext) -> Sequence[ChunkType]:
        rest: Delta | None = ctx.state.get("rest")
        ctx.state["rest"] = None
        return [] if rest is None else [rest]

    def _cut(self, delta: Delta) -> tuple[list[Delta], Delta | None]:
        """The whole pieces of a delta, and what is left."""
        text = delta.payload.text
        pieces: list[Delta] = []
        at = 0
        while (match := self.pattern.search(text, at)) is not None and match.end() > at:
            pieces.append(with_text(delta, text[at : match.end()]))
            at = match.end()
        left = with_text(delta, text[at:]) if at < len(text) or not pieces else None
        if left is not None and len(left.payload.text) > LONGEST:
            return [*pieces, left], None
        return pieces, left

    def _paced(self, chunks: Sequence[ChunkType]) -> Given[Sequence[ChunkType]]:
        return _later(chunks, self.delay) if self.delay and chunks else chunks


def _later(chunks: Sequence[ChunkType], delay: float) -> Awaitable[Sequence[ChunkType]]:
    async def wait() -> Sequence[ChunkType]:
        await asyncio.sleep(delay * sum(map(is_delta, chunks)))
        return chunks

    return wait()
