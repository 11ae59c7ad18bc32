"""One provider's stream, event by event → chunks: the frame that all decoders have. No I/O."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from riverrun.chunks import ChunkType
from riverrun.chunks.envelope import is_list, is_object
from riverrun.errors import ModelError
from riverrun.models.answer import AnswerWriter
from riverrun.models.http.payload import NO_JSON, no_json, read_json


class Decoder(ABC):
    """Decodes one stream: `feed` every event, then `close`. Either may find a failure, which is then in `error`, in
    the provider's own words; the blocks that were open are closed by then.

    `run_id` goes on every chunk; `provider` is the key of provider metadata; `include_raw`: every event is given as it
    came, too; `prefix` begins the ids of blocks, of sources and of calls without an id (random when None). What the
    events of an API mean, its own decoder says.
    """

    def __init__(self, run_id: str, *, provider: str, include_raw: bool, prefix: str | None) -> None:
        self.error: ModelError | None = None
        self.done = False
        """The provider said that nothing follows."""
        self._run_id = run_id
        self._include_raw = include_raw
        self._short_way = not include_raw  # whether the short way may be tried
        self._writer = AnswerWriter(run_id, provider=provider, prefix=prefix)

    def feed(self, data: bytes, event: str = "message") -> list[ChunkType]:
        """The chunks of one event, given its data and its SSE name. Nothing comes after a failure or the end."""
        if self._short_way and event != "error":
            chunks = self._short(data, event)
            if chunks is not None:
                return chunks
        if not (self.done or self.error):
            self._event(data.strip(), event)
        return self._writer.take()

    def fail(self, error: ModelError) -> list[ChunkType]:
        """The connection broke: close what is open. That is no failure when only the end of the stream is missing."""
        if not (self.done or self.error or self.ended):
            self._fail(error)
        return self._writer.take()

    def close(self) -> list[ChunkType]:
        """The stream is over: what was open is closed, and the finish chunk comes, unless it failed."""
        if self.error is None and not self.ended:
            self._fail(ModelError("the answer was truncated: its end is missing", code="truncated", retryable=True))
        if self.error is None:
            self._end()
        return self._writer.take()

    def _event(self, data: bytes, name: str) -> None:
        if data == b"[DONE]":
            self._over()
            return
        if not data:
            return
        value = read_json(data)
        if value is NO_JSON:
            self._fail(no_json(data))
            return
        if self._include_raw:
            self._writer.raw(value)
        for item in value if is_list(value) else (value,):
            if is_object(item) and not (self.done or self.error):
                self._object(item, name)

    def _fail(self, error: ModelError) -> None:
        self._abort()
        self.error = error
        self._short_way = False

    # -- what an API says

    @abstractmethod
    def _short(self, data: bytes, name: str) -> list[ChunkType] | None:
        """The chunks of an event that only goes on with what is open; None for any other. Nearly all events are so."""

    @abstractmethod
    def _object(self, event: dict[str, Any], name: str) -> None:
        """Read an event, given its JSON and its SSE name."""

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether the answer is known to be whole."""

    @abstractmethod
    def _end(self) -> None:
        """The answer is whole: close what is open, give calls whole, and finish."""

    def _over(self) -> None:
        """Nothing follows."""
        self.done = True
        self._short_way = False

    def _abort(self) -> None:
        """The answer broke off: close what is open."""
        self._writer.abort()
