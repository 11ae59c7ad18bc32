"""Arguments that come value by value, each with its place: `partialArgs` → the arguments, and their text as it grows.

A text at the top is told piece by piece; any other member when the next one begins. A member that is gone on with later
is told once more, as a whole: in JSON the last one counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec

from riverrun.chunks.envelope import is_list, is_object

_Path: TypeAlias = tuple[str | int, ...]

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_DEEPEST = 100


class PartialArguments:
    """The arguments of one call. `value` is what they came to."""

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}
        self._out: list[str] = []
        self._begun = False
        self._member: str | None = None  # the one at the top that grows, until it is told
        self._place: _Path = ()  # of the text that grows
        self._pieces: list[str] = []
        self._as_it_comes = False

    def add(self, pieces: object) -> str:
        """Take `partialArgs`; gives the text that is certain by now."""
        for piece in pieces if is_list(pieces) else ():
            if is_object(piece) and (path := _path(piece.get("jsonPath"))):
                self._add(path, piece)
        return self._take()

    def set(self, name: str, value: object) -> str:
        """Take a member that comes whole."""
        self._begin(name)
        self.value[name] = value
        return self._take()

    def end(self) -> str:
        """No more comes; gives the rest of the text."""
        self._end_member()
        self._out.append("}" if self._begun else "{}")
        return self._take()

    def _add(self, path: _Path, piece: Mapping[str, Any]) -> None:
        text = piece.get("stringValue")
        if not isinstance(text, str):
            self._end_text()
            self._begin(str(path[0]))
            if any(name.endswith("Value") for name in piece):
                _put(self.value, path, _plain(piece))
            return
        if path != self._place:
            self._begin_text(path)
        self._pieces.append(text)
        if self._as_it_comes:
            self._out.append(_json(text)[1:-1])

    def _begin_text(self, path: _Path) -> None:
        self._end_text()
        name = str(path[0])
        self._as_it_comes = len(path) == 1 and name not in self.value
        self._begin(name)
        self._place, self._pieces = path, []
        if self._as_it_comes:
            self._tell_name(name)
            self._out.append('"')

    def _end_text(self) -> None:
        if not self._place:
            return
        _put(self.value, self._place, "".join(self._pieces))
        self._place = ()
        if self._as_it_comes:
            self._as_it_comes = False
            self._out.append('"')
            self._member = None  # it is told

    def _begin(self, name: str) -> None:
        if self._member != name:
            self._end_member()
            self._member = name

    def _end_member(self) -> None:
        self._end_text()
        name, self._member = self._member, None
        if name is not None and name in self.value:
            self._tell_name(name)
            self._out.append(_json(self.value[name]))

    def _tell_name(self, name: str) -> None:
        self._out.append("," if self._begun else "{")
        self._out.append(f"{_json(name)}:")
        self._begun = True

    def _take(self) -> str:
        out, self._out = "".join(self._out), []
        return out


def _path(text: object) -> _Path:
    """The steps of a JSON path such as `$.a[0].b`; none for a text that is none."""
    if not isinstance(text, str) or not text.startswith("$"):
        return ()
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None or len(steps) == _DEEPEST:
            return ()
        at = found.end()
        steps.append(_step(found))
    return (str(steps[0]), *steps[1:]) if steps else ()


def _step(found: re.Match[str]) -> str | int:
    name, index, single, double = found.groups()
    if index is not None:
        return int(index[:9])
    return name if name is not None else re.sub(r"\\(.)", r"\1", single if single is not None else double)


def _plain(piece: Mapping[str, Any]) -> object:
    """The value of a piece that is no text: a number, a truth value, null."""
    values = (value for name, value in piece.items() if name.endswith("Value") and name != "nullValue")
    return next((value for value in values if value is not None), None)


def _put(root: dict[str, Any], path: _Path, value: object) -> None:
    """Set a value deep inside, making the objects and lists on the way to it."""
    place: Any = root
    for step, following in pairwise(path):
        empty: Any = [] if isinstance(following, int) else {}
        inner: Any = _get(place, step)
        if type(inner) is not type(empty):
            inner = empty
            _set(place, step, inner)
        place = inner
    _set(place, path[-1], value)


def _get(place: Any, step: str | int) -> object:
    if isinstance(step, int):
        return place[step] if step < len(place) else None
    return place.get(step)


def _set(place: Any, step: str | int, value: object) -> None:
    """An index beyond the end of a list counts as its end."""
    if isinstance(step, int) and step >= len(place):
        place.append(value)
    else:
        place[step] = value


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
