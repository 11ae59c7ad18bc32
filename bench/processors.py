"""What processors cost a text delta, in nanoseconds of CPU.

python bench/processors.py
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import get_args

from riverrun.chunks import ChunkType, TextDeltaChunk, TextDeltaPayload
from riverrun.processors import BatchParts, Pipeline, Preset, Processor, ProcessorContext, RegexFilter, SmoothStream

N = 50_000
DELTA = TextDeltaChunk(TextDeltaPayload("t", "token "), run_id="run", from_="AGENT")


class PassThrough(Processor):
    """Looks at each chunk and leaves it alone."""

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
        return chunk


class AsyncPassThrough(Processor):
    """The same as a coroutine function."""

    async def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
        return chunk


class Rewriter(Processor):
    """Makes another chunk of each."""

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
        return TextDeltaChunk(DELTA.payload, run_id="run", from_="AGENT")


STATIONS: dict[str, Callable[[], Sequence[Processor]]] = {
    "no processor": lambda: [],
    "10 that pass": lambda: [PassThrough() for _ in range(10)],
    "10 that pass, coroutines": lambda: [AsyncPassThrough() for _ in range(10)],
    "10 that make a new chunk": lambda: [Rewriter() for _ in range(10)],
    "BatchParts": lambda: [BatchParts()],
    "SmoothStream": lambda: [SmoothStream()],
    "RegexFilter, e-mail": lambda: [RegexFilter(["email"])],
    "RegexFilter, all presets": lambda: [RegexFilter(get_args(Preset))],
}


def main() -> None:
    for name, processors in STATIONS.items():
        best = min(asyncio.run(timed(processors())) for _ in range(3))
        print(f"{name:<26} {best / N * 1e9:7.0f} ns")


async def timed(processors: Sequence[Processor]) -> float:
    pipeline = Pipeline(processors, run_id="run", agent_name="bench", emit_chunk=lambda _: None)
    given: list[ChunkType] = []
    start = time.process_time()
    for _ in range(N):
        await pipeline.process_output_stream(DELTA, given.append)
    return time.process_time() - start


if __name__ == "__main__":
    main()
