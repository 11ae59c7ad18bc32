"""Whether a stream keeps to the order of the format, as an assertion with a report."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from riverrun.chunks import ChunkType
from riverrun.chunks.grammar import Problem, problems

_NEIGHBOURS = 2
_SHOWN = ("id", "tool_call_id", "task_id", "step_name", "text", "tool_name", "reason", "step_result")


def assert_well_formed(chunks: Iterable[ChunkType], *, model: bool = False, strict: bool = False) -> None:
    """Fail when the chunks of a whole stream stand in an order that the format does not allow.

    The AssertionError tells every problem, with the chunks around it. `model`: it is a model's stream, one step from
    step-start to finish. `strict`: warnings fail too.
    """
    stream = list(chunks)
    found = problems(stream, model=model)
    if any(strict or problem.severity == "error" for problem in found):
        raise AssertionError(_report(stream, found))


def _report(stream: list[ChunkType], found: list[Problem]) -> str:
    errors = sum(problem.severity == "error" for problem in found)
    head = f"the stream of {_count(len(stream), 'chunk')} is not well formed: {_count(errors, 'error')}"
    warnings = f", {_count(len(found) - errors, 'warning')}" if errors < len(found) else ""
    return "\n\n".join([head + warnings, *(f"{problem}\n{_place(stream, problem.position)}" for problem in found)])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _place(stream: list[ChunkType], position: int) -> str:
    """The chunk at a position among its neighbours."""
    first, last = max(0, position - _NEIGHBOURS), min(len(stream), position + _NEIGHBOURS + 1)
    lines = [_line(at, _described(stream[at]), marked=at == position) for at in range(first, last)]
    if position == len(stream):
        lines.append(_line(position, "(end of the stream)", marked=True))
    return "\n".join(lines)


def _line(position: int, text: str, *, marked: bool) -> str:
    return f"  {'>' if marked else ' '} {position:5}  {text}"


def _described(chunk: ChunkType) -> str:
    """A chunk's type and the few members that tell it from others."""
    payload = getattr(chunk, "payload", None)
    if not isinstance(payload, msgspec.Struct):
        return chunk.type
    members = [(name, getattr(payload, name, None)) for name in _SHOWN]
    told = [f"{name}={_short(value)}" for name, value in members if value is not None]
    return " ".join([chunk.type, *told])


def _short(value: object) -> str:
    text = repr(msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else value)
    return text if len(text) <= 60 else f"{text[:59]}…"
