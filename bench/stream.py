"""What a run costs: C runs at once of one agent against a loopback server that streams a canned answer.

    python bench/server.py PORT &
    python bench/stream.py MODEL CONCURRENCY PORT

MODEL says what the server streams: text-N (N deltas) or tools-K-N (K turns that call the tool `add`, then N deltas).
Prints one JSON line: CPU of the whole process per delta and per run, wall time, peak memory.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time

from riverrun import Agent, step_count_is
from riverrun.chunks import TextDeltaChunk
from riverrun.models.openai_chat import OpenAIChatModel

WARM_UP = 2


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def main(model: str, concurrency: int, port: int) -> None:
    server = OpenAIChatModel(model, base_url=f"http://127.0.0.1:{port}/v1", api_key="x")
    agent = Agent("bench", model=server, instructions="be brief", tools=[add], stop_when=step_count_is(1000))

    async def run() -> int:
        deltas = 0
        async for chunk in agent.stream("hi"):
            if type(chunk) is TextDeltaChunk:
                deltas += 1
        return deltas

    await asyncio.gather(*[run() for _ in range(WARM_UP)])
    cpu, wall = cpu_seconds(), time.perf_counter()
    deltas = sum(await asyncio.gather(*[run() for _ in range(concurrency)]))
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    await server.aclose()
    print(
        json.dumps(
            {
                "peer": "riverrun",
                "model": model,
                "conc": concurrency,
                "deltas": deltas,
                "cpu_s": round(cpu, 3),
                "wall_s": round(wall, 3),
                "us_per_delta": round(cpu / max(1, deltas) * 1e6, 1),
                "ms_per_run": round(cpu / concurrency * 1e3, 2),
                "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} MODEL CONCURRENCY PORT")
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
