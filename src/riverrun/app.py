"""App: the composition root. It opens the store, gives it to the agents, and finds what belongs to a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Unpack

from riverrun.agent import Agent, Run
from riverrun.agent.agent import ResumeOptions
from riverrun.errors import ConfigError, RunNotSuspendedError
from riverrun.store import AnyStore, InMemoryStore
from riverrun.store.any_store import check_store

_CLOSED = "the store is opened by `async with App(…) as app`"


class App:
    """Agents on one store.

        async with App([support, billing], store="sqlite:///app.db") as app:
            run = app.agent("support").stream("Hi", thread_id="t1", resource_id="user-7")

    `store` is a URL ("sqlite:///file.db", "postgresql://…"), which is opened when the block is entered and closed when
    it is left, or a store of the caller's own; in memory without one. Runs under way when the block is left end then;
    those of them that were resumed wait on in the store. Every process with the same agents and the same database can
    resume the runs of all. Raises ConfigError for two agents of one name and for what is no
    store.
    """

    def __init__(self, agents: Sequence[Agent], *, store: str | AnyStore | None = None) -> None:
        self._agents: dict[str, Agent] = {}
        for agent in agents:
            if agent.name in self._agents:
                raise ConfigError(f"two agents are named '{agent.name}'")
            self._agents[agent.name] = agent
        self._url = store if isinstance(store, str) else None
        self._store: AnyStore | None = None if isinstance(store, str) else store or InMemoryStore()
        if self._store is not None:
            check_store(self._store)
        self._opened: Any = None

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by name."""
        return self._agents

    @property
    def store(self) -> AnyStore:
        """The store. Raises ConfigError when the app was not entered."""
        if self._store is None:
            raise ConfigError(_CLOSED)
        return self._store

    def agent(self, name: str) -> Agent:
        """The agent of this name. Raises ConfigError when there is none, and when the store is not open."""
        if name not in self._agents:
            raise ConfigError(f"there is no agent '{name}', but {', '.join(self._agents) or 'none at all'}")
        if self._store is None:
            raise ConfigError(_CLOSED)
        return self._agents[name]

    async def resume_stream(
        self, data: Any, /, *, run_id: str, tool_call_id: str | None = None, **options: Unpack[ResumeOptions]
    ) -> Run:
        """Go on with a run that waits, by whichever agent it is; see Agent.resume_stream."""
        found = await self.store.get_snapshot(run_id)
        if found is None:
            raise RunNotSuspendedError(run_id, "there is no suspended run of this id; it may be over by now")
        agent = self.agent(found.agent_id)
        return await agent.resume_stream(data, run_id=run_id, tool_call_id=tool_call_id, **options)

    async def __aenter__(self) -> App:
        if self._url is not None:
            from riverrun.store import Store

            self._store = self._opened = await Store.open(self._url)
        for agent in self._agents.values():
            agent.use_store(self.store)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for agent in self._agents.values():
            await agent.end_runs()
        if self._opened is not None:
            self._store = None
            await self._opened.aclose()
