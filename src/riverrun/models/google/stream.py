"""One streamed generateContent, event by event → chunks. Pure: no I/O, and all state belongs to this one stream.

An event is a JSON object, or a list of them when the server was not asked for events. Nothing about its shape is taken
for granted, and what is not known is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riverrun.chunks import (
    ChunkType,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    TextDeltaChunk,
    TextDeltaPayload,
)
from riverrun.chunks.envelope import is_list, is_object, mapping
from riverrun.errors import ModelError
from riverrun.models.answer import AnswerWriter
from riverrun.models.google.answer import Facts
from riverrun.models.google.blocks import Kind
from riverrun.models.google.content import Content
from riverrun.models.google.failure import stream_failure
from riverrun.models.google.plain import read_plain
from riverrun.models.google.sources import note_sources
from riverrun.models.http import NO_JSON, no_json, read_json
from riverrun.types import ToolSpec


class StreamDecoder:
    """Decodes one stream: `feed` every event, then `close`. Either may find a failure, which is then in `error`, in
    the provider's own words.

    `run_id` goes on every chunk; `provider` is the key of provider metadata; `tools` are those that were offered;
    `headers` those of the response; `prefix` begins the ids of blocks, of sources and of calls without an id (random
    when None).
    """

    def __init__(
        self,
        run_id: str,
        *,
        provider: str = "google",
        tools: Sequence[ToolSpec] = (),
        include_raw: bool = False,
        headers: Mapping[str, str] | None = None,
        prefix: str | None = None,
    ) -> None:
        self.error: ModelError | None = None
        self.done = False  # the server said that nothing follows, which Google's own never does
        self._run_id = run_id
        self._include_raw = include_raw
        self._way: Kind | None = None  # what the short way goes on with
        self._writer = AnswerWriter(run_id, provider=provider, prefix=prefix)
        self._facts = Facts(self._writer, headers)
        self._content = Content(self._writer, tools)

    def feed(self, data: bytes, event: str = "message") -> list[ChunkType]:
        """The chunks of one event, given its data and its SSE name. Nothing comes after a failure or the end."""
        if self._way is not None and event != "error":
            chunk = self._short(self._way, data)
            if chunk is not None:
                return [chunk]
        if self._goes_on:
            self._event(data.strip(), event)
            self._way = self._content.blocks.kind if self._goes_on and not self._include_raw else None
        return self._writer.take()

    def close(self) -> list[ChunkType]:
        """The stream is over: what was open is closed, and the finish chunk comes."""
        if self.error is None and not self._facts.ended:
            self._fail(ModelError("the answer was truncated: its end is missing", code="truncated", retryable=True))
        if self.error is None and (failure := self._facts.failure()) is not None:
            self._fail(failure)
        if self.error is None:
            self._content.end(cut_off=self._facts.raw_reason != "STOP")
            self._facts.announce()
            self._facts.finish(called=self._content.called)
        return self._writer.take()

    def fail(self, error: ModelError) -> list[ChunkType]:
        """The connection broke: close what is open. That is no failure when only the end of the stream is missing."""
        if self._goes_on and not self._facts.ended:
            self._fail(error)
        return self._writer.take()

    @property
    def _goes_on(self) -> bool:
        return self.error is None and not self.done

    def _short(self, way: Kind, data: bytes) -> ChunkType | None:
        """The chunk of an event that goes on with the open block; None for any other."""
        plain = read_plain(data)
        if plain is None:
            return None
        part = plain.candidates[0].content.parts[0]
        if not part.text or (part.thought is True) != (way == "reasoning"):
            return None
        self._facts.note_usage(plain.usage_metadata)
        if way == "text":
            payload = TextDeltaPayload(self._content.blocks.id, part.text)
            return TextDeltaChunk(payload, run_id=self._run_id, from_="AGENT")
        grown = ReasoningDeltaPayload(self._content.blocks.id, part.text)
        return ReasoningDeltaChunk(grown, run_id=self._run_id, from_="AGENT")

    def _event(self, data: bytes, name: str) -> None:
        if data == b"[DONE]":
            self.done = True
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
            if is_object(item) and self._goes_on:
                self._object(item, name)

    def _object(self, event: dict[str, Any], name: str) -> None:
        self._facts.note(event)
        candidates = event.get("candidates")
        for candidate in candidates if is_list(candidates) else ():
            if is_object(candidate) and candidate.get("index") in (0, None):  # of several answers the first counts
                self._candidate(candidate)
        failure = _failure_in(event, name)
        if failure is not None:
            self._fail(stream_failure(failure))

    def _candidate(self, candidate: dict[str, Any]) -> None:
        self._facts.announce()
        parts = mapping(candidate.get("content")).get("parts")
        for part in parts if is_list(parts) else ():
            if is_object(part):
                self._content.part(part)
        note_sources(candidate, self._writer)
        self._facts.note_candidate(candidate)

    def _fail(self, error: ModelError) -> None:
        self._content.blocks.close()
        self._writer.abort()
        self.error = error


def _failure_in(event: Mapping[str, Any], name: str) -> object | None:
    """The failure that an event of a stream tells of, given its JSON and its SSE name; None if it tells of none."""
    error: object = event.get("error")
    if error:
        return event if error is True else error
    is_answer = "candidates" in event or "promptFeedback" in event
    if name == "error" or (not is_answer and event.get("message") and (event.get("code") or event.get("status"))):
        return event
    return None
