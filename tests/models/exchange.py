"""What the tests of all models share: a request, reading its answer or its failure, and counting tasks and sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.chunks import ChunkType, TextDeltaChunk, TextPart, UserMessage
from riverrun.errors import ModelError
from riverrun.types import ModelRequest
from tests.models.decoding import RUN

KEY = "sk-secret-0123456789"
"""The key of all models under test."""

needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open sockets in /proc")


def request(**members: Any) -> ModelRequest:
    return ModelRequest(messages=[UserMessage(content=[TextPart(text="hi")])], run_id=RUN, **members)


async def collect(stream: AsyncGenerator[ChunkType, None]) -> list[ChunkType]:
    return [chunk async for chunk in stream]


async def failure_of(stream: AsyncGenerator[ChunkType, None]) -> tuple[list[ChunkType], ModelError]:
    """What a stream gave and how it failed."""
    chunks: list[ChunkType] = []

    async def read() -> None:
        async for chunk in stream:
            chunks.append(chunk)  # noqa: PERF401 - what came before the error is wanted

    with pytest.raises(ModelError) as caught:
        await read()
    return chunks, caught.value


def text_of(chunks: list[ChunkType]) -> str:
    return "".join(chunk.payload.text for chunk in chunks if isinstance(chunk, TextDeltaChunk))


def made_tasks() -> list[str]:
    """From now on, what the tasks of this loop run."""
    made: list[str] = []

    def factory(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(getattr(work, "__qualname__", repr(work)))
        return asyncio.Task(work, loop=loop, **options)

    asyncio.get_running_loop().set_task_factory(factory)
    return made


def sockets() -> int:
    """How many sockets this process has open."""
    return sum(link.startswith("socket:") for link in _links())


def _links() -> Iterator[str]:
    for entry in Path("/proc/self/fd").iterdir():
        try:
            yield str(entry.readlink())
        except FileNotFoundError:  # the folder's own handle
            continue
