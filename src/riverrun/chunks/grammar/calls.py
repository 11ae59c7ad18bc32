"""Rules of tool calls, from the first piece of their arguments to their outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from riverrun.chunks.background import BackgroundTaskStartedChunk
from riverrun.chunks.grammar.agent import AgentStream, Outcome, Suspension
from riverrun.chunks.grammar.turn import Step, Turn
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
from riverrun.chunks.union import ChunkType


def input_start(stream: AgentStream, chunk: ToolCallInputStreamingStartChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is None:
        return
    call_id = chunk.payload.tool_call_id
    if call_id in step.calls:
        stream.log.error(at, f"{chunk.type} of {call_id!r}, called already at chunk {step.calls[call_id]}")
    step.inputs.start(call_id, at, stream.log)


def input_delta(stream: AgentStream, chunk: ToolCallDeltaChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is not None:
        step.inputs.inside(chunk.payload.tool_call_id, "tool-call-delta", at, stream.log)


def input_end(stream: AgentStream, chunk: ToolCallInputStreamingEndChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is not None:
        step.inputs.end(chunk.payload.tool_call_id, at, stream.log)


def call(stream: AgentStream, chunk: ToolCallChunk, at: int) -> None:
    step = stream.model_step(chunk, at)
    if step is None:
        return
    call_id = chunk.payload.tool_call_id
    if call_id in step.calls:
        first = step.calls[call_id]
        stream.log.error(at, f"tool-call of {call_id!r} again, called at chunk {first} of the same step")
    if call_id in step.inputs.opened:
        stream.log.warn(at, f"tool-call of {call_id!r}; expected tool-call-input-streaming-end before")
        step.inputs.closed[call_id] = step.inputs.opened.pop(call_id)
    step.calls[call_id] = at
    if chunk.payload.provider_executed:
        step.remote.add(call_id)


def outcome(stream: AgentStream, chunk: Outcome, at: int) -> None:
    turn = stream.in_turn(chunk, at)
    if turn is None:
        return
    call_id = chunk.payload.tool_call_id
    status = _task_status(chunk)
    if status is not None or call_id in stream.tasks:
        if turn.step is not None:
            turn.step.outcomes[call_id] = at
        if status != "running":
            stream.tasks.end(call_id)
    elif call_id in turn.remote:
        turn.remote.remove(call_id)
    elif (_is_remote(chunk) or _called(stream, turn, chunk, call_id, at)) and turn.step is not None:
        _answered(stream, turn.step, chunk, call_id, at)
        turn.waiting.pop(call_id, None)


def _answered(stream: AgentStream, step: Step, chunk: Outcome, call_id: str, at: int) -> None:
    if call_id in step.outcomes:
        first = step.outcomes[call_id]
        stream.log.error(at, f"{chunk.type} of {call_id!r}, which has its outcome since chunk {first}")
    step.outcomes[call_id] = at
    if not _is_remote(chunk) and call_id not in step.remote:  # own tools run when the model has ended
        step.barred = f"{chunk.type} of {call_id!r} (chunk {at}); expected step-finish and step-start before"


def _is_remote(chunk: Outcome) -> bool:
    """Whether the provider ran the call. It may then have been made in an earlier run, as when a turn was paused."""
    return not isinstance(chunk, ToolOutputDeniedChunk) and bool(chunk.payload.provider_executed)


def _task_status(chunk: Outcome) -> str | None:
    """What an outcome says of the background task that it comes from; None: it comes from none."""
    metadata = None if isinstance(chunk, ToolOutputDeniedChunk) else chunk.payload.provider_metadata
    if metadata is None:
        return None
    task = _member(metadata.get("mastra"), "backgroundTask")
    return None if task is None else str(_member(task, "status"))


def _member(value: object, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None


def output(stream: AgentStream, chunk: ToolOutputChunk, at: int) -> None:
    turn = stream.in_turn(chunk, at)
    call_id = chunk.payload.tool_call_id
    if turn is None or call_id is None or not _called(stream, turn, chunk, call_id, at) or turn.step is None:
        return
    ended = turn.step.outcomes.get(call_id)
    if ended is not None and call_id not in stream.tasks:
        stream.log.error(at, f"tool-output of {call_id!r}, which has its outcome since chunk {ended}")


def suspension(stream: AgentStream, chunk: Suspension, at: int) -> None:
    turn = stream.in_turn(chunk, at)
    if turn is None:
        return
    call_id = chunk.payload.tool_call_id
    _called(stream, turn, chunk, call_id, at)
    if call_id not in stream.tasks:  # a task waits by itself, the run goes on
        turn.waiting[call_id] = f"{chunk.type} of {call_id!r} (chunk {at})"
        if turn.step is not None:
            turn.step.barred = f"{turn.waiting[call_id]}; expected the call's outcome before, or the end"


def task_started(stream: AgentStream, chunk: BackgroundTaskStartedChunk, at: int) -> None:
    turn = stream.in_turn(chunk, at)
    if turn is not None:
        _called(stream, turn, chunk, chunk.payload.tool_call_id, at)
        stream.tasks.running.add(chunk.payload.tool_call_id)


def _called(stream: AgentStream, turn: Turn, chunk: ChunkType, call_id: str, at: int) -> bool:
    """Whether the call is known here; reports it when not."""
    step = turn.step
    if call_id in stream.tasks or call_id in turn.remote:
        return True
    if step is None:
        stream.log.error(at, f"{chunk.type} of {call_id!r} outside a step; expected it before step-finish")
        return False
    if step.resumed or call_id in step.calls:
        return True
    calls = ", ".join(map(repr, step.calls)) or "none"
    place = f"(opened at chunk {step.opened}; calls: {calls})"
    stream.log.error(at, f"{chunk.type} of {call_id!r}, which is no call of its step {place}")
    return False


CALL_RULES: dict[type, Callable[[AgentStream, Any, int], None]] = {
    ToolCallInputStreamingStartChunk: input_start,
    ToolCallDeltaChunk: input_delta,
    ToolCallInputStreamingEndChunk: input_end,
    ToolCallChunk: call,
    ToolResultChunk: outcome,
    ToolErrorChunk: outcome,
    ToolOutputDeniedChunk: outcome,
    ToolOutputChunk: output,
    ToolCallApprovalChunk: suspension,
    ToolCallSuspendedChunk: suspension,
    BackgroundTaskStartedChunk: task_started,
}
