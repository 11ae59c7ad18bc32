"""BatchParts: fewer, longer deltas."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from riverrun.chunks import ChunkType
from riverrun.errors import ConfigError
from riverrun.numbers import is_number, is_whole
from riverrun.processors.builtin.deltas import Delta, is_delta, one_delta, same_block
from riverrun.processors.context import ProcessorContext
from riverrun.processors.processor import Processor


@dataclass(slots=True)
class _Batch:
    """What waits, in its order."""

    chunks: list[ChunkType] = field(default_factory=list["ChunkType"])
    deltas: int = 0
    since: float = 0.0


class BatchParts(Processor):
    """Joins deltas of text and reasoning that follow one another in a block.

    A batch goes when it has `size` deltas, when the block ends, or with the first chunk that comes `max_wait` seconds
    after its first delta; no clock runs while nothing comes. A chunk of another kind sends the batch off before it;
    without `emit_on_non_text` it waits in its place in the batch.
    """

    def __init__(
        self,
        *,
        size: int = 5,
        max_wait: float | None = None,
        emit_on_non_text: bool = True,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
    ) -> None:
        """Raises ConfigError for a size or a wait that there cannot be."""
        super().__init__(id=id)
        if not is_whole(size, least=1) or not (max_wait is None or (is_number(max_wait) and max_wait >= 0)):
            raise ConfigError("BatchParts: size is a number from 1 on, max_wait a number of seconds from 0 on")
        self.size = size
        self.max_wait = max_wait
        self.emit_on_non_text = emit_on_non_text
        self.clock = clock

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType | Sequence[ChunkType]:
        batch = _batch(ctx)
        if not batch.chunks and not is_delta(chunk):
            return chunk
        if not batch.chunks:
            batch.since = self.clock()
        batch.chunks.append(chunk)
        batch.deltas += is_delta(chunk)
        return self._taken(ctx) if self._is_due(batch, chunk) else []

    def process_output_stream_end(self, ctx: ProcessorContext) -> Sequence[ChunkType]:
        return self._taken(ctx)

    def _is_due(self, batch: _Batch, chunk: ChunkType) -> bool:
        if batch.deltas >= self.size or (self.emit_on_non_text and not is_delta(chunk)):
            return True
        return self.max_wait is not None and self.clock() - batch.since >= self.max_wait

    def _taken(self, ctx: ProcessorContext) -> list[ChunkType]:
        batch = _batch(ctx)
        ctx.state["batch"] = _Batch()
        return _joined(batch.chunks)


def _batch(ctx: ProcessorContext) -> _Batch:
    batch: _Batch | None = ctx.state.get("batch")
    if batch is None:
        batch = ctx.state["batch"] = _Batch()
    return batch


def _joined(chunks: Sequence[ChunkType]) -> list[ChunkType]:
    joined: list[ChunkType] = []
    deltas: list[Delta] = []
    for chunk in chunks:
        if deltas and not (is_delta(chunk) and same_block(deltas[0], chunk)):
            joined.append(one_delta(deltas))
            deltas = []
        if is_delta(chunk):
            deltas.append(chunk)
        else:
            joined.append(chunk)
    if deltas:
        joined.append(one_delta(deltas))
    return joined
