"""App: agents on one store."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverrun import Agent, App, ConfigError, ToolContext, tool
from riverrun.agent import Memory
from riverrun.errors import RunNotSuspendedError
from riverrun.testing import ScriptedModel

ASKS = [
    {"type": "tool-call", "toolCallId": "c1", "toolName": "ask", "input": "{}"},
    {"type": "finish", "finishReason": "tool-calls", "usage": {}},
]


@tool
async def ask(ctx: ToolContext) -> str:
    """Ask the user."""
    return f"said {await ctx.suspend('well?')}"


def asking(*answers: str) -> Agent:
    return Agent("asker", model=ScriptedModel([ASKS, *answers]), tools=[ask], memory=Memory())


async def test_a_run_that_waits_outlives_the_app(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    async with App([asking()], store=url) as app:
        run = app.agent("asker").stream("hi", run_id="r1", thread_id="t", resource_id="u")
        assert (await run.result()).status == "suspended"
    model = ScriptedModel(["Fine."])
    async with App([Agent("asker", model=model, tools=[ask], memory=Memory())], store=url) as app:
        resumed = await app.resume_stream("yes", run_id="r1")
        assert await resumed.text == "Fine."
        kept = [item.message.role for item in await app.store.last_messages("t", 10)]
        assert kept == ["user", "assistant", "tool", "assistant"]
        with pytest.raises(RunNotSuspendedError, match="r1"):
            await app.resume_stream("again", run_id="r1")


async def test_agents_that_tasks_are_handed_to_use_the_same_store(tmp_path: Path) -> None:
    inner = asking()
    outer = Agent("outer", model=ScriptedModel(["Hi."]), tools=[inner])
    async with App([outer], store=f"sqlite:///{tmp_path / 'app.db'}") as app:
        assert inner.store is outer.store is app.store


async def test_without_a_store_runs_wait_in_memory() -> None:
    async with App([asking("Fine.")]) as app:
        run = app.agent("asker").stream("hi")
        assert (await run.result()).status == "suspended"
        assert await (await app.resume_stream("yes", run_id=run.run_id)).text == "Fine."


def test_what_is_no_store_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"a store is .*, not int"):
        App([], store=5)  # type: ignore[arg-type]


def test_two_agents_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two agents are named 'asker'"):
        App([asking(), asking()])


def test_an_agent_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="there is no agent 'asks', but asker"):
        App([asking()]).agent("asks")


def test_the_store_of_a_url_is_there_only_inside_the_block() -> None:
    with pytest.raises(ConfigError, match="async with App"):
        _ = App([asking()], store="sqlite://").store
