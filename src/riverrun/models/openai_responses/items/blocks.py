"""The blocks of one item: one for each of its parts, and one open at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from riverrun.models.openai_responses.items.scope import rest_of


@dataclass(slots=True)
class Part:
    """A part of an item: what it is ("output_text", "summary_text", …) and its text so far. `block` is its block's id.

    The kind is "" as long as a block is open for an item whose first part has not come.
    """

    kind: str
    index: int
    block: str
    pieces: list[str] = field(default_factory=list[str])
    annotations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class Blocks:
    """Opens, grows and closes them. The last one stays open, because what belongs to the item comes at its end.

    `begin` opens a block for a kind of part and gives its id, `grow` takes that id and a piece, `end` closes a block.
    """

    def __init__(
        self, begin: Callable[[str], str], grow: Callable[[str, str], None], end: Callable[[Part], None]
    ) -> None:
        self.current: Part | None = None
        self._begin = begin
        self._grow = grow
        self._end = end
        self._parts: dict[tuple[str, int], Part] = {}

    def wait(self) -> None:
        """Open the block of the first part, which has not come yet."""
        self.current = Part("", 0, self._begin(""))

    def open(self, kind: str, index: int) -> Part:
        """The part, whose block is open now."""
        current = self.current
        if current is not None and current.index == index and current.kind == kind:
            return current
        if current is not None and not current.kind:
            current.kind, current.index = kind, index
            self._parts[kind, index] = current
            return current
        self.close()
        part = self._parts.get((kind, index))
        if part is None:
            part = self._parts[kind, index] = Part(kind, index, "")
        part.block = self._begin(kind)
        self.current = part
        return part

    def grow(self, kind: str, index: int, piece: str) -> None:
        """A piece of a part."""
        part = self.open(kind, index)
        part.pieces.append(piece)
        self._grow(part.block, piece)

    def complete(self, kind: str, index: int, whole: str) -> Part:
        """The whole text of a part: give what did not come in pieces."""
        part = self._parts.get((kind, index)) or self.open(kind, index)
        rest = rest_of(whole, part.pieces)
        if rest:
            self.grow(kind, index, rest)
        return part

    def close(self) -> None:
        """Close the open block, if there is one."""
        part, self.current = self.current, None
        if part is not None:
            self._end(part)
