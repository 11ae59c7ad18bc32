"""LruCache: a mapping that forgets what is old or was long not asked for."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from typing import TypeVar

from riverrun.errors import ConfigError
from riverrun.numbers import is_number, is_whole

K = TypeVar("K")
V = TypeVar("V")


class LruCache(MutableMapping[K, V]):
    """At most `max_entries`, each for at most `ttl` seconds (None: no limit).

    Reading an entry makes it the newest one; the one that was longest not read makes room.
    """

    def __init__(
        self, max_entries: int, *, ttl: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Raises ConfigError for limits that there cannot be."""
        if not is_whole(max_entries, least=1) or not (ttl is None or (is_number(ttl) and ttl > 0)):
            raise ConfigError("a cache has room for at least one entry, and a ttl is a positive number of seconds")
        self.max_entries = max_entries
        self.ttl = ttl
        self._clock = clock
        self._entries: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def __getitem__(self, key: K) -> V:
        written, value = self._entries[key]
        if self.ttl is not None and self._clock() - written >= self.ttl:
            del self._entries[key]
            raise KeyError(key)
        self._entries.move_to_end(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[key] = (self._clock(), value)
        self._entries.move_to_end(key)
        while len(self._entries) > self.max_entries:
            self._entries.popitem(last=False)

    def __delitem__(self, key: K) -> None:
        del self._entries[key]

    def __iter__(self) -> Iterator[K]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)
