"""`riverrun lint`: a recorded stream, one JSON chunk a line, held against the format. Memory does not grow with it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from riverrun.chunks import ChunkType, decode
from riverrun.chunks.grammar import Grammar
from riverrun.cli.terminal import RED, YELLOW, color_wanted, one_line, paint, writer
from riverrun.errors import DecodeError

_CLEAN, _PROBLEMS, _UNUSABLE = 0, 1, 2
_LONGEST_LINE = 64 * 1024 * 1024  # bytes; a file without newlines is no stream of chunks


def lint(file: str, *, color: bool = True) -> int:
    """Check the file ("-": stdin) and print what is wrong with it; the exit code.

    0: clean, or warnings only; 1: errors; 2: nothing in it is a chunk. Raises OSError when it cannot be read.
    """
    report = _Report("<stdin>" if file == "-" else file, color=color_wanted(sys.stdout, no_color=not color))
    grammar = Grammar()
    with _opened(file) as source:
        for number, line in _lines(source):
            chunk = _chunk(line, number, report)
            if chunk is not None:
                report.chunks += 1
                for problem in grammar.check(chunk):
                    report.problem(number, problem.severity, problem.message)
    if report.chunks == 0:
        report.unusable()
        return _UNUSABLE
    for problem in grammar.end():
        report.problem(report.last_line, problem.severity, problem.message)
    report.summary()
    return _PROBLEMS if report.counts["error"] else _CLEAN


def _opened(file: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb")


def _lines(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that hold something. One that is too long is given cut off, and ends the file."""
    number = 0
    while line := source.readline(_LONGEST_LINE + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
        if line.strip():
            yield number, line
        if len(line) > _LONGEST_LINE:
            return


def _chunk(line: bytes, number: int, report: _Report) -> ChunkType | None:
    report.last_line = number
    if len(line) > _LONGEST_LINE:
        report.problem(number, "error", f"the line is longer than {_LONGEST_LINE // 2**20} MB; the rest is not checked")
        return None
    try:
        return decode(line)
    except DecodeError as error:
        report.problem(number, "error", str(error))
        return None


class _Report:
    """Prints problems and counts them."""

    def __init__(self, name: str, *, color: bool) -> None:
        self.name = name
        self.chunks = 0
        self.last_line = 0
        self.counts: Counter[str] = Counter()
        self._color = color
        self._write = writer(sys.stdout)

    def problem(self, line: int, severity: str, message: str) -> None:
        """One problem, in the form that editors know."""
        self.counts[severity] += 1
        word = paint(severity, RED if severity == "error" else YELLOW) if self._color else severity
        self._write(f"{self.name}:{line}: {word}: {one_line(message)}\n")

    def summary(self) -> None:
        """The last line."""
        found = [_counted(self.counts[word], word) for word in ("error", "warning") if self.counts[word]]
        self._write(f"{self.name}: {_counted(self.chunks, 'chunk')}, {', '.join(found) or 'no problems'}\n")

    def unusable(self) -> None:
        """Nothing in the file could be checked."""
        why = "it is empty" if not self.last_line else "give one JSON chunk a line, as riverrun chat --json prints them"
        writer(sys.stderr)(f"riverrun: {one_line(self.name)} holds no chunk: {why}\n")


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
