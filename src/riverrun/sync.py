"""A bridge for scripts and notebooks: the same runs without `async`.

The run lives in an event loop of its own, in a thread of its own, so that it works where a loop runs already.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Generic, Unpack

from riverrun.agent import Agent, Run, RunOptions
from riverrun.agent.run import settled
from riverrun.chunks import ChunkType, Result
from riverrun.streams import LOOK_AHEAD
from riverrun.structured.output_type import Out
from riverrun.types import Input


def generate(agent: Agent[Out], input: Input, /, **options: Unpack[RunOptions]) -> Result[Out]:
    """Run to the end and give the result. Raises RunError when the run fails; Ctrl-C cancels it."""
    elsewhere = _Elsewhere(agent, input, options)
    deque(elsewhere.read(), maxlen=0)
    assert elsewhere.result is not None
    return settled(elsewhere.result)


def stream(agent: Agent[Any], input: Input, /, **options: Unpack[RunOptions]) -> Iterator[ChunkType]:
    """Iterate over a run's chunks. Leaving the iteration early (`break`, `close`) cancels the run."""
    return _Elsewhere(agent, input, options).read()


class _Elsewhere(Generic[Out]):
    """A run in a thread of its own. Its chunks come through a queue; None is the end, an exception is to be raised."""

    def __init__(self, agent: Agent[Out], input: Input, options: RunOptions) -> None:
        self.result: Result[Out] | None = None
        self.chunks: queue.Queue[ChunkType | BaseException | None] = queue.Queue(LOOK_AHEAD)
        in_context = contextvars.copy_context().run  # tools see the caller's context variables, as in a task
        self.thread = threading.Thread(target=in_context, args=(self._work,), name="riverrun-stream", daemon=True)
        self._agent = agent
        self._input: Input = input
        self._options = options
        self._left = threading.Event()
        self._under_way: tuple[asyncio.AbstractEventLoop, Run[Out]] | None = None

    def read(self) -> Iterator[ChunkType]:
        """Start the run and give its chunks. Leaving cancels it."""
        self.thread.start()
        try:
            while (item := self.chunks.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self.leave()

    def leave(self) -> None:
        """Cancel the run and wait for its end."""
        self._left.set()
        if self._under_way is not None:
            loop, run = self._under_way
            with suppress(RuntimeError):  # the loop is closed: the run is over
                loop.call_soon_threadsafe(run.cancel)
        self.thread.join()

    def _work(self) -> None:
        try:
            asyncio.run(self._read())
        except BaseException as error:
            self._put(error)
        self._put(None)

    async def _read(self) -> None:
        async with self._agent.stream(self._input, **self._options) as run:
            self._under_way = (asyncio.get_running_loop(), run)
            async for chunk in run:
                await asyncio.to_thread(self._put, chunk) if self.chunks.full() else self._put(chunk)
                if self._left.is_set():
                    return
            self.result = run.partial

    def _put(self, item: ChunkType | BaseException | None) -> None:
        while not self._left.is_set() and threading.main_thread().is_alive():  # a program that ends leaves nothing
            with suppress(queue.Full):
                self.chunks.put(item, timeout=0.1)
                return
