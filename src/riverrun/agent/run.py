"""What the caller holds: a stream with an id, a log that many may read, and verbs to wait for it and to stop it.

The run drives itself in a task of its own, which knows the log and the cancellation but not the Run: a Run that nobody
holds any more is cancelled.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from riverrun.agent.cancellation import Cancellation, CancelMode
from riverrun.chunks import (
    ChunkType,
    ErrorChunk,
    ErrorPayload,
    FileChunk,
    FinishChunk,
    FinishPayload,
    Fold,
    Message,
    ObjectChunk,
    Response,
    Result,
    SourceChunk,
    Status,
    Step,
    StepResult,
    TextDeltaChunk,
    ToolCallChunk,
    ToolResultChunk,
    TripwirePayload,
    Usage,
)
from riverrun.errors import ConfigError, RunError, error_message
from riverrun.streams import LOOK_AHEAD, Log, Reader, spawn
from riverrun.structured import Elements, StructuredOutput
from riverrun.structured.output_type import Out

T = TypeVar("T")

Work = Callable[[Log[ChunkType], Cancellation], Coroutine[Any, Any, None]]
"""What a run does: write chunks to the log and end, cancelled or not, with the log complete."""


class Run(Generic[Out]):
    """A run under way or over. Iterate it, as often as you like, for its chunks from the first one on.

    It starts at once when an event loop runs, otherwise when it is first read or awaited. A run that is not read goes
    on for a small number of chunks only (`streams.LOOK_AHEAD`), unless it is awaited or detached. Leaving an iteration
    never stops it; `cancel` does, and so does leaving an `async with` block or dropping the last reference.
    """

    def __init__(
        self,
        work: Work,
        *,
        run_id: str,
        detached: bool = False,
        before: Sequence[ChunkType] = (),
        output: StructuredOutput[Any] | None = None,
        values: Sequence[Any] = (),
    ) -> None:
        """`before` are the chunks of a run that waited and goes on: what it comes to counts them too. `output` is what
        the answer is to be, `values` grows with the answers that were found valid.
        """
        self.run_id = run_id
        self.detached = detached
        self._work = work
        self._output = output
        self._values = values
        self._log: Log[ChunkType] = Log(look_ahead=None if detached else LOOK_AHEAD)
        self._cancellation = Cancellation()
        self._task: asyncio.Task[None] | None = None
        self._fold = Fold(resumed=bool(before))
        for chunk in before:
            self._fold.add(chunk)
        self._fold_position = 0
        self._result: Result[Out] | None = None
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        self._start()

    # -- streams

    def __aiter__(self) -> AsyncIterator[ChunkType]:
        self._start()
        return _RunReader(self, self._log)

    @property
    def full_stream(self) -> Run[Out]:
        """All chunks: the run itself, under the name that the format's other clients use."""
        return self

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """The pieces of text."""
        self._start()
        return _TextReader(self, self._log)

    @property
    def object_stream(self) -> AsyncIterator[Any]:
        """The structured answer as far as it is known, each time that more of it is. Raises ConfigError when none was
        asked for.
        """
        if self._output is None:
            raise ConfigError("object_stream needs a structured answer: give the run or its agent output=…")
        self._start()
        return _ObjectReader(self, self._log)

    @property
    def element_stream(self) -> AsyncIterator[Any]:
        """The elements of a structured answer that is a list: each once, when it is complete. Raises ConfigError when
        an object, a choice or nothing was asked for.
        """
        if self._output is None or self._output.output_type.kind in ("object", "enum"):
            raise ConfigError("element_stream needs an answer that is a list: give the run or its agent output=list[…]")
        self._start()
        return _ElementReader(self, self._log)

    @property
    def chunks(self) -> Sequence[ChunkType]:
        """The chunks so far."""
        return tuple(self._log.items)

    # -- the result

    async def result(self) -> Result[Out]:
        """Wait for the end and give what the run came to. Raises RunError when it failed."""
        self._start()
        self._log.unbind()
        while not self._log.closed:
            await self._log.change()
        return settled(self.partial)

    @property
    def partial(self) -> Result[Out]:
        """What the run has given so far; never raises."""
        if self._result is not None:
            return self._result
        result = self._folded().result()
        result.run_id = self.run_id
        if self._output is not None and result.object is not None:
            result.object = self._values[-1] if self._values else self._output.value(result.object)
        if self._log.closed:
            self._result = result
        return result

    @property
    def text(self) -> Pending[str]:
        """Awaitable: the answer's text. It and its siblings raise RunError when the run failed."""
        return Pending(self, lambda result: result.text)

    @property
    def reasoning_text(self) -> Pending[str | None]:
        """Awaitable: all reasoning, or None."""
        return Pending(self, lambda result: result.reasoning_text)

    @property
    def object(self) -> Pending[Out]:
        """Awaitable: the structured answer. None when there is none: no type was asked for, the run was cut off or
        waits, or its strategy is to go on without.
        """
        return Pending(self, lambda result: result.object)

    @property
    def tool_calls(self) -> Pending[list[ToolCallChunk]]:
        """Awaitable: all tool calls."""
        return Pending(self, lambda result: result.tool_calls)

    @property
    def tool_results(self) -> Pending[list[ToolResultChunk]]:
        """Awaitable: all tool results."""
        return Pending(self, lambda result: result.tool_results)

    @property
    def sources(self) -> Pending[list[SourceChunk]]:
        """Awaitable: all sources."""
        return Pending(self, lambda result: result.sources)

    @property
    def files(self) -> Pending[list[FileChunk]]:
        """Awaitable: all files."""
        return Pending(self, lambda result: result.files)

    @property
    def usage(self) -> Pending[Usage]:
        """Awaitable: tokens, summed over the steps."""
        return Pending(self, lambda result: result.usage)

    @property
    def total_usage(self) -> Pending[Usage]:
        """Awaitable: the same, with a total in any case."""
        return Pending(self, lambda result: result.total_usage)

    @property
    def nested_usage(self) -> Pending[Usage]:
        """Awaitable: tokens of the runs inside tools, such as agents that tasks were handed to."""
        return Pending(self, lambda result: result.nested_usage)

    @property
    def finish_reason(self) -> Pending[str | None]:
        """Awaitable: why the run ended."""
        return Pending(self, lambda result: result.finish_reason)

    @property
    def steps(self) -> Pending[list[Step]]:
        """Awaitable: the steps taken."""
        return Pending(self, lambda result: result.steps)

    @property
    def response(self) -> Pending[Response | None]:
        """Awaitable: what the provider said of its last response."""
        return Pending(self, lambda result: result.response)

    @property
    def warnings(self) -> Pending[list[Any]]:
        """Awaitable: what the provider ignores of the last request."""
        return Pending(self, lambda result: result.warnings)

    @property
    def messages(self) -> Pending[list[Message]]:
        """Awaitable: all messages, the input first: what to say again in the next turn."""
        return Pending(self, lambda result: result.messages)

    @property
    def suspend_payload(self) -> Pending[Any]:
        """Awaitable: what a suspended run waits for."""
        return Pending(self, lambda result: result.suspend_payload)

    # -- state and verbs

    @property
    def status(self) -> Status:
        """How the run stands."""
        return self.partial.status if self._log.closed else "running"

    @property
    def error(self) -> Any:
        """What failed, once an error chunk is in the log."""
        return self._folded().error

    @property
    def tripwire(self) -> TripwirePayload | None:
        """What stopped the run, once a tripwire chunk is in the log."""
        return self._folded().tripwire

    def cancel(self, mode: CancelMode = "now") -> None:
        """Stop the run: "now", or "after_step" when the step under way is done.

        The log then ends with one abort chunk and finish. Cancelling twice, or a run that is over, does nothing.
        """
        if not self._log.closed:
            self._cancellation.request(mode)

    async def leave(self) -> None:
        """End the run as the end of the program would: one that was resumed waits on in the store, any other is
        cancelled.
        """
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def __aenter__(self) -> Run[Out]:
        self._start()
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.cancel()
        self._log.unbind()
        while not self._log.closed:
            await self._log.change()

    def _folded(self) -> Fold:
        """The fold of all chunks so far: each is folded once, however often one asks."""
        for chunk in self._log.items[self._fold_position :]:
            self._fold.add(chunk)
        self._fold_position = len(self._log.items)
        return self._fold

    def _start(self) -> None:
        if self._task is None:
            self._log.loop = asyncio.get_running_loop()
            self._task = spawn(
                _drive(self._work, self._log, self._cancellation, self.run_id), name=f"riverrun {self.run_id}"
            )

    def __del__(self) -> None:
        task = self._task
        if task is None or task.done() or self.detached:
            return
        loop = task.get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._cancellation.request, "now")

    def __repr__(self) -> str:
        return f"<Run {self.run_id} {self.status}>"


async def _drive(work: Work, log: Log[ChunkType], cancellation: Cancellation, run_id: str) -> None:
    cancellation.begin()
    try:
        await work(log, cancellation)
    except Exception as error:  # a fault of the work itself, which should have ended the log
        log.write(ErrorChunk(ErrorPayload(error=error), run_id=run_id, from_="AGENT"))
        ending = StepResult(reason="error", is_continued=False)
        log.write(FinishChunk(FinishPayload(step_result=ending), run_id=run_id, from_="AGENT"))
    finally:
        cancellation.end()
        log.close()


class _RunReader(Reader[ChunkType]):
    """Keeps its run alive."""

    def __init__(self, run: Run, log: Log[ChunkType]) -> None:
        super().__init__(log, 0)
        self._run = run


class _TextReader(AsyncIterator[str]):
    def __init__(self, run: Run, log: Log[ChunkType]) -> None:
        self._reader = _RunReader(run, log)

    async def __anext__(self) -> str:
        while True:
            chunk = await self._reader.__anext__()
            if type(chunk) is TextDeltaChunk and chunk.payload.text:
                return chunk.payload.text


class _ObjectReader(AsyncIterator[Any]):
    def __init__(self, run: Run, log: Log[ChunkType]) -> None:
        self._reader = _RunReader(run, log)

    async def __anext__(self) -> Any:
        while True:
            chunk = await self._reader.__anext__()
            if isinstance(chunk, ObjectChunk):
                return chunk.object


class _ElementReader(AsyncIterator[Any]):
    def __init__(self, run: Run, log: Log[ChunkType]) -> None:
        self._reader = _RunReader(run, log)
        self._elements = Elements()
        self._ready: deque[Any] = deque()

    async def __anext__(self) -> Any:
        while not self._ready:
            self._ready.extend(self._elements.add(await self._reader.__anext__()))
        return self._ready.popleft()


class Pending(Generic[T]):
    """A value that is known when the run is over: `await` it, as often as you like."""

    def __init__(self, run: Run, pick: Callable[[Result], T]) -> None:
        self._run = run
        self._pick = pick

    def __repr__(self) -> str:
        return f"<value of {self._run!r}, to be awaited>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"no attribute '{name}': this value is known at the run's end; await it first")

    def __await__(self) -> Generator[Any, None, T]:
        result = yield from self._run.result().__await__()
        return self._pick(result)


def settled(result: Result[Out]) -> Result[Out]:
    """The result of a run that is over; raises RunError when it failed."""
    if result.status != "failed":
        return result
    error = result.error
    cause = error if isinstance(error, BaseException) else None
    raise RunError(
        f"run {result.run_id} failed: {error_message(error)}", run_id=result.run_id or "", partial=result
    ) from cause
