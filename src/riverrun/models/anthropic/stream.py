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
from riverrun.chunks.envelope import is_list, mapping
from riverrun.models.anthropic.answer import Facts
from riverrun.models.anthropic.blocks import CallBlock, TextBlock, ThinkingBlock
from riverrun.models.anthropic.content import Content
from riverrun.models.anthropic.names import ToolNames
from riverrun.models.anthropic.plain import PlainText, PlainThinking, read_plain
from riverrun.models.http import Decoder, model_error
from riverrun.types import ToolSpec


class StreamDecoder(Decoder):
    """Decodes one stream. `tools` are those that were offered, `headers` those of the response."""

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
        super().__init__(run_id, provider=provider, include_raw=include_raw, prefix=prefix)
        self._begun = False
        self._stopped = False
        self._facts = Facts(self._writer, headers)
        self._content = Content(self._writer, ToolNames(tools))

    @property
    def ended(self) -> bool:
        return self._stopped or self._facts.raw_reason is not None

    def _over(self) -> None:  # a gateway says so; Anthropic's own streams are over when their bytes are
        self._content.end()
        super()._over()

    def _end(self) -> None:
        self._content.end()
        self._facts.announce()
        if self._content.waits and self._facts.container is not None:  # the next request has to name it
            self._writer.custom("container", {"container": self._facts.container})
        self._facts.finish(called=self._content.called)

    def _short(self, data: bytes, name: str) -> list[ChunkType] | None:
        opened = self._content.open
        if not opened or (event := read_plain(data)) is None:
            return None
        block, delta = opened.get(event.index), event.delta
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
            case "message" if kind == "message":  # it is also the SSE name of events that have none
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
