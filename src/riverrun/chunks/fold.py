"""What a stream means: chunks → value. The same fold at both ends of the wire.

`StepFold` takes the chunks of one step (a model call and the tool calls it led to); `fold` takes a whole stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from riverrun.chunks.content import FileChunk, ObjectResultChunk, SourceChunk
from riverrun.chunks.control import (
    AbortChunk,
    ErrorChunk,
    FinishChunk,
    Response,
    ResponseMetadataChunk,
    StartChunk,
    Step,
    StepFinishChunk,
    StepFinishPayload,
    StepStartChunk,
    TripwireChunk,
    TripwirePayload,
)
from riverrun.chunks.message import (
    FilePart,
    Message,
    MessagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutput,
    ToolResultPart,
)
from riverrun.chunks.text import (
    ReasoningDeltaChunk,
    ReasoningEndChunk,
    ReasoningSignatureChunk,
    ReasoningStartChunk,
    TextDeltaChunk,
    TextEndChunk,
    TextStartChunk,
)
from riverrun.chunks.tools import (
    ToolCallApprovalChunk,
    ToolCallChunk,
    ToolCallSuspendedChunk,
    ToolResultChunk,
)
from riverrun.chunks.union import ChunkType
from riverrun.chunks.usage import Usage, sum_usage, total_usage

Status: TypeAlias = Literal["running", "success", "failed", "canceled", "suspended", "tripwire"]
"""How a run stands."""

_CUT_OFF = ("failed", "canceled")

BlockKind: TypeAlias = Literal["text", "reasoning"]
Metadata: TypeAlias = "dict[str, Any] | None"


@dataclass(slots=True)
class _Block:
    """A text or reasoning block while it grows. The last provider metadata given is the block's."""

    kind: BlockKind
    pieces: list[str] = field(default_factory=list[str])
    metadata: Metadata = None

    def part(self) -> MessagePart | None:
        text = "".join(self.pieces)
        if self.kind == "reasoning":
            return ReasoningPart(text, provider_options=self.metadata)
        return TextPart(text, provider_options=self.metadata) if text else None


class StepFold:
    """Gathers the content of one step, chunk by chunk."""

    def __init__(self) -> None:
        self.tool_calls: list[ToolCallChunk] = []
        self.has_content = False
        self._items: list[_Block | MessagePart] = []
        self._texts: dict[str, _Block] = {}
        self._reasoning: dict[str, _Block] = {}

    def add(self, chunk: ChunkType) -> None:
        """Take the next chunk; one that says nothing about the content is passed over."""
        match chunk:
            case TextDeltaChunk(p):
                self.has_content = True
                block = self._texts.get(p.id) or self._opened(self._texts, p.id, "text")
                block.pieces.append(p.text)
                if p.provider_metadata is not None:
                    block.metadata = p.provider_metadata
            case TextStartChunk(p) | TextEndChunk(p):
                self._note(self._texts, p.id, "text", p.provider_metadata)
            case ReasoningDeltaChunk(p):
                self._note(self._reasoning, p.id, "reasoning", p.provider_metadata).pieces.append(p.text)
            case ReasoningStartChunk(p) | ReasoningEndChunk(p) | ReasoningSignatureChunk(p):
                self._note(self._reasoning, p.id, "reasoning", p.provider_metadata)
            case ToolCallChunk():
                self._add_call(chunk)
            case ToolResultChunk(p) if p.provider_executed:
                self.add_part(
                    ToolResultPart(
                        tool_call_id=p.tool_call_id,
                        tool_name=p.tool_name,
                        output=ToolOutput("error-json" if p.is_error else "json", p.result),
                        provider_options=p.provider_metadata,
                    )
                )
            case FileChunk(p):
                self.add_part(
                    FilePart(
                        data=p.data, media_type=p.mime_type, filename=p.filename, provider_options=p.provider_metadata
                    )
                )
            case SourceChunk():
                self.has_content = True
            case _:
                pass

    def add_part(self, part: MessagePart) -> None:
        """Put a whole part at the end."""
        self._items.append(part)
        self.has_content = True

    @property
    def text(self) -> str:
        """The text so far."""
        blocks = (item for item in self._items if isinstance(item, _Block) and item.kind == "text")
        return "".join(piece for block in blocks for piece in block.pieces)

    def content(self) -> list[MessagePart]:
        """The parts so far, in the order in which they began; empty text is left out."""
        parts = (item.part() if isinstance(item, _Block) else item for item in self._items)
        return [part for part in parts if part is not None]

    def _note(self, blocks: dict[str, _Block], block_id: str, kind: BlockKind, metadata: Metadata) -> _Block:
        block = blocks.get(block_id) or self._opened(blocks, block_id, kind)
        if metadata is not None:
            block.metadata = metadata
        return block

    def _opened(self, blocks: dict[str, _Block], block_id: str, kind: BlockKind) -> _Block:
        block = blocks[block_id] = _Block(kind)
        self._items.append(block)
        if kind == "reasoning":
            self.has_content = True
        return block

    def _add_call(self, chunk: ToolCallChunk) -> None:
        call = chunk.payload
        self.tool_calls.append(chunk)
        self.add_part(
            ToolCallPart(
                tool_call_id=call.tool_call_id,
                tool_name=call.tool_name,
                input=call.args,
                provider_executed=call.provider_executed,
                provider_options=call.provider_metadata,
            )
        )


@dataclass(slots=True, kw_only=True)
class Result:
    """What a stream came to, or has come to so far.

    `text` is the last step's when tools were called, otherwise all of it. `usage` is summed over the steps;
    `finish_reason` is the last step's, "aborted" after a cancel, "suspended" or "other" (tripwire). `error` is what an
    `error` chunk carried. `messages` are all messages of the run, the input first.
    """

    run_id: str | None = None
    message_id: str | None = None
    status: Status = "running"
    text: str = ""
    reasoning_text: str | None = None
    reasoning: list[ReasoningPart] = field(default_factory=list[ReasoningPart])
    object: Any = None
    tool_calls: list[ToolCallChunk] = field(default_factory=list[ToolCallChunk])
    tool_results: list[ToolResultChunk] = field(default_factory=list[ToolResultChunk])
    sources: list[SourceChunk] = field(default_factory=list[SourceChunk])
    files: list[FileChunk] = field(default_factory=list[FileChunk])
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    steps: list[Step] = field(default_factory=list[Step])
    warnings: list[Any] = field(default_factory=list[Any])
    request: dict[str, Any] | None = None
    response: Response | None = None
    provider_metadata: dict[str, Any] | None = None
    messages: list[Message] = field(default_factory=list[Message])
    suspend_payload: Any = None
    error: Any = None
    tripwire: TripwirePayload | None = None

    @property
    def total_usage(self) -> Usage:
        """`usage` with a total, computed where the provider gave none."""
        return total_usage(self.usage)


def fold(chunks: Iterable[ChunkType]) -> Result:
    """Fold a stream, whole or cut off anywhere, into what it means."""
    result = Result()
    texts: list[list[str]] = [[]]
    reasoning = [StepFold()]
    usages: list[Usage] = []
    for chunk in chunks:
        match chunk:
            case TextDeltaChunk(p):
                texts[-1].append(p.text)
            case ReasoningDeltaChunk() | ReasoningStartChunk() | ReasoningEndChunk() | ReasoningSignatureChunk():
                reasoning[-1].add(chunk)
            case StepStartChunk(p):
                result.warnings = p.warnings or []
                result.request = p.request
                texts.append([])
                reasoning.append(StepFold())  # another step may use a block's id again
            case StepFinishChunk(p):
                _finish_step(result, p, usages)
            case _:
                _take(result, chunk)
    parts = [part for step in reasoning for part in step.content() if isinstance(part, ReasoningPart)]
    result.reasoning = parts
    result.reasoning_text = "".join(part.text for part in parts) if parts else None
    last_only = bool(result.tool_calls or result.tool_results) and result.suspend_payload is None
    result.text = "".join(piece for text in (texts[-1:] if last_only else texts) for piece in text)
    if usages and result.status not in _CUT_OFF:
        result.usage = sum_usage(usages)
    return result


def _take(result: Result, chunk: ChunkType) -> None:
    match chunk:
        case ToolCallChunk():
            result.tool_calls.append(chunk)
        case ToolResultChunk():
            result.tool_results.append(chunk)
        case SourceChunk():
            result.sources.append(chunk)
        case FileChunk():
            result.files.append(chunk)
        case ResponseMetadataChunk(p):
            result.response = Response(id=p.id, timestamp=p.timestamp, model_id=p.model_id, headers=p.headers)
        case ObjectResultChunk(value):
            result.object = value
        case StartChunk(p):
            result.run_id, result.message_id = chunk.run_id, p.message_id
        case _:
            _take_ending(result, chunk)


def _take_ending(result: Result, chunk: ChunkType) -> None:
    match chunk:
        case ErrorChunk(p):
            result.status, result.error, result.finish_reason = "failed", p.error, "error"
        case AbortChunk():
            result.status, result.finish_reason = "canceled", "aborted"
        case TripwireChunk(p):
            result.status, result.tripwire, result.finish_reason = "tripwire", p, "other"
        case ToolCallApprovalChunk() | ToolCallSuspendedChunk():
            result.status, result.finish_reason = "suspended", "suspended"
            result.suspend_payload = chunk.payload
        case FinishChunk(p):
            if p.messages is not None:
                result.messages = p.messages.all
            if result.status == "running":
                result.status = "success"
            if p.response is not None:
                result.response = p.response
            if result.status in _CUT_OFF and p.output is not None and p.output.usage is not None:
                result.usage = p.output.usage  # the step that was cut off has no step-finish
        case _:
            pass


def _finish_step(result: Result, step: StepFinishPayload, usages: list[Usage]) -> None:
    output = step.output
    if output is not None:
        if output.usage is not None:
            usages.append(output.usage)
        if output.steps:
            result.steps.append(output.steps[-1])
    if step.step_result is not None:
        result.finish_reason = step.step_result.reason
    if step.metadata is not None:
        result.provider_metadata = step.metadata.provider_metadata
        if result.response is None or step.response is not None:
            result.response = step.response
