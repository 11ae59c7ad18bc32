"""An agent's stream as it is read: where the next chunk stands, in which turn and in which step.

The rules for each type are in frame.py, content.py and calls.py. A fault is reported once: after it the rules go on as
if the chunk that is missing had come.
"""

from __future__ import annotations

from riverrun.chunks.background import BackgroundTaskStartedChunk
from riverrun.chunks.content import ObjectChunk, ObjectResultChunk
from riverrun.chunks.control import (
    AbortChunk,
    ErrorChunk,
    FinishChunk,
    StepFinishChunk,
    StepStartChunk,
    TripwireChunk,
)
from riverrun.chunks.grammar.problem import Log
from riverrun.chunks.grammar.turn import Step, Tasks, Turn
from riverrun.chunks.tools import (
    ToolCallApprovalChunk,
    ToolCallSuspendedChunk,
    ToolErrorChunk,
    ToolOutputChunk,
    ToolOutputDeniedChunk,
    ToolResultChunk,
)
from riverrun.chunks.union import ChunkType

Outcome = ToolResultChunk | ToolErrorChunk | ToolOutputDeniedChunk
Suspension = ToolCallApprovalChunk | ToolCallSuspendedChunk

_OPENS_RESUMED = (
    Outcome | Suspension | ToolOutputChunk | BackgroundTaskStartedChunk | ErrorChunk | AbortChunk | TripwireChunk
)
_AFTER_ERROR = Outcome | ToolOutputChunk | StepFinishChunk | FinishChunk | TripwireChunk


class AgentStream:
    """State of an agent's stream or, with `model`, of a model's: one step, from step-start to finish."""

    __slots__ = ("log", "model", "over", "tasks", "turn")

    def __init__(self, log: Log, *, model: bool = False) -> None:
        self.log = log
        self.model = model
        self.turn: Turn | None = None
        self.over: str | None = None
        """The chunk that ended the last turn; "" once a chunk behind it was reported."""
        self.tasks = Tasks()

    def model_step(self, chunk: ChunkType, at: int) -> Step | None:
        """The open step, for a chunk that the model gave. None: the chunk counts for nothing."""
        step = self.any_step(chunk, at)
        if step is not None and step.barred is not None:
            self.log.error(at, f"{chunk.type} after {step.barred}")
            step.barred = None
        return step

    def any_step(self, chunk: ChunkType, at: int) -> Step | None:
        """The open step, for a chunk that must be in one. None: the chunk counts for nothing."""
        turn = self.turn
        if turn is None or turn.stopped is not None or turn.run_id != chunk.run_id:
            turn = self.in_turn(chunk, at)
            if turn is None:
                return None
        step = turn.step
        if step is None:
            if not turn.implied:
                self.log.error(at, f"{chunk.type} outside a step; expected step-start before")
            turn.implied = False
            step = turn.step = Step(at)
        return step

    def in_turn(self, chunk: ChunkType, at: int) -> Turn | None:
        """The open turn. None: the chunk stands behind the end of one, or behind what stopped it."""
        turn = self.turn
        if turn is None:
            if self.over is not None:
                self._behind_the_end(chunk, at)
                return None
            turn = self.turn = self._opened_by(chunk, at)
        elif turn.run_id != chunk.run_id and chunk.run_id is not None:
            self._other_run(turn, chunk.run_id, chunk, at)
        return turn if turn.stopped is None or self._behind_the_stop(turn, chunk, at) else None

    def _behind_the_end(self, chunk: ChunkType, at: int) -> None:
        if self.over:
            self.log.error(at, f"{chunk.type} after {self.over}; expected start of another turn, or the end")
        self.over = ""

    def _opened_by(self, chunk: ChunkType, at: int) -> Turn:
        """The turn that a chunk other than start opens: rightly in a resumed stream and in a model's."""
        if self.model:
            if not isinstance(chunk, StepStartChunk):
                self.log.error(at, f"{chunk.type} at the beginning; expected step-start")
        elif isinstance(chunk, _OPENS_RESUMED):
            turn = Turn(at, chunk.run_id)
            turn.step = Step(at, resumed=True)
            return turn
        else:
            begin = "expected start or, in a resumed stream, the outcome of a call"
            self.log.error(at, f"{chunk.type} at the beginning; {begin}")
        return Turn(at, chunk.run_id, implied=True)

    def _other_run(self, turn: Turn, run_id: str, chunk: ChunkType, at: int) -> None:
        if turn.run_id is None:
            turn.run_id = run_id
        elif run_id != turn.stray and not isinstance(chunk, ObjectChunk | ObjectResultChunk):  # a structuring model's
            self.log.error(at, f"{chunk.type} of run {run_id!r} in a turn of run {turn.run_id!r}")
            turn.stray = run_id

    def _behind_the_stop(self, turn: Turn, chunk: ChunkType, at: int) -> bool:
        """Whether the chunk may stand behind the error or abort that stopped the turn."""
        kind, stopped = turn.stopped or ("", 0)
        if isinstance(chunk, FinishChunk if kind == "abort" else _AFTER_ERROR):
            return True
        if not turn.muted:
            expected = "finish" if kind == "abort" else "outcomes of calls, step-finish or finish"
            self.log.error(at, f"{chunk.type} after {kind} (chunk {stopped}); expected {expected}")
        turn.muted = True
        return False

    def end_turn(self, name: str, at: int) -> None:
        """The chunk `name` ends the turn."""
        self.turn = None
        self.over = f"{name} (chunk {at})"

    def missing(self) -> str | None:
        """What must still come before the stream may end."""
        return None if self.turn is None else self.turn.missing(model=self.model)
