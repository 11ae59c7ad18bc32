"""The messages of threads, in the transaction of a connection."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from riverrun.store import threads
from riverrun.store.records import UNSAVED, Page, StoredMessage
from riverrun.store.tables import insert_or_update, messages
from riverrun.store.texts import binary_parts, read, read_message, written, written_or_none


async def save(connection: AsyncConnection, saved: Sequence[StoredMessage], now: datetime) -> None:
    """Append messages to their threads, in this order; those that are there already are replaced where they stand.

    Raises StoreError when there is no such thread.
    """
    by_thread: dict[str, list[StoredMessage]] = {}
    for message in saved:
        by_thread.setdefault(message.thread_id, []).append(message)
    statement = insert_or_update(connection, messages, changed=["message", "binary_parts", "metadata"])
    for thread_id in sorted(by_thread):  # who locks threads in one order waits for nobody who waits for him
        own = by_thread[thread_id]
        first = await threads.reserve(connection, thread_id, len(own), now)
        rows = [_row(message, position, now) for position, message in enumerate(own, first)]
        await connection.execute(statement, rows)


async def last(connection: AsyncConnection, thread_id: str, limit: int) -> list[StoredMessage]:
    """The last messages of a thread, in their order."""
    newest_first = select(messages).where(messages.c.thread_id == thread_id).order_by(messages.c.position.desc())
    rows = await connection.execute(newest_first.limit(limit))
    return [_message(row) for row in rows][::-1]


async def page(connection: AsyncConnection, thread_id: str, *, limit: int, offset: int) -> Page[StoredMessage]:
    """Messages of a thread, in their order."""
    own = messages.c.thread_id == thread_id
    in_order = select(messages).where(own).order_by(messages.c.position)
    rows = await connection.execute(in_order.limit(limit).offset(offset))
    total = await connection.scalar(select(func.count()).select_from(messages).where(own))
    return Page(items=[_message(row) for row in rows], total=total or 0)


async def remove(connection: AsyncConnection, thread_id: str, ids: Sequence[str]) -> int:
    """Delete messages of a thread; how many there were."""
    result = await connection.execute(delete(messages).where(messages.c.thread_id == thread_id, messages.c.id.in_(ids)))
    return result.rowcount


def _row(message: StoredMessage, position: int, now: datetime) -> dict[str, Any]:
    return {
        "thread_id": message.thread_id,
        "id": message.id,
        "position": position,
        "message": written(message.message, f"message {message.id}"),
        "binary_parts": binary_parts(message.message),
        "metadata": written_or_none(message.metadata, f"the metadata of message {message.id}"),
        "created_at": now if message.created_at == UNSAVED else message.created_at,
    }


def _message(row: Row[Any]) -> StoredMessage:
    return StoredMessage(
        id=row.id,
        thread_id=row.thread_id,
        message=read_message(row.message, row.binary_parts),
        created_at=row.created_at,
        metadata=read(row.metadata),
    )
