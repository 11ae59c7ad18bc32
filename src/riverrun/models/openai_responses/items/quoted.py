"""Free text in the arguments of a call, while it comes: as a JSON string, so that its pieces are JSON together."""

from __future__ import annotations

import msgspec

from riverrun.models.answer import AnswerWriter, StreamedCall
from riverrun.models.openai_responses.items.scope import rest_of


class QuotedText:
    """Grows a call's arguments by a text. `before` and `after` are the JSON around it."""

    def __init__(self, writer: AnswerWriter, call: StreamedCall, before: str = "", after: str = "") -> None:
        self._writer = writer
        self._call = call
        self._before = before
        self._after = after
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._pieces)

    def grow(self, piece: str) -> None:
        """A piece of the text."""
        if not piece:
            return
        quoted = msgspec.json.encode(piece).decode()[1:-1]
        self._writer.call_delta(self._call, quoted if self._pieces else f'{self._before}"{quoted}')
        self._pieces.append(piece)

    def complete(self, whole: str) -> None:
        """The whole text: grow by what did not come in pieces."""
        self.grow(rest_of(whole, self._pieces))

    def end(self, args: object) -> None:
        """The text is complete: close the string and give the call."""
        if self._pieces:
            self._writer.call_delta(self._call, f'"{self._after}')
        self._writer.call_end(self._call, args)
