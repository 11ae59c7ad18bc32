"""Deltas of text and reasoning, seen alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeGuard

from msgspec.structs import replace

from riverrun.chunks import ChunkType, ReasoningDeltaChunk, TextDeltaChunk

Delta: TypeAlias = TextDeltaChunk | ReasoningDeltaChunk


def is_delta(chunk: ChunkType) -> TypeGuard[Delta]:
    """Whether a chunk is a piece of a block."""
    return type(chunk) is TextDeltaChunk or type(chunk) is ReasoningDeltaChunk


def same_block(one: Delta, other: Delta) -> bool:
    """Whether two deltas belong to one block."""
    return type(one) is type(other) and one.payload.id == other.payload.id


def with_text(delta: Delta, text: str) -> Delta:
    """The delta with another text."""
    return replace(delta, payload=replace(delta.payload, text=text))


def one_delta(deltas: Sequence[Delta]) -> Delta:
    """Deltas of one block as one. The last provider metadata that was given is kept, as in a fold."""
    last = deltas[-1]
    if len(deltas) == 1:
        return last
    metadata = [delta.payload.provider_metadata for delta in deltas if delta.payload.provider_metadata is not None]
    payload = replace(
        last.payload,
        text="".join(delta.payload.text for delta in deltas),
        provider_metadata=metadata[-1] if metadata else None,
    )
    return replace(last, payload=payload)
