"""What a caller may decide while a run goes on: before each step, after each step, and when to stop.

Each hook is one function of one frozen value.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from riverrun.chunks import Step
from riverrun.processors.step import StepChanges, StepInfo

PrepareStep: TypeAlias = Callable[[StepInfo], StepChanges | Awaitable[StepChanges | None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """A step that was taken, before the run says whether it goes on. `number` counts from 1."""

    number: int
    steps: Sequence[Step]
    will_continue: bool
    run_id: str
    deps: Any = None

    @property
    def step(self) -> Step:
        """The step just taken."""
        return self.steps[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to do after a step.

    `go_on` False stops the run: at once or, where a step would follow and there is feedback, after that one. True asks
    for another step. `feedback` is put before the model as a user's message when the run goes on: some models do not go
    on from their own words.
    """

    go_on: bool | None = None
    feedback: str | None = None


OnIteration: TypeAlias = Callable[[Iteration], Verdict | Awaitable[Verdict | None] | None]

StopWhen: TypeAlias = Callable[[Sequence[Step]], bool | Awaitable[bool]]
"""Asked with the steps so far, after a step that would be followed by another."""


def step_count_is(count: int) -> StopWhen:
    """Stop when `count` steps were taken."""
    return lambda steps: len(steps) >= count


def has_tool_call(tool_name: str) -> StopWhen:
    """Stop when the last step called the tool `tool_name`."""
    return lambda steps: any(call.tool_name == tool_name for call in steps[-1].tool_calls)
