"""The schema: made when a database is opened, brought forward, and left alone when it is newer."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import Connection, inspect
from sqlalchemy.ext.asyncio import AsyncConnection

from riverrun.store import Store, StoreError, Thread
from riverrun.store.engine import Database
from riverrun.store.migrations import MIGRATIONS, migrate
from riverrun.store.tables import metadata

NEXT = (
    "ALTER TABLE riverrun_threads ADD COLUMN colour TEXT",
    "UPDATE riverrun_threads SET colour = 'blue'",
    "CREATE TABLE riverrun_goals (id TEXT NOT NULL PRIMARY KEY)",
)
"""What a later version may do."""
BROKEN = ("CREATE TABLE riverrun_goals (id TEXT NOT NULL PRIMARY KEY)", "UPDATE riverrun_nowhere SET x = 1")


async def rows(connection: AsyncConnection, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await connection.exec_driver_sql(query)]


async def rows_changed(connection: AsyncConnection, statement: str) -> None:
    await connection.exec_driver_sql(statement)


async def version(database: Database) -> object:
    ((found,),) = await database.read(rows, "SELECT version FROM riverrun_schema")
    return found


async def columns(connection: AsyncConnection) -> dict[str, dict[str, bool]]:
    """Whether the columns may be null, by table and name."""

    def look(sync: Connection) -> dict[str, dict[str, bool]]:
        found = inspect(sync)
        return {
            table: {column["name"]: column["nullable"] for column in found.get_columns(table)}
            for table in found.get_table_names()
        }

    return await connection.run_sync(look)


async def test_an_empty_database_gets_the_tables_that_queries_are_made_for(url: str) -> None:
    async with await Store.open(url) as store:
        found = await store._database.read(columns)
    assert found.pop("riverrun_schema") == {"version": False}
    assert found == {
        table.name: {column.name: bool(column.nullable) for column in table.columns}
        for table in metadata.tables.values()
    }


async def test_opening_again_changes_nothing(lasting_url: str) -> None:
    async with await Store.open(lasting_url) as store:
        kept = await store.save_thread(Thread(id="t", resource_id="user"))
    async with await Store.open(lasting_url) as store:
        assert await store.get_thread("t") == kept
        assert await version(store._database) == len(MIGRATIONS)


async def test_many_may_open_a_new_database_at_once(lasting_url: str) -> None:
    stores = await asyncio.gather(*(Store.open(lasting_url) for _ in range(5)))
    for store in stores:
        await store.save_thread(Thread(id="t", resource_id="user"))
        await store.aclose()


async def test_an_older_database_is_brought_forward_with_what_is_in_it(lasting_url: str) -> None:
    async with await Store.open(lasting_url) as store:
        await store.save_thread(Thread(id="t", resource_id="user", title="old"))
        await store._database.write(migrate, [*MIGRATIONS, NEXT])
        await store._database.write(migrate, [*MIGRATIONS, NEXT])
        found = await store._database.read(rows, "SELECT id, title, colour FROM riverrun_threads")
        assert found == [("t", "old", "blue")]
        assert await version(store._database) == len(MIGRATIONS) + 1


async def test_runs_that_waited_before_there_were_inner_runs_wait_on(url: str) -> None:
    database = await Database.open(url)
    await database.write(migrate, MIGRATIONS[:1])
    now = "2026-12-01T00:00:00+00:00"
    await database.write(
        rows_changed,
        "INSERT INTO riverrun_snapshots (run_id, agent_id, status, attempt, calls, state, created_at, updated_at) "
        f"VALUES ('r', 'a', 'suspended', 0, '[]', '{{}}', '{now}', '{now}')",
    )
    await database.write(migrate)
    store = Store(database)
    (kept,) = (await store.list_snapshots(outermost=True)).items
    assert (kept.run_id, kept.parent_run_id) == ("r", None)
    assert await store.claim("r", lease=1)
    await store.aclose()


async def test_a_new_database_takes_all_migrations_at_once(url: str) -> None:
    database = await Database.open(url)
    await database.write(migrate, [*MIGRATIONS, NEXT])
    assert await version(database) == len(MIGRATIONS) + 1
    assert await database.read(rows, "SELECT id FROM riverrun_goals") == []
    await database.close()


async def test_a_newer_database_is_refused_and_left_alone(lasting_url: str) -> None:
    async with await Store.open(lasting_url) as store:
        await store._database.write(migrate, [*MIGRATIONS, NEXT])
        before = await store._database.read(columns)
        with pytest.raises(StoreError, match=r"newer riverrun \(version 3, this one knows 2\): upgrade riverrun"):
            await Store.open(lasting_url)
        assert await store._database.read(columns) == before
        assert await version(store._database) == 3


async def test_a_migration_that_fails_leaves_the_database_as_it_was(url: str) -> None:
    async with await Store.open(url) as store:
        with pytest.raises(StoreError, match="riverrun_nowhere"):
            await store._database.write(migrate, [*MIGRATIONS, BROKEN])
        assert await version(store._database) == len(MIGRATIONS)
        assert "riverrun_goals" not in await store._database.read(columns)
