"""One streamed message, event by event → chunks. Pure: no I/O, and all state belongs to this one stream.

Nothing about an event's shape is taken for granted, and what is not known is passed over.
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
from riverrun.models.anthropic.answer import Facts
from riverrun.models.anthropic.blocks import CallBlock, TextBlock, ThinkingBlock
from riverrun.models.anthropic.content import Content
from riverrun.models.anthropic.names import ToolNames
from riverrun.models.anthropic.plain import PlainEvent, PlainText, PlainThinking, read_plain
from riverrun.models.http import NO_JSON, model_error, no_json, read_json
from riverrun.types import ToolSpec


class StreamDecoder:
    """Decodes one stream: `feed` every event, then `close`. Either may find a failure, which is then in `error`, in
    the server's own words.

    `run_id` goes on every chunk; `provider` is the key of provider metadata; `tools` are those that were offered;
    `headers` those of the response; `prefix` begins the ids of blocks, of sources and of calls without an id (random
    when None).
    """

    def __init__(
        self,
        run_id: str,
        *,
        provider: str = "anthropic",
        tools: Sequence[ToolSpec] = (),
        include_raw: bool = False,
        headers: Mapping[str, str] | None = None,
        prefix: str | None = None,
    ) -> None:
        self.error: ModelError | None = None
        self.done = False  # a gateway said so; Anthropic's own streams are over when their bytes are
        self._run_id = run_id
        self._include_raw = include_raw
        self._begun = False
        self._stopped = False
        self._writer = writer = AnswerWriter(run_id, provider=provider, prefix=prefix)
        self._facts = Facts(writer, headers)
        self._content = Content(writer, ToolNames(tools))

    def feed(self, data: bytes, event: str = "message") -> list[ChunkType]:
        """The chunks of one event, given its data and its SSE name. Nothing comes after a failure or the end."""
        if self._content.open and event != "error" and not self._include_raw:
            plain = read_plain(data)
            chunks = None if plain is None else self._short(plain)
            if chunks is not None:
                return chunks
        if self._goes_on:
            self._event(data.strip(), event)
        return self._writer.take()

    def close(self) -> list[ChunkType]:
        """The stream is over: what was open is closed, and the finish chunk comes."""
        if self.error is None and not (self._stopped or self._facts.raw_reason):
            self._fail(ModelError("the answer was truncated: its end is missing", code="truncated", retryable=True))
        if self.error is None:
            self._end()
        return self._writer.take()

    def fail(self, error: ModelError) -> list[ChunkType]:
        """The connection broke: close what is open. That is no failure when only the end of the stream is missing."""
        if self._goes_on and not (self._stopped or self._facts.raw_reason):
            self._fail(error)
        return self._writer.take()

    @property
    def _goes_on(self) -> bool:
        return self.error is None and not self.done

    def _end(self) -> None:
        self._content.end()
        self._facts.announce()
        if self._content.waits and self._facts.container is not None:  # the next request has to name it
            self._writer.custom("container", {"container": self._facts.container})
        self._facts.finish(called=self._content.called)

    def _fail(self, error: ModelError) -> None:
        self._writer.abort()
        self._content.open.clear()
        self.error = error

    # -- events

    def _short(self, event: PlainEvent) -> list[ChunkType] | None:
        """The chunks of an event that goes on with what is open; None for any other."""
        block, delta = self._content.open.get(event.index), event.delta
        if isinstance(delta, PlainText):
            if isinstance(block, TextBlock) and delta.text:
                payload = TextDeltaPayload(block.id, delta.text)
                return [TextDeltaChunk(payload, run_id=self._run_id, from_="AGENT")]
        elif isinstance(delta, PlainThinking):
            if isinstance(block, ThinkingBlock) and delta.thinking:
                grown = ReasoningDeltaPayload(block.id, delta.thinking)
                return [ReasoningDeltaChunk(grown, run_id=self._run_id, from_="AGENT")]
        elif isinstance(block, CallBlock) and not block.call.ended:
            self._writer.call_delta(block.call, delta.partial_json)
            return self._writer.take()
        return None

    def _event(self, data: bytes, name: str) -> None:
        if not data:
            return
        if data == b"[DONE]":
            self._content.end()
            self.done = True
            return
        value = read_json(data)
        if value is NO_JSON:
            self._fail(no_json(data))
            return
        if self._include_raw:
            self._writer.raw(value)
        for item in value if is_list(value) else [value]:
            if is_object(item) and self._goes_on:
                self._object(item, name)

    def _object(self, event: dict[str, Any], name: str) -> None:
        failure = _failure_in(event, name)
        if failure is not None:
            self._fail(model_error(failure))
            return
        kind = event.get("type")
        index = _index(event.get("index"))
        match kind if isinstance(kind, str) else name:
            case "message_start":
                self._message(mapping(event.get("message")))
            case "content_block_start":
                self._facts.announce()
                self._content.start(index, mapping(event.get("content_block")))
            case "content_block_delta":
                self._facts.announce()
                self._content.grow(index, mapping(event.get("delta")))
            case "content_block_stop":
                self._content.stop(index)
            case "message_delta":
                self._facts.note(event)
                self._facts.note(mapping(event.get("delta")))
            case "message_stop":
                self._facts.note(event)
                self._stopped = True
            case "message":
                self._message(event)
                self._stopped = True
            case _:
                pass

    def _message(self, message: Mapping[str, Any]) -> None:
        """A message begins. It may have content from the start: when it goes on with what the provider was doing, or
        when a server does not stream. A stream is one message: when it begins again, what was open is cut off, and
        what it repeats is not said twice.
        """
        if self._begun:
            self._content.end(cut=True)
        self._facts.note_message(message)
        content = message.get("content")
        if is_list(content) and not self._begun:
            for block in content:
                self._content.start(None, mapping(block))
                self._content.stop(None)
        self._begun = True


def _failure_in(event: Mapping[str, Any], name: str) -> object | None:
    """The failure that an event tells of, given its JSON and its SSE name; None if it tells of none."""
    if name == "error" or event.get("type") == "error" or event.get("error"):
        return event
    is_nameless = "type" not in event and name == "message"
    return event if is_nameless and (event.get("detail") or event.get("message")) else None


def _index(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
