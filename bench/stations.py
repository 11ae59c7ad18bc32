"""What one text delta costs at each station of its trip, in nanoseconds of CPU.

python bench/stations.py
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable

from riverrun import Agent, ModelRequest
from riverrun.chunks import (
    ChunkType,
    FinishChunk,
    FinishPayload,
    StartChunk,
    StartPayload,
    StepFold,
    StepOutput,
    StepResult,
    StepStartChunk,
    StepStartPayload,
    TextDeltaChunk,
    TextDeltaPayload,
    TextStartChunk,
    TextStartPayload,
    Usage,
    decode,
    encode,
    fold,
)
from riverrun.chunks.grammar import Grammar
from riverrun.models.openai_chat.stream import StreamDecoder
from riverrun.models.sse import SseReader
from riverrun.streams import Log, Reader, spawn

N = 50_000
DELTA = TextDeltaChunk(TextDeltaPayload("t", "token "), run_id="run", from_="AGENT")
BEFORE: list[ChunkType] = [
    StartChunk(StartPayload(), run_id="run", from_="AGENT"),
    StepStartChunk(StepStartPayload(), run_id="run", from_="AGENT"),
    TextStartChunk(TextStartPayload("t"), run_id="run", from_="AGENT"),
]
WIRE = encode(DELTA)
EVENT = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": "token "}, "finish_reason": None, "logprobs": None}],
    }
).encode()
READ = (b"data: " + EVENT + b"\n\n") * 250


def make() -> None:
    for _ in range(N):
        TextDeltaChunk(TextDeltaPayload("t", "token "), run_id="run", from_="AGENT")


def encoded() -> None:
    for _ in range(N):
        encode(DELTA)


def decoded() -> None:
    for _ in range(N):
        decode(WIRE)


def events() -> None:
    reader = SseReader()
    for _ in range(N // 250):
        list(reader.feed(READ))


def provider() -> None:
    decoder = StreamDecoder("run")
    for _ in range(N):
        list(decoder.feed(EVENT))


def step_fold() -> None:
    content = StepFold()
    for _ in range(N):
        content.add(DELTA)


def folded() -> None:
    fold([DELTA] * N)


def grammar() -> None:
    checker = Grammar()
    for chunk in BEFORE:
        checker.accept(chunk)
    for _ in range(N):
        checker.accept(DELTA)


def log() -> None:
    async def produce(items: Log[ChunkType]) -> None:
        for _ in range(N):
            if items.write(DELTA):
                await items.room()
        items.close()

    async def main() -> None:
        items: Log[ChunkType] = Log()
        writer = spawn(produce(items))
        async for _ in Reader(items):
            pass
        await writer

    asyncio.run(main())


class DeltaModel:
    """Streams N deltas that are made already."""

    provider = "bench"
    model_id = "deltas"

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        for number in range(N):
            if number % 250 == 0:
                await asyncio.sleep(0)
            yield DELTA
        yield FinishChunk(FinishPayload(step_result=StepResult(reason="stop"), output=StepOutput(usage=Usage())))


def agent_run() -> None:
    async def main() -> None:
        async for _ in Agent("bench", model=DeltaModel()).stream("hi"):
            pass

    asyncio.run(main())


STATIONS: dict[str, Callable[[], None]] = {
    "make a chunk": make,
    "bytes → events": events,
    "event → chunk (openai-chat)": provider,
    "fold of a step": step_fold,
    "log → reader": log,
    "agent run, model → reader": agent_run,
    "fold of a stream": folded,
    "chunk → JSON": encoded,
    "JSON → chunk": decoded,
    "grammar": grammar,
}


def main() -> None:
    for name, station in STATIONS.items():
        best = min(timed(station) for _ in range(3))
        print(f"{name:<30} {best / N * 1e9:7.0f} ns")


def timed(station: Callable[[], None]) -> float:
    start = time.process_time()
    station()
    return time.process_time() - start


if __name__ == "__main__":
    main()
