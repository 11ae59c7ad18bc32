"""A thread's title: a few words, by the model that had the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing

from riverrun.chunks import (
    AssistantMessage,
    ChunkType,
    Message,
    SystemMessage,
    TextDeltaChunk,
    TextEndChunk,
    TextPart,
    TextStartChunk,
    UserMessage,
)
from riverrun.processors import Pipeline
from riverrun.streams import uncancelled
from riverrun.types import Model, ModelRequest, Settings

_INSTRUCTIONS = "Give the conversation a title of at most six words. Answer with the title alone."
_LONGEST = 80
_LONGEST_WAIT = 30.0
_SHOWN = 2000


async def title_of(
    model: Model, messages: Sequence[Message], run_id: str, *, pipeline: Pipeline, limits: Iterable[float | None]
) -> str | None:
    """A title for a conversation, which has passed the processors. A title is not worth a failed run: None when the
    model fails in any way, a processor stops it, or it takes longer than any of `limits` (seconds; None: no limit).
    """
    said = "\n".join(line for message in messages if (line := _line(message)))[:_SHOWN]
    request = ModelRequest(
        messages=[SystemMessage(_INSTRUCTIONS), UserMessage([TextPart(said)])],
        run_id=run_id,
        settings=Settings(max_output_tokens=40),
    )
    pieces: list[str] = []

    def take(chunk: ChunkType) -> None:
        pieces.extend([chunk.payload.text] if isinstance(chunk, TextDeltaChunk) else [])

    try:
        limit = min(seconds for seconds in (_LONGEST_WAIT, *limits) if seconds is not None)
        async with asyncio.timeout(limit):
            await uncancelled(_hear(model.stream(request), pipeline, take))
    except Exception:
        return None
    return " ".join("".join(pieces).strip(" \"'\n").split())[:_LONGEST] or None


async def _hear(stream: AsyncGenerator[ChunkType, None], pipeline: Pipeline, take: Callable[[ChunkType], None]) -> None:
    async with aclosing(stream):
        async for chunk in stream:
            if isinstance(chunk, TextStartChunk | TextDeltaChunk | TextEndChunk):
                await pipeline.process_output_stream(chunk, take)
    await pipeline.process_output_stream_end(take)


def _line(message: Message) -> str:
    if not isinstance(message, UserMessage | AssistantMessage):
        return ""
    text = " ".join(part.text for part in message.content if isinstance(part, TextPart))
    return f"{message.role}: {text}" if text else ""
