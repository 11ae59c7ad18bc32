"""ChunkType: the closed union of everything that can flow. Its order is the order of the reference page."""

from __future__ import annotations

from typing import Any, get_args

from msgspec import UNSET

from riverrun.chunks.background import (
    BackgroundTaskCancelledChunk,
    BackgroundTaskCompletedChunk,
    BackgroundTaskFailedChunk,
    BackgroundTaskOutputChunk,
    BackgroundTaskProgressChunk,
    BackgroundTaskResumedChunk,
    BackgroundTaskRunningChunk,
    BackgroundTaskStartedChunk,
    BackgroundTaskSuspendedChunk,
)
from riverrun.chunks.content import (
    CustomChunk,
    DataChunk,
    FileChunk,
    ObjectChunk,
    ObjectResultChunk,
    ReasoningFileChunk,
    SourceChunk,
)
from riverrun.chunks.control import (
    AbortChunk,
    ErrorChunk,
    FinishChunk,
    GoalChunk,
    IsTaskCompleteChunk,
    RawChunk,
    ResponseMetadataChunk,
    StartChunk,
    StepFinishChunk,
    StepStartChunk,
    TripwireChunk,
    WatchChunk,
)
from riverrun.chunks.envelope import Chunk, Envelope
from riverrun.chunks.text import (
    ReasoningDeltaChunk,
    ReasoningEndChunk,
    ReasoningSignatureChunk,
    ReasoningStartChunk,
    RedactedReasoningChunk,
    TextDeltaChunk,
    TextEndChunk,
    TextStartChunk,
)
from riverrun.chunks.tools import (
    ToolCallApprovalChunk,
    ToolCallChunk,
    ToolCallDeltaChunk,
    ToolCallInputStreamingEndChunk,
    ToolCallInputStreamingStartChunk,
    ToolCallSuspendedChunk,
    ToolErrorChunk,
    ToolOutputChunk,
    ToolOutputDeniedChunk,
    ToolResultChunk,
)
from riverrun.chunks.workflow import (
    StepOutputChunk,
    WorkflowCanceledChunk,
    WorkflowFinishChunk,
    WorkflowPausedChunk,
    WorkflowStartChunk,
    WorkflowStepFinishChunk,
    WorkflowStepOutputChunk,
    WorkflowStepProgressChunk,
    WorkflowStepResultChunk,
    WorkflowStepStartChunk,
    WorkflowStepSuspendedChunk,
    WorkflowStepWaitingChunk,
)


class UnknownChunk(Envelope, frozen=True, kw_only=True):
    """A chunk of a type, or with a content, that this version does not know. Nothing of it is lost: see `extra`."""

    type: str
    payload: Any = UNSET


KnownChunk = (
    TextStartChunk
    | TextDeltaChunk
    | TextEndChunk
    | ReasoningStartChunk
    | ReasoningDeltaChunk
    | ReasoningEndChunk
    | ReasoningSignatureChunk
    | ToolCallChunk
    | ToolResultChunk
    | ToolCallInputStreamingStartChunk
    | ToolCallDeltaChunk
    | ToolCallInputStreamingEndChunk
    | ToolErrorChunk
    | SourceChunk
    | FileChunk
    | StartChunk
    | StepStartChunk
    | StepFinishChunk
    | RawChunk
    | FinishChunk
    | ErrorChunk
    | AbortChunk
    | ObjectChunk
    | ToolOutputChunk
    | StepOutputChunk
    | BackgroundTaskStartedChunk
    | BackgroundTaskRunningChunk
    | BackgroundTaskProgressChunk
    | BackgroundTaskOutputChunk
    | BackgroundTaskCompletedChunk
    | BackgroundTaskFailedChunk
    | BackgroundTaskSuspendedChunk
    | BackgroundTaskResumedChunk
    | BackgroundTaskCancelledChunk
    | ResponseMetadataChunk
    | WatchChunk
    | GoalChunk
    | TripwireChunk
    # beyond the page
    | RedactedReasoningChunk
    | ReasoningFileChunk
    | CustomChunk
    | ToolCallApprovalChunk
    | ToolCallSuspendedChunk
    | ToolOutputDeniedChunk
    | ObjectResultChunk
    | IsTaskCompleteChunk
    | WorkflowStartChunk
    | WorkflowFinishChunk
    | WorkflowCanceledChunk
    | WorkflowPausedChunk
    | WorkflowStepStartChunk
    | WorkflowStepFinishChunk
    | WorkflowStepSuspendedChunk
    | WorkflowStepWaitingChunk
    | WorkflowStepOutputChunk
    | WorkflowStepProgressChunk
    | WorkflowStepResultChunk
)

ChunkType = KnownChunk | DataChunk | UnknownChunk
"""Any chunk."""

CHUNK_CLASSES: dict[str, type[Chunk]] = {cls.type: cls for cls in get_args(KnownChunk)}
"""Wire type → class."""
