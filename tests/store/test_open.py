"""Opening and closing: URLs, what errors show of them, connections, event loops."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import traceback
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from riverrun.chunks import TextPart, UserMessage
from riverrun.errors import ConfigError, MissingExtraError, RiverrunError
from riverrun.store import Store, StoredMessage, StoreError, Thread
from riverrun.store.engine import POOL_SIZE, Database

SECRET = "s3cret"


async def run(connection: AsyncConnection, statement: str) -> None:
    await connection.exec_driver_sql(statement)


async def error_of(url: str) -> RiverrunError:
    """What opening a store there raises; it may not show the password anywhere."""
    with pytest.raises(RiverrunError) as caught:
        await Store.open(url)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return caught.value


# -- URLs


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
async def test_a_store_in_memory_is_its_own_and_ends_with_it(url: str) -> None:
    async with await Store.open(url) as one, await Store.open(url) as other:
        await one.save_thread(Thread(id="t", resource_id="user"))
        assert await one.get_thread("t") is not None
        assert await other.get_thread("t") is None
    async with await Store.open(url) as again:
        assert await again.get_thread("t") is None


async def test_a_file_outlives_its_store(file_url: str, tmp_path: Path) -> None:
    async with await Store.open(file_url) as store:
        await store.save_thread(Thread(id="t", resource_id="user"))
    assert (tmp_path / "store.db").is_file()
    async with await Store.open(file_url) as store:
        assert await store.get_thread("t") is not None


async def test_a_relative_path_begins_at_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with await Store.open("sqlite:///here.db"):
        assert (tmp_path / "here.db").is_file()


async def test_postgres_is_another_name_of_postgresql(postgres_url: str) -> None:
    async with await Store.open(postgres_url.replace("postgresql://", "postgres://")) as store:
        await store.save_thread(Thread(id="t", resource_id="user"))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"mysql://me:{SECRET}@host/db", "a store cannot be on 'mysql': its URL is sqlite:///file.db"),
        (f"postgresql+asyncpg://me:{SECRET}@host/db", r"a store cannot be on 'postgresql\+asyncpg'"),
        (f"{SECRET}.db", "the URL of a store is sqlite:///file.db"),
        (f"postgresql:me:{SECRET}@host/db?next=http://x", "the URL of a store is sqlite:///file.db"),
        ("", "the URL of a store is sqlite:///file.db"),
        (f"postgresql://me:{SECRET}@host:port/db", "this is no postgresql URL: in user and password, @ is written %40"),
        (f"postgresql://me:1@{SECRET}@host/db", "this is no postgresql URL: in user and password, @ is written %40"),
        (f"postgresql://me:1@{SECRET}?@host/db", "this is no postgresql URL: in user and password, @ is written %40"),
        ("sqlite://file.db", "the URL of an SQLite file is sqlite:/// and its path"),
        ("sqlite:///file.db?mode=ro", "the URL of an SQLite file is sqlite:/// and its path"),
    ],
)
async def test_a_url_that_is_none_says_how_one_looks(url: str, message: str) -> None:
    error = await error_of(url)
    assert isinstance(error, ConfigError)
    with pytest.raises(ConfigError, match=message):
        raise error


async def test_characters_of_urls_may_stand_in_a_password_when_they_are_quoted(postgres_url: str) -> None:
    async with await Store.open(postgres_url.replace("postgres@", "postgres:%40%2F%3A%3F%23%25@")) as store:
        assert await store.get_thread("t") is None


async def test_a_server_that_does_not_answer_is_named_without_the_password() -> None:
    error = await error_of(f"postgresql://me:{SECRET}@127.0.0.1:1/agents?sslpassword={SECRET}")
    assert isinstance(error, StoreError)
    assert str(error).startswith("postgresql://127.0.0.1:1/agents: connection failed")


async def test_a_server_that_refuses_says_why(postgres: psycopg.Connection) -> None:
    error = await error_of(f"postgresql://postgres:{SECRET}@{postgres.info.host}:{postgres.info.port}/no_such_database")
    assert isinstance(error, StoreError)
    assert 'database "no_such_database" does not exist' in str(error)


async def test_a_store_shows_where_it_is_and_nothing_secret(postgres_url: str, file_url: str) -> None:
    async with await Store.open(postgres_url.replace("postgres@", f"postgres:{SECRET}@")) as store:
        assert repr(store).startswith("<Store postgresql://")
        assert SECRET not in repr(store)
    async with await Store.open(file_url) as store:
        assert repr(store) == f"<Store {file_url}>"


async def test_postgresql_needs_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = await error_of(f"postgresql://me:{SECRET}@host/db")
    assert isinstance(error, MissingExtraError)
    assert error.extra == "postgres"


async def test_a_file_in_no_folder_cannot_be_opened(tmp_path: Path) -> None:
    error = await error_of(f"sqlite:///{tmp_path}/nowhere/store.db")
    assert isinstance(error, StoreError)
    assert "unable to open database file" in str(error)


async def test_a_file_that_is_no_database_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("something else" * 100)
    error = await error_of(f"sqlite:///{tmp_path}/store.db")
    assert isinstance(error, StoreError)
    assert "file is not a database" in str(error)
    assert (tmp_path / "store.db").read_text() == "something else" * 100


# -- errors


async def test_an_error_of_the_database_shows_nothing_of_what_was_to_be_saved(url: str) -> None:
    async with await Store.open(url) as store:
        await store.save_thread(Thread(id="t", resource_id="user"))
        await store._database.write(run, "DROP TABLE riverrun_messages")
        message = StoredMessage(id="m", thread_id="t", message=UserMessage([TextPart(SECRET)]))
        with pytest.raises(StoreError, match="riverrun_messages") as caught:
            await store.save_messages([message])
        assert SECRET not in "".join(traceback.format_exception(caught.value))
        assert await store.get_thread("t") is not None


# -- connections


async def test_a_store_has_so_many_connections_and_no_more(postgres: psycopg.Connection, postgres_url: str) -> None:
    name = postgres_url[-20:]
    async with await Store.open(f"{postgres_url}&application_name={name}") as store:
        await asyncio.gather(*(store.get_thread("t") for _ in range(50)))
        count = postgres.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", [name]).fetchone()
        assert count is not None
        assert 1 <= count[0] <= POOL_SIZE


async def test_a_store_gets_over_connections_that_were_cut(postgres: psycopg.Connection, postgres_url: str) -> None:
    name = postgres_url[-20:]
    async with await Store.open(f"{postgres_url}&application_name={name}") as store:
        await store.save_thread(Thread(id="t", resource_id="user"))
        cut = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s"
        assert postgres.execute(cut, [name]).fetchall() == [(True,)]
        assert await store.get_thread("t") is not None


async def test_many_read_and_write_at_once(url: str) -> None:
    async with await Store.open(url) as store:
        writes = [store.save_thread(Thread(id=f"t{number}", resource_id="user")) for number in range(50)]
        reads = [store.list_threads("user") for _ in range(50)]
        await asyncio.gather(*writes, *reads)
        assert (await store.list_threads("user")).total == 50


async def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    for number in range(50):  # SQLite does not wait for others while it changes to write-ahead logging
        url = f"sqlite:///{tmp_path}/{number}.db"
        for database in await asyncio.gather(*(Database.open(url) for _ in range(8))):
            await database.close()


# -- the end


async def test_a_closed_store_is_refused_and_may_be_closed_again(url: str) -> None:
    store = await Store.open(url)
    await store.aclose()
    await store.aclose()
    with pytest.raises(ConfigError, match="this store is closed"):
        await store.get_thread("t")
    with pytest.raises(ConfigError, match="this store is closed"):
        await store.save_thread(Thread(id="t", resource_id="user"))


async def test_a_store_belongs_to_the_event_loop_that_it_was_opened_in(url: str) -> None:
    async with await Store.open(url) as store:

        def elsewhere() -> None:
            asyncio.run(store.get_thread("t"))  # type: ignore[arg-type]

        with pytest.raises(ConfigError, match="a store belongs to the event loop that it was opened in"):
            await asyncio.to_thread(elsewhere)


def test_records_cost_no_import_of_sqlalchemy_and_the_store_does() -> None:
    source = Path(__file__).resolve().parents[2] / "src"
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from riverrun.store import Thread, Snapshot; "
        "print('sqlalchemy' in sys.modules); from riverrun.store import Store; print('sqlalchemy' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(source)], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == ["False", "True"]


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(ImportError, match="cannot import name 'Shop'"):
        from riverrun.store import Shop  # type: ignore[attr-defined]  # noqa: F401
