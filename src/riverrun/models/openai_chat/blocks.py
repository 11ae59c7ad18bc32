"""The text and reasoning blocks of one answer. One is open at a time; each has an id of its own."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from riverrun.chunks import (
    ChunkType,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    ReasoningEndChunk,
    ReasoningEndPayload,
    ReasoningSignatureChunk,
    ReasoningSignaturePayload,
    ReasoningStartChunk,
    ReasoningStartPayload,
    TextDeltaChunk,
    TextDeltaPayload,
    TextEndChunk,
    TextEndPayload,
    TextStartChunk,
    TextStartPayload,
)
from riverrun.models.openai_chat.reasoning import ReasoningDetails

Kind: TypeAlias = Literal["text", "refusal", "reasoning"]
"""What a block is. A refusal is a text, marked in the provider metadata of its start."""


class Blocks:
    """Opens, grows and closes blocks. `kind` and `id` are the open one's; `details` those of the reasoning to come."""

    def __init__(self, *, run_id: str, provider: str, prefix: str) -> None:
        self.kind: Kind | None = None
        self.id = ""
        self.details = ReasoningDetails()
        self.wants_text_back = False  # the open reasoning came as `reasoning_content`, which servers want to see again
        self._run_id = run_id
        self._provider = provider
        self._prefix = prefix
        self._count = 0

    def open(self, kind: Kind, out: list[ChunkType]) -> None:
        """Close the open block and begin one of this kind."""
        self.close(out)
        self.kind = kind
        self.id = f"{self._prefix}-{'reasoning' if kind == 'reasoning' else 'text'}-{self._count}"
        self._count += 1
        if kind == "reasoning":
            out.append(ReasoningStartChunk(ReasoningStartPayload(self.id), run_id=self._run_id, from_="AGENT"))
        else:
            metadata = {self._provider: {"refusal": True}} if kind == "refusal" else None
            out.append(TextStartChunk(TextStartPayload(self.id, metadata), run_id=self._run_id, from_="AGENT"))

    def delta(self, text: str) -> ChunkType:
        """A piece of the open block."""
        if self.kind == "reasoning":
            return ReasoningDeltaChunk(ReasoningDeltaPayload(self.id, text), run_id=self._run_id, from_="AGENT")
        return TextDeltaChunk(TextDeltaPayload(self.id, text), run_id=self._run_id, from_="AGENT")

    def close(self, out: list[ChunkType]) -> None:
        """Close the open block, if there is one."""
        kind, self.kind = self.kind, None
        if kind == "reasoning":
            self._close_reasoning(out)
        elif kind is not None:
            out.append(TextEndChunk(TextEndPayload(self.id), run_id=self._run_id, from_="AGENT"))

    def _close_reasoning(self, out: list[ChunkType]) -> None:
        details, signature = self.details.take()
        metadata: dict[str, Any] = {}
        if details:
            metadata["reasoning_details"] = details
        if self.wants_text_back:
            metadata["field"] = "reasoning_content"
            self.wants_text_back = False
        if signature:
            signed = ReasoningSignaturePayload(self.id, signature)
            out.append(ReasoningSignatureChunk(signed, run_id=self._run_id, from_="AGENT"))
        payload = ReasoningEndPayload(self.id, signature, {self._provider: metadata} if metadata else None)
        out.append(ReasoningEndChunk(payload, run_id=self._run_id, from_="AGENT"))
