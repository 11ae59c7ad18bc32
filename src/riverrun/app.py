"""App: the composition root. It opens the store, gives it to the agents, and finds what belongs to a run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Unpack

from riverrun.agent import Agent, Run
from riverrun.agent.agent import ResumeOptions
from riverrun.errors import ConfigError, RunNotSuspendedError
from riverrun.store import AnyStore, InMemoryStore
from riverrun.store.any_store import check_store
from riverrun.streams import brought_to_end

_ENDING = 30.0
"""Seconds that runs get to end and to keep what was said."""

_CLOSED = "the store is opened by `async with App(…) as app`"


class App:
    """Agents on one store.

        async with App([support, billing], store="sqlite:///app.db") as app:
            run = app.agent("support").stream("Hi", thread_id="t1", resource_id="user-7")

    `store` is a URL ("sqlite:///file.db", "postgresql://…") or a store of the caller's own; in memory without one. A
    URL is opened when the block is entered and closed when it is left; runs under way then are ended first, and those
    of them that were resumed wait on in the store. Every process with the same agents and the same database can resume
    the runs of all. Raises ConfigError for two agents of one name and for what is no store.
    """

    def __init__(self, agents: Sequence[Agent], *, store: str | AnyStore | None = None) -> None:
        self._agents: dict[str, Agent] = {}
        for agent in agents:
            if agent.name in self._agents:
                raise ConfigError(f"two agents are named '{agent.name}'")
            self._agents[agent.name] = agent
        self._url = store if isinstance(store, str) else None
        self._store: AnyStore | None = None
        self._opened: Any = None
        if not isinstance(store, str):
            self._use(InMemoryStore() if store is None else store)

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by name."""
        return self._agents

    @property
    def store(self) -> AnyStore:
        """The store. Raises ConfigError when it is one of a URL and not open."""
        if self._store is None:
            raise ConfigError(_CLOSED)
        return self._store

    def agent(self, name: str) -> Agent:
        """The agent of this name. Raises ConfigError when there is none, and as `store` does."""
        if name not in self._agents:
            raise ConfigError(f"there is no agent '{name}', but {', '.join(self._agents) or 'none at all'}")
        if self._store is None:  # a run would wait where nobody finds it
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

            self._opened = await Store.open(self._url)
            self._use(self._opened)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._opened is not None:
            await brought_to_end(self._close(asyncio.current_task()))

    def _use(self, store: AnyStore) -> None:
        check_store(store)
        self._store = store
        for agent in self._agents.values():
            agent.use_store(store)

    async def _close(self, leaving: asyncio.Task[Any] | None) -> None:
        """End the runs under way in this event loop as the end of the program would, and close the store."""
        runs = [task for agent in self._agents.values() for task in agent.runs_under_way() if task is not leaving]
        for task in runs:
            task.cancel()
        if runs:
            await asyncio.wait(runs, timeout=_ENDING)
        opened, self._opened, self._store = self._opened, None, None
        await opened.aclose()
