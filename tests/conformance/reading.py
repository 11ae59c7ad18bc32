"""Reading a run as an action says: until when, what is done at which chunk, and what goes on beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, Callable, Coroutine, Mapping
from typing import Any

from riverrun import Run
from riverrun.chunks import ChunkType, ResponseMetadataChunk, ToolOutputChunk
from tests.conformance.results import rejected
from tests.conformance.values import dump

Action = Mapping[str, Any]
Record = dict[str, Any]

LIMIT_SECONDS = 30.0
AFTER_SECONDS = 6.0
"""What there is at least for what follows the reading: a cancelled run gives its tools 5 s."""
STREAMS = {
    "textStream": "text_stream",
    "fullStream": "full_stream",
    "objectStream": "object_stream",
    "elementStream": "element_stream",
}
"""The recordings' name of a stream that may be read besides → riverrun's name of it."""


def limit(action: Action) -> float:
    """How long a run may be read, in seconds."""
    return float(action.get("timeout_ms", LIMIT_SECONDS * 1000) / 1000)


def abort_of(action: Action) -> Mapping[str, Any]:
    """When the action aborts its run; empty: never."""
    abort: Mapping[str, Any] = action.get("options", {}).get("abort", {})
    return abort


class Clock:
    """The time that an action has."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds until its end, and never nothing."""
        return max(AFTER_SECONDS, self._end - time.monotonic())


class Reader:
    """Reads a run's chunks and does at certain chunks what the action says."""

    def __init__(self, run: Run, action: Action) -> None:
        self._run = run
        self._chunks: list[Record] = []
        self._stop: Countdown | None = None
        self._deeds: list[tuple[Countdown, Callable[[], Any]]] = []
        self._expect(action)

    def _expect(self, action: Action) -> None:
        stop = action.get("stop_after")
        if stop is not None:
            self._stop = Countdown(stop["type"], stop.get("count", 1))
        abort = abort_of(action)
        hooks = [{**abort, "do": "abort"}] if "on_type" in abort else []
        for hook in [*hooks, *action.get("hooks", [])]:
            self._deeds.append((Countdown(hook["on_type"], hook.get("count", 1)), self._run.cancel))

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
            if _is_recorded(chunk):
                self._chunks.append(dump(chunk))
            for countdown, deed in self._deeds:
                if countdown.strikes(chunk.type):
                    deed()
            if self._stop is not None and self._stop.strikes(chunk.type):
                return "reader-cancel"
        return "close"


def _is_recorded(chunk: ChunkType) -> bool:
    """Whether the recordings have such chunks. Agents tell no response-metadata there; where it is a chunk of the run's
    own, those who compare leave it out, but not where it is one of an agent inside a tool.
    """
    return not (isinstance(chunk, ToolOutputChunk) and isinstance(chunk.payload.output, ResponseMetadataChunk))


class Countdown:
    """Strikes once: at the `count`-th chunk of type `on_type`."""

    def __init__(self, on_type: str, count: int) -> None:
        self._type = on_type
        self._left = count

    def strikes(self, chunk_type: str) -> bool:
        """Count a chunk; whether it is the one."""
        if chunk_type != self._type:
            return False
        self._left -= 1
        return self._left == 0


class Beside:
    """What goes on while a run is read: awaited promises and other streams."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Record]] = {}

    def start(self, name: str, work: Coroutine[Any, Any, Record]) -> None:
        """Let `work` go on under this name."""
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


async def items(stream: AsyncIterable[Any]) -> Record:
    """A whole stream, in the form of a promise."""
    return {"value": [dump(item) async for item in stream]}
