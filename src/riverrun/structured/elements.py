"""An array's elements while it is written: object chunks → each element once, when it is complete."""

from __future__ import annotations

from typing import Any

from riverrun.chunks import ChunkType, ObjectChunk, ObjectResultChunk, StepStartChunk
from riverrun.chunks.envelope import is_list


class Elements:
    """Takes the chunks of a run, at either end of the wire, and gives the elements of the array that it writes.

    An element is complete when another one follows it or the array is done. A later step writes an array of its own.
    """

    def __init__(self) -> None:
        self._given = 0

    def add(self, chunk: ChunkType) -> list[Any]:
        """Take the next chunk. Returns the elements that became complete with it, in their order."""
        match chunk:
            case ObjectChunk(value) if is_list(value):
                return self._fresh(value, len(value) - 1)
            case ObjectResultChunk(value) if is_list(value) and not (chunk.metadata or {}).get("fallback"):
                return self._fresh(value, len(value))
            case StepStartChunk():
                self._given = 0
            case _:
                pass
        return []

    def _fresh(self, elements: list[Any], complete: int) -> list[Any]:
        fresh = elements[self._given : max(complete, 0)]
        self._given = min(self._given + len(fresh), len(elements))  # a model may begin its answer anew
        return fresh
