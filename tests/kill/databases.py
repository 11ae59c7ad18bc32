"""The databases of the kill test, each new and gone with its block."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.store.conftest import SERVER

PATIENCE = 20.0
"""Seconds for a database to come to rest."""


@dataclass(frozen=True, slots=True)
class Database:
    """`settle` waits until nothing goes on there that killed processes have begun."""

    url: str
    settle: Callable[[], None]


@contextmanager
def sqlite() -> Iterator[Database]:
    """A file. What a killed process has begun ends with it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Database(f"sqlite:///{Path(folder)}/kill.db", lambda: None)


@contextmanager
def postgres() -> Iterator[Database]:
    """A schema of its own. The server may still be at a killed process's last statement, and its commit succeed."""
    name = f"riverrun_kill_{uuid.uuid4().hex}"

    def settle() -> None:
        deadline = time.monotonic() + PATIENCE
        with psycopg.connect(SERVER, autocommit=True) as connection:
            while connection.execute("SELECT 1 FROM pg_stat_activity WHERE application_name = %s", [name]).fetchone():
                assert time.monotonic() < deadline, "the server goes on with what killed processes have begun"
                time.sleep(0.005)

    try:
        connection = psycopg.connect(SERVER, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        raise SystemExit(f"needs PostgreSQL at RIVERRUN_TEST_POSTGRES or 127.0.0.1: {error}") from None
    with connection:
        connection.execute(f"CREATE SCHEMA {name}")
    try:
        yield Database(f"{SERVER}?application_name={name}&options=-csearch_path%3D{name}", settle)
    finally:
        settle()
        with psycopg.connect(SERVER, autocommit=True) as connection:
            connection.execute(f"SET client_min_messages = warning; DROP SCHEMA {name} CASCADE")


DATABASES = {"sqlite": sqlite, "postgres": postgres}
