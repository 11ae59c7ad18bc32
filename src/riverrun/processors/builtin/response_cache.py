"""ResponseCache: the same request is answered once by the model, and then from memory."""

from __future__ import annotations

import hashlib
from collections.abc import MutableMapping, Sequence
from typing import Any

from msgspec.structs import replace

from riverrun.chunks import ChunkType, FinishChunk, Message, UnknownMessage
from riverrun.chunks.codec import json_text
from riverrun.processors.builtin.lru import LruCache
from riverrun.processors.cached import CachedResponse
from riverrun.processors.context import ProcessorContext
from riverrun.processors.processor import Processor
from riverrun.types import ModelRequest

MOST_CHUNKS = 20_000
"""An answer of more chunks is not kept."""

_WHOLE = {"stop", "tool-calls", "length"}
"""Reasons of answers that are worth to be kept."""


class ResponseCache(Processor):
    """Streams the chunks of an earlier answer when a model is asked the very same again.

    The same is: model, messages, tools, tool choice, settings, response format and provider options. Each replay has
    the id of the run that it is in. `cache` is any mapping from a key to chunks, shared as widely as one likes; without
    it the `max_entries` newest answers are kept in memory, for `ttl` seconds.
    """

    def __init__(
        self,
        cache: MutableMapping[str, Sequence[ChunkType]] | None = None,
        *,
        max_entries: int = 256,
        ttl: float | None = 3600.0,
        id: str | None = None,
    ) -> None:
        """Raises ConfigError for limits that there cannot be."""
        super().__init__(id=id)
        self.cache: MutableMapping[str, Sequence[ChunkType]] = (
            LruCache(max_entries, ttl=ttl) if cache is None else cache
        )

    def process_llm_request(self, request: ModelRequest, ctx: ProcessorContext) -> CachedResponse | None:
        key = ctx.state["key"] = _key(request, ctx)
        chunks = self.cache.get(key)
        if chunks is None:
            return None
        return CachedResponse([replace(chunk, run_id=request.run_id) for chunk in chunks])

    def process_llm_response(self, chunks: Sequence[ChunkType], ctx: ProcessorContext) -> None:
        key: str | None = ctx.state.pop("key", None)
        if key is not None and len(chunks) <= MOST_CHUNKS and _is_whole(chunks):
            self.cache[key] = tuple(chunks)


def _key(request: ModelRequest, ctx: ProcessorContext) -> str:
    model = ctx.model
    asked: dict[str, Any] = {
        "model": [model.provider, model.model_id] if model else None,
        "messages": [_without_id(message) for message in request.messages],
        "tools": request.tools,
        "tool_choice": request.tool_choice,
        "settings": request.settings,
        "response_format": request.response_format,
        "provider_options": request.provider_options,
        "include_raw": request.include_raw,
    }
    return hashlib.sha256(json_text(asked).encode()).hexdigest()


def _without_id(message: Message) -> Message:
    """Providers are not told the ids of messages."""
    return message if isinstance(message, UnknownMessage) else replace(message, id=None)


def _is_whole(chunks: Sequence[ChunkType]) -> bool:
    """Whether the answer came to an end of its own."""
    finish = next((chunk.payload for chunk in reversed(chunks) if isinstance(chunk, FinishChunk)), None)
    return finish is not None and finish.step_result is not None and finish.step_result.reason in _WHOLE
