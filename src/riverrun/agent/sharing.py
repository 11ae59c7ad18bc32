"""JSON values in which what is large stands once: a run's state says a result as a chunk, in a step, in a message."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from riverrun.chunks.codec import json_value
from riverrun.chunks.envelope import is_list, is_object

_LARGE = 500
"""Bytes from which on a value is worth a place of its own."""
_MARK = "$"
"""The one key of an object that stands for a shared value. Other keys that begin so are written with one more."""


def shared(value: object) -> dict[str, Any]:
    """A value as JSON {value, items}: what is large and stands there more than once is one of the items.

    Raises TypeError for a value without a JSON form.
    """
    whole = json_value(value)
    sharing = _Sharing()
    sharing.count(whole)
    return {"value": sharing.written(whole), "items": sharing.items}


def unshared(sharing: Mapping[str, Any]) -> Any:
    """The value of what `shared` gave. What stood there more than once is one object."""
    items: list[Any] = []
    for item in sharing["items"]:
        items.append(_read(item, items))
    return _read(sharing["value"], items)


class _Sharing:
    def __init__(self) -> None:
        self.items: list[Any] = []
        self._places: dict[bytes, int] = {}
        self._seen: Counter[bytes] = Counter()

    def count(self, value: Any) -> None:
        """Count how often each large value stands there."""
        key = _key(value)
        if key is None:
            return
        self._seen[key] += 1
        if self._seen[key] > 1:  # what is in it goes with it
            return
        for member in value.values() if is_object(value) else value if is_list(value) else ():
            self.count(member)

    def written(self, value: Any) -> Any:
        """The value with marks for what is shared."""
        key = _key(value)
        if key is None or self._seen[key] == 1:
            return self._inside(value)
        if key not in self._places:
            item = self._inside(value)
            self._places[key] = len(self.items)
            self.items.append(item)
        return {_MARK: self._places[key]}

    def _inside(self, value: Any) -> Any:
        if is_object(value):
            return {_MARK * name.startswith(_MARK) + name: self.written(member) for name, member in value.items()}
        return [self.written(member) for member in value] if is_list(value) else value


def _key(value: Any) -> bytes | None:
    """What tells a large value from all others; None for a small one."""
    if not (len(value) >= _LARGE if isinstance(value, str) else isinstance(value, list | dict)):
        return None
    text = msgspec.json.encode(value)
    return hashlib.sha256(text).digest() if len(text) >= _LARGE else None


def _read(value: Any, items: list[Any]) -> Any:
    if is_object(value):
        if _MARK in value:
            return items[value[_MARK]]
        return {name.removeprefix(_MARK): _read(member, items) for name, member in value.items()}
    return [_read(member, items) for member in value] if is_list(value) else value
