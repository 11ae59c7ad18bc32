"""Values ↔ the texts that they are kept as: JSON, written by the codec of the chunks."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from riverrun.chunks import (
    FilePart,
    FinishChunk,
    FinishPayload,
    Message,
    Messages,
    SystemMessage,
    UnknownMessage,
    from_value,
)
from riverrun.chunks.codec import json_text
from riverrun.errors import ConfigError, StoreError


def written(value: object, what: str) -> str:
    """A value as JSON text. Raises ConfigError for one that has no JSON form; `what` says where it stands."""
    try:
        return json_text(value)
    except TypeError as error:
        raise ConfigError(f"{what} must be JSON: {error}") from error


def written_or_none(value: object | None, what: str) -> str | None:
    """As `written`, with None left as it is."""
    return None if value is None else written(value, what)


def read(text: str | None, type: Any = Any) -> Any:
    """The value (of this type) of a JSON text; None for None. Raises StoreError for a text that is none."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=type)
    except msgspec.DecodeError as error:
        raise StoreError(f"a record was damaged: {error}") from error


_UNKEEPABLE = re.compile("[\0\ud800-\udfff]")


def keepable(text: str | None) -> str | None:
    """The text with U+FFFD for the characters that not every database keeps: NUL and lone surrogates."""
    return None if text is None else _UNKEEPABLE.sub("\ufffd", text)


# -- messages


def binary_parts(message: Message) -> str | None:
    """The places (JSON) of the parts whose data are bytes, which in the message's own JSON are base64; None: none."""
    if isinstance(message, SystemMessage | UnknownMessage):
        return None
    places = [
        place
        for place, part in enumerate(message.content)
        if isinstance(part, FilePart) and isinstance(part.data, bytes)
    ]
    return json_text(places) if places else None


def read_message(text: str, binary: str | None) -> Message:
    """The message of a JSON text, with bytes where they were. Raises StoreError for a text that is none."""
    value = {"all": [read(text)], "user": [], "nonUser": []}
    match from_value({"type": "finish", "payload": {"messages": value}}):  # the chunk that carries messages
        case FinishChunk(FinishPayload(messages=Messages(all=[message]))):
            return message if binary is None else _with_bytes(message, read(binary))
        case _:
            raise StoreError("a message was damaged")


def _with_bytes(message: Any, places: Sequence[int]) -> Message:
    content = list(message.content)
    for place in places:
        content[place] = replace(content[place], data=base64.b64decode(content[place].data))
    restored: Message = replace(message, content=content)
    return restored
