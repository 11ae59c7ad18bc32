"""Whether an answer completes the task: scorers are asked before a run ends, and what they miss goes to the model."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, SupportsFloat, TypeAlias

from riverrun.chunks import IsTaskCompletePayload, Message, ScorerResult, ToolCallPart
from riverrun.errors import ConfigError
from riverrun.numbers import is_number
from riverrun.streams import in_thread, is_coroutine_function, run_all, uncancelled


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An answer that would end the run. `iteration` counts from 1; `task` is what the user asked."""

    iteration: int
    text: str
    task: str
    messages: Sequence[Message]
    tool_calls: Sequence[ToolCallPart]
    run_id: str
    deps: Any = None


@dataclass(frozen=True, slots=True)
class Score:
    """A scorer's verdict: 1 passes, anything below does not. `reason` is for the model.

    Raises ConfigError for a score that is no finite number and a reason that is no text.
    """

    score: float
    reason: str | None = None

    def __post_init__(self) -> None:
        if not _is_finite(self.score):
            raise ConfigError(f"Score: score is a finite number, not {self.score!r:.80}")
        if not isinstance(self.reason, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"Score: reason is a text, not {self.reason!r:.80}")


Verdict: TypeAlias = Score | float | bool
Judge: TypeAlias = Callable[[Candidate], Verdict | Awaitable[Verdict]]


@dataclass(frozen=True, slots=True)
class Scorer:
    """A function that scores an answer, with an id and a name for the stream."""

    judge: Judge
    id: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskComplete:
    """Asks scorers whether an answer completes the task, when the run would end with it.

    With the strategy "all" each has to pass, with "any" one. When they do not, the model is told why and goes on,
    within the run's steps. Scorers that are plain functions run in threads. `timeout` bounds the scorers together, in
    seconds; one that fails or is late scores 0. Raises ConfigError for what cannot work.
    """

    scorers: Sequence[Scorer | Judge]
    strategy: Literal["all", "any"] = "all"
    timeout: float = 600.0
    suppress_feedback: bool = False
    _scorers: Sequence[Scorer] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "_scorers", [_scorer(item) for item in self.scorers])

    async def check(self, candidate: Candidate, *, is_last: bool) -> IsTaskCompletePayload:
        """Ask the scorers. `is_last`: the run has no step left."""
        begun = time.monotonic()
        results: dict[int, ScorerResult] = {}

        def work(place: int, scorer: Scorer) -> Callable[[], Any]:
            async def ask() -> None:
                results[place] = await _asked(scorer, candidate)

            return ask

        timed_out = False
        try:
            async with asyncio.timeout(self.timeout):
                await run_all([work(*item) for item in enumerate(self._scorers)], limit=len(self._scorers))
        except TimeoutError:
            timed_out = True
        found = [results.get(place) or _too_late(scorer) for place, scorer in enumerate(self._scorers)]
        passed = (all if self.strategy == "all" else any)(result.passed for result in found)
        return IsTaskCompletePayload(
            iteration=candidate.iteration,
            passed=passed,
            results=found,
            duration=_since(begun),
            timed_out=timed_out,
            reason=_reason(found, passed),
            max_iteration_reached=is_last and not passed,
            suppress_feedback=self.suppress_feedback,
        )


def feedback(payload: IsTaskCompletePayload) -> str:
    """What the model is told of an answer that does not complete the task."""
    missed = [result for result in payload.results or () if not result.passed]
    lines = [f"- {result.scorer_name or result.scorer_id}: {result.reason or 'not passed'}" for result in missed]
    return "\n".join(["The task is not complete yet:", *lines, "Go on with the task."])


async def _asked(scorer: Scorer, candidate: Candidate) -> ScorerResult:
    begun = time.monotonic()
    try:
        score, errored = _score(await uncancelled(_judged(scorer.judge, candidate))), None
    except Exception as error:
        score, errored = Score(0.0, f"{type(error).__name__}: {error}"), True
    return ScorerResult(
        score=int(score.score) if score.score in (0, 1) else score.score,
        passed=score.score >= 1,
        reason=score.reason,
        scorer_id=scorer.id,
        scorer_name=scorer.name or scorer.id,
        duration=_since(begun),
        errored=errored,
    )


async def _judged(judge: Judge, candidate: Candidate) -> object:
    """What a scorer says. A plain function is run in a thread, as a tool is."""
    verdict = judge(candidate) if is_coroutine_function(judge) else await in_thread(judge, candidate)
    return await verdict if inspect.isawaitable(verdict) else verdict


def _score(verdict: object) -> Score:
    """Raises ConfigError for what is no verdict."""
    if isinstance(verdict, Score):
        return verdict
    if not isinstance(verdict, SupportsFloat):
        raise ConfigError(f"a scorer gives Score(…), a number or a bool, not {verdict!r:.80}")
    return Score(float(verdict))


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and -math.inf < value < math.inf


def _too_late(scorer: Scorer) -> ScorerResult:
    return ScorerResult(
        score=0,
        passed=False,
        reason="it took too long",
        scorer_id=scorer.id,
        scorer_name=scorer.name or scorer.id,
        errored=True,
    )


def _check(settings: Any) -> None:  # callers may give anything
    scorers, strategy, timeout = settings.scorers, settings.strategy, settings.timeout
    if not isinstance(scorers, Sequence) or isinstance(scorers, str) or not scorers:
        raise ConfigError(f"TaskComplete: scorers is a list of at least one, not {scorers!r:.80}")
    if strategy not in ("all", "any"):
        raise ConfigError(f'TaskComplete: strategy is "all" or "any", not {strategy!r:.80}')
    if not (is_number(timeout) and timeout > 0):
        raise ConfigError(f"TaskComplete: timeout is a positive number of seconds, not {timeout!r:.80}")


def _scorer(item: Scorer | Judge) -> Scorer:
    judge = item.judge if isinstance(item, Scorer) else item
    if not callable(judge):
        raise ConfigError(f"a scorer is a function of a Candidate or a Scorer, not {judge!r:.80}")
    if isinstance(item, Scorer):
        return item
    name = getattr(item, "__name__", type(item).__name__)
    return Scorer(item, id=getattr(item, "id", name), name=getattr(item, "name", name))


def _reason(results: Sequence[ScorerResult], passed: bool) -> str | None:
    told = [result.reason for result in results if result.reason and result.passed == passed]
    return "; ".join(told) or None


def _since(begun: float) -> int:
    return int((time.monotonic() - begun) * 1000)
