"""One streamed chat completion, event by event → chunks. Pure: no I/O, and all state belongs to this one stream.

Servers that speak this API differ in almost everything, so nothing about an event's shape is taken for granted, and
what is not known is passed over. The common events, a piece of text or of reasoning alone, take a short way.
"""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
import secrets
from collections.abc import Collection, Mapping
from datetime import UTC
from typing import Any, Literal, TypeAlias, cast

import msgspec

from riverrun.chunks import (
    ChunkType,
    FileChunk,
    FilePayload,
    FinishChunk,
    FinishPayload,
    RawChunk,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    ReasoningEndChunk,
    ReasoningEndPayload,
    ReasoningSignatureChunk,
    ReasoningSignaturePayload,
    ReasoningStartChunk,
    ReasoningStartPayload,
    ResponseMetadataChunk,
    ResponseMetadataPayload,
    StepMetadata,
    StepOutput,
    StepResult,
    TextDeltaChunk,
    TextDeltaPayload,
    TextEndChunk,
    TextEndPayload,
    TextStartChunk,
    TextStartPayload,
    Timestamp,
    ToolCallInputStreamingStartChunk,
    Usage,
)
from riverrun.errors import ModelError
from riverrun.models.openai_chat.failure import failure_in, model_error
from riverrun.models.openai_chat.reasoning import ReasoningDetails
from riverrun.models.openai_chat.sources import Sources
from riverrun.models.openai_chat.think import ThinkTags
from riverrun.models.openai_chat.toolcalls import ToolCalls
from riverrun.models.openai_chat.usage import read_usage

_Kind: TypeAlias = Literal["text", "refusal", "reasoning"]
_Way: TypeAlias = Literal["text", "reasoning", "think", "calls"]
"""The short ways: by what is open, a text, reasoning, reasoning in tags, the arguments of calls."""

_REASONS = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "done": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content-filter",
    "content_filtered": "content-filter",
    "safety": "content-filter",
    "recitation": "content-filter",
    "refusal": "content-filter",
    "guardrail_intervened": "content-filter",
    "tool_calls": "tool-calls",
    "tool_use": "tool-calls",
    "function_call": "tool-calls",
}
_KEPT = ("system_fingerprint", "service_tier", "provider", "moderation", "prompt_filter_results")
"""Members of the events that go into the finish chunk's provider metadata; the last value given counts."""


class _PlainFunction(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    arguments: str | None = None
    name: Literal[""] | None = None


class _PlainCall(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A fragment of a call's arguments alone."""

    index: int
    function: _PlainFunction
    id: Literal[""] | None = None
    type: str | None = None


class _PlainDelta(msgspec.Struct, gc=False):
    """A delta with text, reasoning or a fragment of a call and nothing else that counts: another does not decode."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Any] | None = None
    tool_calls: list[_PlainCall] | None = None
    function_call: None = None
    refusal: Literal[""] | None = None
    annotations: None = None
    images: None = None
    audio: None = None


class _PlainChoice(msgspec.Struct, gc=False):
    delta: _PlainDelta
    index: Literal[0] | None = 0
    finish_reason: None = None
    logprobs: None = None
    usage: None = None


class _PlainEvent(msgspec.Struct, gc=False):
    choices: tuple[_PlainChoice]
    object: Literal["chat.completion.chunk", ""] | None = None
    usage: dict[str, Any] | None = None
    error: None = None
    x_groq: None = None
    citations: None = None
    search_results: None = None


_decode_plain = msgspec.json.Decoder(_PlainEvent).decode
_decode = msgspec.json.Decoder().decode
_PLAIN_TRIES = 4
"""After so many events in a block that did not take the short way it is not tried any more."""


class StreamDecoder:
    """Decodes one stream: `feed` every event, then `close`. Either may find a failure, which is then in `error`.

    `run_id` goes on every chunk; `provider` is the key of provider metadata; `tool_names` are the tools that were
    offered; `headers` those of the response; `think_tags` whether reasoning in `<think>` tags is told from text;
    `prefix` begins the ids of blocks and of calls without an id (random when None).
    """

    def __init__(
        self,
        run_id: str,
        *,
        provider: str = "openai-chat",
        tool_names: Collection[str] = (),
        include_raw: bool = False,
        headers: Mapping[str, str] | None = None,
        think_tags: bool = True,
        prefix: str | None = None,
    ) -> None:
        self.error: ModelError | None = None
        self.done = False  # the server said that nothing follows
        self._run_id = run_id
        self._provider = provider
        self._include_raw = include_raw
        self._headers = dict(headers) if headers else None
        self._prefix = prefix if prefix is not None else secrets.token_hex(8)
        self._way: _Way | None = None
        self._tries = 0
        self._kind: _Kind | None = None
        self._block_id = ""
        self._blocks = 0
        self._think: ThinkTags | None = ThinkTags() if think_tags else None
        self._details = ReasoningDetails()
        self._replayed_text = False  # the open reasoning came as `reasoning_content`, which servers want back
        self._calls = ToolCalls(run_id=run_id, provider=provider, prefix=self._prefix, names=tool_names)
        self._sources = Sources(run_id=run_id, prefix=self._prefix)
        self._announced = False
        self._about: dict[str, Any] = {}  # id, model and created, once known
        self._usage: Mapping[str, Any] | None = None
        self._raw_reason: str | None = None
        self._refusal: list[str] = []
        self._logprobs: dict[str, list[Any]] = {}
        self._audio: list[bytes] = []
        self._kept: dict[str, Any] = {}

    def feed(self, data: bytes, event: str = "message") -> list[ChunkType]:
        """The chunks of one event, given its data and its SSE name. Nothing comes after a failure or the end."""
        if self._way is not None and event != "error":
            try:
                chunks = self._short(_decode_plain(data))
            except (msgspec.DecodeError, UnicodeDecodeError):
                chunks = None
            if chunks is not None:
                return chunks
            self._tries += 1
            if self._tries >= _PLAIN_TRIES:
                self._way = None
        out: list[ChunkType] = []
        if not self.done and self.error is None:
            self._event(data.strip(), event, out)
        return out

    def close(self) -> list[ChunkType]:
        """The stream is over: what was open is closed, calls are given whole, and the finish chunk comes."""
        out: list[ChunkType] = []
        if self.error is not None:
            return out
        if not self.done and self._raw_reason is None:
            self._fail(ModelError("truncated: the stream broke off before its end", code="truncated", retryable=True), out)
            return out
        self._settle_text(out)
        self._close_block(out)
        if self._details:  # what came after its block was closed
            self._open("reasoning", out)
            self._close_block(out)
        self._audio_file(out)
        out += self._calls.end()
        self._announce(out)
        out.append(self._finish())
        return out

    @property
    def open(self) -> bool:
        """Whether more may come."""
        return self.error is None and not self.done

    def fail(self, error: ModelError) -> list[ChunkType]:
        """The connection broke: close what is open. That is no failure when the answer was complete but for its end."""
        out: list[ChunkType] = []
        if self.open and self._raw_reason is None:
            self._fail(error, out)
        return out

    def _short(self, event: _PlainEvent) -> list[ChunkType] | None:
        """The chunks of an event that goes on with what is open; None for any other."""
        delta = event.choices[0].delta
        text, reasoning = delta.content, delta.reasoning_content or delta.reasoning
        if event.usage:
            self._usage = event.usage
        if self._way == "text":
            if text and not reasoning and not delta.tool_calls and not delta.reasoning_details:
                return [TextDeltaChunk(TextDeltaPayload(self._block_id, text), run_id=self._run_id, from_="AGENT")]
        elif self._way == "reasoning":
            if reasoning and not text and not delta.tool_calls:
                if delta.reasoning_details:
                    self._details.add(delta.reasoning_details)
                payload = ReasoningDeltaPayload(self._block_id, reasoning)
                return [ReasoningDeltaChunk(payload, run_id=self._run_id, from_="AGENT")]
        elif self._way == "think":
            if text and not reasoning and not delta.tool_calls and not delta.reasoning_details:
                out: list[ChunkType] = []
                self._text(text, out)
                return out
        elif delta.tool_calls and not text and not reasoning and not delta.reasoning_details:
            fragment, *others = delta.tool_calls
            if not others and fragment.function.arguments:
                chunk = self._calls.grow(fragment.index, fragment.function.arguments)
                return None if chunk is None else [chunk]
        return None

    # -- events

    def _event(self, data: bytes, name: str, out: list[ChunkType]) -> None:
        if data == b"[DONE]":
            self._over()
        elif data:
            value = _json(data)
            if value is _NO_JSON:
                self._fail(_no_json(data), out)
                return
            if self._include_raw:
                out.append(RawChunk(value, run_id=self._run_id, from_="AGENT"))
            for item in cast("list[object]", value) if isinstance(value, list) else [value]:
                if isinstance(item, dict) and self.error is None:
                    self._object(cast("dict[str, Any]", item), name, out)

    def _object(self, event: dict[str, Any], name: str, out: list[ChunkType]) -> None:
        self._note(event)
        choices = event.get("choices")
        if isinstance(choices, list):
            for choice in cast("list[object]", choices):
                if isinstance(choice, dict) and choice.get("index") in (0, None):  # type: ignore[reportUnknownMemberType]
                    self._choice(cast("dict[str, Any]", choice), out)
        out += self._sources.cited(event)
        failure = failure_in(event, name)
        if failure is not None:
            self._fail(model_error(failure), out)
        elif self._raw_reason == "error":
            self._fail(ModelError("the provider ended the answer with an error", code="error", retryable=True), out)
        elif event.get("object") in ("chat.completion.done", "chat.completion"):
            self._over()

    def _over(self) -> None:
        self.done = True
        self._way = None

    def _note(self, event: dict[str, Any]) -> None:
        """What an event says of the whole answer."""
        groq = event.get("x_groq")
        for holder in (groq, event):
            usage = cast("dict[str, Any]", holder).get("usage") if isinstance(holder, dict) else None
            if isinstance(usage, dict) and usage:
                self._usage = cast("dict[str, Any]", usage)
        for member in _KEPT:
            if value := event.get(member):
                self._kept[member] = value
        if not self._announced:
            for member in ("id", "model", "created"):
                if value := event.get(member):
                    self._about.setdefault(member, value)

    def _choice(self, choice: dict[str, Any], out: list[ChunkType]) -> None:
        if not self._announced and "id" in self._about and "model" in self._about:
            self._announce(out)
        delta = choice.get("delta")
        if delta is None:  # a server that does not stream gives a message
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._delta(cast("dict[str, Any]", delta), out)
        usage, logprobs, reason = choice.get("usage"), choice.get("logprobs"), choice.get("finish_reason")
        if isinstance(usage, dict) and usage:
            self._usage = cast("dict[str, Any]", usage)
        if isinstance(logprobs, dict):
            for name, entries in cast("dict[str, object]", logprobs).items():
                if isinstance(entries, list) and entries:
                    self._logprobs.setdefault(name, []).extend(cast("list[Any]", entries))
        if reason:
            self._raw_reason = str(reason)
        if native := choice.get("native_finish_reason"):
            self._kept["native_finish_reason"] = native

    def _delta(self, delta: dict[str, Any], out: list[ChunkType]) -> None:
        self._reasoning(delta, out)
        content = delta.get("content")
        if isinstance(content, str):
            self._text(content, out)
        else:
            for part in cast("list[object]", content) if isinstance(content, list) else [content]:
                self._part(part, out)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refusal.append(refusal)
            self._grow("refusal", refusal, out)
        for image in _items(delta.get("images")):
            self._image(image, out)
        self._audio_piece(delta.get("audio"), out)
        out += self._sources.annotated(delta.get("annotations"))
        self._tool_calls(delta, out)

    def _part(self, part: object, out: list[ChunkType]) -> None:
        """A part of a content that is no text (Mistral)."""
        if isinstance(part, str):
            self._text(part, out)
        elif isinstance(part, dict):
            members = cast("dict[str, Any]", part)
            thinking = members.get("thinking")
            text = members.get("text")
            if members.get("type") == "thinking" or thinking is not None:
                self._native_reasoning(_joined_text(thinking), out)
            elif isinstance(text, str):
                self._text(text, out)
            elif "image_url" in members:
                self._image(members, out)

    def _tool_calls(self, delta: dict[str, Any], out: list[ChunkType]) -> None:
        fragments = _items(delta.get("tool_calls")) or _items(delta.get("function_call"))
        if not fragments:
            return
        self._settle_text(out)
        chunks = self._calls.feed(fragments)
        if any(isinstance(chunk, ToolCallInputStreamingStartChunk) for chunk in chunks):
            self._close_block(out)
            self._announce(out)
            self._tries, self._way = 0, None if self._include_raw else "calls"
        out += chunks

    # -- text and reasoning

    def _text(self, text: str, out: list[ChunkType]) -> None:
        if not text:
            return
        if self._think is None:
            self._grow("text", text, out)
            return
        for kind, piece in self._think.feed(text):
            self._grow(kind, piece, out)
        if self._think.settled:
            self._think = None
            self._find_way()

    def _settle_text(self, out: list[ChunkType]) -> None:
        """No `<think>` tag is to come: what was held back for one is what it is."""
        think, self._think = self._think, None
        if think is not None:
            for kind, piece in think.flush():
                self._grow(kind, piece, out)

    def _reasoning(self, delta: dict[str, Any], out: list[ChunkType]) -> None:
        content, reasoning, details = (delta.get(name) for name in ("reasoning_content", "reasoning", "reasoning_details"))
        shown = ""
        if isinstance(details, list) and details:
            shown = self._details.add(cast("list[object]", details))
        if isinstance(content, str) and content:
            self._native_reasoning(content, out)
            self._replayed_text = True
        else:
            self._native_reasoning(reasoning if isinstance(reasoning, str) and reasoning else shown, out)
        if self._details and self._kind is None:
            self._open("reasoning", out)

    def _native_reasoning(self, text: str, out: list[ChunkType]) -> None:
        if text:
            self._settle_text(out)
            self._grow("reasoning", text, out)

    def _grow(self, kind: _Kind, text: str, out: list[ChunkType]) -> None:
        if self._kind != kind:
            self._open(kind, out)
        if kind == "reasoning":
            reasoning = ReasoningDeltaPayload(self._block_id, text)
            out.append(ReasoningDeltaChunk(reasoning, run_id=self._run_id, from_="AGENT"))
        else:
            out.append(TextDeltaChunk(TextDeltaPayload(self._block_id, text), run_id=self._run_id, from_="AGENT"))

    def _open(self, kind: _Kind, out: list[ChunkType]) -> None:
        self._close_block(out)
        self._announce(out)
        self._kind = kind
        self._block_id = f"{self._prefix}-{'reasoning' if kind == 'reasoning' else 'text'}-{self._blocks}"
        self._blocks += 1
        self._find_way()
        if kind == "reasoning":
            out.append(ReasoningStartChunk(ReasoningStartPayload(self._block_id), run_id=self._run_id, from_="AGENT"))
        else:
            metadata = {self._provider: {"refusal": True}} if kind == "refusal" else None
            payload = TextStartPayload(self._block_id, metadata)
            out.append(TextStartChunk(payload, run_id=self._run_id, from_="AGENT"))

    def _find_way(self) -> None:
        """The short way for the deltas of the block that is open."""
        self._tries = 0
        self._way = None if self._include_raw or self._kind == "refusal" else self._kind
        if self._way is not None and self._think is not None:
            self._way = "think"

    def _close_block(self, out: list[ChunkType]) -> None:
        kind, self._kind, self._way = self._kind, None, None
        if kind == "reasoning":
            self._end_reasoning(out)
        elif kind is not None:
            out.append(TextEndChunk(TextEndPayload(self._block_id), run_id=self._run_id, from_="AGENT"))

    def _end_reasoning(self, out: list[ChunkType]) -> None:
        details, signature = self._details.take()
        metadata: dict[str, Any] = {}
        if details:
            metadata["reasoning_details"] = details
        if self._replayed_text:
            metadata["field"] = "reasoning_content"
            self._replayed_text = False
        if signature:
            signed = ReasoningSignaturePayload(self._block_id, signature)
            out.append(ReasoningSignatureChunk(signed, run_id=self._run_id, from_="AGENT"))
        payload = ReasoningEndPayload(self._block_id, signature, {self._provider: metadata} if metadata else None)
        out.append(ReasoningEndChunk(payload, run_id=self._run_id, from_="AGENT"))

    # -- files

    def _image(self, image: object, out: list[ChunkType]) -> None:
        url = _url(image)
        if url.startswith("data:"):
            head, _, data = url[5:].partition(",")
            mime_type = head.partition(";")[0] or "application/octet-stream"
            self._file(data, mime_type, out, base64_text=head.endswith(";base64"))
        elif url:
            self._file(url, mimetypes.guess_type(url)[0] or "image/*", out)

    def _audio_piece(self, audio: object, out: list[ChunkType]) -> None:
        if not isinstance(audio, dict):
            return
        members = cast("dict[str, Any]", audio)
        data, transcript = members.get("data"), members.get("transcript")
        if isinstance(data, str):
            try:
                self._audio.append(base64.b64decode(data))
            except binascii.Error:
                pass
        if isinstance(transcript, str):
            self._text(transcript, out)
        if members.get("id"):
            self._kept["audio"] = {"id": members["id"]}

    def _audio_file(self, out: list[ChunkType]) -> None:
        """Audio comes in pieces of 16 bit PCM, the one form that is streamed."""
        if self._audio:
            self._file(base64.b64encode(b"".join(self._audio)).decode(), "audio/pcm", out, base64_text=True)

    def _file(self, data: str, mime_type: str, out: list[ChunkType], *, base64_text: bool = False) -> None:
        self._announce(out)
        payload = FilePayload(data=data, mime_type=mime_type, base64=data if base64_text else None)
        out.append(FileChunk(payload, run_id=self._run_id, from_="AGENT"))

    # -- the frame

    def _announce(self, out: list[ChunkType]) -> None:
        """Say once what the provider says of its answer: as soon as it is known, or before the first content."""
        if self._announced or not (self._about or self._headers):
            return
        self._announced = True
        payload = ResponseMetadataPayload(
            id=_word(self._about.get("id")),
            model_id=_word(self._about.get("model")),
            timestamp=_timestamp(self._about.get("created")),
            headers=self._headers,
        )
        out.append(ResponseMetadataChunk(payload, run_id=self._run_id, from_="AGENT"))

    def _finish(self) -> ChunkType:
        reason = _REASONS.get((self._raw_reason or "").lower(), "other")
        if self._calls and (reason == "stop" or self._raw_reason is None):
            reason = "tool-calls"
        if self._refusal:
            self._kept["refusal"] = "".join(self._refusal)
        payload = FinishPayload(
            step_result=StepResult(reason=reason, raw_reason=self._raw_reason, logprobs=self._logprobs or None),
            output=StepOutput(usage=Usage() if self._usage is None else read_usage(self._usage)),
            metadata=StepMetadata(provider_metadata={self._provider: self._kept} if self._kept else None),
        )
        return FinishChunk(payload, run_id=self._run_id, from_="AGENT")

    def _fail(self, error: ModelError, out: list[ChunkType]) -> None:
        self._end_open(out)
        self.error = error

    def _end_open(self, out: list[ChunkType]) -> None:
        self._settle_text(out)
        self._close_block(out)
        out += self._calls.abort()


_NO_JSON = object()


def _json(data: bytes) -> object:
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:  # what msgspec refuses: halves of surrogate pairs, bytes that are no UTF-8, NaN
        value = json.loads(data.decode("utf-8", "replace"))
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return _NO_JSON


def _no_json(data: bytes) -> ModelError:
    shown = data[:200].decode("utf-8", "replace")
    return ModelError(f"the stream holds an event that is not JSON: {shown}", code="invalid_json")


def _items(value: object) -> list[object]:
    if isinstance(value, list):
        return cast("list[object]", value)
    return [cast("object", value)] if isinstance(value, dict) else []


def _joined_text(value: object) -> str:
    """Text that is given as text, as an object with `text`, or as a list of these."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _joined_text(cast("dict[str, object]", value).get("text"))
    return "".join(_joined_text(item) for item in _items(value))


def _url(image: object) -> str:
    """`{"image_url": {"url": ...}}`, `{"image_url": ...}` or `{"url": ...}`."""
    while isinstance(image, dict):
        members = cast("dict[str, object]", image)
        image = members.get("image_url") or members.get("url")
    return image if isinstance(image, str) else ""


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _timestamp(created: object) -> Timestamp | None:
    if not isinstance(created, int | float) or isinstance(created, bool):
        return None
    seconds = created / 1000 if created > 1e11 else created
    try:
        return Timestamp.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None
