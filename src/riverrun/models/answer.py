"""The chunks of one model call: what every adapter writes its answer with."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import UNSET

from riverrun.chunks import (
    ChunkType,
    CustomChunk,
    CustomPayload,
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
    RedactedReasoningChunk,
    RedactedReasoningPayload,
    ResponseMetadataChunk,
    ResponseMetadataPayload,
    SourceChunk,
    SourcePayload,
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
    ToolCallChunk,
    ToolCallDeltaChunk,
    ToolCallDeltaPayload,
    ToolCallInputStreamingEndChunk,
    ToolCallInputStreamingEndPayload,
    ToolCallInputStreamingStartChunk,
    ToolCallInputStreamingStartPayload,
    ToolCallPayload,
    ToolResultChunk,
    ToolResultPayload,
    Usage,
)
from riverrun.chunks.arguments import parse_arguments

Metadata = Mapping[str, Any] | None
"""What a provider says beside the format; it stands under the provider's name on the wire."""


@dataclass(slots=True)
class StreamedCall:
    """A tool call while its arguments come. `metadata` may grow until the call ends."""

    id: str
    name: str
    provider_executed: bool | None = None
    dynamic: bool | None = None
    title: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    pieces: list[str] = field(default_factory=list[str])
    begun: bool = False
    ended: bool = False

    @property
    def text(self) -> str:
        """The arguments' text so far."""
        return "".join(self.pieces)


class AnswerWriter:
    """Makes the chunks of one answer. `take` gives those that were made since it was last asked.

    `run_id` goes on every chunk; `provider` is the key of provider metadata; `prefix` begins the ids of blocks, calls
    and sources that the provider gave none (random when None).
    """

    def __init__(self, run_id: str, *, provider: str, prefix: str | None = None) -> None:
        self.out: list[ChunkType] = []
        self.announced = False
        self._run_id = run_id
        self._provider = provider
        self._prefix = secrets.token_hex(8) if prefix is None else prefix
        self._counts: dict[str, int] = {}
        self._open: dict[str, Literal["text", "reasoning"] | StreamedCall] = {}  # by id, in order
        self._call_ids: set[str] = set()
        self._sources: set[str] = set()

    def take(self) -> list[ChunkType]:
        """The chunks made so far; they are not given again."""
        out, self.out = self.out, []
        return out

    def new_id(self, kind: str) -> str:
        """An id that nothing else in this answer has."""
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        return f"{self._prefix}-{kind}-{number}"

    def call_id(self, given: object = None) -> str:
        """The id for a call: the provider's, unless it gave none or the same to another call of this answer."""
        if not isinstance(given, str) or not given or given in self._call_ids:
            given = self.new_id("call")
        self._call_ids.add(given)
        return given

    def abort(self) -> None:
        """The answer broke off: close what is open. Half a call is never given."""
        for open_id, what in list(self._open.items()):
            if what == "text":
                self.text_end(open_id)
            elif what == "reasoning":
                self.reasoning_end(open_id)
            else:
                self._end_arguments(what)

    # -- text and reasoning

    def text_start(self, metadata: Metadata = None) -> str:
        """Open a text block; gives its id."""
        block_id = self.new_id("text")
        self._open[block_id] = "text"
        self._add(TextStartChunk(TextStartPayload(block_id, self._under(metadata)), **self._from))
        return block_id

    def text_delta(self, block_id: str, text: str) -> None:
        """A piece of text. An empty one is none."""
        if text:
            self.out.append(TextDeltaChunk(TextDeltaPayload(block_id, text), run_id=self._run_id, from_="AGENT"))

    def text_end(self, block_id: str, metadata: Metadata = None) -> None:
        """Close a text block."""
        self._open.pop(block_id, None)
        self._add(TextEndChunk(TextEndPayload(block_id, self._under(metadata)), **self._from))

    def reasoning_start(self, metadata: Metadata = None) -> str:
        """Open a reasoning block; gives its id."""
        block_id = self.new_id("reasoning")
        self._open[block_id] = "reasoning"
        self._add(ReasoningStartChunk(ReasoningStartPayload(block_id, None, self._under(metadata)), **self._from))
        return block_id

    def reasoning_delta(self, block_id: str, text: str) -> None:
        """A piece of reasoning. An empty one is none."""
        if text:
            self.out.append(
                ReasoningDeltaChunk(ReasoningDeltaPayload(block_id, text), run_id=self._run_id, from_="AGENT")
            )

    def reasoning_end(self, block_id: str, *, signature: str | None = None, metadata: Metadata = None) -> None:
        """Close a reasoning block, behind its signature if it has one."""
        self._open.pop(block_id, None)
        if signature:
            self._add(ReasoningSignatureChunk(ReasoningSignaturePayload(block_id, signature), **self._from))
        payload = ReasoningEndPayload(block_id, signature or None, self._under(metadata))
        self._add(ReasoningEndChunk(payload, **self._from))

    def redacted_reasoning(self, data: Any, metadata: Metadata = None) -> None:
        """Reasoning that comes only encrypted."""
        payload = RedactedReasoningPayload(self.new_id("reasoning"), data, self._under(metadata))
        self._add(RedactedReasoningChunk(payload, **self._from))

    # -- tools

    def call_start(self, call: StreamedCall) -> None:
        """A call begins, with as much of its arguments as is there. One that has begun is left as it is."""
        if call.begun:
            return
        call.begun = True
        self._open[call.id] = call
        payload = ToolCallInputStreamingStartPayload(
            tool_call_id=call.id,
            tool_name=call.name,
            provider_executed=call.provider_executed,
            dynamic=call.dynamic,
            title=call.title,
            provider_metadata=self._under(call.metadata),
        )
        self._add(ToolCallInputStreamingStartChunk(payload, **self._from))
        if call.pieces:
            self._call_delta(call, call.text)

    def call_delta(self, call: StreamedCall, piece: str) -> None:
        """A piece of a call's arguments. It is told at once when the call has begun."""
        if piece:
            call.pieces.append(piece)
            if call.begun:
                self._call_delta(call, piece)

    def call_end(self, call: StreamedCall, args: object = UNSET) -> None:
        """A call is whole: its arguments end and the call is given, once.

        `args` are the arguments; else they are read from the text that came, and are None when that is no JSON.
        """
        if call.ended:
            return
        self.call_start(call)
        self._end_arguments(call)
        payload = ToolCallPayload(
            tool_call_id=call.id,
            tool_name=call.name,
            args=parse_arguments(call.text) if args is UNSET else args,
            provider_executed=call.provider_executed,
            dynamic=call.dynamic,
            title=call.title,
            provider_metadata=self._under(call.metadata),
        )
        self._add(ToolCallChunk(payload, **self._from))

    def call_result(
        self,
        call: StreamedCall,
        result: object,
        *,
        is_error: bool | None = None,
        metadata: Metadata = None,
    ) -> None:
        """What a call came to that the provider ran itself."""
        payload = ToolResultPayload(
            tool_call_id=call.id,
            tool_name=call.name,
            result=result,
            is_error=is_error or None,
            provider_executed=True,
            dynamic=call.dynamic,
            provider_metadata=self._under(metadata),
        )
        self._add(ToolResultChunk(payload, **self._from))

    # -- content that comes whole

    def url_source(self, url: object, title: object = None, metadata: Metadata = None) -> None:
        """A web page that the answer stands on, unless it was named before; nothing for what is no URL."""
        if isinstance(url, str) and url:
            self._source(url, _text(title) or "", url=url, metadata=metadata)

    def document_source(
        self,
        key: object,
        *,
        title: object = None,
        filename: object = None,
        mime_type: str = "application/octet-stream",
        metadata: Metadata = None,
    ) -> None:
        """A document that the answer stands on, unless one of this key was named before."""
        if isinstance(key, str) and key:
            name = _text(filename)
            self._source(key, _text(title) or name or "", filename=name, mime_type=mime_type, metadata=metadata)

    def file(
        self, data: str, mime_type: str, *, base64: bool, filename: str | None = None, metadata: Metadata = None
    ) -> None:
        """A file that the model made: base64 text, else a URL or a text."""
        payload = FilePayload(
            data=data,
            mime_type=mime_type,
            base64=data if base64 else None,
            filename=filename,
            provider_metadata=self._under(metadata),
        )
        self._add(FileChunk(payload, **self._from))

    def custom(self, kind: str, metadata: Metadata) -> None:
        """Content of a kind that only the provider has, named without the provider."""
        payload = CustomPayload(kind=f"{self._provider}.{kind}", provider_metadata=self._under(metadata))
        self._add(CustomChunk(payload, **self._from))

    # -- about the answer

    def raw(self, value: object) -> None:
        """An event as the provider sent it."""
        self._add(RawChunk(value, **self._from))

    def announce(
        self,
        *,
        id: object = None,
        model_id: object = None,
        timestamp: Timestamp | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Where the answer comes from, once; nothing when nothing is known."""
        if self.announced or not (id or model_id or timestamp or headers):
            return
        self.announced = True
        payload = ResponseMetadataPayload(
            id=_text(id),
            model_id=_text(model_id),
            timestamp=timestamp,
            headers=dict(headers) if headers else None,
        )
        self._add(ResponseMetadataChunk(payload, **self._from))

    def finish(
        self,
        reason: str,
        *,
        raw_reason: str | None = None,
        usage: Usage | None = None,
        metadata: Metadata = None,
        logprobs: object = None,
        is_final: bool = False,
    ) -> None:
        """The end of the answer. `is_final`: the provider said why it ended, so asking again for the rest of it, as is
        done where a reason is "other", is of no use.
        """
        is_continued = False if is_final and reason == "other" else None
        payload = FinishPayload(
            step_result=StepResult(
                reason=reason, raw_reason=raw_reason, is_continued=is_continued, logprobs=logprobs or None
            ),
            output=StepOutput(usage=usage or Usage()),
            metadata=StepMetadata(provider_metadata=self._under(metadata)),
        )
        self._add(FinishChunk(payload, **self._from))

    # -- making

    def _call_delta(self, call: StreamedCall, piece: str) -> None:
        payload = ToolCallDeltaPayload(args_text_delta=piece, tool_call_id=call.id, tool_name=call.name)
        self.out.append(ToolCallDeltaChunk(payload, run_id=self._run_id, from_="AGENT"))

    def _end_arguments(self, call: StreamedCall) -> None:
        call.ended = True
        self._open.pop(call.id, None)
        payload = ToolCallInputStreamingEndPayload(tool_call_id=call.id)
        self._add(ToolCallInputStreamingEndChunk(payload, **self._from))

    def _source(
        self,
        key: str,
        title: str,
        *,
        url: str | None = None,
        filename: str | None = None,
        mime_type: str | None = None,
        metadata: Metadata = None,
    ) -> None:
        if key in self._sources:
            return
        self._sources.add(key)
        payload = SourcePayload(
            id=self.new_id("source"),
            source_type="document" if url is None else "url",
            title=title,
            url=url,
            mime_type=mime_type,
            filename=filename,
            provider_metadata=self._under(metadata),
        )
        self._add(SourceChunk(payload, **self._from))

    def _under(self, metadata: Metadata) -> dict[str, Any] | None:
        return {self._provider: dict(metadata)} if metadata else None

    def _add(self, chunk: ChunkType) -> None:
        self.out.append(chunk)

    @property
    def _from(self) -> dict[str, Any]:
        return {"run_id": self._run_id, "from_": "AGENT"}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
