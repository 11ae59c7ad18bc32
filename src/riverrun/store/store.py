"""The store: each verb is one transaction, done whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType

from riverrun.store import messages, snapshots, threads
from riverrun.store.checks import check_attempt, check_id, check_ids, check_lease, check_page
from riverrun.store.engine import Database
from riverrun.store.migrations import migrate
from riverrun.store.records import Page, Snapshot, StoredMessage, Thread

Clock = Callable[[], float]
"""The time in seconds since 1970, as time.time gives it."""


class Store:
    """Threads, messages and suspended runs in one database, SQLite or PostgreSQL.

        async with await Store.open("sqlite:///agents.db") as store:
            await store.save_thread(Thread(id="t1", resource_id="user-7"))

    Any number of processes may have one open; in a process, it belongs to the event loop that it was opened in. A verb
    that was called takes place, even when its caller is cancelled while waiting. All raise ConfigError for arguments
    that can never work, and StoreError when the database fails or its records do not allow what is asked.
    """

    def __init__(self, database: Database, *, clock: Clock = time.time) -> None:
        self._database = database
        self._clock = clock

    @classmethod
    async def open(cls, url: str, *, clock: Clock = time.time) -> Store:
        """Open the database and bring its tables to the newest version.

        `url`: "sqlite:///file.db", "sqlite://" (in memory, gone when the store is closed) or
        "postgresql://user:password@host/database". Raises ConfigError for another URL, MissingExtraError without the
        driver, StoreError when the database cannot be opened or is of a newer version.
        """
        database = await Database.open(url)
        try:
            await database.write(migrate)
        except BaseException:
            await database.close()
            raise
        return cls(database, clock=clock)

    async def aclose(self) -> None:
        """Wait for what has begun and close all connections."""
        await self._database.close()

    async def __aenter__(self) -> Store:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<Store {self._database.shown}>"

    # -- threads

    async def save_thread(self, thread: Thread) -> Thread:
        """Insert a thread, or replace its title and metadata; the thread as it is kept.

        Raises StoreError when it belongs to another resource.
        """
        return await self._database.write(threads.save, thread, self._now())

    async def get_thread(self, thread_id: str) -> Thread | None:
        """The thread with this id; None: there is none."""
        check_id("thread_id", thread_id)
        return await self._database.read(threads.find, thread_id)

    async def list_threads(self, resource_id: str, *, limit: int = 100, offset: int = 0) -> Page[Thread]:
        """Threads of a resource, the newest first."""
        check_id("resource_id", resource_id)
        check_page(limit, offset)
        return await self._database.read(threads.page, resource_id, limit=limit, offset=offset)

    async def delete_thread(self, thread_id: str) -> bool:
        """Delete a thread, its messages and the runs that wait in it. False: there was none."""
        check_id("thread_id", thread_id)
        return await self._database.write(snapshots.remove_with_thread, thread_id)

    # -- messages

    async def save_messages(self, saved: Sequence[StoredMessage], /) -> None:
        """Append messages to their threads, in this order; those that are there already are replaced where they stand.

        Raises StoreError when there is no such thread.
        """
        if saved:
            await self._database.write(messages.save, saved, self._now())

    async def last_messages(self, thread_id: str, limit: int) -> list[StoredMessage]:
        """The last messages of a thread, in their order."""
        check_id("thread_id", thread_id)
        check_page(limit)
        return await self._database.read(messages.last, thread_id, limit)

    async def messages(self, thread_id: str, *, limit: int = 100, offset: int = 0) -> Page[StoredMessage]:
        """Messages of a thread, in their order."""
        check_id("thread_id", thread_id)
        check_page(limit, offset)
        return await self._database.read(messages.page, thread_id, limit=limit, offset=offset)

    async def delete_messages(self, thread_id: str, ids: Sequence[str]) -> int:
        """Delete messages of a thread; how many there were."""
        check_id("thread_id", thread_id)
        check_ids(ids)
        return await self._database.write(messages.remove, thread_id, ids)

    # -- suspended runs

    async def suspend(self, snapshot: Snapshot, messages: Sequence[StoredMessage] = ()) -> bool:
        """Keep what a run needs to go on, and its messages. False: another has the run now; nothing was written.

        A run that was claimed says its `attempt`, and keeps the ids that it has. One that was not is new: raises
        StoreError when there is one with its `run_id`, and when a message's thread is missing.
        """
        return await self._database.write(snapshots.suspend, snapshot, messages, self._now())

    async def claim(self, run_id: str, *, lease: float) -> Snapshot | None:
        """Take a run that is suspended, or running with its lease over, and hold it alone for `lease` seconds.

        Of many who try, one gets it. None: there is no such run, or another holds it (get_snapshot tells). Leases are
        compared by the clocks of those who take them, so they are to be much longer than these differ.
        """
        check_id("run_id", run_id)
        check_lease(lease)
        now = self._now()
        return await self._database.write(snapshots.claim, run_id, now, now + timedelta(seconds=lease))

    async def renew(self, run_id: str, attempt: int, *, lease: float, messages: Sequence[StoredMessage] = ()) -> bool:
        """Hold a claimed run for `lease` seconds from now, and save messages of it. False: another has it; stop."""
        check_id("run_id", run_id)
        check_attempt(attempt)
        check_lease(lease)
        now = self._now()
        return await self._database.write(
            snapshots.renew, run_id, attempt, messages, now, now + timedelta(seconds=lease)
        )

    async def finish(self, run_id: str, attempt: int, messages: Sequence[StoredMessage] = ()) -> bool:
        """Save the last messages of a claimed run and forget it, and the runs inside of it. False: another has it;
        nothing was written.
        """
        check_id("run_id", run_id)
        check_attempt(attempt)
        return await self._database.write(snapshots.finish, run_id, attempt, messages, self._now())

    async def discard(self, run_id: str) -> bool:
        """Forget a run and those inside of it, whoever holds them. False: there was none."""
        check_id("run_id", run_id)
        return await self._database.write(snapshots.remove, run_id)

    async def get_snapshot(self, run_id: str) -> Snapshot | None:
        """The snapshot of a run; None: there is none."""
        check_id("run_id", run_id)
        return await self._database.read(snapshots.find, run_id)

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
        """The snapshots with these ids, of which None is any; the oldest first. `outermost`: only runs that are no
        part of another.
        """
        wanted = {"agent_id": agent_id, "thread_id": thread_id, "resource_id": resource_id}
        for name, id in wanted.items():
            if id is not None:
                check_id(name, id)
        check_page(limit, offset)
        return await self._database.read(snapshots.page, wanted, outermost=outermost, limit=limit, offset=offset)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)
