"""A run's tie to the store: what it remembers, what it leaves there when it waits, and what when it is over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from riverrun.agent.history import history, result_ids
from riverrun.agent.saved import SavedRun, pending_call
from riverrun.agent.toolcalls import Wait
from riverrun.chunks import Message, SystemMessage, UserMessage
from riverrun.errors import ConfigError, RunNotSuspendedError, StoreError
from riverrun.store import AnyStore, Snapshot, StoredMessage, Thread
from riverrun.streams import brought_to_end, spawn

_AT_ONCE = 1000
"""How many messages are deleted at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What an agent remembers of a thread. It needs a store, and runs with a `thread_id` and a `resource_id` (without
    one the thread is its own).

    `last_messages` of the thread stand before a run's input (0: none); of calls that have no result the model is told
    why. What was said is saved when the run ends, fails, waits or is cancelled, with `save_per_step` after each step
    too; never with `read_only`. When a processor stops a run, or it fails before it says anything, nothing of it is
    kept. `generate_title` asks the model for a title when the thread has none. Raises ConfigError for another number
    of messages than 0 to 1000.
    """

    last_messages: int = 10
    read_only: bool = False
    save_per_step: bool = False
    generate_title: bool = False

    def __post_init__(self) -> None:
        number = self.last_messages
        if not (isinstance(number, int) and 0 <= number <= 1000):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"Memory: last_messages is a number from 0 to 1000, not {self.last_messages!r}")


class Keeper:
    """Keeps one run. `message_id` begins the ids of its messages in the thread, the same when it is resumed; `held` is
    what a resumed run was claimed as.
    """

    def __init__(
        self,
        store: AnyStore,
        *,
        run_id: str,
        message_id: str,
        agent_id: str,
        memory: Memory | None,
        thread_id: str | None,
        resource_id: str | None,
        held: Snapshot | None,
        parent_run_id: str | None,
        lease: float,
    ) -> None:
        self._store = store
        self._run_id = run_id
        self._message_id = message_id
        self._agent_id = agent_id
        self._memory = memory if thread_id is not None else None
        self._thread_id = thread_id
        self._resource_id = resource_id or thread_id
        self._held = held
        self._parent_run_id = parent_run_id
        self._lease = lease
        self._renewing: asyncio.Task[None] | None = None
        self._lost = False
        self._saved = 0
        self.has_inner_runs = False
        """Whether runs inside of this one wait, of which nothing is to be left when it is over."""

    @property
    def thread_id(self) -> str | None:
        """The thread that the run belongs to."""
        return self._thread_id

    @property
    def resource_id(self) -> str | None:
        """Whom the thread belongs to."""
        return self._resource_id

    @property
    def is_lost(self) -> bool:
        """Whether the run is no longer this process's, but another's that has or may take it: nothing is written."""
        return self._lost

    # -- what the run remembers

    async def recall(self, given: Sequence[Message]) -> tuple[list[Message], list[Message]]:
        """The last messages of the thread, and what of the input is to stand behind them: not what it says again, by
        the ids of its messages, unless it is the user's last word, which is asked anew. Raises ConfigError for a thread
        of another resource.
        """
        if self._memory is None or self._thread_id is None or await self._thread() is None:
            return [], [*given]
        last = await self._store.last_messages(self._thread_id, self._memory.last_messages)
        known = {item.id: item.message for item in last}
        asked = given[-1] if given and isinstance(given[-1], UserMessage) else None
        new = [message for message in given if message is asked or _id(message, "") not in known]
        kept = _kept([message for id, message in known.items() if asked is None or id != _id(asked, "")])
        waiting = (await self._store.list_snapshots(thread_id=self._thread_id)).items
        calls = {call.tool_call_id: call.kind for snapshot in waiting for call in snapshot.calls}
        return history(kept, waiting=calls, answered=result_ids(given)), new

    async def _thread(self) -> Thread | None:
        """The run's thread, if there is one already. Raises ConfigError when it is another resource's."""
        thread = await self._store.get_thread(self._thread_id) if self._thread_id is not None else None
        if thread is not None and thread.resource_id != self._resource_id:
            raise ConfigError(f"the thread '{self._thread_id}' belongs to another resource than '{self._resource_id}'")
        return thread

    def has_saved(self, messages: Sequence[Message]) -> None:
        """These messages were saved already, when the run began to wait."""
        self._saved = len(_kept(messages))

    async def save(self, messages: Sequence[Message]) -> None:
        """Save what was said so far. Raises StoreError when another process has the run by now."""
        stored = await self._stored(messages)
        if self._held is None:
            await self._store.save_messages(stored)
        elif not await self._store.renew(self._run_id, self._held.attempt, lease=self._lease, messages=stored):
            raise self._taken_over()

    @property
    def saves_steps(self) -> bool:
        """Whether each step is saved when it is over."""
        return self._memory is not None and self._memory.save_per_step

    async def wants_title(self) -> bool:
        """Whether the thread is to get a title."""
        memory = self._memory
        if memory is None or self._thread_id is None or memory.read_only or not memory.generate_title:
            return False
        thread = await self._thread()
        return thread is None or thread.title is None

    async def save_title(self, title: str) -> None:
        """Give the thread its title."""
        thread = await self._thread()
        if thread is not None:
            await self._store.save_thread(replace(thread, title=title))

    # -- runs that wait

    async def suspend(self, saved: SavedRun, waits: Sequence[Wait], messages: Sequence[Message]) -> None:
        """Leave the run in the store. Raises StoreError when another process has it by now."""
        snapshot = Snapshot(
            run_id=self._run_id,
            agent_id=self._agent_id,
            attempt=0 if self._held is None else self._held.attempt,
            thread_id=self._thread_id,
            resource_id=self._resource_id,
            parent_run_id=self._parent_run_id,
            calls=[pending_call(wait) for wait in waits],
            state=saved.state(),
        )
        try:
            is_kept = await self._store.suspend(snapshot, await self._stored(messages))
        except StoreError:
            self._lost = self._held is None and await self._store.get_snapshot(self._run_id) is not None
            raise
        if not is_kept:
            raise self._taken_over()

    async def give_back(self) -> None:
        """Let others resume a claimed run at once, from where it was claimed."""
        if self._held is not None:
            self._lost = True
            await self._store.suspend(self._held)

    async def finish(self, messages: Sequence[Message]) -> None:
        """The run is over: save what was said. Raises StoreError when another process has the run by now."""
        before = self._saved
        stored = await self._stored(messages)
        if self._held is None:
            await self._store.save_messages(stored)
            await self._forget_inner_runs()
        elif not await self._store.finish(self._run_id, self._held.attempt, stored):
            raise self._taken_over()
        self._held = None
        await self._drop(len(stored), before)

    def check(self) -> None:
        """Raises StoreError when another process has the run by now."""
        if self._lost:
            raise self._taken_over()

    def _taken_over(self) -> StoreError:
        self._lost = True
        return StoreError(f'the run "{self._run_id}" was taken over by another process; nothing was written')

    async def forget(self) -> None:
        """The run is over and nothing of it is kept, not even what was saved after a step or when it waited."""
        if self._lost:
            return
        if self._held is None:
            await self._forget_inner_runs()
            await self._drop(0, self._saved)
        elif await self._store.finish(self._run_id, self._held.attempt):
            await self._drop(0, self._saved)

    async def _forget_inner_runs(self) -> None:
        if self.has_inner_runs:
            await self._store.discard(self._run_id)

    async def _drop(self, begin: int, end: int) -> None:
        """Delete what was saved of the run's messages from one place to another."""
        if self._thread_id is not None and self._stores:
            for first in range(begin, end, _AT_ONCE):
                places = range(first, min(end, first + _AT_ONCE))
                await self._store.delete_messages(self._thread_id, [self._place(place) for place in places])

    def hold(self) -> None:
        """From now on hold a run that was claimed: its lease is renewed until `release`."""
        if self._held is not None:
            self._renewing = spawn(self._renew(self._held.attempt), name=f"hold {self._run_id}")

    async def release(self) -> None:
        """The run is over or waits."""
        if self._renewing is not None:
            self._renewing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._renewing

    async def _renew(self, attempt: int) -> None:
        held = True
        while held:
            await asyncio.sleep(self._lease / 3)
            with contextlib.suppress(Exception):  # when the store fails until the lease is over, another may have it
                held = await self._store.renew(self._run_id, attempt, lease=self._lease)
        self._lost = self._held is not None

    async def _stored(self, messages: Sequence[Message]) -> list[StoredMessage]:
        """The messages as the store keeps them: none for a run that keeps nothing."""
        said = _kept(messages)
        if not said or not self._stores or self._thread_id is None or self._resource_id is None:
            return []
        if await self._thread() is None:
            await self._store.save_thread(Thread(id=self._thread_id, resource_id=self._resource_id))
        self._saved = len(said)
        return [
            StoredMessage(id=_id(message, self._place(place)), thread_id=self._thread_id, message=message)
            for place, message in enumerate(said)
        ]

    @property
    def _stores(self) -> bool:
        return self._memory is not None and not self._memory.read_only

    def _place(self, place: int) -> str:
        """The id of the run's message at a place, unless it has one of its own."""
        return f"{self._message_id}:{place}"


async def claimed(store: AnyStore, run_id: str, *, agent_id: str, parent_run_id: str | None, lease: float) -> Snapshot:
    """Take a suspended run. Raises RunNotSuspendedError when there is none, another holds it, or it is part of a run
    that is not the caller's.
    """
    found = await store.get_snapshot(run_id)
    if found is None:
        raise RunNotSuspendedError(run_id, "there is no suspended run of this id; it may be over by now")
    if found.agent_id != agent_id:
        raise RunNotSuspendedError(run_id, f"it is a run of the agent '{found.agent_id}'")
    if found.parent_run_id not in (None, parent_run_id):
        raise RunNotSuspendedError(run_id, f'it is part of the run "{found.parent_run_id}", which is to be resumed')
    claiming = spawn(store.claim(run_id, lease=lease))
    try:
        held = await asyncio.shield(claiming)
    except asyncio.CancelledError:
        with contextlib.suppress(Exception):
            await brought_to_end(asyncio.wait_for(_give_back(store, claiming), lease))
        raise
    if held is None:
        raise RunNotSuspendedError(run_id, "it is being resumed already")
    return held


async def _give_back(store: AnyStore, claiming: asyncio.Task[Snapshot | None]) -> None:
    """Whoever claimed the run is gone: let others have it."""
    held = await claiming
    if held is not None:
        await store.suspend(held)


def _kept(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if not isinstance(message, SystemMessage)]


def _id(message: Message, usual: str) -> str:
    own = getattr(message, "id", None)
    return own if isinstance(own, str) and own else usual
