"""One streamed chat completion, event by event → chunks. Pure: no I/O, and all state belongs to this one stream.

Servers that speak this API differ in almost everything, so nothing about an event's shape is taken for granted, and
what is not known is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from riverrun.chunks import (
    ChunkType,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    TextDeltaChunk,
    TextDeltaPayload,
)
from riverrun.errors import ModelError
from riverrun.models.http import Decoder, model_error
from riverrun.models.openai_chat.answer import Facts
from riverrun.models.openai_chat.blocks import Blocks, Kind
from riverrun.models.openai_chat.media import Media
from riverrun.models.openai_chat.plain import PlainDelta, read_plain
from riverrun.models.openai_chat.sources import note_annotated, note_cited
from riverrun.models.openai_chat.think import ThinkTags
from riverrun.models.openai_chat.toolcalls import ToolCalls
from riverrun.types import ToolSpec

_Way: TypeAlias = Literal["text", "reasoning", "think", "calls"]
"""What the short way goes on with: a text, reasoning, an answer whose tags are looked for, the arguments of calls."""

_TRIES = 4
"""After so many events that could not take the short way it is not tried any more, until something new is open."""


class StreamDecoder(Decoder):
    """Decodes one stream. `tools` are those that were offered, `headers` those of the response; `think_tags`: whether
    reasoning in `<think>` tags is told from text.
    """

    def __init__(
        self,
        run_id: str,
        *,
        provider: str = "openai-chat",
        tools: Sequence[ToolSpec] = (),
        include_raw: bool = False,
        headers: Mapping[str, str] | None = None,
        think_tags: bool = True,
        prefix: str | None = None,
    ) -> None:
        super().__init__(run_id, provider=provider, include_raw=include_raw, prefix=prefix)
        self._way: _Way | None = None
        self._tries = 0
        self._think: ThinkTags | None = ThinkTags() if think_tags else None  # while a tag may come
        self._facts = Facts(self._writer, headers)
        self._blocks = Blocks(self._writer)
        self._calls = ToolCalls(self._writer, [tool.name for tool in tools], self._call_begins)
        self._media = Media(self._writer)

    @property
    def ended(self) -> bool:
        return self.done or self._facts.raw_reason is not None

    def _end(self) -> None:
        self._settle_text()
        self._blocks.close()
        if self._blocks.details:  # they came after the reasoning that they belong to was closed
            self._blocks.open("reasoning")
            self._blocks.close()
        self._media.end()
        self._calls.end()
        self._facts.announce()
        self._facts.finish(called=bool(self._calls))

    def _abort(self) -> None:
        self._settle_text()
        self._blocks.close()
        super()._abort()

    # -- events

    def _short(self, data: bytes, name: str) -> list[ChunkType] | None:
        way = self._way
        if way is None or (event := read_plain(data)) is None:
            return None
        if event.usage:
            self._facts.usage = event.usage
        delta = event.choices[0].delta
        text, reasoning = delta.content, delta.reasoning_content or delta.reasoning
        if way == "text":
            if text and not (reasoning or delta.tool_calls or delta.reasoning_details):
                payload = TextDeltaPayload(self._blocks.id, text)
                return [TextDeltaChunk(payload, run_id=self._run_id, from_="AGENT")]
        elif way == "reasoning":
            if reasoning and not (text or delta.tool_calls):
                if delta.reasoning_content:
                    self._blocks.wants_text_back = True
                if delta.reasoning_details:
                    self._blocks.details.add(delta.reasoning_details)
                grown = ReasoningDeltaPayload(self._blocks.id, reasoning)
                return [ReasoningDeltaChunk(grown, run_id=self._run_id, from_="AGENT")]
        elif not (reasoning or delta.reasoning_details):
            return self._short_call(delta) if way == "calls" else self._short_think(delta)
        return None

    def _short_call(self, delta: PlainDelta) -> list[ChunkType] | None:
        if delta.content or not delta.tool_calls or len(delta.tool_calls) > 1:
            return None
        fragment = delta.tool_calls[0]
        if not self._calls.grow(fragment.index, fragment.function.arguments or ""):
            return None
        return self._writer.take()

    def _short_think(self, delta: PlainDelta) -> list[ChunkType] | None:
        if not delta.content or delta.tool_calls:
            return None
        self._text(delta.content)
        return self._writer.take()

    def _object(self, event: dict[str, Any], name: str) -> None:
        self._tries += 1
        if self._tries >= _TRIES:
            self._way = None
        self._facts.note(event)
        for choice in _items(event.get("choices")):
            if isinstance(choice, dict):
                self._choice(cast("dict[str, Any]", choice))
        note_cited(event, self._writer)
        failure = _failure_in(event, name)
        if failure is not None:
            self._fail(model_error(failure))
        elif self._facts.raw_reason == "error":
            self._fail(ModelError("the provider ended the answer with an error", code="error", retryable=True))
        elif event.get("object") in ("chat.completion.done", "chat.completion"):
            self._over()

    def _choice(self, choice: dict[str, Any]) -> None:
        if choice.get("index") not in (0, None):  # of several answers the first counts
            return
        if self._facts.known:
            self._facts.announce()
        delta = choice.get("delta")
        if delta is None:  # a server that does not stream gives a message
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._delta(cast("dict[str, Any]", delta))
        self._facts.note_choice(choice)

    # -- deltas

    def _delta(self, delta: dict[str, Any]) -> None:
        self._reasoning(delta)
        content = delta.get("content")
        if isinstance(content, str):
            self._text(content)
        else:
            for part in _items(content):
                self._part(part)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._settle_text()
            self._facts.note_refusal(refusal)
            self._grow("refusal", refusal)
        self._files(delta)
        note_annotated(delta.get("annotations"), self._writer)
        self._tool_calls(delta)

    def _part(self, part: object) -> None:
        """A part of a content that is no text (Mistral)."""
        if isinstance(part, str):
            self._text(part)
        elif isinstance(part, dict):
            members = cast("dict[str, Any]", part)
            if members.get("type") == "thinking" or "thinking" in members:
                self._native_reasoning(_joined(members.get("thinking")))
            elif isinstance(members.get("text"), str):
                self._text(members["text"])
            else:
                self._media.image(members)

    def _files(self, delta: dict[str, Any]) -> None:
        for image in _items(delta.get("images")):
            self._facts.announce()
            self._media.image(image)
        audio = delta.get("audio")
        if isinstance(audio, dict):
            members = cast("dict[str, Any]", audio)
            self._media.hear(members.get("data"))
            if members.get("id"):
                self._facts.keep("audio", {"id": members["id"]})
            if isinstance(members.get("transcript"), str):
                self._text(members["transcript"])

    def _tool_calls(self, delta: dict[str, Any]) -> None:
        fragments = _items(delta.get("tool_calls")) or _items(delta.get("function_call"))
        if fragments:
            self._settle_text()
            self._calls.feed(fragments)

    def _call_begins(self) -> None:
        self._blocks.close()
        self._facts.announce()
        self._go("calls")

    # -- text and reasoning

    def _text(self, text: str) -> None:
        if not text:
            return
        if self._think is None:
            self._grow("text", text)
            return
        for kind, piece in self._think.feed(text):
            self._grow(kind, piece)
        if self._think.settled:
            self._think = None
            self._go_on()

    def _settle_text(self) -> None:
        """No `<think>` tag is to come: what was held back for one is what it is."""
        think, self._think = self._think, None
        if think is not None:
            for kind, piece in think.flush():
                self._grow(kind, piece)

    def _reasoning(self, delta: dict[str, Any]) -> None:
        """Reasoning has several names, and may come under more than one of them; it counts once."""
        details = _items(delta.get("reasoning_details"))
        shown = self._blocks.details.add(details)
        text = delta.get("reasoning_content")
        if isinstance(text, str) and text:
            self._native_reasoning(text)
            self._blocks.wants_text_back = True
        else:
            text = delta.get("reasoning")
            self._native_reasoning(text if isinstance(text, str) and text else shown)
        if details and self._blocks.details and self._blocks.kind is None:  # nothing to show: it is encrypted
            self._open("reasoning")

    def _native_reasoning(self, text: str) -> None:
        if text:
            self._settle_text()
            self._grow("reasoning", text)

    def _grow(self, kind: Kind, text: str) -> None:
        if self._blocks.kind != kind:
            self._open(kind)
        self._blocks.grow(text)

    def _open(self, kind: Kind) -> None:
        self._facts.announce()
        self._blocks.open(kind)
        self._go_on()

    # -- the short way

    def _go_on(self) -> None:
        """Find the short way for the deltas of the block that is open."""
        kind = self._blocks.kind
        self._go("think" if self._think is not None else None if kind == "refusal" else kind)

    def _go(self, way: _Way | None) -> None:
        self._tries = 0
        self._way = way if self._writer.announced else None


def _failure_in(event: Mapping[str, Any], name: str) -> object | None:
    """The failure that an event of a stream tells of, given its JSON and its SSE name; None if it tells of none."""
    error = event.get("error")
    if error:
        return event if error is True else cast("object", error)
    if name == "error" or "error" in (event.get("object"), event.get("type")):
        return event
    is_answer = "choices" in event or "object" in event or "id" in event
    return event if not is_answer and (event.get("detail") or event.get("message")) else None


def _items(value: object) -> list[object]:
    """The items of a list; an object counts as a list of one."""
    if isinstance(value, list):
        return cast("list[object]", value)
    return [cast("object", value)] if isinstance(value, dict) else []


def _joined(value: object) -> str:
    """Text that is given as text, as an object with `text`, or as a list of these."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _joined(cast("dict[str, object]", value).get("text"))
    return "".join(_joined(item) for item in _items(value))
