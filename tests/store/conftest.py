"""The databases that the tests run on, each empty, and a clock that moves when told."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from riverrun.store import InMemoryStore, Store

SERVER = os.environ.get("RIVERRUN_TEST_POSTGRES", "postgresql://postgres@127.0.0.1/test")


NO_DATABASE = "dicts"
"""Stands in place of a URL for InMemoryStore."""


async def opened(url: str, *, clock: Callable[[], float] = time.time) -> Store | InMemoryStore:
    """A new store there."""
    return InMemoryStore(clock=clock) if url == NO_DATABASE else await Store.open(url, clock=clock)


class Clock:
    """A time that stands still."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["file", "memory", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """A database of each kind."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(params=["file", "memory", "postgres", "no_database"])
def any_url(request: pytest.FixtureRequest) -> str:
    """A database of each kind, and none."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(params=["memory", "no_database"])
def quick_url(request: pytest.FixtureRequest) -> str:
    """Both kinds of store, where the database is of no matter."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture(params=["file", "postgres"])
def lasting_url(request: pytest.FixtureRequest) -> str:
    """A database of each kind that other stores and other processes can open."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def memory_url() -> str:
    return "sqlite:///:memory:"


@pytest.fixture
def no_database_url() -> str:
    return NO_DATABASE


@pytest.fixture
def postgres_url(postgres: psycopg.Connection) -> Iterator[str]:
    """A schema of its own."""
    schema = f"riverrun_{uuid.uuid4().hex}"
    postgres.execute(f"CREATE SCHEMA {schema}")
    yield f"{SERVER}?options=-csearch_path%3D{schema}"
    postgres.execute(f"SET client_min_messages = warning; DROP SCHEMA {schema} CASCADE")


@pytest.fixture(scope="session")
def postgres() -> Iterator[psycopg.Connection]:
    """A server that answers; tests that need one are skipped without it."""
    try:
        connection = psycopg.connect(SERVER, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        if os.environ.get("CI"):
            pytest.fail(f"no PostgreSQL: {error}: in CI nothing may be skipped")
        pytest.skip(f"needs PostgreSQL at RIVERRUN_TEST_POSTGRES or 127.0.0.1: {error}")
    with connection:
        yield connection
