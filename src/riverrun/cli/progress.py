"""How far a download is: byte counts in, a bar that redraws itself (or, where that cannot be, lines) out."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from riverrun.cli.phrases import size_text
from riverrun.cli.terminal import Write, columns, fit

_REDRAW = 0.1  # seconds between two drawings of the bar
_MEMORY = 8.0  # seconds that the speed is taken over


class Progress:
    """`live`: draw a bar on one line; else a line for every 10 %, or every 50 MB when the total is unknown."""

    def __init__(
        self, write: Write, *, live: bool, width: int = 80, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._live = live
        self._width = width
        self._clock = clock
        self._samples: deque[tuple[float, int]] = deque()
        self._drawn_at: float | None = None
        self._drawn = 0  # columns of the line that is drawn
        self._told: int | None = None  # tenths, or 50 MB, that were told

    def update(self, done: int, total: int | None) -> None:
        """`done` of `total` bytes are there."""
        now = self._clock()
        if self._samples and done < self._samples[-1][1]:  # begun anew
            self._samples.clear()
            self._told = None
        self._samples.append((now, done))
        while now - self._samples[0][0] > _MEMORY and len(self._samples) > 2:
            self._samples.popleft()
        if self._live:
            self._draw(now, done, total)
        else:
            self._tell(done, total)

    def close(self) -> None:
        """Leave the bar where it is and go to the next line."""
        if self._drawn:
            self._write("\n")
            self._drawn = 0

    def _draw(self, now: float, done: int, total: int | None) -> None:
        if self._drawn_at is not None and now - self._drawn_at < _REDRAW and done != total:
            return
        self._drawn_at = now
        words = self._words(done, total)
        room = self._width - columns(words) - 2
        line = fit(f"{_bar(done, total, min(30, room))} {words}" if total and room >= 5 else words, self._width - 1)
        self._write("\r" + line + " " * max(0, self._drawn - columns(line)))
        self._drawn = columns(line)

    def _tell(self, done: int, total: int | None) -> None:
        reached = done * 10 // total if total else done // 50_000_000
        if reached != self._told and (self._told is not None or reached == 0 or done == total):
            self._write(self._words(done, total) + "\n")
        self._told = reached

    def _words(self, done: int, total: int | None) -> str:
        speed = self._speed()
        parts = [f"{size_text(done)} of {size_text(total)}" if total else size_text(done)]
        if speed:
            parts.append(f"{size_text(speed)}/s")
        if speed and total and done < total:
            parts.append(f"{_duration((total - done) / speed)} left")
        return (f"{done * 100 // total:3d}%  " if total else "") + "  ".join(parts)

    def _speed(self) -> float:
        """Bytes a second, of late."""
        (began, first), (now, last) = self._samples[0], self._samples[-1]
        return max(0.0, (last - first) / (now - began)) if now > began else 0.0


def _bar(done: int, total: int, width: int) -> str:
    full = min(width, done * width // total)
    return "█" * full + "░" * (width - full)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
