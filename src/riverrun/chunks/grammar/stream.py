"""A whole stream: which rules it follows, and the streams that its calls, steps and tasks carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from riverrun.chunks.background import (
    BackgroundTaskCancelledChunk,
    BackgroundTaskCompletedChunk,
    BackgroundTaskFailedChunk,
    BackgroundTaskOutputChunk,
)
from riverrun.chunks.content import DataChunk, ObjectChunk, ObjectResultChunk
from riverrun.chunks.control import FinishChunk, StartChunk, TripwireChunk
from riverrun.chunks.envelope import Chunk, Envelope, Record
from riverrun.chunks.grammar.agent import AGENT_RULES, AgentRules, Outcome
from riverrun.chunks.grammar.problem import Log
from riverrun.chunks.grammar.workflow import WORKFLOW_RULES, StepEnd, WorkflowRules
from riverrun.chunks.tools import ToolErrorChunk, ToolOutputChunk, ToolOutputDeniedChunk, ToolResultChunk
from riverrun.chunks.union import CHUNK_CLASSES, ChunkType, UnknownChunk
from riverrun.chunks.workflow import (
    StepOutputChunk,
    WorkflowFinishChunk,
    WorkflowStepOutputChunk,
    WorkflowStepResultChunk,
    WorkflowStepSuspendedChunk,
)

TaskEnd = BackgroundTaskCompletedChunk | BackgroundTaskFailedChunk | BackgroundTaskCancelledChunk

Carrier = tuple[str, str]
"""What carries a nested stream: ("call", its id), ("step", its name) or ("task", its id)."""


class StreamRules:
    """Checks a stream. Its first chunk of an agent or of a workflow decides whose it is."""

    __slots__ = ("agent", "log", "mixed", "nested", "owner", "workflow")

    def __init__(self, log: Log, *, model: bool = False) -> None:
        self.log = log
        self.owner = ""
        self.mixed = False
        self.agent = AgentRules(log, model=model)
        self.workflow = WorkflowRules(log)
        self.nested: dict[tuple[Carrier, str], StreamRules] = {}

    @property
    def open(self) -> bool:
        """Whether something is still to come."""
        return self.agent.unfinished() is not None or self.workflow.opened is not None

    def take(self, chunk: ChunkType, at: int) -> None:
        """Check the chunk at position `at`."""
        kind = chunk.__class__
        rule = AGENT_RULES.get(kind)
        if rule is not None:
            if self.owner == "agent" or self._belongs("agent", chunk, at):
                rule(self.agent, chunk, at)
        elif kind in WORKFLOW_RULES:
            if self.owner == "workflow" or self._belongs("workflow", chunk, at):
                WORKFLOW_RULES[kind](self.workflow, chunk, at)
        elif isinstance(chunk, UnknownChunk) and chunk.type in CHUNK_CLASSES:
            needed = " and ".join(_required(CHUNK_CLASSES[chunk.type]))
            self.log.error(at, f"{chunk.type} without what it must have, or of another kind: {needed}")
        if kind in _NESTING:
            _NESTING[kind](self, chunk, at)

    def end(self, at: int) -> None:
        """The stream is over."""
        self.agent.end(at)
        self.workflow.end(at)

    def _belongs(self, owner: str, chunk: ChunkType, at: int) -> bool:
        if not self.owner:
            self.owner = owner
            return True
        if not self.mixed:
            carrier = {"agent": "workflow-step-output", "workflow": "tool-output"}[owner]
            self.log.error(at, f"{chunk.type} in the stream of an {self.owner}; expected it inside {carrier}")
        self.mixed = True
        return False

    # -- nested streams

    def _carry(self, carrier: Carrier, written: object, at: int) -> None:
        """Take what a call, step or task wrote: a chunk with a run id is of a stream, all else a value."""
        if isinstance(written, Envelope):
            chunk = cast("ChunkType", written)
            stream = self._stream_of(carrier, chunk)
            if stream is not None:
                stream.take(chunk, at)

    def _stream_of(self, carrier: Carrier, chunk: ChunkType) -> StreamRules | None:
        if chunk.run_id is None:  # some senders give a tripwire none
            carried = [stream for key, stream in self.nested.items() if key[0] == carrier]
            return carried[-1] if carried and isinstance(chunk, TripwireChunk) else None
        key = (carrier, chunk.run_id)
        stream = self.nested.get(key)
        # A finish alone tells the usage of a run; an object may have the run id of a structuring model.
        if stream is None and not isinstance(chunk, FinishChunk | ObjectChunk | ObjectResultChunk | DataChunk):
            place = f"in the stream of run {chunk.run_id!r}, nested in {carrier[0]} {carrier[1]!r}"
            stream = self.nested[key] = StreamRules(self.log.inside(place))
        return stream

    def _drop(self, carrier: Carrier, at: int, ended_by: str = "") -> None:
        """What carried streams is done. `ended_by`: the chunk that says so, when they should be over by then."""
        for key in [key for key in self.nested if key[0] == carrier]:
            if self.nested.pop(key).open and ended_by:
                self.log.warn(
                    at, f"{ended_by} of {carrier[1]!r}, but the stream of run {key[1]!r} nested in it has not ended"
                )

    def call_output(self, chunk: ToolOutputChunk, at: int) -> None:
        written = chunk.payload.output
        own = isinstance(written, Envelope) and written.run_id == chunk.run_id
        if not own and chunk.payload.tool_call_id is not None:
            self._carry(("call", chunk.payload.tool_call_id), written, at)

    def call_end(self, chunk: Outcome, at: int) -> None:
        call_id = chunk.payload.tool_call_id
        if call_id not in self.agent.tasks:
            self._drop(("call", call_id), at, chunk.type)

    def turn_start(self, chunk: StartChunk, at: int) -> None:
        running = self.agent.tasks.running
        for carrier in [carrier for carrier, _ in self.nested if carrier[0] == "call" and carrier[1] not in running]:
            self._drop(carrier, at)

    def step_output(self, chunk: WorkflowStepOutputChunk | StepOutputChunk, at: int) -> None:
        carrier = "step" if isinstance(chunk, WorkflowStepOutputChunk) else "step-output"
        self._carry((carrier, chunk.payload.step_name or ""), chunk.payload.output, at)

    def step_end(self, chunk: StepEnd, at: int) -> None:
        name = (chunk.payload.id or "").rpartition(".")[2]  # the id of a nested workflow's step is "workflow.step"
        self._drop(("step", name), at)
        self._drop(("step-output", name), at)

    def workflow_end(self, chunk: WorkflowFinishChunk, at: int) -> None:
        self.nested.clear()

    def task_output(self, chunk: BackgroundTaskOutputChunk, at: int) -> None:
        written = chunk.payload.payload
        if isinstance(written, ToolOutputChunk):
            written = written.payload.output
        self._carry(("task", chunk.payload.task_id), written, at)

    def task_end(self, chunk: TaskEnd, at: int) -> None:
        self.agent.tasks.end(chunk.payload.tool_call_id)
        self._drop(("task", chunk.payload.task_id), at)


def _required(cls: type[Chunk]) -> list[str]:
    """The members that a chunk of this class must have, as paths on the wire."""
    names: list[str] = []
    for field in msgspec.structs.fields(cls):
        if field.required:
            inner = field.type if isinstance(field.type, type) and issubclass(field.type, Record) else None
            below = [] if inner is None else [each for each in msgspec.structs.fields(inner) if each.required]
            names += [f"{field.encode_name}.{each.encode_name}" for each in below] or [field.encode_name]
    return names


_NESTING: dict[type, Callable[[StreamRules, Any, int], None]] = {
    StartChunk: StreamRules.turn_start,
    ToolOutputChunk: StreamRules.call_output,
    ToolResultChunk: StreamRules.call_end,
    ToolErrorChunk: StreamRules.call_end,
    ToolOutputDeniedChunk: StreamRules.call_end,
    WorkflowStepOutputChunk: StreamRules.step_output,
    StepOutputChunk: StreamRules.step_output,
    WorkflowStepResultChunk: StreamRules.step_end,
    WorkflowStepSuspendedChunk: StreamRules.step_end,
    WorkflowFinishChunk: StreamRules.workflow_end,
    BackgroundTaskOutputChunk: StreamRules.task_output,
    BackgroundTaskCompletedChunk: StreamRules.task_end,
    BackgroundTaskFailedChunk: StreamRules.task_end,
    BackgroundTaskCancelledChunk: StreamRules.task_end,
}
