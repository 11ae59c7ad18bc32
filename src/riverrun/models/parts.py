"""Stream parts of the AI SDK's language models (V2, V3) → chunks.

The parts are plain objects, `{"type": "text-delta", "id": ..., "delta": ...}`; ScriptedModel speaks them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from riverrun.chunks import (
    ChunkType,
    CustomChunk,
    CustomPayload,
    ErrorChunk,
    ErrorPayload,
    Extra,
    FileChunk,
    FilePayload,
    FinishChunk,
    FinishPayload,
    RawChunk,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    ReasoningEndChunk,
    ReasoningEndPayload,
    ReasoningFileChunk,
    ReasoningStartChunk,
    ReasoningStartPayload,
    ResponseMetadataChunk,
    ResponseMetadataPayload,
    SourceChunk,
    SourcePayload,
    StepMetadata,
    StepOutput,
    StepResult,
    StepStartChunk,
    StepStartPayload,
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
from riverrun.chunks.envelope import is_object, mapping
from riverrun.types import ModelRequest

Part: TypeAlias = Mapping[str, Any]


@dataclass(slots=True)
class _Input:
    """Arguments of a call while they are streamed."""

    name: str
    start: Part
    pieces: list[str] = field(default_factory=list[str])


class PartReader:
    """Turns the parts of one call into chunks.

    A streamed call becomes one tool-call chunk right after the end of its input. The final tool-call part has the last
    word on the arguments when it follows at once; a later one for a call that was given is dropped.
    """

    def __init__(
        self, request: ModelRequest, *, sent: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self._request = request
        self._sent = dict(sent or {})
        self._headers = None if headers is None else dict(headers)
        self._started = False
        self._text_ids: dict[str, str] = {}
        self._inputs: dict[str, _Input] = {}
        self._ended: str | None = None
        self._given: set[str] = set()
        self._from: dict[str, Any] = {"run_id": request.run_id, "from_": "AGENT"}

    def read(self, part: Part) -> Iterator[ChunkType]:
        """The chunks of one part."""
        kind: str = part["type"]
        if kind.startswith("$"):
            return
        if not self._started:
            self._started = True
            yield self._step_start(part.get("warnings", []) if kind == "stream-start" else [])
        if self._ended is not None and not (kind == "tool-call" and part["toolCallId"] == self._ended):
            yield from self._streamed_call(self._ended)
        reading = _READING.get(kind)
        if reading is not None:
            yield from reading(self, part)
        elif self._request.include_raw:
            yield RawChunk(dict(part), **self._from)

    def close(self) -> Iterator[ChunkType]:
        """What is left at the end of the call."""
        if not self._started:
            yield self._step_start([])
        if self._ended is not None:
            yield from self._streamed_call(self._ended)

    def _step_start(self, warnings: list[Any]) -> ChunkType:
        return StepStartChunk(StepStartPayload(request=self._sent, warnings=warnings), **self._from)

    # -- text and reasoning

    def stream_start(self, part: Part) -> Iterator[ChunkType]:
        self._text_ids.clear()
        return iter(())

    def _text_id(self, part: Part) -> str:
        """Numbers are not unique over the calls of a run: they get an id that is."""
        given: str = part["id"]
        return self._text_ids.setdefault(given, str(uuid.uuid4())) if given.isdigit() else given

    def text_start(self, part: Part) -> Iterator[ChunkType]:
        yield TextStartChunk(TextStartPayload(self._text_id(part), part.get("providerMetadata")), **self._from)

    def text_delta(self, part: Part) -> Iterator[ChunkType]:
        if part["delta"] or part.get("providerMetadata"):
            payload = TextDeltaPayload(self._text_id(part), part["delta"], part.get("providerMetadata"))
            yield TextDeltaChunk(payload, **self._from)

    def text_end(self, part: Part) -> Iterator[ChunkType]:
        extra = _extra(part, "id", "providerMetadata")
        payload = TextEndPayload(self._text_id(part), part.get("providerMetadata"), extra=extra)
        yield TextEndChunk(payload, **self._from)

    def reasoning_start(self, part: Part) -> Iterator[ChunkType]:
        payload = ReasoningStartPayload(part["id"], part.get("signature"), part.get("providerMetadata"))
        yield ReasoningStartChunk(payload, **self._from)

    def reasoning_delta(self, part: Part) -> Iterator[ChunkType]:
        payload = ReasoningDeltaPayload(part["id"], part["delta"], part.get("providerMetadata"))
        yield ReasoningDeltaChunk(payload, **self._from)

    def reasoning_end(self, part: Part) -> Iterator[ChunkType]:
        payload = ReasoningEndPayload(part["id"], part.get("signature"), part.get("providerMetadata"))
        yield ReasoningEndChunk(payload, **self._from)

    # -- content

    def source(self, part: Part) -> Iterator[ChunkType]:
        document = part["sourceType"] == "document"
        payload = SourcePayload(
            id=part["id"],
            source_type=part["sourceType"],
            title=part.get("title") or "",
            mime_type=part.get("mediaType") if document else None,
            filename=part.get("filename"),
            url=None if document else part.get("url"),
            provider_metadata=part.get("providerMetadata"),
        )
        yield SourceChunk(payload, **self._from)

    def _file_payload(self, part: Part) -> FilePayload:
        data = part["data"]
        is_base64 = isinstance(data, str) and not data.startswith(("http:", "https:", "data:"))
        return FilePayload(
            data=data,
            mime_type=part["mediaType"],
            base64=data if is_base64 else None,
            provider_metadata=part.get("providerMetadata"),
        )

    def file(self, part: Part) -> Iterator[ChunkType]:
        yield FileChunk(self._file_payload(part), **self._from)

    def reasoning_file(self, part: Part) -> Iterator[ChunkType]:
        yield ReasoningFileChunk(self._file_payload(part), **self._from)

    def custom(self, part: Part) -> Iterator[ChunkType]:
        payload = CustomPayload(kind=part["kind"], provider_metadata=part.get("providerMetadata"))
        yield CustomChunk(payload, **self._from)

    # -- tools

    def input_start(self, part: Part) -> Iterator[ChunkType]:
        self._inputs[part["id"]] = _Input(part["toolName"], part)
        payload = ToolCallInputStreamingStartPayload(
            tool_call_id=part["id"],
            tool_name=part["toolName"],
            provider_executed=part.get("providerExecuted"),
            dynamic=part.get("dynamic"),
            title=part.get("title"),
            provider_metadata=part.get("providerMetadata"),
        )
        yield ToolCallInputStreamingStartChunk(payload, **self._from)

    def input_delta(self, part: Part) -> Iterator[ChunkType]:
        streamed = self._inputs.get(part["id"])
        if not part["delta"]:
            return
        if streamed is not None:
            streamed.pieces.append(part["delta"])
        payload = ToolCallDeltaPayload(
            args_text_delta=part["delta"],
            tool_call_id=part["id"],
            tool_name=streamed.name if streamed else None,
            provider_metadata=part.get("providerMetadata"),
        )
        yield ToolCallDeltaChunk(payload, **self._from)

    def input_end(self, part: Part) -> Iterator[ChunkType]:
        payload = ToolCallInputStreamingEndPayload(
            tool_call_id=part["id"], provider_metadata=part.get("providerMetadata")
        )
        yield ToolCallInputStreamingEndChunk(payload, **self._from)
        if part["id"] in self._inputs:
            self._ended = part["id"]

    def _streamed_call(self, call_id: str) -> Iterator[ChunkType]:
        streamed = self._inputs.pop(call_id)
        start = streamed.start
        self._ended = None
        self._given.add(call_id)
        yield from self._call_chunk(
            {
                "toolCallId": call_id,
                "toolName": streamed.name,
                "input": "".join(streamed.pieces),
                "providerExecuted": start.get("providerExecuted"),
                "dynamic": start.get("dynamic"),
                "providerMetadata": start.get("providerMetadata"),
            }
        )

    def tool_call(self, part: Part) -> Iterator[ChunkType]:
        call_id = part["toolCallId"]
        streamed = self._inputs.pop(call_id, None)
        self._ended = None
        if streamed is None and call_id in self._given:
            self._given.discard(call_id)
            return
        merged = dict(part)
        if streamed is not None:
            merged["input"] = part.get("input") or "".join(streamed.pieces)
            for name in ("providerMetadata", "dynamic", "providerExecuted"):
                merged[name] = streamed.start.get(name) or part.get(name)
        yield from self._call_chunk(merged)

    def _call_chunk(self, part: Part) -> Iterator[ChunkType]:
        text = part.get("input")
        args = parse_arguments(text or "") if text is None or isinstance(text, str) else text
        payload = ToolCallPayload(
            tool_call_id=part["toolCallId"],
            tool_name=part["toolName"],
            args=args,
            provider_executed=part.get("providerExecuted"),
            dynamic=part.get("dynamic"),
            title=part.get("title"),
            provider_metadata=part.get("providerMetadata"),
        )
        yield ToolCallChunk(payload, **self._from)

    def tool_result(self, part: Part) -> Iterator[ChunkType]:
        payload = ToolResultPayload(
            tool_call_id=part["toolCallId"],
            tool_name=part["toolName"],
            result=part.get("result"),
            is_error=part.get("isError"),
            provider_executed=part.get("providerExecuted"),
            dynamic=part.get("dynamic"),
            provider_metadata=part.get("providerMetadata"),
        )
        yield ToolResultChunk(payload, **self._from)

    # -- control

    def response_metadata(self, part: Part) -> Iterator[ChunkType]:
        moment = part.get("timestamp")
        payload = ResponseMetadataPayload(
            id=part.get("id"),
            model_id=part.get("modelId"),
            timestamp=Timestamp.of(moment) if isinstance(moment, datetime) else moment,
            headers=self._headers,
            extra=_extra(part, "type", "id", "modelId", "timestamp"),
        )
        yield ResponseMetadataChunk(payload, **self._from)

    def raw(self, part: Part) -> Iterator[ChunkType]:
        if self._request.include_raw:
            yield RawChunk(part.get("rawValue"), **self._from)

    def error(self, part: Part) -> Iterator[ChunkType]:
        yield ErrorChunk(ErrorPayload(error=part.get("error"), type="error"), **self._from)

    def finish(self, part: Part) -> Iterator[ChunkType]:
        reason: Any = part.get("finishReason")
        raw_reason: Any = None
        if is_object(reason):
            reason, raw_reason = reason.get("unified"), reason.get("raw")
        payload = FinishPayload(
            step_result=StepResult(reason=reason if reason and reason != "unknown" else "other", raw_reason=raw_reason),
            output=StepOutput(usage=_usage(part)),
            metadata=StepMetadata(provider_metadata=part.get("providerMetadata")),
        )
        yield FinishChunk(payload, **self._from)


def _extra(part: Part, *known: str) -> Extra | None:
    rest = {name: value for name, value in part.items() if name not in known}
    return Extra(rest) if rest else None


def _usage(part: Part) -> Usage:
    """Flat (V2) and nested (V3) usage; Anthropic's split of cache creation comes as provider metadata."""
    given = mapping(part.get("usage"))
    creation = mapping(mapping(mapping(part.get("providerMetadata")).get("anthropic")).get("cacheCreation"))
    counts = _nested_counts(given) if is_object(given.get("inputTokens")) else _flat_counts(given)
    return Usage(
        **counts,
        cache_creation_input_tokens5m=creation.get("ephemeral_5m_input_tokens"),
        cache_creation_input_tokens1h=creation.get("ephemeral_1h_input_tokens"),
        raw=part.get("usage"),
    )


def _flat_counts(given: dict[str, Any]) -> dict[str, Any]:
    total = given.get("totalTokens")
    return {
        "input_tokens": given.get("inputTokens"),
        "output_tokens": given.get("outputTokens"),
        "total_tokens": _total(given.get("inputTokens"), given.get("outputTokens")) if total is None else total,
        "reasoning_tokens": given.get("reasoningTokens"),
        "cached_input_tokens": given.get("cachedInputTokens"),
        "cache_creation_input_tokens": given.get("cacheCreationInputTokens"),
    }


def _nested_counts(given: dict[str, Any]) -> dict[str, Any]:
    inputs, outputs = mapping(given.get("inputTokens")), mapping(given.get("outputTokens"))
    return {
        "input_tokens": inputs.get("total"),
        "output_tokens": outputs.get("total"),
        "total_tokens": _total(inputs.get("total"), outputs.get("total")),
        "reasoning_tokens": outputs.get("reasoning"),
        "cached_input_tokens": inputs.get("cacheRead"),
        "cache_creation_input_tokens": inputs.get("cacheWrite"),
    }


def _total(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


_READING: dict[str, Callable[[PartReader, Part], Iterator[ChunkType]]] = {
    "stream-start": PartReader.stream_start,
    "text-start": PartReader.text_start,
    "text-delta": PartReader.text_delta,
    "text-end": PartReader.text_end,
    "reasoning-start": PartReader.reasoning_start,
    "reasoning-delta": PartReader.reasoning_delta,
    "reasoning-end": PartReader.reasoning_end,
    "source": PartReader.source,
    "file": PartReader.file,
    "reasoning-file": PartReader.reasoning_file,
    "custom": PartReader.custom,
    "tool-input-start": PartReader.input_start,
    "tool-input-delta": PartReader.input_delta,
    "tool-input-end": PartReader.input_end,
    "tool-call": PartReader.tool_call,
    "tool-result": PartReader.tool_result,
    "response-metadata": PartReader.response_metadata,
    "raw": PartReader.raw,
    "error": PartReader.error,
    "finish": PartReader.finish,
}
