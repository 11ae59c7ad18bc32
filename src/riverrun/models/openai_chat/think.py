"""`<think>` tags: text of models that write their reasoning into the answer → reasoning and text.

Only a tag at the very start counts, so that an answer may speak of tags. White space may stand before it, and is
dropped then. A piece is held back only while it may be the beginning of the tag that is looked for.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Piece: TypeAlias = tuple[Literal["text", "reasoning"], str]
"""What a piece is, and its text (not empty)."""

_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkTags:
    """Splits one answer. `settled` once no tag is looked for any more: the rest is text, as it comes."""

    def __init__(self) -> None:
        self.settled = False
        self._inside = False
        self._held: str = ""

    def feed(self, text: str) -> list[Piece]:
        """Take the next piece of the answer; gives what is certain by now."""
        text = self._held + text
        self._held = ""
        if self.settled:
            return [("text", text)] if text else []
        if self._inside:
            return self._inner(text)
        begin = text.lstrip()
        if begin.startswith(_OPEN):
            self._inside = True
            return self._inner(begin[len(_OPEN) :])
        if _OPEN.startswith(begin):
            self._held = text
            return []
        self.settled = True
        return [("text", text)]

    def flush(self) -> list[Piece]:
        """No tag is to be looked for any more; gives what was held back."""
        self.settled = True
        held, self._held = self._held, ""
        if not held:
            return []
        return [("reasoning" if self._inside else "text", held)]

    def _inner(self, text: str) -> list[Piece]:
        reasoning, tag, answer = text.partition(_CLOSE)
        if tag:
            self.settled, self._inside = True, False
            pieces: list[Piece] = [("reasoning", reasoning), ("text", answer)]
            return [piece for piece in pieces if piece[1]]
        keep = len(text) - _overlap(text)
        self._held = text[keep:]
        return [("reasoning", text[:keep])] if keep else []


def _overlap(text: str) -> int:
    """How many of the last characters may be the beginning of the closing tag."""
    for size in range(min(len(text), len(_CLOSE) - 1), 0, -1):
        if text.endswith(_CLOSE[:size]):
            return size
    return 0
