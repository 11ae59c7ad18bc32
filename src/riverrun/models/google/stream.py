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
from riverrun.models.google.answer import Facts
from riverrun.models.google.content import Content
from riverrun.models.google.failure import stream_failure
from riverrun.models.google.plain import read_plain
from riverrun.models.google.sources import note_sources
from riverrun.models.http import Decoder
from riverrun.types import ToolSpec


class StreamDecoder(Decoder):
    """Decodes one stream. `tools` are those that were offered, `headers` those of the response."""

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
        super().__init__(run_id, provider=provider, include_raw=include_raw, prefix=prefix)
        self._facts = Facts(self._writer, headers)
        self._content = Content(self._writer, tools)
        self._blocks = self._content.blocks

    @property
    def ended(self) -> bool:
        return self._facts.ended  # whatever `done` says: Google itself never sends a [DONE]

    def _end(self) -> None:
        failure = self._facts.failure()
        if failure is not None:
            self._fail(failure)
            return
        self._content.end(cut_off=self._facts.raw_reason != "STOP")
        self._facts.announce()
        self._facts.finish(called=self._content.called)

    def _abort(self) -> None:
        self._blocks.close()
        super()._abort()

    def _short(self, data: bytes, name: str) -> list[ChunkType] | None:
        kind = self._blocks.kind
        if kind is None or (plain := read_plain(data)) is None:
            return None
        part = plain.candidates[0].content.parts[0]
        if not part.text or (part.thought is True) != (kind == "reasoning"):
            return None
        self._facts.note_usage(plain.usage_metadata)
        if kind == "text":
            payload = TextDeltaPayload(self._blocks.id, part.text)
            return [TextDeltaChunk(payload, run_id=self._run_id, from_="AGENT")]
        grown = ReasoningDeltaPayload(self._blocks.id, part.text)
        return [ReasoningDeltaChunk(grown, run_id=self._run_id, from_="AGENT")]

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


def _failure_in(event: Mapping[str, Any], name: str) -> object | None:
    """The failure that an event of a stream tells of, given its JSON and its SSE name; None if it tells of none."""
    error: object = event.get("error")
    if error:
        return event if error is True else error
    is_answer = "candidates" in event or "promptFeedback" in event
    if name == "error" or (not is_answer and event.get("message") and (event.get("code") or event.get("status"))):
        return event
    return None
