"""The text and reasoning blocks of one answer. One is open at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from riverrun.models.answer import AnswerWriter

Kind: TypeAlias = Literal["text", "reasoning"]

_THOUGHT = {"thought": True}
"""Marks reasoning as this provider's, which takes it back."""


class Blocks:
    """Opens, grows and closes blocks. `kind` and `id` are the open one's."""

    def __init__(self, writer: AnswerWriter) -> None:
        self.kind: Kind | None = None
        self.id = ""
        self._writer = writer

    def grow(self, kind: Kind, text: str) -> None:
        """A piece of a block of this kind: of the open one, or else of a new one."""
        if self.kind != kind:
            self._open(kind)
        if kind == "reasoning":
            self._writer.reasoning_delta(self.id, text)
        else:
            self._writer.text_delta(self.id, text)

    def whole(self, kind: Kind, text: str, metadata: Mapping[str, Any]) -> None:
        """A block of its own: a signed part has to come back as exactly that part."""
        self._open(kind)
        self.grow(kind, text)
        self.close(metadata)

    def close(self, metadata: Mapping[str, Any] | None = None) -> None:
        """Close the open block, if there is one."""
        kind, self.kind = self.kind, None
        if kind == "reasoning":
            signature = (metadata or {}).get("thoughtSignature")
            self._writer.reasoning_end(
                self.id,
                signature=signature if isinstance(signature, str) else None,
                metadata={**_THOUGHT, **(metadata or {})},
            )
        elif kind == "text":
            self._writer.text_end(self.id, metadata)

    def _open(self, kind: Kind) -> None:
        self.close()
        self.kind = kind
        self.id = self._writer.reasoning_start() if kind == "reasoning" else self._writer.text_start()
