"""An agent: a model, instructions and tools under one name. It is configuration; every run is of its own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import UnionType
from typing import Any, Generic, TypeAlias, TypedDict, Unpack, cast

from riverrun.agent.cancellation import Cancellation
from riverrun.agent.checks import check_message_ids, check_options
from riverrun.agent.choice import checked_choice, offered
from riverrun.agent.completion import TaskComplete
from riverrun.agent.delegate import delegate, inside
from riverrun.agent.hooks import OnIteration, PrepareStep, StopWhen, step_count_is
from riverrun.agent.inputs import to_messages
from riverrun.agent.keeping import Keeper, Memory, claimed
from riverrun.agent.loop import AgentLoop
from riverrun.agent.plan import Plan
from riverrun.agent.run import Run
from riverrun.agent.saved import Decision, SavedRun
from riverrun.agent.saved_options import restored_options, saved_options
from riverrun.agent.source_tool import is_source, source_tool
from riverrun.chunks import ChunkType, Message, Result, SystemMessage
from riverrun.errors import ConfigError
from riverrun.models import resolve_model
from riverrun.processors import Processor
from riverrun.processors.overlay import laid_over, merged
from riverrun.store import AnyStore, InMemoryStore, Page, Snapshot
from riverrun.store.any_store import check_store
from riverrun.store.checks import check_lease
from riverrun.streams import Log
from riverrun.structured import OutputType, StructuredOutput
from riverrun.structured.output_type import Out
from riverrun.tools import Approval, Tool, tool
from riverrun.types import Input, Model, Settings, Source, Timeout, ToolChoice

Wanted: TypeAlias = type[Out] | OutputType[Out] | StructuredOutput[Out] | Mapping[str, Any] | Sequence[str] | UnionType
"""What an answer is to be: see OutputType. Type checkers follow classes and what is made of them;
`OutputType(Literal["a", "b"])` is for types that they know as none."""

DEFAULT_MAX_STEPS = 5
"""Steps of a run for which neither `max_steps` nor `stop_when` is given."""

LEASE = 30.0
"""Seconds after which a resumed run whose process has died may be resumed again."""


class ResumeOptions(TypedDict, total=False):
    """What a run takes beside its input and its id; None is as good as left out. Settings, provider options and time
    limits are laid over the agent's own; other options take their place."""

    deps: Any
    """Handed to tools (`ToolContext.deps`) and hooks."""
    instructions: str | Sequence[str] | None
    """Instead of the agent's."""
    system: str | Sequence[str] | None
    """In addition to the instructions."""
    context: Input | None
    """Messages that the model sees in this run and that are no part of the conversation."""
    tools: Sequence[Tool | Agent | Source | Callable[..., Any]] | None
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
    task_complete: TaskComplete | None
    """Asks whether an answer completes the task, before the run ends with it."""
    output: Any
    """What the answer is to be: a type, a JSON Schema or StructuredOutput. Type checkers go by the agent's."""
    processors: Sequence[Processor] | None
    """What stands between the agent, its model and its readers."""
    max_processor_retries: int | None
    """How often processors may have an answer given again."""
    require_tool_approval: Approval | None
    """Whether tools that say nothing of it themselves have to be approved."""
    thread_id: str | None
    """The conversation that the run belongs to, for agents with a memory."""
    resource_id: str | None
    """Whom the thread belongs to, most often a user."""
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


class RunOptions(ResumeOptions, total=False):
    """What `stream` and `generate` take beside the input."""

    run_id: str | None
    """Goes on every chunk; made up when it is not given."""


class Agent(Generic[Out]):
    """Answers inputs with runs.

    `model` is a name ("openai/gpt-5-mini", "local/qwen2.5-coder-0.5b"), a model, or a list of these: the others are
    asked in order when the first fails. `tools` are functions (see `tool`) or Tools. A run stops after `max_steps`
    steps or when one of `stop_when` says so; after 5 steps when neither is given. `max_retries` counts further tries of
    a failed model call, `timeout` is in seconds.

    `output` is what answers are to be (a pydantic model or any other type, a JSON Schema, a StructuredOutput);
    `processors` look at what goes in and comes out, and may change or stop it. Tools that say nothing of it themselves
    wait for approval when `require_tool_approval` is True, or a function of the arguments that says so. Runs that wait
    are kept in the `store` (in memory without one), from which `resume_stream` takes them, for `lease` seconds at a
    time; `memory` is what the agent remembers of threads there. An Agent among the tools gets tasks handed to it.

    An agent keeps no state: any number of runs may go on side by side.
    """

    def __init__(
        self,
        name: str,
        *,
        model: str | Model | Sequence[str | Model],
        instructions: str | Sequence[str] | None = None,
        tools: Sequence[Tool | Agent | Source | Callable[..., Any]] | None = None,
        max_steps: int | None = None,
        stop_when: StopWhen | Sequence[StopWhen] | None = None,
        settings: Settings | None = None,
        provider_options: Mapping[str, Mapping[str, Any]] | None = None,
        timeout: Timeout | None = None,
        max_retries: int = 2,
        tool_concurrency: int = 10,
        description: str = "",
        output: Wanted[Out] | None = None,
        processors: Sequence[Processor] = (),
        max_processor_retries: int | None = None,
        require_tool_approval: Approval = False,
        store: AnyStore | None = None,
        memory: Memory | None = None,
        lease: float = LEASE,
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
                "processors": processors,
                "max_processor_retries": max_processor_retries,
                "memory": memory,
            }
        )
        check_lease(lease)
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
        self.description = description
        self.output = _structured(output)
        self.processors = list(processors)
        self.max_processor_retries = max_processor_retries
        self.require_tool_approval = require_tool_approval
        self.store: AnyStore = InMemoryStore()
        self._has_own_store = False
        if store is not None:
            self.use_store(store)
            self._has_own_store = True
        self._parent_run_id: str | None = None
        self._under_way: set[asyncio.Task[Any]] = set()
        self.memory = memory
        self.lease = lease

    def use_store(self, store: AnyStore) -> None:
        """Keep runs that wait, and threads, there from now on, unless a store was given to the agent itself. Raises
        ConfigError for what is no store, such as the URL of one.
        """
        check_store(store)
        if not self._has_own_store:
            self.store = store

    def inside(self, run_id: str, store: AnyStore) -> Agent[Out]:
        """This agent for the tasks that the run `run_id` of another hands to it: its own runs are part of that one, and
        kept where that is, unless a store was given to the agent itself.
        """
        made = copy(self)
        made.use_store(store)
        made._parent_run_id = run_id
        return made

    def stream(self, input: Input, /, **options: Unpack[RunOptions]) -> Run[Out]:
        """Start a run; the options are those of RunOptions.

        Raises ConfigError for an input or option that cannot work; whatever happens in the run is a chunk.
        """
        given = _given(options)
        plan = self._plan(input, given)
        keeper = self._keeper(plan.run_id, plan.message_id, given)
        return self._run(plan, keeper, None, detached=bool(given.get("detached")))

    async def resume_stream(
        self, data: Any, /, *, run_id: str, tool_call_id: str | None = None, **options: Unpack[ResumeOptions]
    ) -> Run[Out]:
        """Go on with a run that waits, in this process or another: `data` is the answer to one of its calls.

        `tool_call_id` says which when several wait. The options of the run are those that it was started with, but for
        `deps` and what is code (functions, tools, processors, types), which have to be given again; what is given here
        takes their place. Raises RunNotSuspendedError when there is nothing to resume, ConfigError for an answer to no
        call and for one that is no JSON: the run waits on then.
        """
        given = _given(cast("RunOptions", options))
        held = await claimed(
            self.store, run_id, agent_id=self.name, parent_run_id=self._parent_run_id, lease=self.lease
        )
        try:
            saved = SavedRun.of(held.state, held.calls).answered(tool_call_id, data)
            restored = {**restored_options(saved.options), "context": saved.context}
            given = cast("RunOptions", {**restored, **given, "run_id": run_id})
            plan = self._plan([*saved.system], given)
            keeper = self._keeper(run_id, saved.message_id, given, held)
        except Exception:  # nothing has happened: it waits on
            await self.store.suspend(held)
            raise
        return self._run(plan, keeper, saved, detached=bool(given.get("detached")))

    async def approve_tool_call(
        self, *, run_id: str, tool_call_id: str | None = None, **options: Unpack[ResumeOptions]
    ) -> Run[Out]:
        """Let a call run that waits for approval. Raises as `resume_stream` does, and ConfigError for a call that waits
        for something else.
        """
        return await self.resume_stream(Decision(True), run_id=run_id, tool_call_id=tool_call_id, **options)

    async def decline_tool_call(
        self,
        *,
        run_id: str,
        tool_call_id: str | None = None,
        reason: str | None = None,
        **options: Unpack[ResumeOptions],
    ) -> Run[Out]:
        """Do not let a call run that waits for approval; the model is told, with the reason. Raises as
        `approve_tool_call` does.
        """
        decision = Decision(False, reason)
        return await self.resume_stream(decision, run_id=run_id, tool_call_id=tool_call_id, **options)

    async def list_suspended_runs(
        self,
        *,
        thread_id: str | None = None,
        resource_id: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> Page[Snapshot]:
        """The runs of this agent that wait or, with the status "running", are being resumed; the oldest first. Runs
        that are part of another wait with that one, and are not among them.
        """
        return await self.store.list_snapshots(
            agent_id=self.name,
            thread_id=thread_id,
            resource_id=resource_id,
            outermost=True,
            limit=limit,
            offset=offset,
        )

    def runs_under_way(self) -> list[asyncio.Task[Any]]:
        """The tasks of this agent's runs in the current event loop."""
        loop = asyncio.get_running_loop()
        return [task for task in tuple(self._under_way) if task.get_loop() is loop]

    async def generate(self, input: Input, /, **options: Unpack[RunOptions]) -> Result[Out]:
        """Run to the end and give the result. Takes what `stream` takes; raises RunError when the run fails."""
        return await self.stream(input, **options).result()

    def _run(self, plan: Plan, keeper: Keeper, saved: SavedRun | None, *, detached: bool) -> Run[Out]:
        values: list[Any] = []

        async def work(log: Log[ChunkType], cancellation: Cancellation) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._under_way.add(task)
            try:
                await AgentLoop(plan, log, cancellation, keeper, saved, values).run()
            finally:
                self._under_way.discard(task)

        before = () if saved is None else saved.log
        return Run(work, run_id=plan.run_id, detached=detached, before=before, output=plan.output, values=values)

    def _plan(self, input: Input, options: RunOptions) -> Plan:
        context = options.get("context")
        run_id = options.get("run_id") or str(uuid.uuid4())
        known = {**self.tools, **_by_name(options.get("tools") or ())}
        tools = {name: inside(tool, run_id, self.store) for name, tool in known.items()}
        given = to_messages(input)
        if "thread_id" in options:
            check_message_ids(given)
        active = options.get("active_tools")
        retries = options.get("max_retries")
        processors = options.get("processors")
        approval = options.get("require_tool_approval")
        return Plan(
            run_id=run_id,
            message_id=str(uuid.uuid4()),
            agent_id=self.name,
            models=self.models,
            instructions=self._system_messages(options, given),
            system=[message for message in given if isinstance(message, SystemMessage)],
            context=to_messages(context) if context is not None else [],
            messages=[message for message in given if not isinstance(message, SystemMessage)],
            tools=tools,
            tool_choice=checked_choice(options.get("tool_choice") or "auto", offered(tools, active)),
            active_tools=active,
            stop_when=self._stop_conditions(options),
            prepare_step=options.get("prepare_step"),
            on_iteration=options.get("on_iteration"),
            task_complete=options.get("task_complete"),
            processors=self.processors if processors is None else processors,
            max_processor_retries=options.get("max_processor_retries", self.max_processor_retries),
            output=_structured(options["output"]) if "output" in options else self.output,
            require_tool_approval=self.require_tool_approval if approval is None else approval,
            settings=laid_over(self.settings, options.get("settings")),
            provider_options=merged(self.provider_options, options.get("provider_options")),
            include_raw=options.get("include_raw", False),
            timeout=laid_over(self.timeout, options.get("timeout")),
            tool_concurrency=options.get("tool_concurrency") or self.tool_concurrency,
            max_retries=self.max_retries if retries is None else retries,
            deps=options.get("deps"),
            saved_options=saved_options(options),
        )

    def _keeper(self, run_id: str, message_id: str, options: RunOptions, held: Snapshot | None = None) -> Keeper:
        thread_id = held.thread_id if held is not None else options.get("thread_id")
        if thread_id is not None and self.memory is None:
            raise ConfigError(f"agent '{self.name}' has no memory for a thread: Agent(…, memory=Memory())")
        return Keeper(
            self.store,
            run_id=run_id,
            message_id=message_id,
            agent_id=self.name,
            memory=self.memory,
            thread_id=thread_id,
            resource_id=held.resource_id if held is not None else options.get("resource_id"),
            held=held,
            parent_run_id=self._parent_run_id,
            lease=self.lease,
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


_OPTIONS = {*ResumeOptions.__annotations__, *RunOptions.__annotations__}


def _given(options: RunOptions) -> RunOptions:
    unknown = options.keys() - _OPTIONS
    if unknown:
        raise ConfigError(f"a run has no option {', '.join(sorted(unknown))}; see riverrun.agent.RunOptions")
    check_options(options)
    return cast("RunOptions", {name: value for name, value in options.items() if value is not None})


def _texts(texts: str | Sequence[str] | None) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts or ())


def _listed(conditions: StopWhen | Sequence[StopWhen] | None) -> list[StopWhen]:
    return [conditions] if callable(conditions) else list(conditions or ())


def _structured(output: Any) -> StructuredOutput[Any] | None:
    made: StructuredOutput[Any] | None = output
    return made if output is None or isinstance(output, StructuredOutput) else StructuredOutput(output)


def _tool(item: Tool | Agent[Any] | Source | Callable[..., Any]) -> Tool:
    if isinstance(item, Tool):
        return item
    if isinstance(item, Agent):
        return delegate(item)  # pyright: ignore[reportUnknownArgumentType]
    return source_tool(item) if is_source(item) else tool(cast("Callable[..., Any]", item))


def _by_name(tools: Sequence[Tool | Agent | Source | Callable[..., Any]]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for item in tools:
        made = _tool(item)
        if made.name in found:
            raise ConfigError(f"two tools are named '{made.name}'")
        found[made.name] = made
    return found
