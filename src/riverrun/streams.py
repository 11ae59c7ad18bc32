"""Tasks, logs and readers: the only file that creates tasks.

A `Log` is written by one producer and read by any number of readers, each with a place of its own. The producer asks
for `room` and so never runs far ahead of its readers; a log that is awaited or detached has no bound.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")

LOOK_AHEAD = 256
"""How many items a producer may be ahead of the reader that is furthest on."""


def spawn(work: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
    """Run `work` as a task of its own. The caller owns it: it must see it end."""
    return asyncio.get_running_loop().create_task(work, name=name)


async def run_all(works: Sequence[Callable[[], Coroutine[Any, Any, None]]], *, limit: int) -> None:
    """Run coroutine functions side by side, at most `limit` at once.

    All of them have ended when this returns or raises. A cancellation is passed on to those that run. When several
    raise, the first one's exception is raised.
    """
    if len(works) < 2:
        for work in works:
            await work()
        return
    gate = asyncio.Semaphore(limit)

    async def gated(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with gate:
            await work()

    tasks = [spawn(gated(work)) for work in works]
    cancelled = await _end_of(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # one that nobody looks at makes the event loop complain
    if cancelled:
        raise asyncio.CancelledError
    for task in tasks:
        task.result()


async def _end_of(tasks: Sequence[asyncio.Task[None]]) -> bool:
    """Wait until all have ended. True: this was cancelled meanwhile, once or more often, and so were they."""
    cancelled = False
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            cancelled = True
            for task in tasks:
                task.cancel()
    return cancelled


class Log(Generic[T]):
    """Items in order, kept for readers that come late."""

    def __init__(self, *, look_ahead: int | None = LOOK_AHEAD) -> None:
        self.items: list[T] = []
        self.closed = False
        self.read = 0
        """How far the reader has come that is furthest on."""
        self.resume_at = sys.maxsize
        """Where a reader has to come to for the producer to go on."""
        self._near = asyncio.Event()
        self._look_ahead = look_ahead
        self._waiting: list[asyncio.Future[None]] = []

    def write(self, item: T) -> bool:
        """Append an item and wake whoever waits for it. True: the producer is to wait for `room` before it goes on."""
        items = self.items
        items.append(item)
        if self._waiting:
            self._wake()
        return self._look_ahead is not None and len(items) - self.read >= self._look_ahead

    def close(self) -> None:
        """Say that nothing more will come. Whoever waits for room goes on."""
        self.closed = True
        self._wake()
        self.unbind()
        self.unbind()

    @property
    def full(self) -> bool:
        """Whether the producer is as far ahead of the readers as it may be."""
        return self._look_ahead is not None and len(self.items) - self.read >= self._look_ahead

    async def room(self) -> None:
        """When the log is full, wait until a reader has come half way, so that the two do not take turns."""
        if self._look_ahead is None or not self.full:
            return
        self._near.clear()
        self.resume_at = len(self.items) - self._look_ahead // 2
        await self._near.wait()

    def resume(self) -> None:
        """Let producers that wait for room go on."""
        self.resume_at = sys.maxsize
        self._near.set()

    def unbind(self) -> None:
        """Let the producer run on without waiting for readers."""
        self._look_ahead = None
        self.resume()

    async def change(self) -> None:
        """Wait for the next item or the end."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future in self._waiting:
                self._waiting.remove(future)
            raise

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)


class Reader(AsyncIterator[T]):
    """Reads a log from its place on. Leaving it never stops the producer."""

    def __init__(self, log: Log[T], position: int = 0) -> None:
        self._log = log
        self.position = position

    async def __anext__(self) -> T:
        log = self._log
        position = self.position
        while position >= len(log.items):
            if log.closed:
                raise StopAsyncIteration
            await log.change()
        self.position = after = position + 1
        if after > log.read:
            log.read = after
            if after >= log.resume_at:
                log.resume()
        return log.items[position]
