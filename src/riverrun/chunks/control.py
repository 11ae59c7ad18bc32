"""The frame of a run: it starts, takes steps, finishes; or fails, is aborted, is stopped by a tripwire."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from riverrun.chunks.envelope import Chunk, Json, Maybe, Record, Timestamp
from riverrun.chunks.message import (
    Message,
    MessagePart,
    Messages,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from riverrun.chunks.tools import ToolCallPayload
from riverrun.chunks.usage import Usage

FinishReason = Literal["stop", "length", "content-filter", "tool-calls", "error", "other", "tripwire", "retry"]
"""Why a step ended, on the wire. A run's result also knows "aborted" and "suspended"."""


class StartPayload(Record, frozen=True, kw_only=True):
    """`id`: the agent's; `message_id`: the answer's."""

    id: Maybe[str] = None
    message_id: Maybe[str] = None


class StepStartPayload(Record, frozen=True, kw_only=True):
    """`request`: what was sent ({body}); `warnings`: what of it the provider ignores; `started_at`: epoch ms."""

    message_id: Maybe[str] = None
    request: Maybe[dict[str, Any]] = None
    warnings: Maybe[list[Any]] = None
    started_at: Maybe[int] = None


class StepResult(Record, frozen=True, kw_only=True):
    """Why a step ended, and whether another follows. `reason`: a FinishReason; `raw_reason`: the provider's word."""

    reason: Maybe[str] = None
    raw_reason: Maybe[str] = None
    is_continued: Maybe[bool] = None
    warnings: Maybe[list[Any]] = None
    message_id: Maybe[str] = None
    logprobs: Maybe[Json] = None
    retry_reason: Maybe[str] = None
    retry_metadata: Maybe[Json] = None
    retry_processor_id: Maybe[str] = None


class ModelMetadata(Record, frozen=True, kw_only=True):
    """Which model was asked."""

    model_id: Maybe[str] = None
    model_version: Maybe[str] = None
    model_provider: Maybe[str] = None


class ResponseMetadataPayload(Record, frozen=True, kw_only=True):
    """What the provider says of its response."""

    id: Maybe[str] = None
    model_id: Maybe[str] = None
    timestamp: Maybe[Timestamp] = None
    headers: Maybe[dict[str, str]] = None
    signature: Maybe[str] = None


class Response(Record, frozen=True, kw_only=True):
    """One model response, or the run's last one; `messages` are the messages it added."""

    id: Maybe[str] = None
    timestamp: Maybe[Timestamp] = None
    model_id: Maybe[str] = None
    headers: Maybe[dict[str, str]] = None
    model_metadata: Maybe[ModelMetadata] = None
    messages: Maybe[list[Message]] = None


class Step(Record, frozen=True, kw_only=True):
    """One model call and the tool calls it led to."""

    content: list[MessagePart]
    usage: Usage
    warnings: Maybe[list[Any]] = None
    request: Maybe[dict[str, Any]] = None
    response: Maybe[Response] = None
    provider_metadata: Maybe[dict[str, Any]] = None
    finish_reason: Maybe[str] = None
    tripwire: Maybe[dict[str, Any]] = None

    @property
    def text(self) -> str:
        """The step's text."""
        return "".join(part.text for part in self.content if isinstance(part, TextPart))

    @property
    def reasoning_text(self) -> str:
        """The step's reasoning, joined."""
        return "".join(part.text for part in self.content if isinstance(part, ReasoningPart))

    @property
    def tool_calls(self) -> list[ToolCallPart]:
        """The calls that the model made."""
        return [part for part in self.content if isinstance(part, ToolCallPart)]

    @property
    def tool_results(self) -> list[ToolResultPart]:
        """What the calls came to, as the model is told."""
        return [part for part in self.content if isinstance(part, ToolResultPart)]


class StepOutput(Record, frozen=True, kw_only=True):
    """What a step (in `step-finish`) or the run (in `finish`) gave. `usage` is the step's or the run's."""

    text: Maybe[str] = None
    tool_calls: Maybe[list[ToolCallPayload]] = None
    tool_results: Maybe[list[Any]] = None
    usage: Maybe[Usage] = None
    steps: Maybe[list[Step]] = None
    object: Maybe[Json] = None


class StepMetadata(Record, frozen=True, kw_only=True):
    """Where a step's answer comes from."""

    id: Maybe[str] = None
    timestamp: Maybe[Timestamp] = None
    model_id: Maybe[str] = None
    headers: Maybe[dict[str, str]] = None
    model_metadata: Maybe[ModelMetadata] = None
    provider_metadata: Maybe[dict[str, Any]] = None
    request: Maybe[dict[str, Any]] = None


class StepFinishPayload(Record, frozen=True, kw_only=True):
    """A step is over: its model call and its tools."""

    id: Maybe[str] = None
    message_id: Maybe[str] = None
    step_result: Maybe[StepResult] = None
    output: Maybe[StepOutput] = None
    metadata: Maybe[StepMetadata] = None
    messages: Maybe[Messages] = None
    total_usage: Maybe[Usage] = None
    response: Maybe[Response] = None
    provider_metadata: Maybe[dict[str, Any]] = None
    processor_retry_count: Maybe[int] = None
    processor_retry_feedback: Maybe[str] = None
    is_task_complete_check_failed: Maybe[bool] = None


class FinishPayload(Record, frozen=True, kw_only=True):
    """The run is over. `output.usage` is the whole run's, `output.steps` and `messages` are all of them."""

    message_id: Maybe[str] = None
    step_result: Maybe[StepResult] = None
    output: Maybe[StepOutput] = None
    metadata: Maybe[StepMetadata] = None
    messages: Maybe[Messages] = None
    response: Maybe[Response] = None
    processor_retry_count: Maybe[int] = None
    is_task_complete_check_failed: Maybe[bool] = None


class ErrorPayload(Record, frozen=True, kw_only=True):
    """`error`: the exception; on the wire {name, message}. `type`: set when the provider reported it."""

    error: Any
    type: Maybe[Literal["error"]] = None


class AbortPayload(Record, frozen=True, kw_only=True):
    """The run was cancelled; what else is known is in `extra`."""


class TripwirePayload(Record, frozen=True, kw_only=True):
    """A processor stopped the run."""

    reason: str
    retry: Maybe[bool] = None
    metadata: Maybe[Json] = None
    processor_id: Maybe[str] = None


class WatchPayload(Record, frozen=True, kw_only=True):
    """The state of a workflow run at a moment (epoch ms)."""

    workflow_state: Maybe[Json] = None
    event_timestamp: Maybe[int | float] = None


class ScorerResult(Record, frozen=True, kw_only=True):
    """One scorer's verdict; `duration` in ms."""

    score: int | float
    passed: bool
    reason: Maybe[str] = None
    scorer_id: Maybe[str] = None
    scorer_name: Maybe[str] = None
    duration: Maybe[int | float] = None
    errored: Maybe[bool] = None
    final_result: Maybe[Json] = None


class GoalPayload(Record, frozen=True, kw_only=True):
    """One evaluation of an objective; `duration` in ms."""

    objective: Maybe[str] = None
    iteration: Maybe[int] = None
    max_runs: Maybe[int] = None
    passed: Maybe[bool] = None
    status: Maybe[Literal["active", "paused", "done"]] = None
    results: Maybe[list[ScorerResult]] = None
    reason: Maybe[str] = None
    duration: Maybe[int | float] = None
    timed_out: Maybe[bool] = None
    max_runs_reached: Maybe[bool] = None
    suppress_feedback: Maybe[bool] = None
    pending: Maybe[bool] = None
    activity: Maybe[list[Any]] = None
    judge_failed: Maybe[bool] = None
    waiting_for_user: Maybe[bool] = None
    paused_reason: Maybe[str] = None
    should_continue: Maybe[bool] = None


class IsTaskCompletePayload(Record, frozen=True, kw_only=True):
    """Whether scorers take an answer as complete (beyond the page); `duration` in ms."""

    iteration: Maybe[int] = None
    passed: Maybe[bool] = None
    results: Maybe[list[ScorerResult]] = None
    duration: Maybe[int | float] = None
    timed_out: Maybe[bool] = None
    reason: Maybe[str] = None
    max_iteration_reached: Maybe[bool] = None
    suppress_feedback: Maybe[bool] = None


class StartChunk(Chunk, frozen=True):
    type: ClassVar[Literal["start"]] = "start"
    payload: StartPayload


class StepStartChunk(Chunk, frozen=True):
    type: ClassVar[Literal["step-start"]] = "step-start"
    payload: StepStartPayload


class StepFinishChunk(Chunk, frozen=True):
    type: ClassVar[Literal["step-finish"]] = "step-finish"
    payload: StepFinishPayload


class FinishChunk(Chunk, frozen=True):
    type: ClassVar[Literal["finish"]] = "finish"
    payload: FinishPayload


class RawChunk(Chunk, frozen=True):
    """What the provider sent, untouched; only with `include_raw`."""

    type: ClassVar[Literal["raw"]] = "raw"
    payload: Any


class ErrorChunk(Chunk, frozen=True):
    type: ClassVar[Literal["error"]] = "error"
    payload: ErrorPayload


class AbortChunk(Chunk, frozen=True):
    type: ClassVar[Literal["abort"]] = "abort"
    payload: AbortPayload


class ResponseMetadataChunk(Chunk, frozen=True):
    type: ClassVar[Literal["response-metadata"]] = "response-metadata"
    payload: ResponseMetadataPayload


class TripwireChunk(Chunk, frozen=True):
    type: ClassVar[Literal["tripwire"]] = "tripwire"
    payload: TripwirePayload


class WatchChunk(Chunk, frozen=True):
    type: ClassVar[Literal["watch"]] = "watch"
    payload: WatchPayload


class GoalChunk(Chunk, frozen=True):
    type: ClassVar[Literal["goal"]] = "goal"
    payload: GoalPayload


class IsTaskCompleteChunk(Chunk, frozen=True):
    type: ClassVar[Literal["is-task-complete"]] = "is-task-complete"
    payload: IsTaskCompletePayload
