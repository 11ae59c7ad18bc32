"""Processors of scenarios as riverrun's, and which words of them are performed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.processors import Processor
from tests.processors.oracle import ScenarioProcessor

LISTS = ("inputProcessors", "outputProcessors", "errorProcessors")
"""The members that list processors, of an agent and of options, in the order in which riverrun takes them."""

_TRIP = frozenset({"reason", "options"})
HOOKS: Mapping[str, frozenset[str]] = {
    "input": _TRIP | {"blocks_if_text_contains", "raises", "replace"},
    "input_step": _TRIP | {"blocks_at_step"},
    "output_stream": _TRIP
    | {"blocks_if_text_contains", "blocks_type", "drops_type", "replace"}
    | {"raises_on_type", "message", "emits_custom_on", "custom"},
    "output_step": _TRIP | {"blocks_if_text_contains"},
    "output_result": _TRIP | {"blocks", "replace"},
    "tool_result": _TRIP | {"blocks_tool"},
    "api_error": frozenset({"retries"}),
}
"""The words of each hook that ScenarioProcessor understands."""


def processors(spec: Mapping[str, Any]) -> list[Processor]:
    """The processors that an agent, or an agent with the options laid over it, lists."""
    return [ScenarioProcessor(told) for name in LISTS for told in spec.get(name, ())]


def option_processors(agent: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, list[Processor]]:
    """The keyword argument for options that list processors: those of one kind take the place of the agent's."""
    if not any(name in options for name in LISTS):
        return {}
    return {"processors": processors({**agent, **options})}
