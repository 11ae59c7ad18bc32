"""Copies of records by way of JSON: the same as a database would give back, and refused where it would refuse them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from riverrun.store.records import PendingCall, Snapshot, StoredMessage, Thread
from riverrun.store.texts import binary_parts, keepable, read, read_message, written


def copy_of_thread(thread: Thread) -> Thread:
    """The thread as it is kept. Raises ConfigError for metadata that have no JSON form."""
    metadata = _copied(thread.metadata, f"the metadata of thread {thread.id}")
    return replace(thread, title=keepable(thread.title), metadata=metadata)


def copy_of_message(stored: StoredMessage) -> StoredMessage:
    """The message as it is kept. Raises ConfigError for one that has no JSON form."""
    text = written(stored.message, f"message {stored.id}")
    metadata = _copied(stored.metadata, f"the metadata of message {stored.id}")
    return replace(stored, message=read_message(text, binary_parts(stored.message)), metadata=metadata)


def copy_of_snapshot(snapshot: Snapshot) -> Snapshot:
    """The snapshot as it is kept. Raises ConfigError for one that has no JSON form."""
    calls = _copied(snapshot.calls, f"what run {snapshot.run_id} waits for", list[PendingCall])
    return replace(snapshot, calls=calls, state=_copied(snapshot.state, f"the state of run {snapshot.run_id}"))


def _copied(value: object, what: str, type: Any = Any) -> Any:
    return None if value is None else read(written(value, what), type)
