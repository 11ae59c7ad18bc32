"""The short way: events that only go on with a text, with reasoning or with the arguments of one call.

Nearly all events of a stream are of this kind. The classes take exactly these: an event with anything else that counts
does not decode, so that nothing is overlooked. Members that never count are skipped.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from riverrun.models.http import reader_of


class PlainFunction(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A piece of arguments."""

    arguments: str | None = None
    name: Literal[""] | None = None


class PlainCall(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A fragment of a call that has begun."""

    index: int
    function: PlainFunction
    id: Literal[""] | None = None
    type: str | None = None


class PlainDelta(msgspec.Struct, gc=False):
    """Text, reasoning or a fragment of a call."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Any] | None = None
    tool_calls: list[PlainCall] | None = None
    function_call: None = None
    refusal: Literal[""] | None = None
    annotations: None = None
    images: None = None
    audio: None = None


class PlainChoice(msgspec.Struct, gc=False):
    """A choice that goes on."""

    delta: PlainDelta
    index: Literal[0] | None = 0
    finish_reason: None = None
    logprobs: None = None
    usage: None = None


class PlainEvent(msgspec.Struct, gc=False):
    """An event with one choice."""

    choices: tuple[PlainChoice]
    object: Literal["chat.completion.chunk", ""] | None = None
    usage: dict[str, Any] | None = None
    error: None = None
    x_groq: None = None
    citations: None = None
    search_results: None = None


read_plain = reader_of(PlainEvent)
"""The event, or None if it is none that may go the short way."""
