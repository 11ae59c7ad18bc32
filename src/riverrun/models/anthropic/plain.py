"""The short way: events that only go on with a text, with reasoning or with the arguments of a call.

Nearly all events of a stream are of this kind. The classes take exactly these; members that never count are skipped.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from riverrun.models.http import reader_of


class PlainText(msgspec.Struct, gc=False, tag="text_delta"):
    """A piece of text."""

    text: str
    citation: None = None


class PlainThinking(msgspec.Struct, gc=False, tag="thinking_delta"):
    """A piece of reasoning."""

    thinking: str
    signature: None = None


class PlainArguments(msgspec.Struct, gc=False, tag="input_json_delta"):
    """A piece of arguments."""

    partial_json: str


class PlainEvent(msgspec.Struct, gc=False):
    """The delta of one block."""

    type: Literal["content_block_delta"]
    index: int
    delta: PlainText | PlainThinking | PlainArguments
    error: None = None


read_plain = reader_of(PlainEvent)
"""The event, or None if it is none that may go the short way."""
