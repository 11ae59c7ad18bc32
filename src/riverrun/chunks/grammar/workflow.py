"""The rules of a workflow's stream, one for each type of chunk."""

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


class WorkflowRules:
    """Checks a workflow's stream. A step is known by its call id, or by its id where it has none."""

    __slots__ = ("last", "log", "opened", "over", "run_id", "steps")

    def __init__(self, log: Log) -> None:
        self.log = log
        self.opened: int | None = None
        self.over: int | None = None
        self.run_id: str | None = None
        self.steps: dict[str, int] = {}
        self.last = ""
        """The step that ended last: some senders say everything of a nested workflow's step twice."""

    def _open(self, chunk: ChunkType, at: int) -> None:
        self.opened = at
        self.run_id = chunk.run_id
        self.steps.clear()

    def inside(self, chunk: ChunkType, at: int) -> None:
        if self.opened is None:
            place = "before workflow-start" if self.over is None else f"after workflow-finish (chunk {self.over})"
            self.log.error(at, f"{chunk.type} {place}")
            self._open(chunk, at)
        elif chunk.run_id is not None and chunk.run_id != self.run_id:
            if self.run_id is not None:
                self.log.error(at, f"{chunk.type} of run {chunk.run_id!r} in a stream of run {self.run_id!r}")
            self.run_id = chunk.run_id

    def start(self, chunk: WorkflowStartChunk, at: int) -> None:
        if self.opened is not None:
            self.log.error(
                at, f"workflow-start inside the run opened at chunk {self.opened}; expected workflow-finish before"
            )
        self._open(chunk, at)

    def step_start(self, chunk: WorkflowStepStartChunk, at: int) -> None:
        self.inside(chunk, at)
        step = _step_of(chunk)
        if step in self.steps:
            self.log.warn(at, f"workflow-step-start of {step!r} again, open since chunk {self.steps[step]}")
        self.steps[step] = at

    def step_end(self, chunk: StepEnd, at: int) -> None:
        self.inside(chunk, at)
        step = _step_of(chunk)
        if self.steps.pop(step, None) is None:
            report = self.log.warn if step == self.last else self.log.error
            report(at, f"{chunk.type} of {step!r}, which is not open; expected workflow-step-start before")
        self.last = step

    def step_waiting(self, chunk: WorkflowStepWaitingChunk, at: int) -> None:
        self.inside(chunk, at)
        self.last = _step_of(chunk)  # a sleep has no start and may have a result

    def finish(self, chunk: WorkflowFinishChunk, at: int) -> None:
        self.inside(chunk, at)
        if chunk.payload.workflow_status == "success":
            for step, opened in self.steps.items():
                self.log.error(at, f"workflow-finish of a success while step {step!r} is open since chunk {opened}")
        self.opened, self.over = None, at

    def end(self, at: int) -> None:
        """The stream is over."""
        if self.opened is not None:
            self.log.error(
                at, f"the stream ends inside the run opened at chunk {self.opened}; expected workflow-finish before"
            )


def _step_of(chunk: WorkflowStepStartChunk | WorkflowStepWaitingChunk | StepEnd) -> str:
    return chunk.payload.step_call_id or chunk.payload.id or ""


Rule = Callable[[WorkflowRules, Any, int], None]

WORKFLOW_RULES: dict[type, Rule] = {
    WorkflowStartChunk: WorkflowRules.start,
    WorkflowStepStartChunk: WorkflowRules.step_start,
    WorkflowStepWaitingChunk: WorkflowRules.step_waiting,
    WorkflowStepResultChunk: WorkflowRules.step_end,
    WorkflowStepSuspendedChunk: WorkflowRules.step_end,
    WorkflowStepFinishChunk: WorkflowRules.inside,
    WorkflowStepOutputChunk: WorkflowRules.inside,
    WorkflowStepProgressChunk: WorkflowRules.inside,
    WorkflowCanceledChunk: WorkflowRules.inside,
    WorkflowPausedChunk: WorkflowRules.inside,
    StepOutputChunk: WorkflowRules.inside,
    WorkflowFinishChunk: WorkflowRules.finish,
}
