"""The event stream of AWS, in which Bedrock frames the events of a message → server-sent events.

A frame: the lengths of the whole and of its headers, a checksum of these two, headers, payload, a checksum of all.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from riverrun.chunks.envelope import mapping
from riverrun.models.http import Response

_TYPE = "application/vnd.amazon.eventstream"
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""Bytes of a header's value by its type; types 6 and 7 say how many."""
_STATUS = {
    "internalServerException": 500,
    "modelStreamErrorException": 424,
    "modelTimeoutException": 408,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}
"""What a failure would have been as the status of a response."""


def unframed(response: Response) -> Response:
    """The response as server-sent events, if it is framed."""
    return _Unframed(response) if response.headers.get("content-type", "").startswith(_TYPE) else response


class FrameReader:
    """Reads one response. Feed it every piece; gives the server-sent events of the frames that are complete."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """Take the next piece. Raises ValueError when the stream is damaged."""
        self._held += piece
        return b"".join(_sse(headers, payload) for headers, payload in self._frames())

    def _frames(self) -> Iterator[tuple[dict[str, str], bytes]]:
        while len(self._held) >= 12:
            size, headers_size = int.from_bytes(self._held[:4]), int.from_bytes(self._held[4:8])
            if zlib.crc32(self._held[:8]) != int.from_bytes(self._held[8:12]) or size < headers_size + 16:
                raise ValueError("the event stream is damaged")
            if len(self._held) < size:
                return
            frame, self._held = self._held[:size], self._held[size:]
            if zlib.crc32(frame[:-4]) != int.from_bytes(frame[-4:]):
                raise ValueError("the event stream is damaged")
            yield _headers(frame[12 : 12 + headers_size]), frame[12 + headers_size : -4]


class _Unframed:
    """A response whose frames are read as they come."""

    def __init__(self, response: Response) -> None:
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    async def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        reader = FrameReader()
        async with aclosing(self._response.aiter_bytes()) as pieces:
            async for piece in pieces:
                events = reader.feed(piece)
                if events:
                    yield events

    async def aclose(self) -> None:
        await self._response.aclose()


def _headers(data: bytes) -> dict[str, str]:
    """The headers that are texts."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        name_end = at + 1 + data[at]
        name, kind, at = data[at + 1 : name_end].decode(), data[name_end], name_end + 1
        if kind in (6, 7):
            size, at = int.from_bytes(data[at : at + 2]), at + 2
        else:
            size = _SIZES[kind]
        if kind == 7:
            found[name] = data[at : at + size].decode()
        at += size
    return found


def _sse(headers: Mapping[str, str], payload: bytes) -> bytes:
    kind = headers.get(":message-type", "event")
    if kind == "event":
        event: Any = mapping(_json(payload)).get("bytes")
        return b"data: %b\n\n" % base64.b64decode(event) if isinstance(event, str) else b""
    word = headers.get(":exception-type") or headers.get(":error-code") or kind
    said = mapping(_json(payload)).get("message") or headers.get(":error-message")
    failure = {"type": word, "message": said, "status": _STATUS.get(word)}
    return b"event: error\ndata: %b\n\n" % msgspec.json.encode({"type": "error", "error": failure})


def _json(payload: bytes) -> object:
    try:
        return msgspec.json.decode(payload)
    except msgspec.DecodeError:
        return None
