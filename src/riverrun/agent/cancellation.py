"""How a run is stopped: at once or after the step, with time for tools that end in their own way.

A `Cancellation` belongs to one run; its event tells tools, models and threads that the run is to stop now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

from riverrun.errors import ConfigError
from riverrun.streams import GRACE

CancelMode = Literal["now", "after_step"]


class RunCancelled(BaseException):
    """The run was asked to stop and is at a place where it can. Never leaves the run."""


@dataclass(slots=True, eq=False)
class _ToolCall:
    """A tool's call under way, in a task of its own or in the run's."""

    event: CancelEvent
    task: asyncio.Task[Any] | None
    waits: int = 0
    """How often it waits for the event."""


_current_call: ContextVar[_ToolCall | None] = ContextVar("riverrun_tool_call", default=None)


class CancelEvent(asyncio.Event):
    """An event that knows the tool calls under way, and which of them wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[_ToolCall] = []

    @contextmanager
    def call(self) -> Generator[None, None, None]:
        """In this block runs a tool's call, with the tasks that it makes."""
        call = _ToolCall(self, asyncio.current_task())
        token = _current_call.set(call)
        self.calls.append(call)
        try:
            yield
        finally:
            self.calls.remove(call)
            _current_call.reset(token)

    async def wait(self) -> Literal[True]:
        call = _current_call.get()
        if call is None or call.event is not self:
            return await super().wait()
        call.waits += 1
        try:
            return await super().wait()
        finally:
            call.waits -= 1


class Cancellation:
    """Whether and how a run is to stop. `event` is set when it is to stop now: tools, models and threads look at it."""

    def __init__(self) -> None:
        self.mode: CancelMode | None = None
        self.timed_out = False
        self.event = CancelEvent()
        self._task: asyncio.Task[None] | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._limit: asyncio.TimerHandle | None = None

    def request(self, mode: CancelMode) -> None:
        """Ask for the stop. "now" after "after_step" makes it sooner, never the other way round."""
        if mode not in ("now", "after_step"):
            raise ConfigError(f'a run is cancelled "now" or "after_step", not {mode!r}')
        if self.event.is_set() or mode == self.mode:
            return
        self.mode = mode
        if mode == "now":
            self.event.set()
            if self._task is not None:
                self._interrupt(self._task)

    @property
    def is_asked(self) -> bool:
        """Whether the run is to stop, now or after its step."""
        return self.mode is not None or self.event.is_set()

    def begin(self) -> None:
        """The run's task is under way and may be interrupted."""
        self._task = asyncio.current_task()

    def limit(self, seconds: float) -> None:
        """Stop the run in so many seconds, when it is not over by then."""
        self._limit = asyncio.get_running_loop().call_later(seconds, self._time_out)
        self._timers.append(self._limit)

    def lift_limit(self) -> float | None:
        """The limit holds no more. Gives the seconds that were left, if there was one."""
        if self._limit is None:
            return None
        self._limit.cancel()
        return max(0.0, self._limit.when() - asyncio.get_running_loop().time())

    def end(self) -> None:
        """The run is over."""
        self._task = None
        for timer in self._timers:
            timer.cancel()

    def _time_out(self) -> None:
        if self._task is not None and not self.event.is_set():
            self.timed_out = True
            self.event.set()
            self._task.cancel()

    def _interrupt(self, task: asyncio.Task[None]) -> None:
        """Cancel the run's task, or first those calls alone that do not wait for the cancellation themselves."""
        if not any(call.waits for call in self.event.calls):
            task.cancel()
            return
        for call in self.event.calls:
            if not call.waits and call.task is not None:
                call.task.cancel()
        self._timers.append(asyncio.get_running_loop().call_later(GRACE, task.cancel))
