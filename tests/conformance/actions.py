"""The actions of a scenario: each is performed on the world and gives its record in the form of the recordings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from riverrun import Agent, Result, Run
from tests.conformance.reading import (
    AFTER_SECONDS,
    STREAMS,
    Action,
    Beside,
    Clock,
    Reader,
    Record,
    abort_of,
    items,
    limit,
)
from tests.conformance.recall import recalled
from tests.conformance.results import cause, final, full_output, promise, rejected
from tests.conformance.scenario import World
from tests.conformance.values import dump, load


def longest(action: Action) -> float:
    """How long an action can take when nothing goes wrong in the runner, in seconds."""
    pauses: float = action.get("ms", 0) + action.get("wait_after_ms", 0)
    return limit(action) + 5 * AFTER_SECONDS + pauses / 1000


async def perform(world: World, action: Action) -> Record:
    """Perform one action; what riverrun raises is in the record."""
    return {"op": action["op"], "chunks": [], "final": {}, **await ACTIONS[action["op"]](world, action)}


# -- stream, and what goes on with a suspended run


async def _stream(world: World, action: Action) -> Record:
    start = _starter(world, action)
    try:
        run = await start()
    except Exception as error:
        return {"threw": dump(cause(error))}
    async with _ended(run), _abort_timer(run, action):
        return {"runId": run.run_id, **await _read_run(run, action)}


def _starter(world: World, action: Action) -> Callable[[], Awaitable[Run]]:
    """What starts the action's run. It is put together first: what fails then is not riverrun's fault."""
    verb = _verb(world.agent(action.get("agent")), action, world.options(action))

    async def start() -> Run:
        begun = verb()
        run = begun if isinstance(begun, Run) else await begun
        if abort_of(action).get("before"):
            run.cancel()
        return run

    return start


def _verb(agent: Agent, action: Action, options: dict[str, Any]) -> Callable[[], Run | Awaitable[Run]]:
    match action["op"]:
        case "resumeStream":
            return partial(agent.resume_stream, load(action["resumeData"]), **options)
        case "approveToolCall":
            return partial(agent.approve_tool_call, **options)
        case "declineToolCall":
            return partial(agent.decline_tool_call, **options)
        case _:
            return partial(agent.stream, load(action["input"]), **options)


async def _read_run(run: Run, action: Action) -> Record:
    """Read the run as the action says, then what it came to."""
    clock = Clock(limit(action))
    beside = Beside()
    for name in action.get("early", []):
        beside.start(name, promise(run, name))
    for name in action.get("also_read", []):
        beside.start(name, items(getattr(run, STREAMS[name])))
    record = await Reader(run, action).read(limit(action))
    await asyncio.sleep(action.get("wait_after_ms", 0) / 1000)
    if record["endedBy"] == "timeout":
        run.cancel()
    if action.get("second_reader"):
        second = await Reader(run, {}).read(clock.left())
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
    after = abort_of(action).get("after_ms")
    timer = None if after is None else asyncio.get_running_loop().call_later(after / 1000, run.cancel)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


# -- generate, recall, sleep


async def _generate(world: World, action: Action) -> Record:
    start = _starter(world, action)
    agent = world.agent(action.get("agent"))
    message, options = load(action["input"]), world.options(action)

    async def generated() -> Result:
        if not abort_of(action):
            return await agent.generate(message, **options)
        run = await start()  # `generate` gives no handle to cancel; it is `stream` and the run's result
        async with _ended(run), _abort_timer(run, action):
            return await run.result()

    try:
        async with asyncio.timeout(limit(action)) as timer:
            result = await generated()
    except Exception as error:
        return {"endedBy": "timeout"} if timer.expired() else {"threw": dump(cause(error))}
    return {"runId": result.run_id, "final": {"fullOutput": {"value": full_output(result)}}}


async def _recall(world: World, action: Action) -> Record:
    thread = await world.store.get_thread(action["thread"])
    page = await world.store.messages(action["thread"])
    return {"result": recalled(page.items, None if thread is None else thread.resource_id)}


async def _sleep(_: World, action: Action) -> Record:
    await asyncio.sleep(action["ms"] / 1000)
    return {}


ACTIONS: dict[str, Callable[[World, Action], Awaitable[Record]]] = {
    "stream": _stream,
    "resumeStream": _stream,
    "approveToolCall": _stream,
    "declineToolCall": _stream,
    "generate": _generate,
    "recall": _recall,
    "sleep": _sleep,
}
"""What performs each action."""
