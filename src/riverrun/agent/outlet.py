"""Where the chunks of a step go: through the processors, then into the step's fold and the run's log.

The fold takes what comes out, so that what a processor hides reaches neither the next prompt nor the memory.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from riverrun.chunks import ChunkType, StepFold, TextDeltaChunk
from riverrun.errors import TripwireError
from riverrun.processors import Pipeline
from riverrun.streams import Log
from riverrun.structured import ObjectReader

_HOOKS = ("process_output_stream", "process_output_stream_end")


class Outlet:
    """The outlet of one step. `is_plain`: nothing stands between the model and the log, so that chunks may be written
    directly.
    """

    def __init__(
        self, log: Log[ChunkType], fold: StepFold, pipeline: Pipeline, reader: ObjectReader[Any] | None = None
    ) -> None:
        self.log = log
        self.fold = fold
        self.pipeline = pipeline
        self.reader = reader
        self.is_plain = reader is None and not any(map(pipeline.has, _HOOKS))
        self.is_unguarded = False
        """Whether a processor failed where it looks at the whole answer: nobody may have looked at its calls."""
        self.tripwire: TripwireError | None = None
        """What has stopped the run while tools ran: nothing is told of them any more."""

    async def put(self, chunk: ChunkType) -> None:
        """Send a chunk on its way. Raises TripwireError when a processor stops the run."""
        if self.is_plain:
            self.fold.add(chunk)
            self.log.write(chunk)
        else:
            await self.pipeline.process_output_stream(chunk, self._give)

    async def aside(self, chunk: ChunkType) -> None:
        """Send a chunk that is no part of the answer: what tools write and what they came to."""
        if self.tripwire is not None:
            raise self.tripwire
        if self.is_plain:
            self.log.write(chunk)
        else:
            await self.pipeline.process_output_stream(chunk, self._tell)

    async def end(self) -> None:
        """The model has said everything: what processors held back comes."""
        if not self.is_plain:
            with self._guarding():
                await self.pipeline.process_output_stream_end(self._give)

    async def show(self, said: Sequence[ChunkType]) -> None:
        """Show the model's whole answer to the processors that want it."""
        with self._guarding():
            await self.pipeline.process_llm_response(said)

    @contextmanager
    def _guarding(self) -> Generator[None]:
        try:
            yield
        except Exception:
            self.is_unguarded = True
            raise

    def _tell(self, chunk: ChunkType) -> None:
        self.log.write(chunk)

    def _give(self, chunk: ChunkType) -> None:
        if self.reader is not None and type(chunk) is TextDeltaChunk:
            for made in self.reader.feed(chunk.payload.text):
                self.log.write(made)
        self.fold.add(chunk)
        self.log.write(chunk)
