"""What one step said: the chunks of a model call and of the tools it led to → the parts of a message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from riverrun.chunks.content import CustomChunk, FileChunk, SourceChunk
from riverrun.chunks.message import (
    CustomPart,
    FilePart,
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutput,
    ToolResultPart,
)
from riverrun.chunks.text import (
    ReasoningDeltaChunk,
    ReasoningEndChunk,
    ReasoningSignatureChunk,
    ReasoningStartChunk,
    RedactedReasoningChunk,
    TextDeltaChunk,
    TextEndChunk,
    TextStartChunk,
)
from riverrun.chunks.tools import (
    ToolCallChunk,
    ToolResultChunk,
)
from riverrun.chunks.union import ChunkType

BlockKind: TypeAlias = Literal["text", "reasoning"]
Metadata: TypeAlias = "dict[str, Any] | None"


@dataclass(slots=True)
class _Block:
    """A text or reasoning block while it grows. The last provider metadata given is the block's."""

    kind: BlockKind
    pieces: list[str] = field(default_factory=list[str])
    metadata: Metadata = None

    def part(self) -> MessagePart | None:
        text = "".join(self.pieces)
        if self.kind == "reasoning":
            return ReasoningPart(text, provider_options=self.metadata)
        if not text and self.metadata is None:
            return None
        return TextPart(text, provider_options=self.metadata)


class StepFold:
    """Gathers the content of one step, chunk by chunk."""

    def __init__(self) -> None:
        self.tool_calls: list[ToolCallChunk] = []
        self.has_content = False
        self._items: list[_Block | MessagePart] = []
        self._texts: dict[str, _Block] = {}
        self._reasoning: dict[str, _Block] = {}

    def add(self, chunk: ChunkType) -> None:
        """Take the next chunk; one that says nothing about the content is passed over."""
        match chunk:
            case TextDeltaChunk(p):
                self.has_content = True
                block = self._texts.get(p.id) or self._opened(self._texts, p.id, "text")
                block.pieces.append(p.text)
                if p.provider_metadata is not None:
                    block.metadata = p.provider_metadata
            case TextStartChunk(p) | TextEndChunk(p):
                self._note(self._texts, p.id, "text", p.provider_metadata)
            case ReasoningDeltaChunk(p):
                self._note(self._reasoning, p.id, "reasoning", p.provider_metadata).pieces.append(p.text)
            case ReasoningStartChunk(p) | ReasoningEndChunk(p) | ReasoningSignatureChunk(p):
                self._note(self._reasoning, p.id, "reasoning", p.provider_metadata)
            case ToolCallChunk():
                self._add_call(chunk)
            case SourceChunk():
                self.has_content = True
            case _:
                part = _whole_part(chunk)
                if part is not None:
                    self.add_part(part)

    def add_part(self, part: MessagePart) -> None:
        """Put a whole part at the end."""
        self._items.append(part)
        self.has_content = True

    @property
    def text(self) -> str:
        """The text so far."""
        blocks = (item for item in self._items if isinstance(item, _Block) and item.kind == "text")
        return "".join(piece for block in blocks for piece in block.pieces)

    def content(self) -> list[MessagePart]:
        """The parts so far, in the order in which they began. Empty text is left out, unless the provider signed it."""
        parts = (item.part() if isinstance(item, _Block) else item for item in self._items)
        return [part for part in parts if part is not None]

    def _note(self, blocks: dict[str, _Block], block_id: str, kind: BlockKind, metadata: Metadata) -> _Block:
        block = blocks.get(block_id) or self._opened(blocks, block_id, kind)
        if metadata is not None:
            block.metadata = metadata
        return block

    def _opened(self, blocks: dict[str, _Block], block_id: str, kind: BlockKind) -> _Block:
        block = blocks[block_id] = _Block(kind)
        self._items.append(block)
        if kind == "reasoning":
            self.has_content = True
        return block

    def _add_call(self, chunk: ToolCallChunk) -> None:
        call = chunk.payload
        self.tool_calls.append(chunk)
        self.add_part(
            ToolCallPart(
                tool_call_id=call.tool_call_id,
                tool_name=call.tool_name,
                input=call.args,
                provider_executed=call.provider_executed,
                provider_options=call.provider_metadata,
            )
        )


def _whole_part(chunk: ChunkType) -> MessagePart | None:
    """The part for content that comes whole; None for a chunk that is no content."""
    match chunk:
        case ToolResultChunk(p) if p.provider_executed:
            return ToolResultPart(
                tool_call_id=p.tool_call_id,
                tool_name=p.tool_name,
                output=ToolOutput("error-json" if p.is_error else "json", p.result),
                provider_options=p.provider_metadata,
            )
        case FileChunk(p):
            return FilePart(
                data=p.data, media_type=p.mime_type, filename=p.filename, provider_options=p.provider_metadata
            )
        case RedactedReasoningChunk(p):
            return ReasoningPart("", provider_options=p.provider_metadata)
        case CustomChunk(p):
            return CustomPart(kind=p.kind, provider_options=p.provider_metadata)
        case _:
            return None
