"""The rules of an agent's stream, one for each type of chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from riverrun.chunks.background import BackgroundTaskStartedChunk
from riverrun.chunks.content import (
    CustomChunk,
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
)
from riverrun.chunks.grammar.problem import Log
from riverrun.chunks.grammar.turn import Step, Tasks, Turn
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
from riverrun.chunks.union import ChunkType

Outcome = ToolResultChunk | ToolErrorChunk | ToolOutputDeniedChunk
Suspension = ToolCallApprovalChunk | ToolCallSuspendedChunk
Evaluation = GoalChunk | IsTaskCompleteChunk

_OPENS_RESUMED = (
    Outcome | Suspension | ToolOutputChunk | BackgroundTaskStartedChunk | ErrorChunk | AbortChunk | TripwireChunk
)
_AFTER_ABORT = FinishChunk
_AFTER_ERROR = Outcome | ToolOutputChunk | StepFinishChunk | FinishChunk | TripwireChunk


class AgentRules:
    """Checks an agent's stream or, with `model`, a model's. A rule takes a chunk and its position.

    A fault is reported once: the rules go on as if the chunk that is missing had come.
    """

    __slots__ = ("log", "model", "over", "tasks", "turn")

    def __init__(self, log: Log, *, model: bool = False) -> None:
        self.log = log
        self.model = model
        self.turn: Turn | None = None
        self.over: str | None = None
        """The chunk that ended the last turn; "" once a chunk behind it was reported."""
        self.tasks = Tasks()

    # -- where a chunk stands

    def _in_turn(self, chunk: ChunkType, at: int) -> Turn | None:
        """The open turn. None: the chunk stands outside of one, or behind what stopped it, and counts for nothing."""
        turn = self.turn
        if turn is None:
            if self.over is not None:
                self._behind_the_end(chunk, at)
                return None
            turn = self.turn = self._opened_by(chunk, at)
        if turn.run_id != chunk.run_id and chunk.run_id is not None:
            self._run_id(turn, chunk, at)
        return turn if turn.stopped is None or self._after_stop(turn, chunk, at) else None

    def _behind_the_end(self, chunk: ChunkType, at: int) -> None:
        if self.over:
            self.log.error(at, f"{chunk.type} after {self.over}; expected start of another turn, or the end")
        self.over = ""

    def _opened_by(self, chunk: ChunkType, at: int) -> Turn:
        """The turn that a chunk other than start opens: rightly in a resumed stream and in a model's."""
        if self.model:
            if not isinstance(chunk, StepStartChunk):
                self.log.error(at, f"{chunk.type} before step-start")
            return Turn(at, implied=True)
        if isinstance(chunk, _OPENS_RESUMED):
            turn = Turn(at)
            turn.step = Step(at, resumed=True)
            return turn
        self.log.error(at, f"{chunk.type} before start")
        return Turn(at, implied=True)

    def _run_id(self, turn: Turn, chunk: ChunkType, at: int) -> None:
        if turn.run_id is not None:
            if isinstance(chunk, ObjectChunk | ObjectResultChunk):
                return  # a structuring model has a run id of its own
            self.log.error(at, f"{chunk.type} of run {chunk.run_id!r} in a turn of run {turn.run_id!r}")
        turn.run_id = chunk.run_id

    def _after_stop(self, turn: Turn, chunk: ChunkType, at: int) -> bool:
        """Whether the chunk may stand behind the error or abort that stopped the turn."""
        kind, stopped = turn.stopped or ("", 0)
        if isinstance(chunk, _AFTER_ABORT if kind == "abort" else _AFTER_ERROR):
            return True
        if not turn.muted:
            expected = "finish" if kind == "abort" else "outcomes of calls, step-finish or finish"
            self.log.error(at, f"{chunk.type} after {kind} (chunk {stopped}); expected {expected}")
        turn.muted = True
        return False

    def _model_step(self, chunk: ChunkType, at: int) -> Step | None:
        """The open step, for what the model gives."""
        turn = self.turn
        if turn is None or turn.stopped is not None or turn.run_id != chunk.run_id:
            turn = self._in_turn(chunk, at)
            if turn is None:
                return None
        step = turn.step
        if step is None:
            if not turn.implied:
                self.log.error(at, f"{chunk.type} outside a step; expected step-start before")
            turn.implied = False
            step = turn.step = Step(at)
        elif step.barred is not None:
            self.log.error(at, f"{chunk.type} after {step.barred}")
            step.barred = None
        return step

    # -- the frame

    def start(self, chunk: StartChunk, at: int) -> None:
        if self.model:
            self.log.error(at, "start in a model's stream; expected step-start … finish")
        unfinished = self.unfinished()
        if unfinished is not None:
            self.log.error(at, f"start {unfinished}")
        self.over = None
        self.tasks.ended.clear()
        self.turn = Turn(at)
        self.turn.run_id = chunk.run_id

    def step_start(self, chunk: StepStartChunk, at: int) -> None:
        turn = self._in_turn(chunk, at)
        if turn is None:
            return
        if turn.step is not None:
            self._start_again(turn.step, at)
        elif turn.goes_on is False:
            self.log.error(
                at, f"step-start after step-finish with isContinued false (chunk {turn.finished}); expected finish"
            )
        turn.implied = False
        turn.step = Step(at)

    def _start_again(self, step: Step, at: int) -> None:
        """A model that gives way to its fallback starts the step again; in any other case a step-finish was lost."""
        place = f"step-start inside the step opened at chunk {step.opened}"
        if step.barred is not None or step.resumed:
            self.log.error(at, f"{place}; expected step-finish before")
        else:
            step.close("step-start", at, self.log)
            self.log.warn(at, f"{place}; expected step-finish before, unless a fallback model takes over")

    def step_finish(self, chunk: StepFinishChunk, at: int) -> None:
        turn = self._in_turn(chunk, at)
        if turn is None:
            return
        if self.model:
            self.log.error(at, "step-finish in a model's stream; expected finish")
        result = chunk.payload.step_result
        step, turn.step = turn.step, None
        turn.finished = at
        turn.goes_on = None if result is None else result.is_continued
        if step is None:
            if not turn.implied:
                self.log.error(at, "step-finish outside a step; expected step-start before")
            return
        if turn.stopped is None:
            step.close("step-finish", at, self.log)
            self._waits_no_more(turn, at)
            if turn.goes_on and result is not None and result.reason != "retry":
                self._all_answered(step, at)
        turn.remote |= step.remote - step.outcomes.keys()

    def _waits_no_more(self, turn: Turn, at: int) -> None:
        for call_id, suspension in turn.waiting.items():
            self.log.error(
                at, f"step-finish after {suspension}; expected the outcome of {call_id!r} before, or the end"
            )
        turn.waiting.clear()

    def _all_answered(self, step: Step, at: int) -> None:
        """Every call must have an outcome when the model is asked again."""
        for call_id, called in step.calls.items():
            if call_id not in step.outcomes and call_id not in step.remote and call_id not in self.tasks:
                self.log.error(
                    at, f"step-finish with isContinued true, but call {call_id!r} (chunk {called}) has no outcome"
                )

    def finish(self, chunk: FinishChunk, at: int) -> None:
        turn = self._in_turn(chunk, at)
        if turn is None:
            return
        if self.model:
            if turn.step is not None:
                turn.step.close("finish", at, self.log)
        elif turn.stopped is None and not turn.implied:
            self._finishes(turn, chunk, at)
        self._end_turn("finish", at)

    def _finishes(self, turn: Turn, chunk: FinishChunk, at: int) -> None:
        result = chunk.payload.step_result
        if turn.step is not None:
            self.log.error(
                at, f"finish inside the step opened at chunk {turn.step.opened}; expected step-finish before"
            )
        elif turn.finished is None:
            self.log.error(at, "finish before any step; expected step-start … step-finish, error or abort before")
        elif turn.goes_on:
            self.log.error(
                at, f"finish after step-finish with isContinued true (chunk {turn.finished}); expected step-start"
            )
        elif result is not None and result.is_continued:
            self.log.error(at, "finish with isContinued true, but nothing follows a finish")

    def error(self, chunk: ErrorChunk, at: int) -> None:
        turn = self._in_turn(chunk, at)
        if turn is not None:
            turn.stopped = ("error", at)

    def abort(self, chunk: AbortChunk, at: int) -> None:
        turn = self._in_turn(chunk, at)
        if turn is not None:
            turn.stopped = ("abort", at)

    def tripwire(self, chunk: TripwireChunk, at: int) -> None:
        if self._in_turn(chunk, at) is not None:
            self._end_turn("tripwire", at)

    def evaluation(self, chunk: Evaluation, at: int) -> None:
        self._in_turn(chunk, at)

    def _end_turn(self, name: str, at: int) -> None:
        self.turn = None
        self.over = f"{name} (chunk {at})"

    def unfinished(self) -> str | None:
        """What is missing if the stream or the turn ends here."""
        turn = self.turn
        if turn is None or (turn.waiting and turn.stopped is None):
            return None
        if turn.stopped is not None:
            return f"after {turn.stopped[0]} (chunk {turn.stopped[1]}); expected finish before"
        if turn.step is not None:
            expected = "finish" if self.model else "step-finish and finish"
            return f"inside the step opened at chunk {turn.step.opened}; expected {expected} before"
        if turn.goes_on:
            return f"after step-finish with isContinued true (chunk {turn.finished}); expected step-start before"
        return f"inside the turn opened at chunk {turn.opened}; expected finish before"

    def end(self, at: int) -> None:
        """The stream is over."""
        unfinished = self.unfinished()
        if unfinished is not None:
            self.log.error(at, f"the stream ends {unfinished}")

    # -- what the model gives

    def content(self, chunk: ChunkType, at: int) -> None:
        self._model_step(chunk, at)

    def text_start(self, chunk: TextStartChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is not None:
            step.text.start(chunk.payload.id, at, self.log)

    def text_delta(self, chunk: TextDeltaChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is None or chunk.payload.id in step.text.opened:
            return
        id, text = chunk.payload.id, step.text
        if id not in text.closed and id not in text.loose:  # readers take such a delta as a block that needs no end
            self.log.warn(at, f"text-delta of {id!r}, which is not open; expected text-start before")
            text.loose.add(id)
        text.inside(id, "text-delta", at, self.log)

    def text_end(self, chunk: TextEndChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is not None:
            step.text.end(chunk.payload.id, at, self.log)

    def reasoning_start(self, chunk: ReasoningStartChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is not None:
            step.reasoning.start(chunk.payload.id, at, self.log)

    def reasoning_inside(self, chunk: ReasoningDeltaChunk | ReasoningSignatureChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is not None:
            step.reasoning.inside(chunk.payload.id, chunk.type, at, self.log)

    def reasoning_end(self, chunk: ReasoningEndChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is not None:
            step.reasoning.end(chunk.payload.id, at, self.log)

    def object(self, chunk: ObjectChunk | ObjectResultChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is None:
            return
        if step.result is not None:
            self.log.error(at, f"{chunk.type} after object-result (chunk {step.result}) of the same step")
        if isinstance(chunk, ObjectResultChunk):
            step.result = at

    # -- calls

    def input_start(self, chunk: ToolCallInputStreamingStartChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is not None:
            step.inputs.start(chunk.payload.tool_call_id, at, self.log)

    def input_delta(self, chunk: ToolCallDeltaChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is not None:
            step.inputs.inside(chunk.payload.tool_call_id, "tool-call-delta", at, self.log)

    def input_end(self, chunk: ToolCallInputStreamingEndChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is not None:
            step.inputs.end(chunk.payload.tool_call_id, at, self.log)

    def call(self, chunk: ToolCallChunk, at: int) -> None:
        step = self._model_step(chunk, at)
        if step is None:
            return
        call_id = chunk.payload.tool_call_id
        if call_id in step.calls:
            self.log.error(
                at, f"tool-call of {call_id!r} again, called at chunk {step.calls[call_id]} of the same step"
            )
        if call_id in step.inputs.opened:
            self.log.warn(at, f"tool-call of {call_id!r}; expected tool-call-input-streaming-end before")
            step.inputs.closed[call_id] = step.inputs.opened.pop(call_id)
        step.calls[call_id] = at
        if chunk.payload.provider_executed:
            step.remote.add(call_id)

    def outcome(self, chunk: Outcome, at: int) -> None:
        turn = self._in_turn(chunk, at)
        if turn is None:
            return
        call_id = chunk.payload.tool_call_id
        status = _task_status(chunk)
        if status is None and call_id not in self.tasks:
            self._own_outcome(turn, chunk, call_id, at)
        elif turn.step is not None:
            turn.step.outcomes[call_id] = at
        if status != "running":
            self.tasks.end(call_id)

    def _own_outcome(self, turn: Turn, chunk: Outcome, call_id: str, at: int) -> None:
        step = turn.step
        if not self._called(turn, chunk, call_id, at) or step is None:
            return
        if call_id in step.outcomes:
            self.log.error(
                at, f"{chunk.type} of {call_id!r}, which has its outcome since chunk {step.outcomes[call_id]}"
            )
        step.outcomes[call_id] = at
        turn.waiting.pop(call_id, None)
        if call_id in turn.remote:
            turn.remote.remove(call_id)
        elif call_id not in step.remote:
            step.barred = f"{chunk.type} of {call_id!r} (chunk {at}); expected step-finish and step-start before"

    def output(self, chunk: ToolOutputChunk, at: int) -> None:
        turn = self._in_turn(chunk, at)
        call_id = chunk.payload.tool_call_id
        if turn is None or call_id is None or not self._called(turn, chunk, call_id, at):
            return
        if turn.step is not None and call_id in turn.step.outcomes and call_id not in self.tasks:
            self.log.error(at, f"tool-output of {call_id!r} after its outcome (chunk {turn.step.outcomes[call_id]})")

    def suspension(self, chunk: Suspension, at: int) -> None:
        turn = self._in_turn(chunk, at)
        if turn is None:
            return
        call_id = chunk.payload.tool_call_id
        self._called(turn, chunk, call_id, at)
        if call_id not in self.tasks:
            turn.waiting[call_id] = f"{chunk.type} of {call_id!r} (chunk {at})"
            if turn.step is not None:
                turn.step.barred = f"{turn.waiting[call_id]}; expected the outcome before"

    def task_started(self, chunk: BackgroundTaskStartedChunk, at: int) -> None:
        turn = self._in_turn(chunk, at)
        if turn is not None:
            self._called(turn, chunk, chunk.payload.tool_call_id, at)
            self.tasks.running.add(chunk.payload.tool_call_id)

    def _called(self, turn: Turn, chunk: ChunkType, call_id: str, at: int) -> bool:
        """Whether the call is known here; reports it when not."""
        step = turn.step
        if call_id in self.tasks or call_id in turn.remote:
            return True
        if step is None:
            if not turn.implied:
                self.log.error(at, f"{chunk.type} of {call_id!r} outside a step")
            return False
        if step.resumed or call_id in step.calls:
            return True
        calls = ", ".join(map(repr, step.calls)) or "none"
        self.log.error(
            at,
            f"{chunk.type} of {call_id!r}, which the step opened at chunk {step.opened} did not call; its calls: {calls}",
        )
        return False


def _task_status(chunk: Outcome) -> str | None:
    """What an outcome says of the background task that it comes from; None: it comes from none."""
    metadata = None if isinstance(chunk, ToolOutputDeniedChunk) else chunk.payload.provider_metadata
    mastra = None if metadata is None else metadata.get("mastra")
    task = cast("object", mastra.get("backgroundTask")) if isinstance(mastra, Mapping) else None
    return str(cast("Mapping[str, object]", task).get("status")) if isinstance(task, Mapping) else None


Rule = Callable[[AgentRules, Any, int], None]

AGENT_RULES: dict[type, Rule] = {
    StartChunk: AgentRules.start,
    StepStartChunk: AgentRules.step_start,
    StepFinishChunk: AgentRules.step_finish,
    FinishChunk: AgentRules.finish,
    ErrorChunk: AgentRules.error,
    AbortChunk: AgentRules.abort,
    TripwireChunk: AgentRules.tripwire,
    GoalChunk: AgentRules.evaluation,
    IsTaskCompleteChunk: AgentRules.evaluation,
    TextStartChunk: AgentRules.text_start,
    TextDeltaChunk: AgentRules.text_delta,
    TextEndChunk: AgentRules.text_end,
    ReasoningStartChunk: AgentRules.reasoning_start,
    ReasoningDeltaChunk: AgentRules.reasoning_inside,
    ReasoningSignatureChunk: AgentRules.reasoning_inside,
    ReasoningEndChunk: AgentRules.reasoning_end,
    RedactedReasoningChunk: AgentRules.content,
    SourceChunk: AgentRules.content,
    FileChunk: AgentRules.content,
    ReasoningFileChunk: AgentRules.content,
    CustomChunk: AgentRules.content,
    RawChunk: AgentRules.content,
    ResponseMetadataChunk: AgentRules.content,
    ObjectChunk: AgentRules.object,
    ObjectResultChunk: AgentRules.object,
    ToolCallInputStreamingStartChunk: AgentRules.input_start,
    ToolCallDeltaChunk: AgentRules.input_delta,
    ToolCallInputStreamingEndChunk: AgentRules.input_end,
    ToolCallChunk: AgentRules.call,
    ToolResultChunk: AgentRules.outcome,
    ToolErrorChunk: AgentRules.outcome,
    ToolOutputDeniedChunk: AgentRules.outcome,
    ToolOutputChunk: AgentRules.output,
    ToolCallApprovalChunk: AgentRules.suspension,
    ToolCallSuspendedChunk: AgentRules.suspension,
    BackgroundTaskStartedChunk: AgentRules.task_started,
}
