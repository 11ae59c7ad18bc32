"""What the sources of weights share: how they report, and how they fail."""

from __future__ import annotations

from typing import Protocol


class SourceError(Exception):
    """A source does not have the file now; the message says why in one line. The next source may have it."""


class Report(Protocol):
    """Takes how many bytes are there, where they come from, and a line for the user."""

    def __call__(self, done: int, source: str, note: str = "") -> None: ...
