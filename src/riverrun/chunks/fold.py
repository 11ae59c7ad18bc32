"""What a stream means: chunks → value. The same fold at both ends of the wire."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias

from riverrun.chunks.content import FileChunk, ObjectResultChunk, SourceChunk
from riverrun.chunks.control import (
    AbortChunk,
    ErrorChunk,
    FinishChunk,
    FinishPayload,
    Response,
    ResponseMetadataChunk,
    StartChunk,
    Step,
    StepFinishChunk,
    StepFinishPayload,
    StepOutput,
    StepStartChunk,
    TripwireChunk,
    TripwirePayload,
)
from riverrun.chunks.message import (
    AssistantMessage,
    Message,
    ReasoningPart,
    TextPart,
)
from riverrun.chunks.step_fold import StepFold
from riverrun.chunks.text import (
    ReasoningDeltaChunk,
    ReasoningEndChunk,
    ReasoningSignatureChunk,
    ReasoningStartChunk,
    TextDeltaChunk,
)
from riverrun.chunks.tools import (
    ToolCallApprovalChunk,
    ToolCallChunk,
    ToolCallSuspendedChunk,
    ToolOutputChunk,
    ToolResultChunk,
)
from riverrun.chunks.union import ChunkType
from riverrun.chunks.usage import Usage, sum_usage, total_usage

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Out = TypeVar("Out", default=Any)
else:
    from typing import TypeVar

    Out = TypeVar("Out")

Status: TypeAlias = Literal["running", "success", "failed", "canceled", "suspended", "tripwire"]
"""How a run stands."""

_CUT_OFF = ("failed", "canceled")
_NONE: Any = None


@dataclass(slots=True, kw_only=True)
class Result(Generic[Out]):
    """What a stream came to, or has come to so far. `object` is the structured answer, None when there is none.

    `text` is the last step's when tools were called, otherwise all of it. `usage` is summed over the steps, and
    `nested_usage` over the runs inside tools, as far as they have ended; `finish_reason` is the last step's, "aborted"
    after a cancel, "suspended" or "other" (tripwire). `error` is what an `error` chunk carried. `messages` are all
    messages of the run, the input first.
    """

    run_id: str | None = None
    message_id: str | None = None
    status: Status = "running"
    text: str = ""
    reasoning_text: str | None = None
    reasoning: list[ReasoningPart] = field(default_factory=list[ReasoningPart])
    object: Out = _NONE
    tool_calls: list[ToolCallChunk] = field(default_factory=list[ToolCallChunk])
    tool_results: list[ToolResultChunk] = field(default_factory=list[ToolResultChunk])
    sources: list[SourceChunk] = field(default_factory=list[SourceChunk])
    files: list[FileChunk] = field(default_factory=list[FileChunk])
    usage: Usage = field(default_factory=Usage)
    nested_usage: Usage = field(default_factory=Usage)
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


class Fold:
    """Folds a stream chunk by chunk. `result` may be asked at any time, and costs what the text is long."""

    def __init__(self, *, resumed: bool = False) -> None:
        """`resumed`: the stream is of a run that waited in the meantime, so all of its text counts."""
        self._resumed = resumed
        self._so_far = Result()
        self._texts: list[list[str]] = [[]]
        self._reasoning = [StepFold()]
        self._usages: list[Usage] = []

    @property
    def error(self) -> Any:
        """What an error chunk carried, or None."""
        return self._so_far.error

    @property
    def tripwire(self) -> TripwirePayload | None:
        """What a tripwire chunk carried, or None."""
        return self._so_far.tripwire

    def add(self, chunk: ChunkType) -> None:
        """Take the next chunk."""
        match chunk:
            case TextDeltaChunk(p):
                self._texts[-1].append(p.text)
            case ReasoningDeltaChunk() | ReasoningStartChunk() | ReasoningEndChunk() | ReasoningSignatureChunk():
                self._reasoning[-1].add(chunk)
            case StepStartChunk(p):
                self._so_far.warnings = p.warnings or []
                self._so_far.request = p.request
                self._texts.append([])
                self._reasoning.append(StepFold())  # another step may use a block's id again
            case StepFinishChunk(p):
                if p.step_result is not None and p.step_result.reason == "retry":
                    self._texts[-1].clear()  # what was said in it does not count
                _finish_step(self._so_far, p, self._usages)
            case _:
                _take(self._so_far, chunk)
                if isinstance(chunk, FinishChunk):
                    self._replace_text(chunk.payload)

    def _replace_text(self, finish: FinishPayload) -> None:
        """What processors of the whole result made of the text: nothing, or another one."""
        if finish.response is not None and finish.response.messages is not None:
            self._texts = [
                [part.text for part in message.content if isinstance(part, TextPart)]
                for message in finish.response.messages
                if isinstance(message, AssistantMessage)
            ]

    def result(self) -> Result:
        """What the chunks came to so far; later ones do not change it."""
        so_far = self._so_far
        parts = [part for step in self._reasoning for part in step.content() if isinstance(part, ReasoningPart)]
        has_waited = self._resumed or so_far.suspend_payload is not None
        last_only = bool(so_far.tool_calls or so_far.tool_results) and not has_waited
        said = self._texts[-1:] if last_only else self._texts
        return replace(
            so_far,
            reasoning=parts,
            reasoning_text="".join(part.text for part in parts) if parts else None,
            text="".join(piece for text in said for piece in text),
            usage=so_far.usage if so_far.status in _CUT_OFF else sum_usage(self._usages),
            tool_calls=[*so_far.tool_calls],
            tool_results=[*so_far.tool_results],
            sources=[*so_far.sources],
            files=[*so_far.files],
            steps=[*so_far.steps],
        )


def fold(chunks: Iterable[ChunkType]) -> Result:
    """Fold a stream, whole or cut off anywhere, into what it means."""
    folding = Fold()
    for chunk in chunks:
        folding.add(chunk)
    return folding.result()


def nested_usage(chunk: ToolOutputChunk) -> Usage | None:
    """The tokens of a run inside a tool, or inside a tool of that; None when the chunk is not the run's end."""
    inner = chunk.payload.output
    while isinstance(inner, ToolOutputChunk):
        inner = inner.payload.output
    match inner:
        case FinishChunk(FinishPayload(output=StepOutput(usage=Usage() as usage))):
            return usage
        case _:
            return None


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
        case ToolOutputChunk() if (usage := nested_usage(chunk)) is not None:
            result.nested_usage = sum_usage([result.nested_usage, usage])
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
            result.object = None
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
        elif step.step_result is not None and step.step_result.reason == "retry":
            result.steps.append(Step(content=[], usage=output.usage or Usage(), finish_reason="retry"))
    if step.step_result is not None:
        result.finish_reason = step.step_result.reason
    if step.metadata is not None:
        result.provider_metadata = step.metadata.provider_metadata
        if result.response is None or step.response is not None:
            result.response = step.response
