"""Order: which chunk may follow which. Chunks go in one by one, problems come out.

An agent's stream is turns (start … finish) of steps (step-start … step-finish); a resumed one begins with the outcome
of the call that it waited for. A workflow's stream is workflow-start … workflow-finish. Only the open turn, its open
step and the running tasks are remembered, so a chunk costs the same however long the stream is.
"""

from __future__ import annotations

from collections.abc import Iterable

from riverrun.chunks.grammar.problem import Log, Problem, Severity
from riverrun.chunks.grammar.stream import AnyStream
from riverrun.chunks.union import ChunkType
from riverrun.errors import GrammarError

__all__ = ["Grammar", "Problem", "Severity", "problems"]


def problems(chunks: Iterable[ChunkType], *, model: bool = False) -> list[Problem]:
    """Everything that is wrong with a whole stream, in its order. `model`: it is a model's, not an agent's."""
    grammar = Grammar(model=model)
    found = [problem for chunk in chunks for problem in grammar.check(chunk)]
    return found + grammar.end()


class Grammar:
    """Checks one stream, chunk by chunk.

    `check` and `end` give the problems; `accept` and `close` raise GrammarError at the first error and let warnings
    pass. With `model` the stream is that of a `riverrun.types.Model`: one step, from step-start to finish.
    """

    def __init__(self, *, model: bool = False) -> None:
        self._position = 0
        self._found: list[Problem] = []
        self._stream = AnyStream(Log(self._found), model=model)

    def check(self, chunk: ChunkType) -> list[Problem]:
        """Take the next chunk; gives what is wrong with it."""
        self._stream.take(chunk, self._position)
        self._position += 1
        return self._taken() if self._found else []

    def end(self) -> list[Problem]:
        """The stream is over; gives what is missing."""
        if self._position == 0:
            return [Problem(0, "the stream is empty")]
        self._stream.end(self._position)
        return self._taken()

    def accept(self, chunk: ChunkType) -> None:
        """Take the next chunk. Raises GrammarError when it may not stand here."""
        _raise_first(self.check(chunk))

    def close(self) -> None:
        """The stream is over. Raises GrammarError when something is missing."""
        _raise_first(self.end())

    def _taken(self) -> list[Problem]:
        found = self._found.copy()
        self._found.clear()
        return found


def _raise_first(found: list[Problem]) -> None:
    for problem in found:
        if problem.severity == "error":
            raise GrammarError(problem.message, position=problem.position)
