"""What is checked of what callers give, so that both databases take the same and refuse the same."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from types import UnionType

from riverrun.errors import ConfigError
from riverrun.numbers import is_number, is_whole

MAX_ID = 255
"""Characters of an id: two of them fit into an entry of PostgreSQL's indexes."""
MAX_LIMIT = 1_000
"""Records that one call reads, or deletes, at most."""
MAX_LEASE = 86_400
"""Seconds. A run whose process died cannot be claimed before its lease is over."""


def check_id(what: str, value: object) -> None:
    """Raises ConfigError unless `value` is a text that both databases can have as a key."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID:
        raise ConfigError(f"{what} is a text of 1 to {MAX_ID} characters, not {value!r:.80}")
    if "\0" in value or not _is_unicode(value):
        raise ConfigError(f"{what} has neither NUL nor lone surrogates in it, unlike {value!r:.80}")


def check_ids(ids: Sequence[object]) -> None:
    """Raises ConfigError unless these are ids, and not too many."""
    if isinstance(ids, str) or len(ids) > MAX_LIMIT:
        raise ConfigError(f"ids is a list of up to {MAX_LIMIT} ids, not {ids!r:.80}")
    for id in ids:
        check_id("an id", id)


def check_page(limit: object, offset: object = 0) -> None:
    """Raises ConfigError unless these say which part of a list is wanted."""
    if not _is_whole(limit, MAX_LIMIT):
        raise ConfigError(f"limit is a whole number from 0 to {MAX_LIMIT}, not {limit!r:.80}; use offset to read on")
    if not _is_whole(offset, 2**63 - 1):
        raise ConfigError(f"offset is a whole number from 0 on, not {offset!r:.80}")


def check_attempt(attempt: object) -> None:
    """Raises ConfigError unless `attempt` is the number of a claim."""
    if not _is_whole(attempt, 2**31 - 1):
        raise ConfigError(f"attempt is the number that claim gave, not {attempt!r:.80}")


def check_lease(lease: object) -> None:
    """Raises ConfigError unless `lease` is a number of seconds that a claim may last."""
    if not (is_number(lease) and 0 < lease <= MAX_LEASE):
        raise ConfigError(f"a lease lasts up to {MAX_LEASE} seconds, and renew makes it longer: not {lease!r:.80}")


def check_is(what: str, value: object, kind: type | UnionType) -> None:
    """Raises ConfigError unless `value` is of this kind."""
    if not isinstance(value, kind):
        raise ConfigError(f"{what}, not {value!r:.80}")


def check_time(what: str, value: object) -> None:
    """Raises ConfigError unless `value` is a time with a time zone."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ConfigError(f"{what} is a datetime with a time zone, such as datetime.now(UTC), not {value!r:.80}")


def _is_whole(value: object, most: int) -> bool:
    return is_whole(value, least=0) and value <= most


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
