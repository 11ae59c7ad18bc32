"""Whether another step follows: what the model wants, within the stop conditions, and what scorers and hooks say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from riverrun.agent.asking import asked
from riverrun.agent.completion import Candidate, TaskComplete, feedback
from riverrun.agent.hooks import Iteration, Verdict
from riverrun.agent.plan import Plan
from riverrun.agent.step import Answer
from riverrun.agent.toolcalls import ToolCalls
from riverrun.agent.transcript import Transcript
from riverrun.chunks import ChunkType, IsTaskCompleteChunk, Message, TextPart, UserMessage

_FINAL = {"stop", "error", "length", "content-filter", None}
"""Reasons after which a step is not followed by another, unless tools were called."""
CUT_OFF = {"error", "length", "content-filter"}
"""Reasons after which not even tool calls are followed by another step."""


@dataclass(slots=True)
class Continuation:
    """Decides it for one run, after each step. What scorers and hooks want the model to know joins the transcript."""

    plan: Plan
    transcript: Transcript
    write: Callable[[ChunkType], None]
    is_last: bool = False
    """Whether a hook has stopped the run."""

    async def follows(self, answer: Answer, calls: ToolCalls) -> bool:
        """Whether another step follows the one that gave this answer."""
        if answer.error is not None or calls.pending or self.is_last:
            return False
        wanted = _asks_for_more(answer) or (bool(calls.calls) and answer.reason not in CUT_OFF)
        stopped = await self._is_stopped() if wanted else None
        missed: str | None = None
        if not wanted and self.plan.task_complete is not None:
            stopped = await self._is_stopped()
            missed = await self._missed(answer, self.plan.task_complete, is_last=stopped)
            wanted = answer.is_incomplete
        verdict = await self._verdict(wanted and not stopped)
        if verdict.go_on is False:
            self.is_last = True
            wanted = wanted and verdict.feedback is not None
        elif verdict.go_on is True:
            wanted = True
        if wanted and stopped is None:
            stopped = await self._is_stopped()
        if not wanted or stopped:
            return False
        self.transcript.answers += [_said_to_model(told) for told in (missed, verdict.feedback) if told is not None]
        return True

    async def _missed(self, answer: Answer, task_complete: TaskComplete, *, is_last: bool) -> str | None:
        """Ask the scorers and tell the stream. Gives what the model is to be told that its answer misses."""
        candidate = Candidate(
            iteration=len(self.transcript.steps),
            text=answer.fold.text,
            task=_task(self.transcript.asked),
            messages=self.transcript.told,
            tool_calls=self.transcript.steps[-1].tool_calls,
            run_id=self.plan.run_id,
            deps=self.plan.deps,
        )
        payload = await task_complete.check(candidate, is_last=is_last)
        self.write(IsTaskCompleteChunk(payload, run_id=self.plan.run_id, from_="AGENT"))
        answer.is_incomplete = not payload.passed
        return None if payload.passed or payload.suppress_feedback else feedback(payload)

    async def _is_stopped(self) -> bool:
        counted = [step for step in self.transcript.steps if step.tripwire is None]  # those refused have a budget
        for stop in self.plan.stop_when:
            if await asked(stop, counted, object):
                return True
        return False

    async def _verdict(self, will_continue: bool) -> Verdict:
        if self.plan.on_iteration is None:
            return Verdict()
        iteration = Iteration(
            number=len(self.transcript.steps),
            steps=tuple(self.transcript.steps),
            will_continue=will_continue,
            run_id=self.plan.run_id,
            deps=self.plan.deps,
        )
        return await asked(self.plan.on_iteration, iteration, Verdict) or Verdict()


def _asks_for_more(answer: Answer) -> bool:
    """Whether the model has not said its last word, as far as its reason tells. One that is not known may be final."""
    given = answer.finish.step_result if answer.finish else None
    return answer.reason not in _FINAL and not (given is not None and given.is_continued is False)


def _said_to_model(text: str) -> Message:
    """What hooks and scorers say of an answer: as the user's, since some models do not go on from their own words."""
    return UserMessage([TextPart(text)])


def _task(messages: Sequence[Message]) -> str:
    """What the user asked last."""
    last = next((message for message in reversed(messages) if isinstance(message, UserMessage)), None)
    return "".join(part.text for part in last.content if isinstance(part, TextPart)) if last else ""
