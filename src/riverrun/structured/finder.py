"""Where the JSON is in an answer: behind prose, reasoning in tags or a model's own tokens, inside a code fence."""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET

from riverrun.chunks.arguments import parse_arguments
from riverrun.chunks.partial_json import PartialJson

_ANEW = r"<\|message\|>|</think>"
_AFTER_JSON = re.compile(_ANEW)
_IN_REASONING = re.compile("</think>")
_BLANK = re.compile(r"(?:\s|<\|[^|<>]*\|>)*+")
_LONGEST_MARK = len("<|message|>")


class JsonFinder:
    """Finds the JSON value of an answer that comes in pieces. Each piece takes time for itself only.

    The first value counts, and what stands behind it is passed over, as is what turns out to be no value, like braces
    in prose. Outside a value, `<|message|>` and `</think>` say that all before them was no answer; so is what follows
    a `<think>` at the beginning.
    """

    def __init__(self, *, begins: str = "{") -> None:
        """`begins`: the characters that the value may begin with: "{", "[" or both."""
        self.json: PartialJson | None = None
        self._before_json = re.compile(f"[{re.escape(begins)}]|{_ANEW}|<think>")
        self._said: list[str] = []
        self._length = 0
        self._start = 0  # of the answer
        self._begin = 0  # of the value
        self._held = ""
        self._is_blank = True
        self._in_reasoning = False
        self._has_broken = False

    def feed(self, text: str) -> None:
        """Take the next piece of the answer."""
        self._said.append(text)
        self._length += len(text)
        if self.json is None or self.json.status != "open":
            self._search(self._held + text, 0)
            return
        end = self.json.feed(text)
        if self.json.status != "open":
            self._search(text, end)

    @property
    def text(self) -> str:
        """What was said from the value's beginning on; without a value, from the answer's."""
        return "".join(self._said)[self._begin :]

    @property
    def said(self) -> str:
        """The whole answer, without what was thought before it."""
        return "" if self._in_reasoning else "".join(self._said)[self._start :]

    @property
    def has_begun(self) -> bool:
        """Whether there is a value, or the beginning of one."""
        return self.json is not None and not _is_none(self.json)

    def value(self) -> Any:
        """The whole value, repaired where it is not quite JSON. UNSET: there is none, or it cannot be read."""
        if self.json is None:
            return UNSET
        value = self.json.value() if self.json.status == "complete" else UNSET
        if value is UNSET or self._has_broken:
            repaired = parse_arguments(self.text)
            return value if repaired is None else repaired
        return value

    # -- searching

    def _search(self, text: str, at: int) -> None:
        """Go through the text from `at` on. Its end is kept where a mark may have been cut off."""
        while found := self._sought().search(text, at):
            self._pass(text, at, found.start())
            at = self._take(found, text)
        cut = text.find("<", max(at, len(text) - _LONGEST_MARK + 1))
        end = len(text) if cut < 0 else cut
        self._pass(text, at, end)
        self._held = text[end:]

    def _sought(self) -> re.Pattern[str]:
        if self._in_reasoning:
            return _IN_REASONING
        return self._before_json if self.json is None or _is_none(self.json) else _AFTER_JSON

    def _pass(self, text: str, begin: int, end: int) -> None:
        self._is_blank = self._is_blank and _BLANK.fullmatch(text, begin, end) is not None

    def _take(self, found: re.Match[str], text: str) -> int:
        """Do what a mark says; returns where the text goes on."""
        match found[0]:
            case "<think>":
                self._in_reasoning = self._is_blank
            case "<|message|>" | "</think>":
                self._begin_anew(self._length - len(text) + found.end())
            case _:
                return self._begin_json(text, found.start())
        return found.end()

    def _begin_anew(self, begin: int) -> None:
        self.json = None
        self._start = self._begin = begin
        self._is_blank = True
        self._in_reasoning = self._has_broken = False

    def _begin_json(self, text: str, at: int) -> int:
        if self.json is None:
            self._begin = self._length - len(text) + at
        else:
            self._has_broken = True
        self.json = PartialJson()
        return self.json.feed(text, at)


def _is_none(json: PartialJson) -> bool:
    """Whether it turned out that no value begins there, before anything was known of one."""
    return json.status == "broken" and not json.value()
