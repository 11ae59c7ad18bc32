"""Snapshots of suspended runs, in the transaction of a connection.

    (new) --suspend--> suspended --claim--> running --suspend--> suspended
                                            running --finish--> (gone)

Each claim is a new attempt. What an attempt writes is written only while the row still has its number: an attempt
whose run was claimed by another, because its lease was over, changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from riverrun.errors import StoreError
from riverrun.store import messages, threads
from riverrun.store.records import UNSAVED, Page, PendingCall, Snapshot, StoredMessage
from riverrun.store.tables import insert_or_update, snapshots
from riverrun.store.texts import read, written


async def suspend(
    connection: AsyncConnection, snapshot: Snapshot, saved: Sequence[StoredMessage], now: datetime
) -> bool:
    """Keep what a run needs to go on, and its messages. False: the attempt has lost the run; nothing is written.

    Attempt 0 is a run that was never claimed; raises StoreError when one with its id is kept already.
    """
    if snapshot.attempt:
        held = _held(snapshot.run_id, snapshot.attempt)
        result = await connection.execute(update(snapshots).where(held).values(_changes(snapshot, now)))
        if not result.rowcount:
            return False
    else:
        await _insert(connection, snapshot, now)
    await messages.save(connection, saved, now)
    return True


async def finish(
    connection: AsyncConnection, run_id: str, attempt: int, saved: Sequence[StoredMessage], now: datetime
) -> bool:
    """Save the last messages of a claimed run and forget it. False: the attempt has lost it; nothing is written."""
    result = await connection.execute(delete(snapshots).where(_held(run_id, attempt)))
    if not result.rowcount:
        return False
    await _remove_inner(connection, snapshots.c.parent_run_id == run_id)
    await messages.save(connection, saved, now)
    return True


async def claim(connection: AsyncConnection, run_id: str, now: datetime, lease_until: datetime) -> Snapshot | None:
    """Take a run that nobody holds, or whose holder's lease is over. None: there is none to be had."""
    free = or_(snapshots.c.status == "suspended", and_(snapshots.c.status == "running", snapshots.c.lease_until <= now))
    taken = {
        "status": "running",
        "attempt": snapshots.c.attempt + 1,
        "lease_until": lease_until,
        "updated_at": now,
    }
    result = await connection.execute(update(snapshots).where(snapshots.c.run_id == run_id, free).values(taken))
    return await find(connection, run_id) if result.rowcount else None


async def renew(
    connection: AsyncConnection,
    run_id: str,
    attempt: int,
    saved: Sequence[StoredMessage],
    now: datetime,
    lease_until: datetime,
) -> bool:
    """Hold a claimed run for longer, and save messages of it. False: it is another's; nothing is written."""
    held = _held(run_id, attempt)
    result = await connection.execute(update(snapshots).where(held).values(lease_until=lease_until))
    if not result.rowcount:
        return False
    await messages.save(connection, saved, now)
    return True


async def remove(connection: AsyncConnection, run_id: str) -> bool:
    """Delete a snapshot, whoever holds it. False: there was none."""
    result = await connection.execute(delete(snapshots).where(snapshots.c.run_id == run_id))
    await _remove_inner(connection, snapshots.c.parent_run_id == run_id)
    return bool(result.rowcount)


async def remove_with_thread(connection: AsyncConnection, thread_id: str) -> bool:
    """Delete a thread, its messages and the snapshots of its runs. False: there was none."""
    await _remove_inner(connection, snapshots.c.thread_id == thread_id)
    return await threads.remove(connection, thread_id)


async def _remove_inner(connection: AsyncConnection, which: ColumnElement[bool]) -> None:
    """Delete these snapshots and those of the runs inside of them, however deep."""
    inner = select(snapshots.c.run_id).where(which).cte("inner_runs", recursive=True)
    deeper = select(snapshots.c.run_id).join(inner, snapshots.c.parent_run_id == inner.c.run_id)
    every = inner.union(deeper)
    await connection.execute(delete(snapshots).where(snapshots.c.run_id.in_(select(every.c.run_id))))


async def find(connection: AsyncConnection, run_id: str) -> Snapshot | None:
    """The snapshot of this run."""
    found = await connection.execute(select(snapshots).where(snapshots.c.run_id == run_id))
    row = found.one_or_none()
    return None if row is None else _snapshot(row)


async def page(
    connection: AsyncConnection, ids: Mapping[str, str | None], *, outermost: bool, limit: int, offset: int
) -> Page[Snapshot]:
    """The snapshots with these ids, of which None is any; the oldest first."""
    wanted = [snapshots.c[name] == id for name, id in ids.items() if id is not None]
    if outermost:
        wanted.append(snapshots.c.parent_run_id.is_(None))
    oldest_first = select(snapshots).where(*wanted).order_by(snapshots.c.created_at, snapshots.c.run_id)
    rows = await connection.execute(oldest_first.limit(limit).offset(offset))
    total = await connection.scalar(select(func.count()).select_from(snapshots).where(*wanted))
    return Page(items=[_snapshot(row) for row in rows], total=total or 0)


async def _insert(connection: AsyncConnection, snapshot: Snapshot, now: datetime) -> None:
    row = {
        **_changes(snapshot, now),
        "run_id": snapshot.run_id,
        "agent_id": snapshot.agent_id,
        "thread_id": snapshot.thread_id,
        "resource_id": snapshot.resource_id,
        "parent_run_id": snapshot.parent_run_id,
        "attempt": 0,
        "created_at": now if snapshot.created_at == UNSAVED else snapshot.created_at,
    }
    result = await connection.execute(insert_or_update(connection, snapshots, changed=[]), row)
    if not result.rowcount:
        raise StoreError(f"run {snapshot.run_id} is suspended already: a run that was claimed says its attempt")


def _held(run_id: str, attempt: int) -> ColumnElement[bool]:
    """The row of a run while this attempt has it."""
    return and_(snapshots.c.run_id == run_id, snapshots.c.status == "running", snapshots.c.attempt == attempt)


def _changes(snapshot: Snapshot, now: datetime) -> dict[str, Any]:
    """What a suspension writes, the first one and every other."""
    return {
        "status": "suspended",
        "calls": written(snapshot.calls, f"what run {snapshot.run_id} waits for"),
        "state": written(snapshot.state, f"the state of run {snapshot.run_id}"),
        "updated_at": now,
        "lease_until": None,
    }


def _snapshot(row: Row[Any]) -> Snapshot:
    return Snapshot(
        run_id=row.run_id,
        agent_id=row.agent_id,
        status=row.status,
        attempt=row.attempt,
        thread_id=row.thread_id,
        resource_id=row.resource_id,
        parent_run_id=row.parent_run_id,
        calls=read(row.calls, list[PendingCall]),
        state=read(row.state),
        created_at=row.created_at,
        updated_at=row.updated_at,
        lease_until=row.lease_until,
    )
