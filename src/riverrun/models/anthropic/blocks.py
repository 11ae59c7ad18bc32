"""The content blocks of one message, from start to stop → chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from riverrun.chunks.envelope import is_list, is_object, mapping
from riverrun.models.answer import AnswerWriter, StreamedCall
from riverrun.models.anthropic.sources import note_citation


class Block(Protocol):
    """A block that is open."""

    def grow(self, delta: Mapping[str, Any]) -> None:
        """Take the delta of an event."""
        ...

    def end(self, *, cut: bool = False) -> None:
        """It is over. `cut`: another message began before it was whole."""
        ...


class TextBlock:
    """Text, and what it cites."""

    def __init__(self, writer: AnswerWriter, block: Mapping[str, Any]) -> None:
        self.id = writer.text_start()
        self._writer = writer
        self._citations: list[Any] = []
        self.grow(block)
        citations = block.get("citations")
        for citation in citations if is_list(citations) else ():
            self._cite(citation)

    def grow(self, delta: Mapping[str, Any]) -> None:
        text = delta.get("text")
        if isinstance(text, str):
            self._writer.text_delta(self.id, text)
        self._cite(delta.get("citation"))

    def end(self, *, cut: bool = False) -> None:
        self._writer.text_end(self.id, {"citations": self._citations} if self._citations else None)

    def _cite(self, citation: object) -> None:
        if is_object(citation):
            self._citations.append(citation)
            note_citation(citation, self._writer)


class ThinkingBlock:
    """Reasoning, and its signature, which has to come back with it."""

    def __init__(self, writer: AnswerWriter, block: Mapping[str, Any]) -> None:
        self.id = writer.reasoning_start()
        self._writer = writer
        self._signature: list[str] = []
        self.grow(block)

    def grow(self, delta: Mapping[str, Any]) -> None:
        text, signature = delta.get("thinking"), delta.get("signature")
        if isinstance(text, str):
            self._writer.reasoning_delta(self.id, text)
        if isinstance(signature, str):
            self._signature.append(signature)

    def end(self, *, cut: bool = False) -> None:
        signature = "".join(self._signature)
        self._writer.reasoning_end(
            self.id, signature=signature, metadata={"signature": signature} if signature else None
        )


class CallBlock:
    """A call of a tool. Its arguments come in pieces, or whole at the start."""

    def __init__(self, writer: AnswerWriter, call: StreamedCall, block: Mapping[str, Any]) -> None:
        self.call = call
        self._writer = writer
        self._input: object = block.get("input")
        writer.call_start(call)

    def grow(self, delta: Mapping[str, Any]) -> None:
        piece = delta.get("partial_json")
        if isinstance(piece, str) and not self.call.ended:
            self._writer.call_delta(self.call, piece)

    def end(self, *, cut: bool = False) -> None:
        if self.call.ended:
            return
        if self._input and not self.call.pieces:
            self._writer.call_delta(self.call, msgspec.json.encode(self._input).decode())
        if cut and not self.call.pieces:  # none are known, which is not the same as none
            self._writer.call_end(self.call, None)
        else:
            self._writer.call_end(self.call)


class CustomBlock:
    """A block of a kind that only Anthropic has. It is kept whole, for the way back."""

    def __init__(self, writer: AnswerWriter, kind: str, block: Mapping[str, Any]) -> None:
        self._writer = writer
        self._kind = kind
        self._block = dict(block)

    def grow(self, delta: Mapping[str, Any]) -> None:
        for name, value in delta.items():
            held = self._block.get(name)
            if isinstance(held, str) and isinstance(value, str) and name != "type":
                self._block[name] = held + value
            elif value is not None and name != "type":
                self._block[name] = value

    def end(self, *, cut: bool = False) -> None:
        if not cut:
            self._writer.custom(self._kind, {"block": self._block})


class WholeBlock:
    """A block that came whole at its start: nothing is to be added."""

    def grow(self, delta: Mapping[str, Any]) -> None:
        pass

    def end(self, *, cut: bool = False) -> None:
        pass


def kind_of_delta(delta: Mapping[str, Any]) -> str | None:
    """The type of the block that a delta belongs to, for one whose start did not come; None: it cannot be told."""
    kind = mapping(delta).get("type")
    return _BEGUN_BY.get(kind) if isinstance(kind, str) else None


_BEGUN_BY = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "compaction_delta": "compaction",
}
