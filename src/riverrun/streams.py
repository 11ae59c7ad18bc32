"""Tasks, logs and readers: the only file that creates tasks.

A `Log` is written by one producer and read by any number of readers, each with a place of its own. The producer asks
for `room` and so never runs far ahead of its readers; a log that is awaited or detached has no bound.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Generic, TypeVar

from riverrun.errors import ConfigError

T = TypeVar("T")

LOOK_AHEAD = 256
"""How many items a producer may be ahead of the reader that is furthest on."""


GRACE = 5.0
"""Seconds that work gets to end in its own way after it was cancelled."""

STRAY = "it waited for something that was cancelled"

_logger = logging.getLogger("riverrun")
_tasks: set[asyncio.Task[Any]] = set()  # event loops hold their tasks weakly


def spawn(work: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
    """Run `work` as a task of its own. The caller owns it: it must see it end."""
    task = asyncio.get_running_loop().create_task(work, name=name)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task


def is_cancelled() -> bool:
    """Whether the current task is asked to end. If not, a CancelledError is that of something that it waited for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def uncancelled(work: Awaitable[T]) -> T:
    """What `work` gives. Raises RuntimeError for a CancelledError that is not the current task's own, which may have
    been cancelled before.
    """
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        return await work
    except asyncio.CancelledError as error:
        if task is None or task.cancelling() > before:
            raise
        raise RuntimeError(STRAY) from error


def submit(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> Future[T]:
    """Run `work` in another thread's event loop; the future is for this thread."""
    return asyncio.run_coroutine_threadsafe(work, loop)


async def brought_to_end(work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, in a task of its own. A cancellation waits until that is done, and is passed on then."""
    task = spawn(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        _looked_at(task)
        raise cancelled
    return task.result()


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a thread of its own, with the caller's context variables, and give what it returns or raises.

    No pool, so that functions that hang keep no others waiting; and a daemon, so that one left behind by a cancellation
    keeps no program from ending. What no future can hold, StopIteration and SystemExit, is raised as RuntimeError.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(set_result: Callable[[Any], None], value: object) -> None:
        if not result.done():
            set_result(value)

    def work() -> None:
        set_result: Callable[[Any], None] = result.set_result
        try:
            outcome: object = function(*arguments)
        except BaseException as error:
            set_result, outcome = result.set_exception, _for_future(error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, set_result, outcome)

    run = contextvars.copy_context().run
    name = getattr(function, "__name__", type(function).__name__)
    threading.Thread(target=run, args=(work,), name=f"riverrun {name}", daemon=True).start()
    return await result


def _for_future(error: BaseException) -> BaseException:
    if not isinstance(error, StopIteration | SystemExit):
        return error
    substitute = RuntimeError(f"the function raised {type(error).__name__}")
    substitute.__cause__ = error
    return substitute


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Whether it is `async def`, or an object whose `__call__` is."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def run_all(works: Sequence[Callable[[], Coroutine[Any, Any, None]]], *, limit: int) -> None:
    """Run coroutine functions side by side, at most `limit` at once.

    All of them have ended when this returns or raises. A cancellation is passed on to those that run; one that takes no
    notice of it is left behind after a grace of 5 s. When several raise, the first one's exception is raised.
    """
    gate = asyncio.Semaphore(limit)

    async def gated(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with gate:
            await work()

    tasks = [spawn(gated(work)) for work in works]
    cancelled = await _end_of(tasks)
    for task in tasks:
        if not task.done():
            _logger.warning("a tool goes on although its run was cancelled: %r", task)
            task.add_done_callback(_looked_at)
        else:
            _looked_at(task)
    if cancelled:
        raise asyncio.CancelledError
    for task in tasks:
        task.result()


async def _end_of(tasks: Sequence[asyncio.Task[None]]) -> bool:
    """Wait until all have ended. True: this was cancelled meanwhile, once or more often, and so were they."""
    loop = asyncio.get_running_loop()
    deadline: float | None = None
    waiting: list[asyncio.Task[None]] = [*tasks]
    while waiting and (deadline is None or loop.time() < deadline):
        try:
            await asyncio.wait(waiting, timeout=None if deadline is None else deadline - loop.time())
        except asyncio.CancelledError:
            deadline = deadline or loop.time() + GRACE
            for task in waiting:
                task.cancel()
        waiting = [task for task in waiting if not task.done()]
    return deadline is not None


def _looked_at(task: asyncio.Task[Any]) -> None:
    """An exception that nobody looks at makes the event loop complain."""
    if not task.cancelled():
        task.exception()


@asynccontextmanager
async def reading(stream: AsyncIterable[T]) -> AsyncGenerator[AsyncIterator[T], None]:
    """Read a stream and end it when its reader leaves, early or not.

    What is a context manager, a run among them, ends as it does when it is left, a generator by being closed, and
    anything else by its method `cancel`, if it has one.
    """
    if isinstance(stream, AbstractAsyncContextManager):
        async with stream:
            yield aiter(stream)
        return
    iterator = aiter(stream)
    try:
        yield iterator
    finally:
        try:
            await _called(stream, "cancel")
        finally:
            await _called(iterator, "aclose")


async def _called(owner: object, verb: str) -> None:
    end = getattr(owner, verb, None)
    ended = end() if callable(end) else None
    if inspect.isawaitable(ended):
        await ended


class Log(Generic[T]):
    """Items in order, kept for readers that come late."""

    def __init__(self, *, look_ahead: int | None = LOOK_AHEAD) -> None:
        self.items: list[T] = []
        self.closed = False
        self.read = 0
        """How far the reader has come that is furthest on."""
        self.resume_at = sys.maxsize
        """Where a reader has to come to for the producer to go on."""
        self.loop: asyncio.AbstractEventLoop | None = None
        """The producer's event loop, once it has begun: readers must be there too."""
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
        """Wait for the next item or the end. Raises ConfigError in another event loop than the producer's."""
        loop = asyncio.get_running_loop()
        if self.loop is not None and self.loop is not loop:
            raise ConfigError("a run belongs to the event loop that it was started in: read and await it there")
        future = loop.create_future()
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
