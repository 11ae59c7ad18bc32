"""Processes beside the test's own: `python -m tests.store.children TASK URL`, and how a test talks to them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection

from riverrun.chunks import TextPart, UserMessage
from riverrun.store import Snapshot, Store, StoredMessage, Thread, snapshots

ROOT = Path(__file__).resolve().parents[2]

# -- the test's side


class Child:
    """A process that says a line and waits for one."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def heard(self) -> str:
        """The next line that it says."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the child has ended"
        return line.strip()

    def go(self) -> None:
        """Let it go on."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """End it without a chance to clean up."""
        self._process.kill()
        self._process.wait(10)


@contextmanager
def child(task: str, url: str) -> Iterator[Child]:
    """A process doing a task; it ends with the block."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.store.children", task, url]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    ) as process:
        try:
            yield Child(process)
        finally:
            process.kill()


@contextmanager
def children(task: str, url: str, count: int) -> Iterator[list[Child]]:
    """Several processes doing the same, each after its first line."""
    with ExitStack() as stack:
        started = [stack.enter_context(child(task, url)) for _ in range(count)]
        for each in started:
            assert each.heard() == "ready"
        for each in started:
            each.go()
        yield started


# -- the child's side


def say(line: object) -> None:
    print(line, flush=True)


async def cue() -> None:
    """Say that all is ready and wait for the test."""
    say("ready")
    await asyncio.to_thread(sys.stdin.readline)


def batch(name: str) -> list[StoredMessage]:
    """Ten messages for the thread "t"."""
    message = UserMessage([TextPart("x" * 2000)])
    return [StoredMessage(id=f"{name}/{place}", thread_id="t", message=message) for place in range(10)]


async def opens(url: str) -> None:
    await cue()
    async with await Store.open(url) as store:
        await store.save_thread(Thread(id="t", resource_id="user"))
    say("opened")


async def claims(url: str) -> None:
    async with await Store.open(url) as store:
        await cue()
        taken = await asyncio.gather(*(store.claim("r", lease=60) for _ in range(4)))
    say(sum(snapshot is not None for snapshot in taken))


async def saves(url: str) -> None:
    async with await Store.open(url) as store:
        await cue()
        for number in range(30):
            await store.save_messages(batch(f"{os.getpid()}/{number}"))
    say("saved")


async def stops_half_way(url: str) -> None:
    """Suspends a run with its messages, in a transaction that never ends."""

    async def suspend_and_wait(connection: AsyncConnection, snapshot: Snapshot, store: Store) -> None:
        assert await snapshots.suspend(connection, snapshot, batch("half"), store._now())
        say("half")
        await asyncio.Event().wait()

    async with await Store.open(url) as store:
        await store._database.write(suspend_and_wait, Snapshot(run_id="half", agent_id="a"), store)


async def suspends(url: str) -> None:
    """Suspends runs with messages, one after the other, until it is killed."""
    async with await Store.open(url) as store:
        await cue()
        for number in range(100_000):
            run_id = f"{os.getpid()}-{number}"
            assert await store.suspend(Snapshot(run_id=run_id, agent_id="a"), batch(run_id))
            say(run_id)


TASKS: dict[str, Callable[[str], Awaitable[None]]] = {
    task.__name__: task for task in (opens, claims, saves, stops_half_way, suspends)
}


async def main(task: str, url: str) -> None:
    await TASKS[task](url)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
