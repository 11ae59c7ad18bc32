"""Background tasks: what happens to a tool call that outlives the step that made it."""

from __future__ import annotations

from typing import ClassVar, Literal

from riverrun.chunks.envelope import Chunk, Json, Maybe, Record, Timestamp


class BackgroundTaskStartedPayload(Record, frozen=True, kw_only=True):
    """The call is queued."""

    task_id: str
    tool_name: str
    tool_call_id: str


class _TaskPayload(Record, frozen=True, kw_only=True):
    task_id: str
    tool_name: str
    tool_call_id: str
    agent_id: Maybe[str] = None
    run_id: Maybe[str] = None


class BackgroundTaskRunningPayload(_TaskPayload, frozen=True, kw_only=True):
    """A worker took the task."""

    started_at: Maybe[Timestamp] = None
    args: Maybe[Json] = None


class BackgroundTaskProgressPayload(Record, frozen=True, kw_only=True):
    """How many tasks run; `elapsed_ms` since the run's start."""

    task_ids: list[str]
    running_count: int
    elapsed_ms: int | float


class BackgroundTaskOutputPayload(_TaskPayload, frozen=True, kw_only=True):
    """What the task wrote: a tool-output chunk."""

    payload: Maybe[Json] = None


class BackgroundTaskResultPayload(_TaskPayload, frozen=True, kw_only=True):
    """The task's result. `is_error`: the tool returned an error instead of raising it."""

    result: Maybe[Json] = None
    completed_at: Maybe[Timestamp] = None
    is_error: Maybe[bool] = None


class BackgroundTaskFailedPayload(_TaskPayload, frozen=True, kw_only=True):
    """The task raised or ran out of time."""

    error: Maybe[Json] = None
    completed_at: Maybe[Timestamp] = None


class BackgroundTaskSuspendedPayload(_TaskPayload, frozen=True, kw_only=True):
    """The tool suspended; `suspend_data` (the page's name) and `suspend_payload` are the same value."""

    suspend_data: Maybe[Json] = None
    suspend_payload: Maybe[Json] = None
    suspended_at: Maybe[Timestamp] = None
    args: Maybe[Json] = None


class BackgroundTaskResumedPayload(_TaskPayload, frozen=True, kw_only=True):
    """The task runs again, with resume data."""

    started_at: Maybe[Timestamp] = None
    args: Maybe[Json] = None


class BackgroundTaskCancelledPayload(_TaskPayload, frozen=True, kw_only=True):
    """The task was cancelled."""

    completed_at: Maybe[Timestamp] = None


class BackgroundTaskStartedChunk(Chunk, frozen=True):
    type: ClassVar[Literal["background-task-started"]] = "background-task-started"
    payload: BackgroundTaskStartedPayload


class BackgroundTaskRunningChunk(Chunk, frozen=True):
    type: ClassVar[Literal["background-task-running"]] = "background-task-running"
    payload: BackgroundTaskRunningPayload


class BackgroundTaskProgressChunk(Chunk, frozen=True):
    type: ClassVar[Literal["background-task-progress"]] = "background-task-progress"
    payload: BackgroundTaskProgressPayload


class BackgroundTaskOutputChunk(Chunk, frozen=True):
    type: ClassVar[Literal["background-task-output"]] = "background-task-output"
    payload: BackgroundTaskOutputPayload


class BackgroundTaskCompletedChunk(Chunk, frozen=True):
    type: ClassVar[Literal["background-task-completed"]] = "background-task-completed"
    payload: BackgroundTaskResultPayload


class BackgroundTaskFailedChunk(Chunk, frozen=True):
    type: ClassVar[Literal["background-task-failed"]] = "background-task-failed"
    payload: BackgroundTaskFailedPayload


class BackgroundTaskSuspendedChunk(Chunk, frozen=True):
    type: ClassVar[Literal["background-task-suspended"]] = "background-task-suspended"
    payload: BackgroundTaskSuspendedPayload


class BackgroundTaskResumedChunk(Chunk, frozen=True):
    type: ClassVar[Literal["background-task-resumed"]] = "background-task-resumed"
    payload: BackgroundTaskResumedPayload


class BackgroundTaskCancelledChunk(Chunk, frozen=True):
    type: ClassVar[Literal["background-task-cancelled"]] = "background-task-cancelled"
    payload: BackgroundTaskCancelledPayload
