"""A scenario as riverrun objects: its agents, and what their models and tools were asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riverrun import Agent
from tests.conformance.models import build_models
from tests.conformance.options import texts
from tests.conformance.tool_ops import build_tool

DEFAULT_AGENT = "main"
DEFAULT_RETRIES = 2
"""The recorded system's default for one model; it tries each of several models (`models`) once."""


@dataclass(kw_only=True)
class World:
    """What the actions of a scenario work on and leave behind."""

    agents: dict[str, Agent] = field(default_factory=dict)
    model_calls: list[dict[str, Any]] = field(default_factory=list)
    tool_executions: list[dict[str, Any]] = field(default_factory=list)

    def agent(self, key: str | None) -> Agent:
        """The agent that an action names; without a name `main`, or the only one there is."""
        if key is None:
            key = DEFAULT_AGENT if DEFAULT_AGENT in self.agents else next(iter(self.agents))
        return self.agents[key]


def build_world(scenario: Mapping[str, Any]) -> World:
    """Make the agents of a scenario."""
    world = World()
    for key, spec in scenario.get("agents", {}).items():
        world.agents[key] = _build_agent(key, spec, world)
    return world


def _build_agent(key: str, spec: Mapping[str, Any], world: World) -> Agent:
    return Agent(
        spec.get("id", key),
        model=build_models(key, spec, world.model_calls),
        instructions=texts(spec.get("instructions", [])),
        tools=[build_tool(name, tool, world.tool_executions) for name, tool in spec.get("tools", {}).items()],
        max_retries=spec.get("maxRetries", 0 if "models" in spec else DEFAULT_RETRIES),
    )
