"""A store for agents without a database: dicts, gone with the process.

What goes in and what comes out is copied: nobody changes a kept record by changing his own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from riverrun.errors import StoreError
from riverrun.store.any_store import AnyStore
from riverrun.store.checks import check_attempt, check_id, check_ids, check_lease, check_page
from riverrun.store.copies import copy_of_message, copy_of_snapshot, copy_of_thread
from riverrun.store.records import UNSAVED, Page, Snapshot, StoredMessage, Thread

T = TypeVar("T")


class InMemoryStore(AnyStore):
    """Threads, messages and suspended runs in this process alone.

        agent = Agent("a", model=…, store=InMemoryStore())

    Any number of event loops and threads may share one. It keeps all until that is deleted. `clock` gives the time in
    seconds since 1970, as time.time does.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()  # nothing is awaited while it is held
        self._threads: dict[str, Thread] = {}
        self._messages: dict[str, dict[str, StoredMessage]] = {}  # of each thread, in their order
        self._snapshots: dict[str, Snapshot] = {}

    async def aclose(self) -> None:
        """There is nothing to wait for, and the records stay: code for both kinds of store calls this."""

    async def __aenter__(self) -> InMemoryStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<InMemoryStore {len(self._threads)} threads, {len(self._snapshots)} suspended runs>"

    # -- threads

    async def save_thread(self, thread: Thread) -> Thread:
        now = self._now()
        new = copy_of_thread(thread)
        with self._lock:
            kept = self._threads.get(new.id) or replace(new, created_at=_moment(new.created_at, now))
            if kept.resource_id != new.resource_id:
                raise StoreError(
                    f"thread {new.id} belongs to another resource than {new.resource_id}, and stays with it"
                )
            saved = self._threads[new.id] = replace(kept, title=new.title, metadata=new.metadata, updated_at=now)
            self._messages.setdefault(new.id, {})
        return copy_of_thread(saved)

    async def get_thread(self, thread_id: str) -> Thread | None:
        check_id("thread_id", thread_id)
        kept = self._threads.get(thread_id)
        return kept and copy_of_thread(kept)

    async def list_threads(self, resource_id: str, *, limit: int = 100, offset: int = 0) -> Page[Thread]:
        check_id("resource_id", resource_id)
        check_page(limit, offset)
        own = [thread for thread in list(self._threads.values()) if thread.resource_id == resource_id]
        own.sort(key=lambda thread: (thread.created_at, thread.id), reverse=True)
        return _page(own, limit, offset, copy_of_thread)

    async def delete_thread(self, thread_id: str) -> bool:
        check_id("thread_id", thread_id)
        with self._lock:
            for run_id in [kept.run_id for kept in self._snapshots.values() if kept.thread_id == thread_id]:
                self._forget(run_id)
            self._messages.pop(thread_id, None)
            return self._threads.pop(thread_id, None) is not None

    # -- messages

    async def save_messages(self, saved: Sequence[StoredMessage], /) -> None:
        messages = [copy_of_message(message) for message in saved]
        with self._lock:
            self._put(messages, self._now())

    async def last_messages(self, thread_id: str, limit: int) -> list[StoredMessage]:
        check_id("thread_id", thread_id)
        check_page(limit)
        own = list(self._messages.get(thread_id, {}).values())
        return [copy_of_message(message) for message in own[max(0, len(own) - limit) :]]

    async def messages(self, thread_id: str, *, limit: int = 100, offset: int = 0) -> Page[StoredMessage]:
        check_id("thread_id", thread_id)
        check_page(limit, offset)
        return _page(list(self._messages.get(thread_id, {}).values()), limit, offset, copy_of_message)

    async def delete_messages(self, thread_id: str, ids: Sequence[str]) -> int:
        check_id("thread_id", thread_id)
        check_ids(ids)
        with self._lock:
            own = self._messages.get(thread_id, {})
            return sum(own.pop(id, None) is not None for id in ids)

    # -- suspended runs

    async def suspend(self, snapshot: Snapshot, messages: Sequence[StoredMessage] = ()) -> bool:
        now = self._now()
        new = copy_of_snapshot(snapshot)
        last = [copy_of_message(message) for message in messages]
        with self._lock:
            if new.attempt:
                kept = self._held(new.run_id, new.attempt)
            elif new.run_id in self._snapshots:
                raise StoreError(f"run {new.run_id} is suspended already: a run that was claimed says its attempt")
            else:
                kept = replace(new, created_at=_moment(new.created_at, now))
            if kept is None:
                return False
            self._put(last, now)
            self._snapshots[new.run_id] = replace(
                kept, status="suspended", calls=new.calls, state=new.state, updated_at=now, lease_until=None
            )
        return True

    async def claim(self, run_id: str, *, lease: float) -> Snapshot | None:
        check_id("run_id", run_id)
        check_lease(lease)
        now = self._now()
        until = now + timedelta(seconds=lease)
        with self._lock:
            kept = self._snapshots.get(run_id)
            if kept is None or (kept.lease_until is not None and kept.lease_until > now):
                return None
            taken = replace(kept, status="running", attempt=kept.attempt + 1, updated_at=now, lease_until=until)
            self._snapshots[run_id] = taken
        return copy_of_snapshot(taken)

    async def renew(self, run_id: str, attempt: int, *, lease: float, messages: Sequence[StoredMessage] = ()) -> bool:
        check_id("run_id", run_id)
        check_attempt(attempt)
        check_lease(lease)
        said = [copy_of_message(message) for message in messages]
        now = self._now()
        with self._lock:
            kept = self._held(run_id, attempt)
            if kept is None:
                return False
            self._put(said, now)
            self._snapshots[run_id] = replace(kept, lease_until=now + timedelta(seconds=lease))
        return True

    async def finish(self, run_id: str, attempt: int, messages: Sequence[StoredMessage] = ()) -> bool:
        check_id("run_id", run_id)
        check_attempt(attempt)
        last = [copy_of_message(message) for message in messages]
        with self._lock:
            if self._held(run_id, attempt) is None:
                return False
            self._put(last, self._now())
            self._forget(run_id)
        return True

    async def discard(self, run_id: str) -> bool:
        check_id("run_id", run_id)
        with self._lock:
            return self._forget(run_id)

    async def get_snapshot(self, run_id: str) -> Snapshot | None:
        check_id("run_id", run_id)
        kept = self._snapshots.get(run_id)
        return kept and copy_of_snapshot(kept)

    async def list_snapshots(
        self,
        *,
        agent_id: str | None = None,
        thread_id: str | None = None,
        resource_id: str | None = None,
        outermost: bool = False,
        limit: int = 100,
        offset: int = 0,
    ) -> Page[Snapshot]:
        given = {"agent_id": agent_id, "thread_id": thread_id, "resource_id": resource_id}
        wanted = {name: id for name, id in given.items() if id is not None}
        for name, id in wanted.items():
            check_id(name, id)
        check_page(limit, offset)
        kept = list(self._snapshots.values())
        if outermost:
            kept = [each for each in kept if each.parent_run_id is None]
        found = [each for each in kept if all(getattr(each, name) == id for name, id in wanted.items())]
        found.sort(key=lambda snapshot: (snapshot.created_at, snapshot.run_id))
        return _page(found, limit, offset, copy_of_snapshot)

    # -- parts of verbs, for under the lock

    def _put(self, saved: Sequence[StoredMessage], now: datetime) -> None:
        missing = {message.thread_id for message in saved} - self._threads.keys()
        if missing:
            raise StoreError(f"there is no thread {min(missing)}: save the thread before its messages")
        for message in saved:
            own = self._messages[message.thread_id]
            kept = own.get(message.id, message)
            own[message.id] = replace(message, created_at=_moment(kept.created_at, now))
            self._threads[message.thread_id] = replace(self._threads[message.thread_id], updated_at=now)

    def _forget(self, run_id: str) -> bool:
        """Forget a run and those inside of it. False: there was none."""
        known = self._snapshots.pop(run_id, None) is not None
        for inner in [kept.run_id for kept in self._snapshots.values() if kept.parent_run_id == run_id]:
            self._forget(inner)
        return known

    def _held(self, run_id: str, attempt: int) -> Snapshot | None:
        """The snapshot of a run while this attempt has it."""
        kept = self._snapshots.get(run_id)
        return kept if kept is not None and (kept.status, kept.attempt) == ("running", attempt) else None

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _moment(given: datetime, now: datetime) -> datetime:
    return now if given == UNSAVED else given.astimezone(UTC)


def _page(found: Sequence[T], limit: int, offset: int, copied: Callable[[T], T]) -> Page[T]:
    return Page(items=[copied(each) for each in found[offset : offset + limit]], total=len(found))
