"""The arguments of a tool call: from the text that a model wrote to a value.

Models do not always write JSON. What can be read in one way only is repaired; what was cut off is never completed,
so that half a call does not run.
"""

from __future__ import annotations

import math
import re
from typing import Any, cast

import msgspec


def parse_arguments(text: str) -> object | None:
    """The arguments that `text` holds, or None when it is not JSON and cannot be repaired. Never raises; linear time.

    JSON gives its value, whatever its kind: the tool's schema judges it later. No text, or null, gives {}. JSON text
    of an object that was written as a JSON string gives the object. Repaired are: `<|...|>` tokens and a code fence
    around or between values, trailing commas, keys without one or both quotes, single quotes, bare dates, Python's
    True, False and None, raw control characters and unknown escapes in strings.
    """
    if not text.strip():
        return {}
    value = _json(text)
    if value is _NO_JSON:
        try:
            value = _Repair(text).whole()
        except (_Unrepairable, RecursionError):
            return None
    if isinstance(value, str):
        inner = _json(value) if value.lstrip().startswith("{") else None
        return cast("object", inner) if isinstance(inner, dict) else value
    return {} if value is None else value


_NO_JSON = object()


def _json(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _NO_JSON


class _Unrepairable(Exception):
    """The text can be read in no way, in more than one, or is cut off."""


_DEEPEST = 200
_GAP = re.compile(r"(?:\s|<[|｜][^|｜<>]*[|｜]>)*+")
_FENCE_BEGIN = re.compile(r"```\w*")
_FENCE_END = re.compile(r"(?:```)?")
_STRING = {'"': re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL), "'": re.compile(r"'((?:[^'\\]|\\.)*+)'", re.DOTALL)}
_HALF_QUOTED_KEY = re.compile(r"[\"']?([A-Za-z_$][\w$-]*+)[\"']?")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_WORD = re.compile(r"[A-Za-z]++")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\", "/": "/"}


class _Repair:
    """Reads a value from near-JSON, from left to right.

    JSON's own reading comes first everywhere, and a repair is made only where another character stands in its way,
    never because the text ends. Hence the beginning of a JSON object is never taken for an object.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def whole(self) -> Any:
        """The one value that the text holds."""
        self.gap()
        self.take(_FENCE_BEGIN)
        self.gap()
        value = self.value()
        self.gap()
        self.take(_FENCE_END)
        self.gap()
        if self.at < len(self.text):
            raise _Unrepairable
        return value

    def value(self) -> Any:
        match self.peek():
            case "{":
                return self.nested(self.members)
            case "[":
                return self.nested(self.items)
            case '"' | "'":
                return _unescaped(self.string()[1])
            case _:
                return self.bare()

    def nested(self, read: Any) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _Unrepairable
        self.at += 1
        value = read()
        self.depth -= 1
        return value

    def members(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self.closed("}"):
            key = self.key()
            self.gap()
            self.expect(":")
            self.gap()
            found[key] = self.value()
            self.separated("}")
        return found

    def items(self) -> list[Any]:
        found: list[Any] = []
        while not self.closed("]"):
            found.append(self.value())
            self.separated("]")
        return found

    def key(self) -> str:
        """A member's name; its quotes may be missing, when what follows shows that they are."""
        if self.peek() in ('"', "'"):
            begin = self.at
            string = self.string()
            self.gap()
            if self.peek() == ":":
                return _unescaped(string[1])
            self.at = begin
        return self.expected(_HALF_QUOTED_KEY)[1]

    def bare(self) -> Any:
        if found := self.take(_DATE):
            return found[0]
        if found := self.take(_NUMBER):
            return _number(found[0], whole=found[1] is None and found[2] is None)
        word = self.expected(_WORD)[0]
        if word not in _WORDS:
            raise _Unrepairable
        return _WORDS[word]

    def string(self) -> re.Match[str]:
        return self.expected(_STRING[self.peek()])

    def closed(self, bracket: str) -> bool:
        self.gap()
        if self.peek() == bracket:
            self.at += 1
            return True
        return False

    def separated(self, bracket: str) -> None:
        """A comma, or the closing bracket, which stays."""
        self.gap()
        if self.peek() != bracket:
            self.expect(",")

    # -- the text

    def peek(self) -> str:
        """The next character. The end of the text is the end of all repair."""
        if self.at >= len(self.text):
            raise _Unrepairable
        return self.text[self.at]

    def gap(self) -> None:
        self.take(_GAP)

    def expect(self, character: str) -> None:
        if self.peek() != character:
            raise _Unrepairable
        self.at += 1

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def expected(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = self.take(pattern)
        if found is None:
            raise _Unrepairable
        return found


def _number(text: str, *, whole: bool) -> int | float:
    try:
        number = int(text) if whole else float(text)
    except ValueError as error:  # thousands of digits
        raise _Unrepairable from error
    if not math.isfinite(number):
        raise _Unrepairable
    return number


def _unescaped(text: str) -> str:
    """A string's content. Halves of surrogate pairs that stand alone have no UTF-8 and become U+FFFD."""
    if "\\" in text:
        text = _ESCAPE.sub(_character, text)
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, escape[0])
