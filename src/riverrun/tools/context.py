"""What a running tool knows of its call, and its way to write into the run's stream."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NoReturn

from msgspec import UNSET

from riverrun.chunks import (
    ChunkType,
    DataChunk,
    Message,
    ToolOutputChunk,
    ToolOutputPayload,
)
from riverrun.chunks.codec import plain
from riverrun.errors import TripwireError
from riverrun.schema import Validator
from riverrun.streams import spawn, submit
from riverrun.tools.suspension import CallSuspended, NestedWait
from riverrun.tools.validation import snapshot

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Deps_co = TypeVar("Deps_co", covariant=True, default=object)
else:
    from typing import TypeVar

    Deps_co = TypeVar("Deps_co", covariant=True)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _finished(delivery: Awaitable[None]) -> None:
    with suppress(TripwireError):  # which has stopped the run
        await delivery


@dataclass(frozen=True, kw_only=True, eq=False)
class ToolContext(Generic[Deps_co]):
    """One call, seen from inside the tool. A parameter with this annotation gets it: `ctx: ToolContext[Deps]`.

    `messages` is the conversation that led to the call; `deps` is what the caller of the run passed for its tools.
    The loop makes one for each call: `emit_chunk` puts a chunk into the run's stream (at once, or when it is awaited),
    `room` waits until the stream takes more, `cancelled_event` is set when the run is cancelled, `resumed` are the
    answers to what the tool has asked for by `suspend` so far, of which `answers` makes what the tool is given;
    `resumed_attempt` is that of the NestedWait which the last one answers, if it does.
    """

    run_id: str
    agent_id: str
    tool_call_id: str
    tool_name: str
    deps: Deps_co
    messages: Sequence[Message] = field(repr=False)
    emit_chunk: Callable[[ChunkType], Awaitable[None] | None] = field(repr=False)
    cancelled_event: asyncio.Event = field(repr=False)
    room: Callable[[], Awaitable[None]] | None = field(default=None, repr=False)
    resumed: Sequence[Any] = field(default=(), repr=False)
    resumed_attempt: int | None = field(default=None, repr=False)
    answers: Validator | None = field(default=None, repr=False)
    thread_id: str | None = field(default=None, repr=False)
    resource_id: str | None = field(default=None, repr=False)
    _questions: list[Any] = field(default_factory=list[Any], init=False, repr=False)
    _waits: list[NestedWait] = field(default_factory=list[NestedWait], init=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = field(default_factory=_running_loop, init=False, repr=False)
    _ended: asyncio.Event = field(default_factory=asyncio.Event, init=False, repr=False)
    _deliveries: list[Future[None]] = field(default_factory=list["Future[None]"], init=False, repr=False)

    async def write(self, value: object) -> None:
        """Stream a chunk or any value as `tool-output`; waits while the stream is full.

        Raises TypeError for a value without a JSON form, RuntimeError when the call has ended.
        """
        await self._deliver(self._output(value))

    async def emit(self, name: str, data: object = UNSET, *, id: str | None = None, transient: bool = False) -> None:
        """Stream a chunk of the program's own: `emit("progress", …)` gives `data-progress`.

        A name that begins with `data-` is taken as it is. A transient chunk is streamed and never stored. Raises as
        `write` does.
        """
        await self._deliver(self._data(name, data, id, transient))

    def write_sync(self, value: object) -> None:
        """`write` for tools that are plain functions: these run in a thread, which waits while the stream is full."""
        self._deliver_sync(self._output(value))

    def emit_sync(self, name: str, data: object = UNSET, *, id: str | None = None, transient: bool = False) -> None:
        """`emit` for tools that are plain functions."""
        self._deliver_sync(self._data(name, data, id, transient))

    async def suspend(self, payload: object = None) -> Any:
        """Ask the caller of the run for something, with a payload that says for what; gives the answer.

        The run stops, for as long as it takes and in this process or another, until `resume_stream` brings the answer.
        The tool is then run again from its beginning: a `suspend` that has its answer gives it at once, so what stands
        before it is done again. Several suspends get their answers in their order. Raises TypeError for a payload
        without a JSON form.
        """
        return self.suspend_sync(payload)

    def suspend_sync(self, payload: object = None) -> Any:
        """`suspend` for tools that are plain functions."""
        number = len(self._questions)
        self._questions.append(snapshot(payload, what=f'What tool "{self.tool_name}" suspended with'))
        if number < len(self.resumed):
            answer = plain(self.resumed[number])  # a copy: the tool may change it, and is given it again
            return answer if self.answers is None else self.answers.validate(answer)
        raise CallSuspended

    def suspend_with(self, wait: NestedWait) -> NoReturn:
        """Wait for what a run inside the tool waits for. The answer is the last of `resumed` when it runs again."""
        self._waits.append(wait)
        raise CallSuspended

    @property
    def is_suspended(self) -> bool:
        """Whether the tool waits for an answer, whatever it did after it asked."""
        return bool(self._waits) or len(self._questions) > len(self.resumed)

    @property
    def question(self) -> Any:
        """What the tool waits for: the first that has no answer, should it have gone on to ask for more."""
        return self._questions[len(self.resumed)]

    @property
    def nested_wait(self) -> NestedWait | None:
        """What a run inside the tool waits for, if it is that."""
        return self._waits[-1] if self._waits else None

    @property
    def cancelled(self) -> bool:
        """Whether the run is cancelled. Tools that are plain functions look at it, since a thread cannot be stopped."""
        return self.cancelled_event.is_set()

    async def wait_cancelled(self) -> None:
        """Wait until the run is cancelled."""
        await self.cancelled_event.wait()

    def end(self) -> None:
        """The call is over: from now on writing raises, also in a thread that still waits for room."""
        self._ended.set()
        for delivery in tuple(self._deliveries):
            delivery.cancel()

    def _output(self, value: object) -> ToolOutputChunk:
        output = snapshot(value, what=f'What tool "{self.tool_name}" wrote')
        payload = ToolOutputPayload(output=output, tool_call_id=self.tool_call_id, tool_name=self.tool_name)
        return ToolOutputChunk(payload, run_id=self.run_id, from_="USER")

    def _data(self, name: str, data: object, id: str | None, transient: bool) -> DataChunk:
        if data is not UNSET:
            data = snapshot(data, what=f'The data that tool "{self.tool_name}" emitted')
        kind = name if name.startswith("data-") else f"data-{name}"
        return DataChunk(type=kind, data=data, id=id, transient=transient or None, run_id=self.run_id)

    async def _deliver(self, chunk: ChunkType) -> None:
        if self.room is not None and not self._ended.is_set():
            await self.room()
        delivered = self._put(chunk)
        if delivered is not None:
            await delivered

    def _deliver_sync(self, chunk: ChunkType) -> None:
        if self._loop is None or self._loop is _running_loop():
            delivered = self._put(chunk)
            if delivered is not None:
                spawn(_finished(delivered), name="tool output")
            return
        delivery = submit(self._deliver(chunk), self._loop)
        self._deliveries.append(delivery)
        if self._ended.is_set():  # by the loop, which did not know of this delivery
            delivery.cancel()
        try:
            delivery.result()
        except CancelledError:
            raise self._too_late() from None
        finally:
            self._deliveries.remove(delivery)

    def _put(self, chunk: ChunkType) -> Awaitable[None] | None:
        if self._ended.is_set():
            raise self._too_late()
        return self.emit_chunk(chunk)

    def _too_late(self) -> RuntimeError:
        return RuntimeError(f'the call of tool "{self.tool_name}" has ended: it can write no more')
