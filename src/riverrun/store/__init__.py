"""What outlives a run: threads with their messages, and suspended runs. On SQLite, PostgreSQL or in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from riverrun.errors import StoreError
from riverrun.store.any_store import AnyStore
from riverrun.store.in_memory import InMemoryStore
from riverrun.store.records import UNSAVED, Page, PendingCall, Snapshot, StoredMessage, Thread

if TYPE_CHECKING:
    from riverrun.store.store import Store

__all__ = [
    "UNSAVED",
    "AnyStore",
    "InMemoryStore",
    "Page",
    "PendingCall",
    "Snapshot",
    "Store",
    "StoreError",
    "StoredMessage",
    "Thread",
]


def __getattr__(name: str) -> Any:
    """Import `Store` when it is first asked for: SQLAlchemy takes as long to import as the rest of riverrun."""
    if name != "Store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from riverrun.store.store import Store

    return Store
