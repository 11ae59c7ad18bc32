"""The short way: events that only go on with a text or with thoughts.

Nearly all events of a stream are of this kind. The classes take exactly these: an event with anything else that counts
does not decode, so that nothing is overlooked. Members that never count are skipped.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from riverrun.models.http import reader_of


class PlainPart(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A piece of text, or of thoughts."""

    text: str
    thought: bool | None = None


class PlainContent(msgspec.Struct, gc=False):
    """A content of one part."""

    parts: tuple[PlainPart]


class PlainCandidate(msgspec.Struct, gc=False, rename="camel"):
    """A candidate that goes on."""

    content: PlainContent
    index: Literal[0] | None = 0
    finish_reason: None = None
    finish_message: None = None
    safety_ratings: None = None
    citation_metadata: None = None
    grounding_metadata: None = None
    url_context_metadata: None = None
    logprobs_result: None = None


class PlainEvent(msgspec.Struct, gc=False, rename="camel"):
    """An event with one candidate. Its usage is left as it came: only the last one is read."""

    candidates: tuple[PlainCandidate]
    usage_metadata: msgspec.Raw = msgspec.Raw()
    prompt_feedback: None = None
    model_status: None = None
    error: None = None


read_plain = reader_of(PlainEvent)
"""The event, or None if it is none that may go the short way."""
