"""Rules of the frame of an agent's stream: start, steps, finish, and what ends a run before its time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riverrun.chunks.control import (
    AbortChunk,
    ErrorChunk,
    FinishChunk,
    GoalChunk,
    IsTaskCompleteChunk,
    StartChunk,
    StepFinishChunk,
    StepStartChunk,
    TripwireChunk,
)
from riverrun.chunks.grammar.agent import AgentStream
from riverrun.chunks.grammar.turn import Step, Turn


def start(stream: AgentStream, chunk: StartChunk, at: int) -> None:
    if stream.model:
        stream.log.error(at, "start in a model's stream; expected step-start … finish")
    missing = stream.missing()
    if missing is not None and not (stream.turn and stream.turn.implied):
        stream.log.error(at, f"start {missing}")
    stream.over = None
    stream.tasks.ended.clear()
    stream.turn = Turn(at, chunk.run_id)


def step_start(stream: AgentStream, chunk: StepStartChunk, at: int) -> None:
    turn = stream.in_turn(chunk, at)
    if turn is None:
        return
    if turn.step is not None:
        _start_again(stream, turn.step, at)
    elif turn.goes_on is False:
        last = f"step-finish with isContinued false (chunk {turn.finished})"
        stream.log.error(at, f"step-start after {last}; expected finish")
    turn.implied = False
    turn.step = Step(at)


def _start_again(stream: AgentStream, step: Step, at: int) -> None:
    """A model that gives way to its fallback starts the step again; in any other case a step-finish was lost."""
    place = f"step-start inside the step opened at chunk {step.opened}"
    if step.barred is not None or step.resumed:
        stream.log.error(at, f"{place}; expected step-finish before")
    else:
        step.close("step-start", at, stream.log)
        stream.log.warn(at, f"{place}; expected step-finish before, unless a fallback model takes over")


def step_finish(stream: AgentStream, chunk: StepFinishChunk, at: int) -> None:
    turn = stream.in_turn(chunk, at)
    if turn is None:
        return
    if stream.model:
        stream.log.error(at, "step-finish in a model's stream; expected finish")
    result = chunk.payload.step_result
    step, turn.step = turn.step, None
    turn.finished = at
    turn.goes_on = None if result is None else result.is_continued
    if step is None:
        if not turn.implied:
            stream.log.error(at, "step-finish outside a step; expected step-start before")
        return
    if turn.stopped is None:
        if result is not None and result.reason == "error":
            stream.log.error(at, "step-finish with reason error; expected the error chunk before")
        again = result is not None and result.reason == "retry"
        step.close("step-finish", at, stream.log, again=again)
        _waits_for_nothing(stream, turn, at)
        if turn.goes_on and result is not None and not again:
            _all_answered(stream, step, at)
    turn.remote |= step.remote - step.outcomes.keys()


def _waits_for_nothing(stream: AgentStream, turn: Turn, at: int) -> None:
    for suspension in turn.waiting.values():
        stream.log.error(at, f"step-finish after {suspension}; expected the call's outcome before, or the end")
    turn.waiting.clear()


def _all_answered(stream: AgentStream, step: Step, at: int) -> None:
    """Every call must have an outcome when the model is asked again."""
    for call_id, called in step.calls.items():
        if call_id not in step.outcomes and call_id not in step.remote and call_id not in stream.tasks:
            call = f"tool-call of {call_id!r} (chunk {called})"
            stream.log.error(at, f"step-finish with isContinued true, but {call} has no outcome")


def finish(stream: AgentStream, chunk: FinishChunk, at: int) -> None:
    turn = stream.in_turn(chunk, at)
    if turn is None:
        return
    if stream.model:
        if turn.step is not None:
            turn.step.close("finish", at, stream.log)
    elif turn.stopped is None and not turn.implied:
        _ends_well(stream, turn, chunk, at)
    stream.end_turn("finish", at)


def _ends_well(stream: AgentStream, turn: Turn, chunk: FinishChunk, at: int) -> None:
    result = chunk.payload.step_result
    if turn.step is not None:
        stream.log.error(at, f"finish inside the step opened at chunk {turn.step.opened}; expected step-finish before")
    elif turn.finished is None:
        stream.log.error(at, "finish before any step; expected step-start … step-finish before")
    elif turn.goes_on:
        last = f"step-finish with isContinued true (chunk {turn.finished})"
        stream.log.error(at, f"finish after {last}; expected step-start")
    elif result is not None and result.is_continued:
        stream.log.error(at, "finish with isContinued true, but nothing follows a finish")


def stop(stream: AgentStream, chunk: ErrorChunk | AbortChunk, at: int) -> None:
    turn = stream.in_turn(chunk, at)
    if turn is not None:
        turn.stopped = (chunk.type, at)


def tripwire(stream: AgentStream, chunk: TripwireChunk, at: int) -> None:
    if stream.in_turn(chunk, at) is not None:
        stream.end_turn("tripwire", at)


def evaluation(stream: AgentStream, chunk: GoalChunk | IsTaskCompleteChunk, at: int) -> None:
    stream.in_turn(chunk, at)


FRAME_RULES: dict[type, Callable[[AgentStream, Any, int], None]] = {
    StartChunk: start,
    StepStartChunk: step_start,
    StepFinishChunk: step_finish,
    FinishChunk: finish,
    ErrorChunk: stop,
    AbortChunk: stop,
    TripwireChunk: tripwire,
    GoalChunk: evaluation,
    IsTaskCompleteChunk: evaluation,
}
