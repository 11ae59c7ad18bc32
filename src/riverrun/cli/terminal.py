"""Text for a terminal: made harmless, measured in columns, coloured, set in paragraphs. Knows nothing of chunks."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Callable
from typing import TextIO

Write = Callable[[str], None]
"""Takes the next piece of output."""

BOLD, DIM, RED, YELLOW, BLUE, CYAN = "1", "2", "31", "33", "34", "36"

_COLOR_SEQUENCE = re.compile(r"\x1b\[[0-9;:?]*[A-Za-z]")
_TURNING = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # these make text look like another one
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{_TURNING}]")
_SPACE = re.compile(r"\s+")


def sanitize(text: str) -> str:
    """Take out what a terminal would obey: escape sequences, all control characters but newline and tab, and those
    that turn the direction of text.

    Half surrogates go too: they cannot be written at all.
    """
    if text.isascii() and text.isprintable():
        return text
    return _CONTROL.sub("", _COLOR_SEQUENCE.sub("", text))


def escape(json: str) -> str:
    """The same JSON value (of encoded text, on one line) without characters that a terminal would obey."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", json)


def one_line(text: str) -> str:
    """The text made harmless, on one line: each run of white space becomes one space."""
    return _SPACE.sub(" ", sanitize(text)).strip()


def columns(text: str) -> int:
    """How many columns the text takes; East Asian wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, width: int) -> str:
    """The text if it takes at most `width` columns, else its beginning and an ellipsis."""
    if len(text) * 2 <= width or columns(text) <= width:
        return text
    used = 0
    for position, character in enumerate(text):
        used += _columns_of(character)
        if used > width - 1:
            return text[:position].rstrip() + "…"
    return text


def paint(text: str, *codes: str) -> str:
    """Colour each line of the text by itself, so that a line can be cut off or indented without a leak."""
    start = f"\x1b[{';'.join(codes)}m"
    return "\n".join(f"{start}{line}\x1b[0m" if line else "" for line in text.split("\n"))


def color_wanted(stream: TextIO, *, no_color: bool = False) -> bool:
    """Whether to colour what goes to the stream: it is a terminal that can, and nobody said no."""
    if no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return False
    return os.name != "nt" or "WT_SESSION" in os.environ or "TERM" in os.environ


def width_of(stream: TextIO) -> int:
    """Columns of the terminal; 100 for anything else."""
    return max(20, shutil.get_terminal_size((80, 24)).columns) if stream.isatty() else 100


def writer(stream: TextIO) -> Write:
    """Write to the stream at once; a character that its encoding lacks becomes a question mark."""

    def write(text: str) -> None:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()

    return write


class Page:
    """Paragraphs with one blank line between them, whatever was written before."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._newlines = 2  # newlines that the page ends with; a new page needs none

    def text(self, text: str, painted: str | None = None) -> None:
        """Go on with the text; `painted`: its coloured form."""
        if not text:
            return
        self._write(text if painted is None else painted)
        ending = len(text) - len(text.rstrip("\n"))
        self._newlines = ending if ending < len(text) else self._newlines + ending

    def fresh_line(self) -> None:
        """End the line that is open."""
        if self._newlines == 0:
            self.text("\n")

    def paragraph(self) -> None:
        """End the line that is open and leave one blank."""
        if self._newlines < 2:
            self.text("\n" * (2 - self._newlines))


class Lines:
    """Pieces of text in, whole lines out; blank lines are left out, long ones are broken at a space."""

    def __init__(self, emit: Write, width: int) -> None:
        self._emit = emit
        self._width = width
        self._open = ""

    def write(self, text: str) -> None:
        """Take a piece of text."""
        *whole, rest = (self._open + text).split("\n")
        for line in whole:
            self._give(self._shortened(line))
        self._open = self._shortened(rest)

    def close(self) -> None:
        """Give out the line that is open."""
        self._give(self._open)
        self._open = ""

    def _shortened(self, line: str) -> str:
        """Give out full lines from the beginning of a long one until the rest is short enough."""
        start = 0
        while len(line) - start > self._width or columns(line[start:]) > self._width:
            head = fit(line[start : start + self._width], self._width).removesuffix("…")
            end = len(head) if line[start + len(head) : start + len(head) + 1] == " " else head.rfind(" ")
            start += self._give(head[:end] if end > 0 else head or line[start])
            while line[start : start + 1] == " ":
                start += 1
        return line[start:]

    def _give(self, line: str) -> int:
        if line.strip():
            self._emit(line.rstrip())
        return len(line)
