"""The text and reasoning blocks of one answer. One is open at a time."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from riverrun.models.answer import AnswerWriter
from riverrun.models.openai_chat.reasoning import ReasoningDetails

Kind: TypeAlias = Literal["text", "refusal", "reasoning"]
"""What a block is. A refusal is a text, marked in the provider metadata of its start."""


class Blocks:
    """Opens, grows and closes blocks. `kind` and `id` are the open one's; `details` those of the reasoning to come."""

    def __init__(self, writer: AnswerWriter) -> None:
        self.kind: Kind | None = None
        self.id = ""
        self.details = ReasoningDetails()
        self.wants_text_back = False  # the open reasoning came as `reasoning_content`, which servers want to see again
        self._writer = writer

    def open(self, kind: Kind) -> None:
        """Close the open block and begin one of this kind."""
        self.close()
        self.kind = kind
        if kind == "reasoning":
            self.id = self._writer.reasoning_start()
        else:
            self.id = self._writer.text_start({"refusal": True} if kind == "refusal" else None)

    def grow(self, text: str) -> None:
        """A piece of the open block."""
        if self.kind == "reasoning":
            self._writer.reasoning_delta(self.id, text)
        else:
            self._writer.text_delta(self.id, text)

    def close(self) -> None:
        """Close the open block, if there is one."""
        kind, self.kind = self.kind, None
        if kind == "reasoning":
            self._close_reasoning()
        elif kind is not None:
            self._writer.text_end(self.id)

    def _close_reasoning(self) -> None:
        details, signature = self.details.take()
        metadata: dict[str, Any] = {}
        if details:
            metadata["reasoning_details"] = details
        if self.wants_text_back:
            metadata["field"] = "reasoning_content"
            self.wants_text_back = False
        self._writer.reasoning_end(self.id, signature=signature, metadata=metadata)
