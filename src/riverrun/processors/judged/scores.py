"""Scores: how sure a judge is of each of several things, from 0 to 1."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from riverrun.chunks.envelope import is_object
from riverrun.errors import ConfigError
from riverrun.numbers import is_number
from riverrun.processors.judged.judge import JudgeError, Question, object_schema

_LONGEST_REASON = 300


def scores_question(task: str, names: Sequence[str], **texts: str) -> Question:
    """A question whose answer has a score for each of `names`, a reason, and more texts; their values are examples."""
    texts = {"reason": "one sentence", **texts}
    scores = object_schema({name: {"type": "number"} for name in names})
    return Question(
        task=task,
        example={"scores": dict.fromkeys(names, 0.0), **texts},
        schema=object_schema({"scores": scores, **{name: {"type": "string"} for name in texts}}),
    )


def flagged(answer: Mapping[str, Any], names: Collection[str], threshold: float) -> dict[str, float]:
    """The scores that reach the threshold. Raises JudgeError for scores that are none."""
    scores = answer.get("scores")
    if not is_object(scores):
        raise JudgeError("the judge's answer has no scores")
    return {name: score for name in names if (score := as_score(scores.get(name, 0))) >= threshold}


def findings(answer: Mapping[str, Any], scores: Mapping[str, float]) -> dict[str, Any]:
    """The scores that were flagged and the judge's reason in short, for a chunk's metadata."""
    reason = answer.get("reason")
    found: dict[str, Any] = {"scores": scores}
    if isinstance(reason, str) and reason:
        found["reason"] = reason[:_LONGEST_REASON]
    return found


def checked_threshold(threshold: float) -> float:
    """Raises ConfigError unless 0 < threshold <= 1."""
    if not (is_number(threshold) and 0 < threshold <= 1):
        raise ConfigError(f"a threshold is more than 0 and at most 1, not {threshold!r:.80}")
    return threshold


def as_score(value: object) -> float:
    """A judge's number. Raises JudgeError for anything but one from 0 to 1."""
    if is_number(value) and 0 <= value <= 1:
        return float(value)
    raise JudgeError("the judge gave a score that is no number from 0 to 1")
