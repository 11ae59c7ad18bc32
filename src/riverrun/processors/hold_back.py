"""Text that is held back until it was judged, so that a guardrail acts before anybody has read it.

block = held.hold(chunk)      # everything goes through the hold, so that nothing overtakes anything
block.edit(begin, end, "…")   # what is to be different in the text
block.settle(position)        # up to here the text may go
held.release()                # the chunks that wait for nothing any more
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from msgspec.structs import replace

from riverrun.chunks import ChunkType, ReasoningDeltaChunk, ReasoningEndChunk, TextDeltaChunk, TextEndChunk
from riverrun.processors.context import ProcessorContext

REMEMBERED = 64
"""Characters of settled text that a block keeps, so that one sees what stands before the text that is judged."""

Delta: TypeAlias = TextDeltaChunk | ReasoningDeltaChunk
BlockKind: TypeAlias = Literal["text", "reasoning"]


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` in place of what stands from `begin` to `end`."""

    begin: int
    end: int
    text: str


@dataclass(slots=True, eq=False)
class Block:
    """The text of a block of text or reasoning, as far as it is known. Positions count from the block's beginning.

    `text` is what is remembered of it, from position `begin` on; from `settled` on it is held. `closed`: no more comes.
    """

    text: str = ""
    begin: int = 0
    settled: int = 0
    closed: bool = False
    edits: list[Edit] = field(default_factory=list[Edit])

    @property
    def end(self) -> int:
        """The position after the last character."""
        return self.begin + len(self.text)

    @property
    def held(self) -> str:
        """The text that was not settled yet."""
        return self.text[self.settled - self.begin :]

    def edit(self, begin: int, end: int, text: str) -> None:
        """Put `text` in place of a held stretch. Edits come in order and do not overlap."""
        self.edits.append(Edit(begin, end, text))

    def settle(self, position: int) -> None:
        """Say that everything before `position` is as it is to be."""
        self.settled = max(self.settled, position)
        forgotten = self.settled - REMEMBERED - self.begin
        if forgotten > REMEMBERED:  # now and then, not for every character
            self.text = self.text[forgotten:]
            self.begin += forgotten


@dataclass(frozen=True, slots=True)
class _Held:
    """A chunk that waits; with a block, its text stands there from `begin` to `end`."""

    chunk: ChunkType
    block: Block | None = None
    begin: int = 0
    end: int = 0

    @property
    def may_go(self) -> bool:
        return self.block is None or self.block.settled >= self.end


class HoldBack:
    """Holds the chunks of a stream, in their order, behind text that was not settled yet.

    A delta goes when all of its text is settled; chunks of other kinds go when everything before them has gone.
    """

    def __init__(self) -> None:
        self._waiting: deque[_Held] = deque()
        self._open: dict[tuple[BlockKind, str], Block] = {}

    def hold(self, chunk: ChunkType) -> Block | None:
        """Take the next chunk. Gives the block whose text it adds to or ends, which may now be settled further."""
        match chunk:
            case TextDeltaChunk(p):
                return self._add(chunk, self._block("text", p.id))
            case ReasoningDeltaChunk(p):
                return self._add(chunk, self._block("reasoning", p.id))
            case TextEndChunk(p):
                block = self._close("text", p.id)
            case ReasoningEndChunk(p):
                block = self._close("reasoning", p.id)
            case _:
                block = None
        self._waiting.append(_Held(chunk))
        return block

    def close(self) -> Sequence[Block]:
        """Nothing more comes. Gives the blocks that were still open, to be settled."""
        blocks = list(self._open.values())
        self._open.clear()
        for block in blocks:
            block.closed = True
        return blocks

    def release(self) -> list[ChunkType]:
        """The chunks that may go now, with the edits in their text. Deltas without any text left are left out."""
        released: list[ChunkType] = []
        waiting = self._waiting
        while waiting and waiting[0].may_go:
            held = waiting.popleft()
            chunk = held.chunk
            if held.block is not None and held.block.edits:
                edited = _edited(held, held.block)
                if edited is None:
                    continue
                chunk = edited
            released.append(chunk)
        return released

    def _block(self, kind: BlockKind, block_id: str) -> Block:
        block = self._open.get((kind, block_id))
        if block is None:
            block = self._open[kind, block_id] = Block()
        return block

    def _add(self, chunk: Delta, block: Block) -> Block:
        begin = block.end
        block.text += chunk.payload.text
        self._waiting.append(_Held(chunk, block, begin, block.end))
        return block

    def _close(self, kind: BlockKind, block_id: str) -> Block | None:
        block = self._open.pop((kind, block_id), None)
        if block is not None:
            block.closed = True
        return block


def held_back(ctx: ProcessorContext) -> HoldBack:
    """What a processor holds back in its run."""
    held: HoldBack | None = ctx.state.get("held")
    if held is None:
        held = ctx.state["held"] = HoldBack()
    return held


def _edited(held: _Held, block: Block) -> ChunkType | None:
    """The delta with its share of the block's edits; a replacement stands in the delta in which the edit begins."""
    chunk = held.chunk
    assert isinstance(chunk, TextDeltaChunk | ReasoningDeltaChunk)
    text = chunk.payload.text
    pieces: list[str] = []
    at = held.begin
    for edit in block.edits:
        if edit.begin >= held.end:
            break
        if edit.begin >= held.begin:
            pieces += (text[at - held.begin : edit.begin - held.begin], edit.text)
        at = max(at, min(edit.end, held.end))
    pieces.append(text[at - held.begin :])
    block.edits = [edit for edit in block.edits if edit.end > held.end]
    changed = "".join(pieces)
    if changed == text:
        return chunk
    if not changed and chunk.payload.provider_metadata is None:
        return None
    return replace(chunk, payload=replace(chunk.payload, text=changed))
