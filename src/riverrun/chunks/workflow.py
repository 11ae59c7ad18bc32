"""Workflows: their steps and what runs inside them. All but `step-output` are beyond the page."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from riverrun.chunks.envelope import Chunk, Json, Maybe, Record


class WorkflowStartPayload(Record, frozen=True, kw_only=True):
    """A workflow run begins or goes on."""

    workflow_id: Maybe[str] = None


class WorkflowStepPayload(Record, frozen=True, kw_only=True):
    """Where a step stands. `payload` is its input; times are epoch ms."""

    id: Maybe[str] = None
    step_name: Maybe[str] = None
    step_call_id: Maybe[str] = None
    status: Maybe[str] = None
    payload: Maybe[Json] = None
    output: Maybe[Json] = None
    error: Maybe[Json] = None
    resume_payload: Maybe[Json] = None
    suspend_payload: Maybe[Json] = None
    suspend_output: Maybe[Json] = None
    started_at: Maybe[int] = None
    resumed_at: Maybe[int] = None
    suspended_at: Maybe[int] = None
    ended_at: Maybe[int] = None
    tripwire: Maybe[Json] = None
    metadata: Maybe[dict[str, Any]] = None


class StepOutputPayload(Record, frozen=True, kw_only=True):
    """The `finish` of a stream that ran inside a step."""

    output: Any
    run_id: Maybe[str] = None
    step_name: Maybe[str] = None


class WorkflowStepOutputPayload(Record, frozen=True, kw_only=True):
    """What a step wrote: any value, or a chunk of a nested run."""

    output: Any
    run_id: Maybe[str] = None
    step_name: Maybe[str] = None


class WorkflowStepProgressPayload(Record, frozen=True, kw_only=True):
    """One item of a foreach is done."""

    id: Maybe[str] = None
    completed_count: Maybe[int] = None
    total_count: Maybe[int] = None
    current_index: Maybe[int] = None
    iteration_status: Maybe[str] = None
    iteration_output: Maybe[Json] = None


class WorkflowFinishPayload(Record, frozen=True, kw_only=True):
    """A workflow run ended or stopped."""

    workflow_status: Maybe[str] = None
    output: Maybe[dict[str, Any]] = None
    metadata: Maybe[dict[str, Any]] = None
    final_workflow_result: Maybe[Json] = None
    tripwire: Maybe[Json] = None


class WorkflowCanceledPayload(Record, frozen=True, kw_only=True):
    """The run was cancelled."""


class WorkflowPausedPayload(Record, frozen=True, kw_only=True):
    """The run waits after a step."""


class StepOutputChunk(Chunk, frozen=True):
    type: ClassVar[Literal["step-output"]] = "step-output"
    payload: StepOutputPayload


class WorkflowStartChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-start"]] = "workflow-start"
    payload: WorkflowStartPayload


class WorkflowFinishChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-finish"]] = "workflow-finish"
    payload: WorkflowFinishPayload


class WorkflowCanceledChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-canceled"]] = "workflow-canceled"
    payload: WorkflowCanceledPayload


class WorkflowPausedChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-paused"]] = "workflow-paused"
    payload: WorkflowPausedPayload


class WorkflowStepStartChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-step-start"]] = "workflow-step-start"
    payload: WorkflowStepPayload


class WorkflowStepFinishChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-step-finish"]] = "workflow-step-finish"
    payload: WorkflowStepPayload


class WorkflowStepSuspendedChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-step-suspended"]] = "workflow-step-suspended"
    payload: WorkflowStepPayload


class WorkflowStepWaitingChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-step-waiting"]] = "workflow-step-waiting"
    payload: WorkflowStepPayload


class WorkflowStepOutputChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-step-output"]] = "workflow-step-output"
    payload: WorkflowStepOutputPayload


class WorkflowStepProgressChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-step-progress"]] = "workflow-step-progress"
    payload: WorkflowStepProgressPayload


class WorkflowStepResultChunk(Chunk, frozen=True):
    type: ClassVar[Literal["workflow-step-result"]] = "workflow-step-result"
    payload: WorkflowStepPayload
