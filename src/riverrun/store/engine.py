"""Transactions: what SQLite and PostgreSQL need to behave alike.

SQLite gets write-ahead logging, so that others read while one writes, foreign keys, and one connection for writing,
whose transactions take the file's write lock when they begin: they can wait for another process only there.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import closing, contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, AsyncAdaptedQueuePool, Connection, event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from riverrun.errors import ConfigError, MissingExtraError, StoreError
from riverrun.store.urls import is_memory, parse, shown
from riverrun.streams import in_thread, spawn

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[Concatenate[AsyncConnection, P], Awaitable[T]]

POOL_SIZE = 5
"""Connections that a store has at most, beside the one that writes to SQLite."""
PATIENCE = 30.0
"""Seconds to wait for a connection, and for SQLite's write lock."""


class Database:
    """Runs coroutine functions in transactions. Belongs to the event loop that it was opened in."""

    def __init__(self, reader: AsyncEngine, writer: AsyncEngine) -> None:
        """Both on the same database, and perhaps the same."""
        self.shown = shown(writer.url)
        self._reader = reader
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    @classmethod
    async def open(cls, url: str) -> Database:
        """Make ready what is at the URL. Raises ConfigError for a URL that is none, MissingExtraError, StoreError."""
        address = parse(url)
        if address.get_backend_name() == "postgresql":
            engine = _postgres(address)
            return cls(engine, engine)
        if is_memory(address):  # it lives in its only connection
            engine = _sqlite(address, "BEGIN IMMEDIATE", pool_size=1)
            return cls(engine, engine)
        with _store_errors(shown(address)):
            await in_thread(_use_write_ahead_log, address.database or "")
        return cls(_sqlite(address, "BEGIN", pool_size=POOL_SIZE), _sqlite(address, "BEGIN IMMEDIATE", pool_size=1))

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` gives when it is called with a connection and these arguments; it only reads.

        Raises StoreError when the database fails.
        """
        return await self._run(self._reader, work, *args, **kwargs)

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `read`, for what writes: all of it or, when it raises, nothing.

        What has begun is brought to its end, even when the caller is cancelled.
        """
        return await self._run(self._writer, work, *args, **kwargs)

    async def close(self) -> None:
        """Wait for what has begun and close all connections. It may be called more than once."""
        self._closed = True
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._reader.dispose()
        await self._writer.dispose()

    async def _run(self, engine: AsyncEngine, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if self._closed:
            raise ConfigError("this store is closed")
        if asyncio.get_running_loop() is not self._loop:
            raise ConfigError("a store belongs to the event loop that it was opened in: open one for each")

        async def transaction() -> T:
            with _store_errors(self.shown):
                async with engine.begin() as connection:
                    return await work(connection, *args, **kwargs)

        task = spawn(transaction())  # a connection whose caller is cancelled would keep its locks
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)


@contextmanager
def _store_errors(database: str) -> Generator[None]:
    """Errors of the database as StoreError: with its words, without statements and their values."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        first, *_ = str(cause).splitlines() or [type(cause).__name__]
        raise StoreError(f"{database}: {first}") from error


# -- PostgreSQL


def _postgres(url: URL) -> AsyncEngine:
    try:
        return create_async_engine(
            url.set(query={"connect_timeout": "10", **url.query}),
            hide_parameters=True,
            pool_size=POOL_SIZE,
            max_overflow=0,
            pool_timeout=PATIENCE,
            pool_pre_ping=True,  # a connection may have died with its server, or on the way
        )
    except ImportError:
        raise MissingExtraError("postgres", needed_by="a store on PostgreSQL") from None


# -- SQLite


def _sqlite(url: URL, begin: str, *, pool_size: int) -> AsyncEngine:
    engine = create_async_engine(
        url,
        hide_parameters=True,
        poolclass=AsyncAdaptedQueuePool,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=PATIENCE,
        connect_args={"timeout": PATIENCE, "isolation_level": None},  # None: only we begin transactions
    )

    def set_up(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    def begin_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine.sync_engine, "connect", set_up)
    event.listen(engine.sync_engine, "begin", begin_transaction)
    return engine


def _use_write_ahead_log(path: str) -> None:
    """Set the file's mode, which stays. SQLite does not wait for others here, so this does."""
    deadline = time.monotonic() + PATIENCE
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
