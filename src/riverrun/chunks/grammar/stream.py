"""A whole stream: whose it is, and the streams that its calls, steps and tasks carry."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
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
from riverrun.chunks.grammar.agent import AgentStream, Outcome
from riverrun.chunks.grammar.calls import CALL_RULES
from riverrun.chunks.grammar.content import CONTENT_RULES
from riverrun.chunks.grammar.frame import FRAME_RULES
from riverrun.chunks.grammar.problem import Log
from riverrun.chunks.grammar.workflow import WORKFLOW_RULES, StepEnd, WorkflowStream
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
"""What carries nested streams: ("call", its id), ("step", its name) or ("task", its id)."""

AGENT_RULES = CONTENT_RULES | CALL_RULES | FRAME_RULES


class AnyStream:
    """State of a stream. Its first chunk that only an agent or only a workflow has decides whose it is."""

    __slots__ = ("agent", "log", "mixed", "nested", "owner", "workflow")

    def __init__(self, log: Log, *, model: bool = False) -> None:
        self.log = log
        self.owner = ""
        self.mixed = False
        self.agent = AgentStream(log, model=model)
        self.workflow = WorkflowStream(log)
        self.nested: dict[Carrier, dict[str, AnyStream]] = {}
        """By what carries them and their run id."""

    def take(self, chunk: ChunkType, at: int) -> None:
        """Check the chunk at position `at`."""
        kind = chunk.__class__
        rule = AGENT_RULES.get(kind)
        if rule is not None:
            if self.owner == "agent" or self._belongs_to("agent", chunk, at):
                rule(self.agent, chunk, at)
        elif kind in WORKFLOW_RULES:
            if self.owner == "workflow" or self._belongs_to("workflow", chunk, at):
                WORKFLOW_RULES[kind](self.workflow, chunk, at)
        elif isinstance(chunk, UnknownChunk) and chunk.type in CHUNK_CLASSES:
            needed = " and ".join(_required(CHUNK_CLASSES[chunk.type]))
            self.log.error(at, f"{chunk.type} without {needed}, or of another kind than the format's")
        elif isinstance(chunk, UnknownChunk):
            near = get_close_matches(chunk.type, CHUNK_CLASSES, 1, 0.8)
            self.log.warn(at, f"{chunk.type} is no type of the format" + (f"; is it {near[0]}?" if near else ""))
        if kind in _CARRYING:
            _CARRYING[kind](self, chunk, at)

    def _belongs_to(self, owner: str, chunk: ChunkType, at: int) -> bool:
        if not self.owner:
            self.owner = owner
        elif self.owner != owner and not self.mixed:
            carrier = "workflow-step-output" if owner == "agent" else "tool-output"
            self.log.error(at, f"{chunk.type} among the chunks of the {self.owner}; expected it inside {carrier}")
            self.mixed = True
        return self.owner == owner

    def missing(self) -> str | None:
        """What must still come before the stream may end."""
        return self.agent.missing() or self.workflow.missing()

    def end(self, at: int) -> None:
        """The stream is over."""
        missing = self.missing()
        if missing is not None:
            self.log.error(at, f"the stream ends {missing}")

    def carry(self, carrier: Carrier, written: object, at: int) -> None:
        """Take what a call, step or task wrote: a chunk with a run id is of a stream, all else is a value."""
        if not isinstance(written, Envelope):
            return
        chunk = cast("ChunkType", written)
        streams = self.nested.get(carrier, {})
        if chunk.run_id is None:
            if streams and isinstance(chunk, TripwireChunk):  # some senders give it none
                streams[next(reversed(streams))].take(chunk, at)
        elif chunk.run_id in streams:
            streams[chunk.run_id].take(chunk, at)
        elif not isinstance(chunk, _NO_BEGIN):
            place = f"in the stream of run {chunk.run_id!r} nested in {carrier[0]} {carrier[1]!r}"
            stream = AnyStream(self.log.inside(place))
            self.nested.setdefault(carrier, {})[chunk.run_id] = stream
            stream.take(chunk, at)

    def drop(self, carrier: Carrier, at: int, ended_by: str | None = None) -> None:
        """The carrier is done. `ended_by`: the chunk that says so, when its streams should be over by then."""
        for stream in self.nested.pop(carrier, {}).values():
            missing = stream.missing()
            if missing is not None and ended_by is not None:
                stream.log.warn(at, f"{ended_by} of {carrier[1]!r} {missing}")


# A finish alone tells the usage of a run; an object may have the run id of a structuring model.
_NO_BEGIN = FinishChunk | ObjectChunk | ObjectResultChunk | DataChunk


def call_output(stream: AnyStream, chunk: ToolOutputChunk, at: int) -> None:
    written = chunk.payload.output
    if not (isinstance(written, Envelope) and written.run_id == chunk.run_id):  # a chunk of the run itself is a value
        stream.carry(("call", chunk.payload.tool_call_id or ""), written, at)


def call_end(stream: AnyStream, chunk: Outcome, at: int) -> None:
    call_id = chunk.payload.tool_call_id
    if call_id not in stream.agent.tasks:
        stream.drop(("call", call_id), at, chunk.type)


def turn_start(stream: AnyStream, chunk: StartChunk, at: int) -> None:
    running = stream.agent.tasks.running
    for carrier in [carrier for carrier in stream.nested if carrier[0] == "call" and carrier[1] not in running]:
        stream.drop(carrier, at)


def step_output(stream: AnyStream, chunk: WorkflowStepOutputChunk | StepOutputChunk, at: int) -> None:
    carrier = "step" if isinstance(chunk, WorkflowStepOutputChunk) else "step-output"
    stream.carry((carrier, chunk.payload.step_name or ""), chunk.payload.output, at)


def step_end(stream: AnyStream, chunk: StepEnd, at: int) -> None:
    name = (chunk.payload.id or "").rpartition(".")[2]  # in a nested workflow the id is "workflow.step"
    stream.drop(("step", name), at)
    stream.drop(("step-output", name), at)


def workflow_end(stream: AnyStream, chunk: WorkflowFinishChunk, at: int) -> None:
    stream.nested.clear()


def task_output(stream: AnyStream, chunk: BackgroundTaskOutputChunk, at: int) -> None:
    written = chunk.payload.payload
    if isinstance(written, ToolOutputChunk):
        written = written.payload.output
    stream.carry(("task", chunk.payload.task_id), written, at)


def task_end(stream: AnyStream, chunk: TaskEnd, at: int) -> None:
    stream.agent.tasks.end(chunk.payload.tool_call_id)
    stream.drop(("task", chunk.payload.task_id), at)


def _required(cls: type[Chunk]) -> list[str]:
    """The members that a chunk of this class must have, as paths on the wire."""
    names: list[str] = []
    for field in msgspec.structs.fields(cls):
        if field.required:
            inner = field.type if isinstance(field.type, type) and issubclass(field.type, Record) else None
            below = [] if inner is None else [each for each in msgspec.structs.fields(inner) if each.required]
            names += [f"{field.encode_name}.{each.encode_name}" for each in below] or [field.encode_name]
    return names


_CARRYING: dict[type, Callable[[AnyStream, Any, int], None]] = {
    StartChunk: turn_start,
    ToolOutputChunk: call_output,
    ToolResultChunk: call_end,
    ToolErrorChunk: call_end,
    ToolOutputDeniedChunk: call_end,
    WorkflowStepOutputChunk: step_output,
    StepOutputChunk: step_output,
    WorkflowStepResultChunk: step_end,
    WorkflowStepSuspendedChunk: step_end,
    WorkflowFinishChunk: workflow_end,
    BackgroundTaskOutputChunk: task_output,
    BackgroundTaskCompletedChunk: task_end,
    BackgroundTaskFailedChunk: task_end,
    BackgroundTaskCancelledChunk: task_end,
}
