"""What the tests of runs are made of: parts of answers, models that watch their own closing, and ways to read a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing
from typing import Any, TypeVar

import pytest

from riverrun import Agent, ModelRequest, Run
from riverrun.chunks import ChunkType
from riverrun.chunks.grammar import problems
from riverrun.models import ScriptedModel
from riverrun.models.parts import Part

C = TypeVar("C", bound=ChunkType)
T = TypeVar("T")

USAGE = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
HANG: Part = {"type": "$await_abort"}
"""The model says nothing more until it is cancelled."""


# -- parts of an answer


def text(*pieces: str, id: str = "t") -> list[Part]:
    """A block of text."""
    return [
        {"type": "text-start", "id": id},
        *({"type": "text-delta", "id": id, "delta": piece} for piece in pieces),
        {"type": "text-end", "id": id},
    ]


def reasoning(*pieces: str, id: str = "r", **more: Any) -> list[Part]:
    """A block of reasoning."""
    return [
        {"type": "reasoning-start", "id": id},
        *({"type": "reasoning-delta", "id": id, "delta": piece} for piece in pieces),
        {"type": "reasoning-end", "id": id, **more},
    ]


def call(name: str, id: str = "c1", args: Any = "{}", **more: Any) -> Part:
    """A call of a tool; `args` as the model writes them."""
    return {"type": "tool-call", "toolCallId": id, "toolName": name, "input": args, **more}


def finish(reason: str = "stop", usage: dict[str, Any] | None = None) -> Part:
    return {"type": "finish", "finishReason": reason, "usage": USAGE if usage is None else usage}


def says(*pieces: str, reason: str = "stop") -> list[Part]:
    """A whole answer of text."""
    return [*text(*pieces), finish(reason)]


def calls(*names: str) -> list[Part]:
    """A whole answer that calls tools, with the ids c1, c2, …"""
    return [*(call(name, f"c{number}") for number, name in enumerate(names, 1)), finish("tool-calls")]


def deltas(count: int, size: int = 1) -> list[Part]:
    """A whole answer of `count` different pieces of at least `size` characters."""
    return says(*(f"{number:>{size}}" for number in range(count)))


# -- models


class WatchedModel(ScriptedModel):
    """Knows how many of its streams were opened and how many closed."""

    opened = 0
    closed = 0

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        self.opened += 1
        try:
            async with aclosing(super().stream(request)) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            self.closed += 1


def agent_of(*answers: Any, **options: Any) -> Agent:
    """An agent whose model gives these answers."""
    return Agent("tested", model=ScriptedModel(answers), **options)


# -- reading


async def read(run: AsyncIterable[T]) -> list[T]:
    return [item async for item in run]


async def read_until(run: Run, kind: str, count: int = 1) -> list[ChunkType]:
    """The chunks up to the `count`-th of type `kind`."""
    chunks: list[ChunkType] = []
    async for chunk in run:
        chunks.append(chunk)
        count -= chunk.type == kind
        if count == 0:
            return chunks
    raise AssertionError(f"the run ended without {kind}: {types(chunks)}")


def types(chunks: Iterable[ChunkType]) -> list[str]:
    return [chunk.type for chunk in chunks]


def of(kind: type[C], chunks: Iterable[ChunkType]) -> list[C]:
    """The chunks of one class."""
    return [chunk for chunk in chunks if isinstance(chunk, kind)]


def assert_well_formed(chunks: Iterable[ChunkType]) -> None:
    assert problems(chunks) == []


async def turns(count: int = 10) -> None:
    """Let everything else run for a while, without a clock."""
    for _ in range(count):
        await asyncio.sleep(0)


def noted_sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """From now on every sleep of some length takes no time and is noted in the list."""
    noted: list[float] = []
    sleep = asyncio.sleep

    async def nap(seconds: float) -> None:
        if seconds > 0:
            noted.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", nap)
    return noted
