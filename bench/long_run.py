"""Whether a chunk costs the same at the start and at the end of a long run, in time and in memory.

    python bench/long_run.py [DELTAS]

One detached run of 100,000 text deltas, read to the end. Prints, for each tenth of it, CPU µs per delta and the memory
that the process has gained, and the gain over the whole run.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import AsyncGenerator

import psutil

from riverrun import Agent, ModelRequest
from riverrun.chunks import (
    ChunkType,
    FinishChunk,
    FinishPayload,
    StepOutput,
    StepResult,
    TextDeltaChunk,
    TextDeltaPayload,
    TextEndChunk,
    TextEndPayload,
    TextStartChunk,
    TextStartPayload,
    Usage,
)

PIECE = 200
"""Deltas that come with one read from the network."""


class LongModel:
    """Streams `deltas` pieces of text."""

    provider = "bench"
    model_id = "long"

    def __init__(self, deltas: int) -> None:
        self.deltas = deltas

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        origin = {"run_id": request.run_id, "from_": "AGENT"}
        yield TextStartChunk(TextStartPayload("t"), **origin)
        for number in range(self.deltas):
            if number % PIECE == 0:
                await asyncio.sleep(0)
            yield TextDeltaChunk(TextDeltaPayload("t", f"tok{number} "), **origin)
        yield TextEndChunk(TextEndPayload("t"), **origin)
        finish = FinishPayload(step_result=StepResult(reason="stop"), output=StepOutput(usage=Usage()))
        yield FinishChunk(finish, **origin)


def memory_mb() -> float:
    return psutil.Process().memory_info().rss / 2**20


async def main(deltas: int) -> None:
    agent = Agent("bench", model=LongModel(deltas))
    await agent.generate("warm up")
    gc.collect()
    before = memory_mb()
    seen, cpu = 0, time.process_time()
    run = agent.stream("hi", detached=True)
    async for chunk in run:
        if type(chunk) is not TextDeltaChunk:
            continue
        seen += 1
        if seen % (deltas // 10) == 0:
            now = time.process_time()
            print(f"{seen:>8} deltas {(now - cpu) / (deltas // 10) * 1e6:6.2f} µs/delta {memory_mb() - before:6.1f} MB")
            cpu = time.process_time()
    text = await run.text
    print(f"{len(text):,} characters of text; {memory_mb() - before:.1f} MB gained")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
