"""A bridge for scripts and notebooks: the same runs without `async`.

The run lives in an event loop of its own, in a thread of its own, so that it works where a loop runs already.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Unpack

from riverrun.agent import Agent, Run, RunOptions
from riverrun.agent.run import settled
from riverrun.chunks import ChunkType, Result, fold
from riverrun.streams import LOOK_AHEAD
from riverrun.types import Input


def generate(agent: Agent, input: Input, /, **options: Unpack[RunOptions]) -> Result:
    """Run to the end and give the result. Raises RunError when the run fails; Ctrl-C cancels it."""
    return settled(fold(stream(agent, input, **options)))


def stream(agent: Agent, input: Input, /, **options: Unpack[RunOptions]) -> Iterator[ChunkType]:
    """Iterate over a run's chunks. Leaving the iteration early (`break`, `close`) cancels the run."""
    chunks: queue.Queue[ChunkType | BaseException | None] = queue.Queue(LOOK_AHEAD)
    left = threading.Event()
    runs: list[tuple[asyncio.AbstractEventLoop, Run]] = []

    def put(item: ChunkType | BaseException | None) -> None:
        while not left.is_set() and threading.main_thread().is_alive():  # nobody leaves a program that ends
            try:
                chunks.put(item, timeout=0.1)
            except queue.Full:
                continue
            return

    async def read() -> None:
        async with agent.stream(input, **options) as run:
            runs.append((asyncio.get_running_loop(), run))
            async for chunk in run:
                await asyncio.to_thread(put, chunk) if chunks.full() else put(chunk)
                if left.is_set():
                    return

    def work() -> None:
        try:
            asyncio.run(read())
        except BaseException as error:
            put(error)
        put(None)

    thread = threading.Thread(target=work, name="riverrun-stream", daemon=True)
    thread.start()
    try:
        while (item := chunks.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()
        for loop, run in runs:
            with suppress(RuntimeError):  # the loop is closed: the run is over
                loop.call_soon_threadsafe(run.cancel)
        thread.join()
