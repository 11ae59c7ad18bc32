"""Threads, in the transaction of a connection."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from riverrun.errors import StoreError
from riverrun.store.records import UNSAVED, Page, Thread
from riverrun.store.tables import insert_or_update, threads
from riverrun.store.texts import keepable, read, written_or_none


async def save(connection: AsyncConnection, thread: Thread, now: datetime) -> Thread:
    """Insert a thread, or replace its title and metadata; the thread as it is kept.

    Raises StoreError when it belongs to another resource.
    """
    row = {
        "id": thread.id,
        "resource_id": thread.resource_id,
        "title": keepable(thread.title),
        "metadata": written_or_none(thread.metadata, f"the metadata of thread {thread.id}"),
        "created_at": now if thread.created_at == UNSAVED else thread.created_at,
        "updated_at": now,
        "next_position": 0,
    }
    own = threads.c.resource_id == thread.resource_id
    statement = insert_or_update(connection, threads, changed=["title", "metadata", "updated_at"], where=own)
    result = await connection.execute(statement, row)
    if not result.rowcount:
        raise StoreError(f"thread {thread.id} belongs to another resource than {thread.resource_id}, and stays with it")
    kept = await connection.execute(select(threads).where(threads.c.id == thread.id))
    return _thread(kept.one())


async def find(connection: AsyncConnection, thread_id: str) -> Thread | None:
    """The thread with this id."""
    found = await connection.execute(select(threads).where(threads.c.id == thread_id))
    row = found.one_or_none()
    return None if row is None else _thread(row)


async def page(connection: AsyncConnection, resource_id: str, *, limit: int, offset: int) -> Page[Thread]:
    """Threads of a resource, the newest first."""
    own = threads.c.resource_id == resource_id
    newest_first = select(threads).where(own).order_by(threads.c.created_at.desc(), threads.c.id.desc())
    rows = await connection.execute(newest_first.limit(limit).offset(offset))
    total = await connection.scalar(select(func.count()).select_from(threads).where(own))
    return Page(items=[_thread(row) for row in rows], total=total or 0)


async def reserve(connection: AsyncConnection, thread_id: str, count: int, now: datetime) -> int:
    """Take the next `count` positions of a thread for messages, give the first, and keep others from doing so until
    the transaction ends. Raises StoreError when there is no such thread.
    """
    taken = {"next_position": threads.c.next_position + count, "updated_at": now}
    result = await connection.execute(update(threads).where(threads.c.id == thread_id).values(taken))
    if not result.rowcount:
        raise StoreError(f"there is no thread {thread_id}: save the thread before its messages")
    after = await connection.scalar(select(threads.c.next_position).where(threads.c.id == thread_id))
    return int(after or 0) - count


async def remove(connection: AsyncConnection, thread_id: str) -> bool:
    """Delete a thread and, by its foreign key, its messages. False: there was none."""
    result = await connection.execute(delete(threads).where(threads.c.id == thread_id))
    return bool(result.rowcount)


def _thread(row: Row[Any]) -> Thread:
    return Thread(
        id=row.id,
        resource_id=row.resource_id,
        title=row.title,
        metadata=read(row.metadata),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
