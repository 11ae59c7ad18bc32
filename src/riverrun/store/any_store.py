"""What all stores can: the verbs by which agents keep threads, messages and suspended runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from riverrun.errors import ConfigError
from riverrun.store.records import Page, Snapshot, StoredMessage, Thread


class AnyStore(Protocol):
    """A Store, an InMemoryStore, or one of your own that passes the same tests.

    Each verb is done whole or not at all. All raise ConfigError for arguments that can never work, and StoreError when
    the store's records do not allow what is asked.
    """

    # -- threads

    async def save_thread(self, thread: Thread) -> Thread:
        """Insert a thread, or replace its title and metadata; the thread as it is kept.

        Raises StoreError when it belongs to another resource.
        """
        ...

    async def get_thread(self, thread_id: str) -> Thread | None:
        """The thread with this id; None: there is none."""
        ...

    async def list_threads(self, resource_id: str, *, limit: int = 100, offset: int = 0) -> Page[Thread]:
        """Threads of a resource, the newest first."""
        ...

    async def delete_thread(self, thread_id: str) -> bool:
        """Delete a thread, its messages and the runs that wait in it. False: there was none."""
        ...

    # -- messages

    async def save_messages(self, saved: Sequence[StoredMessage], /) -> None:
        """Append messages to their threads, in this order; those that are there already are replaced where they stand.

        Raises StoreError when there is no such thread.
        """
        ...

    async def last_messages(self, thread_id: str, limit: int) -> list[StoredMessage]:
        """The last messages of a thread, in their order."""
        ...

    async def messages(self, thread_id: str, *, limit: int = 100, offset: int = 0) -> Page[StoredMessage]:
        """Messages of a thread, in their order."""
        ...

    async def delete_messages(self, thread_id: str, ids: Sequence[str]) -> int:
        """Delete messages of a thread; how many there were."""
        ...

    # -- suspended runs

    async def suspend(self, snapshot: Snapshot, messages: Sequence[StoredMessage] = ()) -> bool:
        """Keep what a run needs to go on, and its messages. False: another has the run now; nothing was written.

        A run that was claimed says its `attempt`, and keeps the ids that it has. One that was not is new: raises
        StoreError when there is one with its `run_id`, and when a message's thread is missing.
        """
        ...

    async def claim(self, run_id: str, *, lease: float) -> Snapshot | None:
        """Take a run that is suspended, or running with its lease over, and hold it alone for `lease` seconds.

        Of many who try, one gets it. None: there is no such run, or another holds it (get_snapshot tells).
        """
        ...

    async def renew(self, run_id: str, attempt: int, *, lease: float, messages: Sequence[StoredMessage] = ()) -> bool:
        """Hold a claimed run for `lease` seconds from now, and save messages of it. False: another has it; stop."""
        ...

    async def finish(self, run_id: str, attempt: int, messages: Sequence[StoredMessage] = ()) -> bool:
        """Save the last messages of a claimed run and forget it, and the runs inside of it. False: another has it;
        nothing was written.
        """
        ...

    async def discard(self, run_id: str) -> bool:
        """Forget a run and those inside of it, whoever holds them. False: there was none."""
        ...

    async def get_snapshot(self, run_id: str) -> Snapshot | None:
        """The snapshot of a run; None: there is none."""
        ...

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
        ...


_VERBS = [name for name in vars(AnyStore) if not name.startswith("_")]


def check_store(value: object) -> None:
    """Raises ConfigError for what is no store. It is not shown: a URL may have a password in it."""
    if isinstance(value, type) or not all(callable(getattr(value, verb, None)) for verb in _VERBS):
        raise ConfigError(
            f"a store is an opened Store or an InMemoryStore, not {type(value).__name__}: "
            "await Store.open(url), or leave that to App(agents, store=url)"
        )
