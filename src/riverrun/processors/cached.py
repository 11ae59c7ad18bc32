"""An answer that is known already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riverrun.chunks import ChunkType


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """Chunks to be streamed in place of a model call: what a Model would give, finish included."""

    chunks: Sequence[ChunkType]
