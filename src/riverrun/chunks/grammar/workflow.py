"""A workflow's stream: workflow-start, its steps, workflow-finish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverrun.chunks.grammar.problem import Log
from riverrun.chunks.union import ChunkType
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

StepEnd = WorkflowStepResultChunk | WorkflowStepSuspendedChunk


class WorkflowStream:
    """State of a workflow's stream. A step is known by its call id, or by its id where it has none."""

    __slots__ = ("asleep", "last", "log", "opened", "over", "run_id", "steps", "stray")

    def __init__(self, log: Log) -> None:
        self.log = log
        self.opened: int | None = None
        self.over: int | None = None
        """The workflow-finish of the last run."""
        self.run_id: str | None = None
        self.stray: str | None = None
        """The last other run id that was reported."""
        self.steps: dict[str, int] = {}
        """The open steps."""
        self.asleep: set[str] = set()
        """Steps that wait for a time; they have no start, and not always a result."""
        self.last = ""
        """The step that ended last: some senders say everything of a nested workflow's step twice."""

    def open(self, chunk: ChunkType, at: int) -> None:
        """A run begins."""
        self.opened = at
        self.run_id = chunk.run_id
        self.stray = None
        self.steps.clear()
        self.asleep.clear()

    def missing(self) -> str | None:
        """What must still come before the stream may end."""
        return (
            None
            if self.opened is None
            else f"inside the run opened at chunk {self.opened}; expected workflow-finish before"
        )


def start(stream: WorkflowStream, chunk: WorkflowStartChunk, at: int) -> None:
    missing = stream.missing()
    if missing is not None:
        stream.log.error(at, f"workflow-start {missing}")
    stream.open(chunk, at)


def inside(stream: WorkflowStream, chunk: ChunkType, at: int) -> None:
    if stream.opened is None:
        place = "at the beginning" if stream.over is None else f"after workflow-finish (chunk {stream.over})"
        stream.log.error(at, f"{chunk.type} {place}; expected workflow-start")
        stream.open(chunk, at)
    elif chunk.run_id is not None and chunk.run_id not in (stream.run_id, stream.stray):
        if stream.run_id is None:
            stream.run_id = chunk.run_id
        else:
            stream.log.error(at, f"{chunk.type} of run {chunk.run_id!r} in the stream of run {stream.run_id!r}")
            stream.stray = chunk.run_id


def step_start(stream: WorkflowStream, chunk: WorkflowStepStartChunk, at: int) -> None:
    inside(stream, chunk, at)
    step = _step_of(chunk)
    if step in stream.steps:
        stream.log.warn(at, f"workflow-step-start of {step!r} again, open since chunk {stream.steps[step]}")
    stream.steps[step] = at


def step_waiting(stream: WorkflowStream, chunk: WorkflowStepWaitingChunk, at: int) -> None:
    inside(stream, chunk, at)
    stream.asleep.add(_step_of(chunk))


def step_end(stream: WorkflowStream, chunk: StepEnd, at: int) -> None:
    inside(stream, chunk, at)
    step = _step_of(chunk)
    if stream.steps.pop(step, None) is None and step not in stream.asleep:
        report = stream.log.warn if step == stream.last else stream.log.error
        report(at, f"{chunk.type} of {step!r}, which is not open; expected workflow-step-start before")
    stream.asleep.discard(step)
    stream.last = step


def finish(stream: WorkflowStream, chunk: WorkflowFinishChunk, at: int) -> None:
    inside(stream, chunk, at)
    if chunk.payload.workflow_status in ("success", "suspended"):
        for step, opened in stream.steps.items():
            stream.log.error(at, f"workflow-finish, but step {step!r} is open since chunk {opened}")
    stream.opened, stream.over = None, at


def _step_of(chunk: WorkflowStepStartChunk | WorkflowStepWaitingChunk | StepEnd) -> str:
    return chunk.payload.step_call_id or chunk.payload.id or ""


WORKFLOW_RULES: dict[type, Callable[[WorkflowStream, Any, int], None]] = {
    WorkflowStartChunk: start,
    WorkflowStepStartChunk: step_start,
    WorkflowStepWaitingChunk: step_waiting,
    WorkflowStepResultChunk: step_end,
    WorkflowStepSuspendedChunk: step_end,
    WorkflowStepFinishChunk: inside,
    WorkflowStepOutputChunk: inside,
    WorkflowStepProgressChunk: inside,
    WorkflowCanceledChunk: inside,
    WorkflowPausedChunk: inside,
    StepOutputChunk: inside,
    WorkflowFinishChunk: finish,
}
