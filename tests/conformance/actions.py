"""The actions of a scenario: each is performed on the world and gives its record in the form of the recordings."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from riverrun import Result, Run
from tests.conformance.options import call_options
from tests.conformance.results import cause, final, full_output, promise, rejected
from tests.conformance.scenario import World
from tests.conformance.values import dump, load

Action = Mapping[str, Any]
Record = dict[str, Any]

LIMIT_SECONDS = 30.0
AFTER_SECONDS = 6.0
"""What there is at least for what follows the reading: a cancelled run gives its tools 5 s."""
STREAMS = {"textStream": "text_stream", "fullStream": "full_stream"}
"""The recordings' name of a stream that may be read besides → riverrun's name of it."""


def limit(action: Action) -> float:
    """How long a run may be read, in seconds."""
    return float(action.get("timeout_ms", LIMIT_SECONDS * 1000) / 1000)


def longest(action: Action) -> float:
    """How long an action can take when nothing goes wrong in the runner, in seconds."""
    return limit(action) + 5 * AFTER_SECONDS + (action.get("ms", 0) + action.get("wait_after_ms", 0)) / 1000


async def perform(world: World, action: Action) -> Record:
    """Perform one action; what riverrun raises is in the record."""
    return {"op": action["op"], "chunks": [], "final": {}, **await ACTIONS[action["op"]](world, action)}


# -- stream


async def _stream(world: World, action: Action) -> Record:
    start = _starter(world, action)
    try:
        run = start()
    except Exception as error:
        return {"threw": dump(cause(error))}
    async with _ended(run), _abort_timer(run, action):
        return {"runId": run.run_id, **await _read_run(run, action)}


def _starter(world: World, action: Action) -> Callable[[], Run]:
    """What starts the action's run. It is put together first: what fails then is not riverrun's fault."""
    agent = world.agent(action.get("agent"))
    message, options = load(action["input"]), call_options(action.get("options", {}))

    def start() -> Run:
        run = agent.stream(message, **options)
        if _abort(action).get("before"):
            run.cancel()
        return run

    return start


def _abort(action: Action) -> Mapping[str, Any]:
    abort: Mapping[str, Any] = action.get("options", {}).get("abort", {})
    return abort


async def _read_run(run: Run, action: Action) -> Record:
    """Read the run as the action says, then what it came to."""
    clock = _Clock(limit(action))
    beside = _Beside()
    for name in action.get("early", []):
        beside.start(name, promise(run, name))
    for name in action.get("also_read", []):
        beside.start(name, _items(getattr(run, STREAMS[name])))
    record = await _Reader(run, action).read(limit(action))
    await asyncio.sleep(action.get("wait_after_ms", 0) / 1000)
    if record["endedBy"] == "timeout":
        run.cancel()
    if action.get("second_reader"):
        second = await _Reader(run, {}).read(clock.left())
        record["secondReader"] = {"endedBy": second["endedBy"], "types": [c["type"] for c in second["chunks"]]}
    whole = await _whole(run, clock.left())
    known = await beside.finish(clock.left())
    record["final"] = await final(run) | {name: known[name] for name in action.get("also_read", [])}
    if action.get("early"):
        record["final"]["early"] = {name: known[name] for name in action["early"]}
    if action.get("full_output"):
        record["final"]["fullOutput"] = whole
    return record


async def _whole(run: Run, seconds: float) -> Record:
    """Wait for the run to end, as promises do, and give its result as one object."""
    try:
        async with asyncio.timeout(seconds):
            return {"value": full_output(await run.result())}
    except Exception as error:
        return rejected(error)


class _Clock:
    """The time that an action has."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds until its end, and never nothing."""
        return max(AFTER_SECONDS, self._end - time.monotonic())


async def _items(stream: AsyncIterable[Any]) -> Record:
    return {"value": [dump(item) async for item in stream]}


class _Beside:
    """What goes on while a run is read: awaited promises and other streams."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Record]] = {}

    def start(self, name: str, work: Coroutine[Any, Any, Record]) -> None:
        self._tasks[name] = asyncio.create_task(work)

    async def finish(self, seconds: float) -> dict[str, Record]:
        """What each came to. One that does not end in time is cancelled and says so."""
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=seconds)
        return {name: await self._end(task) for name, task in self._tasks.items()}

    async def _end(self, task: asyncio.Task[Record]) -> Record:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
            return {"pending": True}
        error = task.exception()
        return task.result() if error is None else rejected(error)


class _Countdown:
    """Strikes once: at the `count`-th chunk of type `on_type`."""

    def __init__(self, on_type: str, count: int) -> None:
        self._type = on_type
        self._left = count

    def strikes(self, chunk_type: str) -> bool:
        if chunk_type != self._type:
            return False
        self._left -= 1
        return self._left == 0


class _Reader:
    """Reads a run's chunks and does at certain chunks what the action says."""

    def __init__(self, run: Run, action: Action) -> None:
        self._run = run
        self._chunks: list[Record] = []
        self._stop: _Countdown | None = None
        self._deeds: list[tuple[_Countdown, Callable[[], Any]]] = []
        self._expect(action)

    def _expect(self, action: Action) -> None:
        stop = action.get("stop_after")
        if stop is not None:
            self._stop = _Countdown(stop["type"], stop.get("count", 1))
        abort = _abort(action)
        hooks = [{**abort, "do": "abort"}] if "on_type" in abort else []
        for hook in [*hooks, *action.get("hooks", [])]:
            self._deeds.append((_Countdown(hook["on_type"], hook.get("count", 1)), self._run.cancel))

    async def read(self, seconds: float) -> Record:
        """The chunks, and why there were no more."""
        record: Record = {"chunks": self._chunks}
        try:
            async with asyncio.timeout(seconds) as timer:
                record["endedBy"] = await self._read()
        except TimeoutError as error:
            record["endedBy"] = "timeout" if timer.expired() else "stream-error"
            if not timer.expired():
                record["streamError"] = dump(error)
        except Exception as error:
            record["endedBy"] = "stream-error"
            record["streamError"] = dump(error)
        return record

    async def _read(self) -> str:
        async for chunk in self._run:
            self._chunks.append(dump(chunk))
            for countdown, deed in self._deeds:
                if countdown.strikes(chunk.type):
                    deed()
            if self._stop is not None and self._stop.strikes(chunk.type):
                return "reader-cancel"
        return "close"


@asynccontextmanager
async def _ended(run: Run) -> AsyncIterator[None]:
    """A run that is over when the block is left, whatever happened in it."""
    try:
        yield
    finally:
        run.cancel()  # does nothing to a run that is over
        with suppress(Exception):
            async with asyncio.timeout(AFTER_SECONDS):
                await run.result()


@asynccontextmanager
async def _abort_timer(run: Run, action: Action) -> AsyncIterator[None]:
    """Cancel the run after the time that the action names."""
    after = _abort(action).get("after_ms")
    timer = None if after is None else asyncio.get_running_loop().call_later(after / 1000, run.cancel)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


# -- generate, sleep


async def _generate(world: World, action: Action) -> Record:
    start = _starter(world, action)
    agent = world.agent(action.get("agent"))
    message, options = load(action["input"]), call_options(action.get("options", {}))

    async def generated() -> Result:
        if not _abort(action):
            return await agent.generate(message, **options)
        run = start()  # `generate` gives no handle to cancel; it is `stream` and the run's result
        async with _ended(run), _abort_timer(run, action):
            return await run.result()

    try:
        async with asyncio.timeout(limit(action)) as timer:
            result = await generated()
    except Exception as error:
        return {"endedBy": "timeout"} if timer.expired() else {"threw": dump(cause(error))}
    return {"runId": result.run_id, "final": {"fullOutput": {"value": full_output(result)}}}


async def _sleep(_: World, action: Action) -> Record:
    await asyncio.sleep(action["ms"] / 1000)
    return {}


ACTIONS: dict[str, Callable[[World, Action], Awaitable[Record]]] = {
    "stream": _stream,
    "generate": _generate,
    "sleep": _sleep,
}
