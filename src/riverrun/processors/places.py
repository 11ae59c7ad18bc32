"""Where a filter looks: what goes into the run, what comes out of it, what tools give or fail with."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias

from riverrun.errors import ConfigError

Place: TypeAlias = Literal["input", "output", "tool_results"]

PLACES: tuple[Place, ...] = ("input", "output", "tool_results")

_HOOKS: dict[Place, frozenset[str]] = {
    "input": frozenset({"process_input"}),
    "output": frozenset({"process_output_stream", "process_output_stream_end", "process_output_result"}),
    "tool_results": frozenset({"process_tool_result", "process_tool_error"}),
}


def checked_places(on: Collection[Place], *, needed_by: str) -> frozenset[Place]:
    """The places. Raises ConfigError for one that there is not, and for none."""
    if isinstance(on, str) or not on or not set(on) <= set(PLACES):
        raise ConfigError(f"{needed_by}: on is a list of {', '.join(PLACES)}, not {on!r}")
    return frozenset(on)


def hooks_elsewhere(on: Collection[Place]) -> frozenset[str]:
    """The hooks that a filter does not need when it looks at these places only."""
    return frozenset(hook for place, hooks in _HOOKS.items() if place not in on for hook in hooks)
