"""Text and reasoning: a block opens, grows and closes; its chunks share an id.

Deltas are most of what flows and hold texts only, so the garbage collector need not look at them (`gc=False`):
otherwise each of its rounds would cost more the longer a run gets.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from riverrun.chunks.envelope import Chunk, Maybe, Record


class TextStartPayload(Record, frozen=True):
    """A text block opens."""

    id: str
    provider_metadata: Maybe[dict[str, Any]] = None


class TextDeltaPayload(Record, frozen=True, gc=False):
    """A piece of text."""

    id: str
    text: str
    provider_metadata: Maybe[dict[str, Any]] = None


class TextEndPayload(Record, frozen=True):
    """A text block closes."""

    id: str
    provider_metadata: Maybe[dict[str, Any]] = None


class TextStartChunk(Chunk, frozen=True):
    type: ClassVar[Literal["text-start"]] = "text-start"
    payload: TextStartPayload


class TextDeltaChunk(Chunk, frozen=True, gc=False):
    type: ClassVar[Literal["text-delta"]] = "text-delta"
    payload: TextDeltaPayload


class TextEndChunk(Chunk, frozen=True):
    type: ClassVar[Literal["text-end"]] = "text-end"
    payload: TextEndPayload


class ReasoningStartPayload(Record, frozen=True):
    """A reasoning block opens."""

    id: str
    signature: Maybe[str] = None
    provider_metadata: Maybe[dict[str, Any]] = None


class ReasoningDeltaPayload(Record, frozen=True, gc=False):
    """A piece of reasoning."""

    id: str
    text: str
    provider_metadata: Maybe[dict[str, Any]] = None


class ReasoningEndPayload(Record, frozen=True):
    """A reasoning block closes. `signature`: the final one, if the provider signs reasoning."""

    id: str
    signature: Maybe[str] = None
    provider_metadata: Maybe[dict[str, Any]] = None


class ReasoningSignaturePayload(Record, frozen=True):
    """The provider's signature of the block `id`, to be sent back with it byte for byte."""

    id: str
    signature: str
    provider_metadata: Maybe[dict[str, Any]] = None


class RedactedReasoningPayload(Record, frozen=True):
    """Reasoning that the provider gives only encrypted (beyond the page)."""

    id: str
    data: Any
    provider_metadata: Maybe[dict[str, Any]] = None


class ReasoningStartChunk(Chunk, frozen=True):
    type: ClassVar[Literal["reasoning-start"]] = "reasoning-start"
    payload: ReasoningStartPayload


class ReasoningDeltaChunk(Chunk, frozen=True, gc=False):
    type: ClassVar[Literal["reasoning-delta"]] = "reasoning-delta"
    payload: ReasoningDeltaPayload


class ReasoningEndChunk(Chunk, frozen=True):
    type: ClassVar[Literal["reasoning-end"]] = "reasoning-end"
    payload: ReasoningEndPayload


class ReasoningSignatureChunk(Chunk, frozen=True):
    """Stands just before its block's reasoning-end."""

    type: ClassVar[Literal["reasoning-signature"]] = "reasoning-signature"
    payload: ReasoningSignaturePayload


class RedactedReasoningChunk(Chunk, frozen=True):
    type: ClassVar[Literal["redacted-reasoning"]] = "redacted-reasoning"
    payload: RedactedReasoningPayload
