"""Server-sent events: pieces of bytes, as the network cuts them → events.

Works on bytes, so that no piece has to end where a character does, and only CR, LF and CRLF end a line. JSON that
stands in the stream without `data:` (an error body, also one in several lines) is given as an event too.
"""

from __future__ import annotations

import msgspec

from riverrun.errors import ModelError

_BOM = b"\xef\xbb\xbf"
_LIMIT = 64 * 2**20
"""Bytes that may be held for one event: a server that never ends it would fill the memory."""


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event: its `data` lines joined by LF, and its name ("message" when the sender gave none)."""

    data: bytes
    event: str = "message"


class SseReader:
    """Reads one response. Feed it every piece, then close it."""

    def __init__(self) -> None:
        self._held: list[bytes] = []  # the beginning of an event, in pieces, none empty; joined when a blank line comes
        self._size = 0  # bytes held, here and as JSON
        self._after_cr = False  # the last piece ended in CR; an LF at the start of the next one belongs to it
        self._begun = False
        self._json: list[bytes] = []  # the lines of JSON without `data:`, blank ones left out

    def feed(self, piece: bytes) -> list[Event]:
        """Take the next piece; gives the events that are complete now. Raises ModelError when one is too long."""
        if self._after_cr or b"\r" in piece:
            piece = self._with_lf(piece)
        if b"\n\n" not in piece and not (piece.startswith(b"\n") and self._held and self._held[-1].endswith(b"\n")):
            self._hold(piece)
            return []
        if self._held:
            piece = self._with_held(piece)
        end = piece.rfind(b"\n\n")
        events = self._events(piece[:end])
        self._hold(piece[end + 2 :])
        return events

    def close(self) -> list[Event]:
        """The stream is over; gives the last event if no blank line followed it."""
        rest = self._with_held(b"")
        events = self._events(rest) if rest else []
        self._end_json(events)
        return events

    def _hold(self, piece: bytes) -> None:
        if piece:
            self._held.append(piece)
            self._size += len(piece)
        if self._size > _LIMIT:
            raise ModelError(f"the stream holds an event of more than {_LIMIT} bytes", code="event_too_long")

    def _with_held(self, piece: bytes) -> bytes:
        text = b"".join((*self._held, piece))
        self._size -= len(text) - len(piece)
        self._held.clear()
        return text

    def _with_lf(self, piece: bytes) -> bytes:
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
        elif not piece:
            return piece
        self._after_cr = piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _events(self, text: bytes) -> list[Event]:
        if not self._begun:
            self._begun = True
            text = text.removeprefix(_BOM)
        if text.startswith(b"data: ") and not self._json:
            data = text[6:].split(b"\n\ndata: ")
            if text.count(b"\n") == 2 * (len(data) - 1):  # blocks of one line each, as nearly all reads are
                return [Event(block) for block in data]
        events: list[Event] = []
        for block in text.split(b"\n\n"):
            self._block(block, events)
        return events

    def _block(self, block: bytes, events: list[Event]) -> None:
        if block.startswith(b"event: ") and not self._json:
            first, _, second = block.partition(b"\n")
            if second.startswith(b"data: ") and b"\n" not in second:
                events.append(_event([second[6:]], first[7:]))
                return
        data: list[bytes] = []
        name = b""
        for line in block.split(b"\n"):
            field, colon, value = line.partition(b":")
            if field == b"data":
                self._end_json(events)
                data.append(value.removeprefix(b" "))
            elif field == b"event" and colon:
                self._end_json(events)
                name = value.removeprefix(b" ")
            elif line.startswith((b"{", b"[")) or (self._json and line and not line.startswith(b":")):
                if data:
                    events.append(_event(data, name))
                    data, name = [], b""
                self._json.append(line)
                self._size += len(line) + 1
                if (len(self._json) == 1 or line.startswith((b"}", b"]"))) and _is_json(b"\n".join(self._json)):
                    self._end_json(events)
        if data:
            events.append(_event(data, name))

    def _end_json(self, events: list[Event]) -> None:
        if self._json:
            text = b"\n".join(self._json)
            self._size -= len(text) + 1
            self._json = []
            events.append(Event(text))


def _event(data: list[bytes], name: bytes) -> Event:
    return Event(b"\n".join(data), name.decode("utf-8", "replace") or "message")


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
