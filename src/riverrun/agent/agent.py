"""An agent: a model, instructions and tools under one name. It is configuration; every run is of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack, cast

from riverrun.agent.cancellation import Cancellation
from riverrun.agent.checks import check_options
from riverrun.agent.choice import checked_choice, offered
from riverrun.agent.hooks import OnIteration, PrepareStep, StopWhen, step_count_is
from riverrun.agent.inputs import to_messages
from riverrun.agent.loop import AgentLoop, Plan
from riverrun.agent.overlay import laid_over, merged
from riverrun.agent.run import Run
from riverrun.chunks import ChunkType, Message, Result, SystemMessage
from riverrun.errors import ConfigError
from riverrun.models import resolve_model
from riverrun.streams import Log
from riverrun.tools import Tool, tool
from riverrun.types import Input, Model, Settings, Timeout, ToolChoice

DEFAULT_MAX_STEPS = 5
"""Steps of a run for which neither `max_steps` nor `stop_when` is given."""

ToolLike = Tool | Callable[..., Any]


class RunOptions(TypedDict, total=False):
    """What `stream` and `generate` take beside the input; None is as good as left out. Settings, provider options and
    time limits are laid over the agent's own; other options take their place."""

    run_id: str | None
    """Goes on every chunk; made up when it is not given."""
    deps: Any
    """Handed to tools (`ToolContext.deps`) and hooks."""
    instructions: str | Sequence[str] | None
    """Instead of the agent's."""
    system: str | Sequence[str] | None
    """In addition to the instructions."""
    context: Input | None
    """Messages that the model sees in this run and that are no part of the conversation."""
    tools: Sequence[ToolLike] | None
    """In addition to the agent's."""
    tool_choice: ToolChoice | None
    """Whether and which tool the model is to call: "auto", "none", "required" or NamedTool."""
    active_tools: Sequence[str] | None
    """The names of the tools that the model is offered; None: all."""
    max_steps: int | None
    """How many steps (model calls) the run may take."""
    stop_when: StopWhen | Sequence[StopWhen] | None
    """Asked after a step that would be followed by another; any that says True stops the run."""
    prepare_step: PrepareStep | None
    """Asked before each step for what is to be different in it."""
    on_iteration: OnIteration | None
    """Asked after each step whether to go on."""
    settings: Settings | None
    """Laid over the agent's."""
    provider_options: Mapping[str, Mapping[str, Any]] | None
    """Members for the request body, by provider."""
    timeout: Timeout | None
    """In seconds, laid over the agent's."""
    max_retries: int | None
    """How often a failed model call is tried again."""
    tool_concurrency: int | None
    """How many tools of a step run at once."""
    include_raw: bool
    """Let the provider's own events through as raw chunks."""
    detached: bool
    """Go on without readers, and without the Run being held."""


class Agent:
    """Answers inputs with runs.

    `model` is a name ("openai/gpt-5-mini", "local/qwen2.5-coder-0.5b"), a model, or a list of these: the others are
    asked in order when the first fails. `tools` are functions (see `tool`) or Tools. A run stops after `max_steps`
    steps or when one of `stop_when` says so; after 5 steps when neither is given. `max_retries` counts further tries of
    a failed model call, `timeout` is in seconds.

    An agent keeps no state: any number of runs may go on side by side.
    """

    def __init__(
        self,
        name: str,
        *,
        model: str | Model | Sequence[str | Model],
        instructions: str | Sequence[str] | None = None,
        tools: Sequence[ToolLike] | None = None,
        max_steps: int | None = None,
        stop_when: StopWhen | Sequence[StopWhen] | None = None,
        settings: Settings | None = None,
        provider_options: Mapping[str, Mapping[str, Any]] | None = None,
        timeout: Timeout | None = None,
        max_retries: int = 2,
        tool_concurrency: int = 10,
    ) -> None:
        check_options(
            {
                "name": name,
                "instructions": instructions,
                "tools": tools,
                "max_steps": max_steps,
                "stop_when": stop_when,
                "settings": settings,
                "provider_options": provider_options,
                "timeout": timeout,
                "max_retries": max_retries,
                "tool_concurrency": tool_concurrency,
            }
        )
        listed = [model] if isinstance(model, str) or not isinstance(model, Sequence) else list(model)
        if not listed:
            raise ConfigError(f"agent '{name}' needs at least one model")
        self.name = name
        self.models = [resolve_model(item) for item in listed]
        self.instructions = _texts(instructions)
        self.tools = _by_name(tools or ())
        self.max_steps = max_steps
        self.stop_when = _listed(stop_when)
        self.settings = settings or Settings()
        self.provider_options = dict(provider_options or {})
        self.timeout = timeout or Timeout()
        self.max_retries = max_retries
        self.tool_concurrency = tool_concurrency

    def stream(self, input: Input, /, **options: Unpack[RunOptions]) -> Run:
        """Start a run; the options are those of RunOptions.

        Raises ConfigError for an input or option that cannot work; whatever happens in the run is a chunk.
        """
        plan = self._plan(input, _given(options))

        async def work(log: Log[ChunkType], cancellation: Cancellation) -> None:
            await AgentLoop(plan, log, cancellation).run()

        return Run(work, run_id=plan.run_id, detached=bool(options.get("detached")))

    async def generate(self, input: Input, /, **options: Unpack[RunOptions]) -> Result:
        """Run to the end and give the result. Takes what `stream` takes; raises RunError when the run fails."""
        return await self.stream(input, **options).result()

    def _plan(self, input: Input, options: RunOptions) -> Plan:
        context = options.get("context")
        tools = {**self.tools, **_by_name(options.get("tools") or ())}
        given = to_messages(input)
        active = options.get("active_tools")
        retries = options.get("max_retries")
        return Plan(
            run_id=options.get("run_id") or str(uuid.uuid4()),
            message_id=str(uuid.uuid4()),
            agent_id=self.name,
            models=self.models,
            instructions=self._system_messages(options, given),
            context=to_messages(context) if context is not None else [],
            messages=[message for message in given if not isinstance(message, SystemMessage)],
            tools=tools,
            tool_choice=checked_choice(options.get("tool_choice") or "auto", offered(tools, active)),
            active_tools=active,
            stop_when=self._stop_conditions(options),
            prepare_step=options.get("prepare_step"),
            on_iteration=options.get("on_iteration"),
            settings=laid_over(self.settings, options.get("settings")),
            provider_options=merged(self.provider_options, options.get("provider_options")),
            include_raw=options.get("include_raw", False),
            timeout=laid_over(self.timeout, options.get("timeout")),
            tool_concurrency=options.get("tool_concurrency") or self.tool_concurrency,
            max_retries=self.max_retries if retries is None else retries,
            deps=options.get("deps"),
        )

    def _system_messages(self, options: RunOptions, given: Sequence[Message]) -> list[SystemMessage]:
        own = _texts(options["instructions"]) if "instructions" in options else self.instructions
        texts = [*own, *_texts(options.get("system"))]
        return [SystemMessage(text) for text in texts] + [item for item in given if isinstance(item, SystemMessage)]

    def _stop_conditions(self, options: RunOptions) -> Sequence[StopWhen]:
        most = options.get("max_steps", self.max_steps)
        conditions = _listed(options["stop_when"]) if "stop_when" in options else self.stop_when
        if most is not None:
            return [step_count_is(most), *conditions]
        return conditions or [step_count_is(DEFAULT_MAX_STEPS)]

    def __repr__(self) -> str:
        return f"<Agent {self.name}>"


def _given(options: RunOptions) -> RunOptions:
    unknown = options.keys() - RunOptions.__annotations__.keys()
    if unknown:
        raise ConfigError(f"a run has no option {', '.join(sorted(unknown))}; see riverrun.agent.RunOptions")
    check_options(options)
    return cast("RunOptions", {name: value for name, value in options.items() if value is not None})


def _texts(texts: str | Sequence[str] | None) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts or ())


def _listed(conditions: StopWhen | Sequence[StopWhen] | None) -> list[StopWhen]:
    return [conditions] if callable(conditions) else list(conditions or ())


def _by_name(tools: Sequence[ToolLike]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for item in tools:
        made = item if isinstance(item, Tool) else tool(item)
        if made.name in found:
            raise ConfigError(f"two tools are named '{made.name}'")
        found[made.name] = made
    return found
