"""The schema and how it came to be: each migration takes a database one version further.

One that was released is never changed. Its statements mean the same to SQLite and to PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sqlalchemy import inspect
from sqlalchemy.ext.asyncio import AsyncConnection

from riverrun.errors import StoreError

Migration: TypeAlias = Sequence[str]
"""Statements of SQL, run in one transaction."""

_ADVISORY_LOCK = 7_741_308_261
"""Any number, as long as nothing else in the database locks it."""

_THREADS_MESSAGES_SNAPSHOTS: Migration = (
    """
    CREATE TABLE riverrun_threads (
        id TEXT NOT NULL PRIMARY KEY,
        resource_id TEXT NOT NULL,
        title TEXT,
        metadata TEXT,
        created_at TIMESTAMPTZ NOT NULL,
        updated_at TIMESTAMPTZ NOT NULL,
        next_position BIGINT NOT NULL
    )
    """,
    "CREATE INDEX riverrun_threads_of_resource ON riverrun_threads (resource_id, created_at, id)",
    """
    CREATE TABLE riverrun_messages (
        thread_id TEXT NOT NULL REFERENCES riverrun_threads (id) ON DELETE CASCADE,
        id TEXT NOT NULL,
        position BIGINT NOT NULL,
        message TEXT NOT NULL,
        binary_parts TEXT,
        metadata TEXT,
        created_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (thread_id, id),
        UNIQUE (thread_id, position)
    )
    """,
    """
    CREATE TABLE riverrun_snapshots (
        run_id TEXT NOT NULL PRIMARY KEY,
        agent_id TEXT NOT NULL,
        thread_id TEXT,
        resource_id TEXT,
        status TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        calls TEXT NOT NULL,
        state TEXT NOT NULL,
        created_at TIMESTAMPTZ NOT NULL,
        updated_at TIMESTAMPTZ NOT NULL,
        lease_until TIMESTAMPTZ
    )
    """,
    "CREATE INDEX riverrun_snapshots_of_thread ON riverrun_snapshots (thread_id)",
    "CREATE INDEX riverrun_snapshots_of_resource ON riverrun_snapshots (resource_id)",
)

_RUNS_INSIDE_OF_RUNS: Migration = (
    "ALTER TABLE riverrun_snapshots ADD COLUMN parent_run_id TEXT",
    "CREATE INDEX riverrun_snapshots_of_parent ON riverrun_snapshots (parent_run_id)",
)

MIGRATIONS: Sequence[Migration] = (_THREADS_MESSAGES_SNAPSHOTS, _RUNS_INSIDE_OF_RUNS)
"""From nothing to the newest version, in order."""


async def migrate(connection: AsyncConnection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the database to the newest version, in the connection's transaction; others that try wait for it.

    Raises StoreError for a database of a version that is newer still.
    """
    if connection.dialect.name == "postgresql":
        await connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})")
    version = await _version(connection)
    if version > len(migrations):
        raise StoreError(
            f"the database has the schema of a newer riverrun (version {version}, this one knows {len(migrations)}): "
            "upgrade riverrun, or use another database"
        )
    for migration in migrations[version:]:
        for statement in migration:
            await connection.exec_driver_sql(statement)
    if version < len(migrations):
        await connection.exec_driver_sql(f"UPDATE riverrun_schema SET version = {len(migrations)}")


async def _version(connection: AsyncConnection) -> int:
    """How many migrations the database has seen; a new one is told that it is none."""
    if not await connection.run_sync(lambda sync: inspect(sync).has_table("riverrun_schema")):
        await connection.exec_driver_sql("CREATE TABLE riverrun_schema (version INTEGER NOT NULL)")
        await connection.exec_driver_sql("INSERT INTO riverrun_schema VALUES (0)")
    found = await connection.exec_driver_sql("SELECT version FROM riverrun_schema")
    return int(found.scalar_one())
