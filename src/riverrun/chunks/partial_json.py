"""JSON while it is being written: text cut off anywhere → what is known of the value so far.

Held back until it can be meant in one way only is what is unfinished: a key without its value, half an escape or
surrogate pair, half a literal, the end of a number that is no number yet. As a text grows, nothing that was known is
taken back; only its last number may get more digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from msgspec import UNSET


def partial_json(text: str) -> tuple[Any, bool] | None:
    """What the beginning of a JSON text says, and whether it is all of the value. Never raises; linear time.

    None: nothing is known yet, or the text is not the beginning of a JSON value. A number on its own is never complete,
    since it may go on. As lenient as PartialJson.
    """
    reading = PartialJson()
    end = reading.feed(text)
    value = reading.value()
    if value is UNSET or reading.status == "broken" or text[end:].strip():
        return None
    return value, reading.status == "complete"


class PartialJson:
    """One JSON value, read from pieces of text that were cut anywhere. Reading takes time for new text only.

    `status` is "open" while the value goes on, "complete" when it is whole, "broken" when the text is no JSON;
    `length` is how many characters were read.

    Models do not always write JSON: raw control characters and unknown escapes in strings, and a comma before a closing
    bracket, are taken as they are meant. Halves of surrogate pairs that stand alone become U+FFFD.
    """

    def __init__(self) -> None:
        self.status: Literal["open", "complete", "broken"] = "open"
        self.length = 0
        self._grammar = _Grammar()
        self._reading = self._grammar.value()

    def feed(self, text: str, at: int = 0) -> int:
        """Take the text from `at` on, and say where in it the reading stopped: at its end while the value is open."""
        if self.status != "open":
            return at
        before = self._grammar.add(text, at)
        try:
            next(self._reading)
        except StopIteration as ended:
            self.status = "complete"
            self._grammar.whole = ended.value
        except _NoJson:
            self.status = "broken"
        end = len(text) if self.status == "open" else max(at, at + self._grammar.at - before)
        self.length += end - at
        return end

    @property
    def version(self) -> int:
        """A number that changes whenever the value does, or what of it is finished."""
        return self._grammar.version

    @property
    def path(self) -> tuple[str | int, ...]:
        """Keys and indexes, from the top, of the members that are not finished."""
        places = [frame.place for frame in self._grammar.open]
        return tuple(place for place in places if place is not None)

    def value(self) -> Any:
        """What is known so far; UNSET: nothing. Of a broken text, what was known before it broke.

        Its finished parts are the same objects as in the values before and after it: leave it as it is.
        """
        return self._grammar.known()


class _NoJson(Exception):
    """The text is not the beginning of a JSON value."""


Reading: TypeAlias = Generator[None, None, Any]
"""Reads a part of the text and returns what it says; yields when it needs more text."""

_DEEPEST = 200
_LONGEST_NUMBER = 1_000
_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\]*')
_NUMERIC = re.compile(r"[-+.eE0-9]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)(\.|[eE][+-]?)?")
_LITERALS: dict[str, tuple[str, object]] = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
_CODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_LONE_HALF = "\ufffd"


@dataclass(slots=True)
class _Frame:
    """A container that is open, with its finished members. `key`: of the member that is read now."""

    members: dict[str, Any] | list[Any]
    key: str | None = None

    @property
    def place(self) -> str | int | None:
        return len(self.members) if isinstance(self.members, list) else self.key

    def with_member(self, member: Any) -> dict[str, Any] | list[Any]:
        """A copy, with what is known of the member that is read now."""
        if isinstance(self.members, list):
            return [*self.members] if member is UNSET else [*self.members, member]
        return {**self.members} if member is UNSET or self.key is None else {**self.members, self.key: member}


class _Grammar:
    """JSON from left to right. Each method reads what its name says, from where the reading stands."""

    def __init__(self) -> None:
        self.text = ""
        self.at = 0
        self.version = 0
        self.whole: Any = UNSET
        self.open: list[_Frame] = []
        self.last_string: list[str] | None = None
        self.last_number: int | float | None = None

    def known(self) -> Any:
        """What is known so far; UNSET: nothing."""
        if self.whole is not UNSET:
            return self.whole
        value: Any = UNSET
        if self.last_string is not None:
            self.last_string[:] = ["".join(self.last_string)]
            value = self.last_string[0]
        elif self.last_number is not None:
            value = self.last_number
        for frame in reversed(self.open):
            value = frame.with_member(value)
        return value

    # -- values

    def value(self) -> Reading:
        match begin := (yield from self.next()):
            case "{":
                return (yield from self.members())
            case "[":
                return (yield from self.items())
            case '"':
                return (yield from self.shown_string())
            case "t" | "f" | "n":
                return (yield from self.literal(*_LITERALS[begin]))
            case _:
                return (yield from self.number())

    def members(self) -> Reading:
        found: dict[str, Any] = {}
        frame = self.enter(found)
        while (yield from self.next()) != "}":
            key = yield from self.string([])
            yield from self.next()
            self.expect(":")
            frame.key = key
            found[key] = yield from self.value()
            frame.key = None
            if (yield from self.next()) != "}":
                self.expect(",")
        self.leave()
        return found

    def items(self) -> Reading:
        found: list[Any] = []
        self.enter(found)
        while (yield from self.next()) != "]":
            found.append((yield from self.value()))
            if (yield from self.next()) != "]":
                self.expect(",")
        self.leave()
        return found

    def enter(self, members: dict[str, Any] | list[Any]) -> _Frame:
        if len(self.open) == _DEEPEST:
            raise _NoJson
        self.at += 1
        self.version += 1
        frame = _Frame(members)
        self.open.append(frame)
        return frame

    def leave(self) -> None:
        self.at += 1
        self.version += 1
        self.open.pop()

    def literal(self, word: str, value: object) -> Reading:
        while not self.text.startswith(word, self.at):
            if not word.startswith(self.text[self.at :]):
                raise _NoJson
            yield
        self.at += len(word)
        self.version += 1
        return value

    # -- numbers

    def number(self) -> Reading:
        while (end := self.numeric_end()) == len(self.text):
            self.show_number(self.text[self.at :])
            yield
        if not self.show_number(self.text[self.at : end]):
            raise _NoJson
        self.at = end
        self.version += 1
        number, self.last_number = self.last_number, None
        return number

    def numeric_end(self) -> int:
        """Where the characters end that a number may have."""
        found = _NUMERIC.match(self.text, self.at)
        end = found.end() if found else self.at
        if not 0 < end - self.at <= _LONGEST_NUMBER:
            raise _NoJson
        return end

    def show_number(self, text: str) -> bool:
        """Let the number be known as far as the text is one ("1." and "1e" are 1); returns whether all of it is."""
        if text == "-":
            return False
        found = _NUMBER.fullmatch(text)
        if found is None:
            raise _NoJson
        digits, fraction, exponent, rest = found.groups()
        number = float(digits) if fraction or exponent else int(digits)
        if not math.isfinite(number):
            raise _NoJson
        self.version += number != self.last_number
        self.last_number = number
        return rest is None

    # -- strings

    def shown_string(self) -> Reading:
        """A string that is a value: what is known of it is shown. Keys are not."""
        self.last_string = pieces = list[str]()
        self.version += 1
        text = yield from self.string(pieces)
        self.version += 1
        self.last_string = None
        return text

    def string(self, pieces: list[str]) -> Reading:
        """Puts the text into `pieces` as it comes, and returns all of it."""
        self.expect('"')
        while True:
            if plain := self.plain():
                self.put(plain, pieces)
            if self.at == len(self.text):
                yield
            elif self.text[self.at] == '"':
                self.at += 1
                return "".join(pieces)
            else:
                self.put((yield from self.escape()), pieces)

    def put(self, piece: str, pieces: list[str]) -> None:
        pieces.append(piece)
        self.version += pieces is self.last_string

    def plain(self) -> str:
        """The characters up to the next quote or backslash."""
        found = _PLAIN.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found[0] if found else ""

    def escape(self) -> Reading:
        yield from self.ahead(2)
        letter = self.text[self.at + 1]
        if letter != "u":
            self.at += 2
            return _ESCAPES.get(letter, f"\\{letter}")
        yield from self.ahead(6)
        found = _CODE.match(self.text, self.at)
        if found is None:
            raise _NoJson
        self.at += 6
        code = int(found[1], 16)
        if 0xD800 <= code < 0xDC00:
            return (yield from self.second_half(code))
        return _LONE_HALF if 0xDC00 <= code < 0xE000 else chr(code)

    def second_half(self, high: int) -> Reading:
        """The character of a surrogate pair whose first half was read."""
        while len(ahead := self.text[self.at : self.at + 6]) < 6 and r"\u".startswith(ahead[:2]):
            yield
        found = _CODE.fullmatch(ahead)
        low = int(found[1], 16) if found else 0
        if not 0xDC00 <= low < 0xE000:
            return _LONE_HALF
        self.at += 6
        return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)

    # -- the text

    def add(self, text: str, at: int) -> int:
        """Put `text` from `at` on behind what is not read yet, and say where in the text here that begins."""
        unread = self.text[self.at :]
        if not unread:
            self.text, self.at = text, at
            return at
        self.text, self.at = unread + text[at:], 0
        return len(unread)

    def next(self) -> Reading:
        """The next character that is no space, which stays."""
        while True:
            found = _SPACE.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            yield

    def ahead(self, count: int) -> Reading:
        """Wait until there are so many characters."""
        while len(self.text) - self.at < count:
            yield

    def expect(self, character: str) -> None:
        if self.text[self.at] != character:
            raise _NoJson
        self.at += 1
