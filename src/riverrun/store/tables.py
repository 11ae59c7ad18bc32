"""The tables, for queries. They are made, and changed, in migrations.py."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import BigInteger, Column, ColumnElement, DateTime, Dialect, Integer, MetaData, Table, Text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import TypeDecorator


class Moment(TypeDecorator[datetime]):
    """An aware datetime, in UTC, on databases with and without time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or value.tzinfo is not None:
            return value and value.astimezone(UTC)
        return value.replace(tzinfo=UTC)


metadata = MetaData()

threads = Table(
    "riverrun_threads",
    metadata,
    Column("id", Text, primary_key=True),
    Column("resource_id", Text, nullable=False),
    Column("title", Text),
    Column("metadata", Text),  # JSON
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("next_position", BigInteger, nullable=False),  # of its next message
)

messages = Table(
    "riverrun_messages",
    metadata,
    Column("thread_id", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("message", Text, nullable=False),  # JSON
    Column("binary_parts", Text),  # JSON: places of the parts whose data are bytes
    Column("metadata", Text),  # JSON
    Column("created_at", Moment, nullable=False),
)

snapshots = Table(
    "riverrun_snapshots",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("agent_id", Text, nullable=False),
    Column("thread_id", Text),
    Column("resource_id", Text),
    Column("status", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("calls", Text, nullable=False),  # JSON
    Column("state", Text, nullable=False),  # JSON
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("lease_until", Moment),
    Column("parent_run_id", Text),
)


def insert_or_update(
    connection: AsyncConnection, table: Table, *, changed: Sequence[str], where: ColumnElement[bool] | None = None
) -> postgresql.Insert | sqlite.Insert:
    """INSERT that changes these columns of a row with the same key, if there is one and `where` holds for it.

    The result's `rowcount` says how many rows were inserted or changed.
    """
    on_postgresql = connection.dialect.name == "postgresql"
    statement = postgresql.insert(table) if on_postgresql else sqlite.insert(table)
    statement = statement.execution_options(preserve_rowcount=True)
    key = [column.name for column in table.primary_key]
    if not changed:
        return statement.on_conflict_do_nothing(index_elements=key)
    values = {name: statement.excluded[name] for name in changed}
    return statement.on_conflict_do_update(index_elements=key, set_=values, where=where)
