"""A scenario as riverrun objects: its agents and their store, and what their models and tools were asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from riverrun import Agent
from riverrun.store import InMemoryStore, Store
from tests.conformance.models import build_models
from tests.conformance.options import call_options, memory, texts
from tests.conformance.processors import option_processors, processors
from tests.conformance.structured import structured_output
from tests.conformance.tool_ops import build_tool

DEFAULT_AGENT = "main"
DEFAULT_RETRIES = 2
"""The recorded system's default for one model; it tries each of several models (`models`) once."""


@dataclass(kw_only=True)
class World:
    """What the actions of a scenario work on and leave behind."""

    specs: Mapping[str, Mapping[str, Any]]
    store: Store | InMemoryStore
    agents: dict[str, Agent] = field(default_factory=dict)
    model_calls: list[dict[str, Any]] = field(default_factory=list)
    tool_executions: list[dict[str, Any]] = field(default_factory=list)

    def agent(self, key: str | None) -> Agent:
        """The agent that an action names; without a name `main`, or the only one there is."""
        return self.agents[self._key(key)]

    def options(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments for an action's options."""
        options = action.get("options", {})
        out = call_options(options) | option_processors(self.specs[self._key(action.get("agent"))], options)
        if "structuredOutput" in options:
            out["output"] = structured_output(options["structuredOutput"], self.model_calls)
        return out

    def _key(self, key: str | None) -> str:
        if key is None:
            return DEFAULT_AGENT if DEFAULT_AGENT in self.specs else next(iter(self.specs))
        return key


@asynccontextmanager
async def build_world(scenario: Mapping[str, Any]) -> AsyncIterator[World]:
    """Make the agents of a scenario, over one store."""
    specs = scenario.get("agents", {})
    mastra = scenario.get("mastra")
    if isinstance(mastra, Mapping) and mastra.get("storage") == "libsql":
        async with await Store.open("sqlite://") as store:
            yield _world(specs, store)
    else:
        yield _world(specs, InMemoryStore())


def _world(specs: Mapping[str, Mapping[str, Any]], store: Store | InMemoryStore) -> World:
    world = World(specs=specs, store=store)
    for key in specs:
        _agent(key, world)
    return world


def _agent(key: str, world: World) -> Agent:
    """The agent `key`, made with the agents that it has as tools unless it is there."""
    if key not in world.agents:
        world.agents[key] = _build_agent(key, world.specs[key], world)
    return world.agents[key]


def _build_agent(key: str, spec: Mapping[str, Any], world: World) -> Agent:
    own = spec.get("tools", {}).items()
    tools = [build_tool(name, tool, world.tool_executions, world.agents) for name, tool in own]
    return Agent(
        spec.get("id", key),
        description=spec.get("description", ""),
        model=build_models(key, spec, world.model_calls),
        instructions=texts(spec.get("instructions", [])),
        tools=[*tools, *(_agent(name, world) for name in spec.get("agents", ()))],
        max_retries=spec.get("maxRetries", 0 if "models" in spec else DEFAULT_RETRIES),
        processors=processors(spec),
        max_processor_retries=spec.get("maxProcessorRetries"),
        store=world.store,
        memory=memory(spec.get("memory", False)),
    )
