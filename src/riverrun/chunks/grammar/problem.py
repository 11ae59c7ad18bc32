"""What is found wrong with a stream, and where it is noted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]
"""An error breaks the format; a warning is what some senders do and readers can bear."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at a chunk. `position` counts from 0; for the end of the stream it is the number of chunks."""

    position: int
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"chunk {self.position}: {self.severity}: {self.message}"


class Log:
    """Takes problems; `place` says in which nested stream they are."""

    __slots__ = ("found", "place")

    def __init__(self, found: list[Problem], place: str = "") -> None:
        self.found = found
        self.place = place

    def error(self, at: int, message: str) -> None:
        """Note what breaks the format at position `at`."""
        self.found.append(Problem(at, self.place + message))

    def warn(self, at: int, message: str) -> None:
        """Note what is odd at position `at`."""
        self.found.append(Problem(at, self.place + message, "warning"))

    def inside(self, place: str) -> Log:
        """The log of a stream nested in this one."""
        return Log(self.found, f"{self.place}{place}: ")
