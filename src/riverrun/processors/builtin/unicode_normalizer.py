"""UnicodeNormalizer: texts of the input in one form, without characters that nobody sees."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal, TypeAlias

from riverrun.chunks import Message
from riverrun.errors import ConfigError
from riverrun.processors.context import ProcessorContext
from riverrun.processors.processor import Processor
from riverrun.processors.texts import texts_of, with_texts

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]

_CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f"
_INVISIBLE = "\xad\u200b\u2060-\u2064\ufeff\U000e0000-\U000e007f"  # not the joiners: emoji and scripts need them
_DIRECTION = "\u202a-\u202e\u2066-\u2069"
_UNSEEN = re.compile(f"[{_CONTROL}{_INVISIBLE}{_DIRECTION}\ud800-\udfff]")
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n{3,}")


class UnicodeNormalizer(Processor):
    """Brings the texts of the messages that a run starts with into one Unicode form.

    NFKC, the default, makes one letter of those that look alike, as full-width ones, so that filters after it cannot be
    got round with them. `strip` takes away control characters, zero-width ones, tags and overrides of the writing
    direction. `collapse` makes one space of several and trims; it is off because the indentation of code is lost by it.
    """

    def __init__(
        self, *, form: Form = "NFKC", strip: bool = True, collapse: bool = False, id: str | None = None
    ) -> None:
        """Raises ConfigError for a form that there is not."""
        super().__init__(id=id)
        if form not in ("NFC", "NFD", "NFKC", "NFKD"):
            raise ConfigError(f"UnicodeNormalizer: form is NFC, NFD, NFKC or NFKD, not {form!r}")
        self.form: Form = form
        self.strip = strip
        self.collapse = collapse

    def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message]:
        changed = (with_texts(message, [self.normalized(text) for text in texts_of(message)]) for message in messages)
        return [message for message in changed if message is not None]

    def normalized(self, text: str) -> str:
        """The text as it is passed on."""
        text = unicodedata.normalize(self.form, text)
        if self.strip:
            text = _UNSEEN.sub("", text.replace("\r\n", "\n"))
        if self.collapse:
            text = _BLANK_LINES.sub("\n\n", _SPACES.sub(" ", text)).strip()
        return text
