"""The data of an event → JSON value, however badly a server writes JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

import msgspec

from riverrun.errors import ModelError

T = TypeVar("T")

NO_JSON = object()
"""Stands for data that is no JSON at all."""
_decode = msgspec.json.Decoder().decode


def read_json(data: bytes) -> object:
    """The value, or NO_JSON. Halves of surrogate pairs and bytes that are no UTF-8 become U+FFFD."""
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # what msgspec refuses: halves of surrogate pairs, bytes that are no UTF-8, NaN
        value = json.loads(data.decode("utf-8", "replace"))
        text = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return json.loads(text)
    except (ValueError, RecursionError):
        return NO_JSON


def reader_of(kind: type[T]) -> Callable[[bytes], T | None]:
    """What reads the data of an event as `kind`, a strict struct; None for data that it does not take."""
    decode = msgspec.json.Decoder(kind).decode

    def read(data: bytes) -> T | None:
        try:
            return decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    return read


def no_json(data: bytes) -> ModelError:
    """The failure of a stream that holds such data."""
    shown = data.decode("utf-8", "replace")
    return ModelError(f"the stream holds an event that is not JSON: {shown}", code="invalid_json")
