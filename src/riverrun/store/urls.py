"""A store's URL → SQLAlchemy's, and what errors may show of it."""

from __future__ import annotations

import re

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from riverrun.errors import ConfigError

_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_FORMS = "sqlite:///file.db, sqlite:// (in memory) or postgresql://user:password@host/database"


def parse(url: str) -> URL:
    """The URL with its driver. Raises ConfigError, in which nothing of the URL is shown that may be secret."""
    scheme, colon, _ = url.partition("://")
    if not colon or not re.fullmatch(r"[\w.+-]+", scheme):
        raise ConfigError(f"the URL of a store is {_FORMS}")
    if scheme not in _DRIVERS:
        raise ConfigError(f"a store cannot be on {scheme!r:.40}: its URL is {_FORMS}")
    try:
        parsed = make_url(url).set(drivername=_DRIVERS[scheme])
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or url.count("@") > 1:  # behind the first, a password would be taken for the host
        raise ConfigError(f"this is no {scheme} URL: in user and password, @ is written %40, / %2F and so on")
    if scheme == "sqlite" and (parsed.host or parsed.query):
        raise ConfigError(
            "the URL of an SQLite file is sqlite:/// and its path, so four slashes begin at the root; no ?"
        )
    return parsed


def is_memory(url: URL) -> bool:
    """Whether this SQLite database is in memory alone."""
    return url.database in (None, "", ":memory:")


def shown(url: URL) -> str:
    """The URL for messages: without user, password and options."""
    port = f":{url.port}" if url.port else ""
    return f"{url.get_backend_name()}://{url.host or ''}{port}/{url.database or ''}"
