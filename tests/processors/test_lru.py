"""LruCache: what it forgets."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.errors import ConfigError
from riverrun.processors import LruCache


def test_what_was_longest_not_read_makes_room() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache["a"], cache["b"] = 1, 2
    assert cache["a"] == 1
    cache["c"] = 3
    assert dict(cache) == {"a": 1, "c": 3}
    cache["a"] = 4
    cache["d"] = 5
    assert dict(cache) == {"a": 4, "d": 5}


def test_an_entry_lives_as_long_as_it_may() -> None:
    now = 0.0
    cache: LruCache[str, int] = LruCache(2, ttl=10, clock=lambda: now)
    cache["a"] = 1
    now = 9.9
    assert cache["a"] == 1
    now = 10.0
    assert cache.get("a") is None
    assert len(cache) == 0


def test_an_entry_can_be_taken_out() -> None:
    cache: LruCache[str, int] = LruCache(2)
    cache["a"] = 1
    del cache["a"]
    assert "a" not in cache


@pytest.mark.parametrize("limits", [{"max_entries": 0}, {"max_entries": "5"}, {"ttl": 0}, {"ttl": "x"}])
def test_limits_that_cannot_be_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="room for at least one entry, and a ttl is a positive number of seconds"):
        LruCache(**{"max_entries": 1, **limits})
