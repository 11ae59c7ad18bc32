"""App: agents on one store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from riverrun import Agent, App, ConfigError, Run, ToolContext, tool
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
    hands = [{**ASKS[0], "toolName": "agent-asker", "input": '{"prompt": "ask"}'}, ASKS[1]]
    outer = Agent("outer", model=ScriptedModel([hands, "Hi."]), tools=[asking("Fine.")])
    async with App([outer], store=f"sqlite:///{tmp_path / 'app.db'}") as app:
        assert (await outer.generate("hi", run_id="r1")).status == "suspended"
        assert {each.agent_id for each in (await app.store.list_snapshots()).items} == {"outer", "asker"}
        assert await (await app.resume_stream("yes", run_id="r1")).text == "Hi."


def waiting(begun: list[str] | None = None) -> Agent:
    """An agent whose tool waits for ever once it is approved; it says so in `begun`."""

    @tool(requires_approval=True)
    async def wait() -> str:
        if begun is not None:
            begun.append("wait")
        await asyncio.sleep(3600)
        return "done"

    return Agent("waiter", model=ScriptedModel([[{**ASKS[0], "toolName": "wait"}, ASKS[1]], "Done."]), tools=[wait])


async def test_a_resumed_run_that_is_under_way_when_the_app_is_left_waits_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    async with App([waiting()], store=url) as app:
        await app.agent("waiter").generate("hi", run_id="r1")
        run = await app.resume_stream(True, run_id="r1")
        await asyncio.sleep(0.01)
    assert run.status == "canceled"
    async with App([waiting()], store=url) as app:
        (kept,) = (await app.agent("waiter").list_suspended_runs()).items
        assert kept.status == "suspended"
        (await app.resume_stream(True, run_id="r1")).cancel()


HANDS = [{**ASKS[0], "toolName": "agent-waiter", "input": '{"prompt": "wait"}'}, ASKS[1]]


@pytest.mark.parametrize("has_inner", [True, False])
async def test_a_run_inside_of_a_resumed_one_waits_on_with_it(tmp_path: Path, has_inner: bool) -> None:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    begun: list[str] = []
    inner = waiting(begun)
    outer = Agent("outer", model=ScriptedModel([HANDS, "Done."]), tools=[inner])
    agents = [inner, outer] if has_inner else [outer]
    async with App(agents, store=url) as app:
        await outer.generate("hi", run_id="r1")
    for time in range(2):  # given back once, it still takes the answer the next time
        async with App(agents, store=url) as app:
            run = await app.resume_stream(True, run_id="r1")
            while len(begun) == time and run.status == "running":  # noqa: ASYNC110 - it is a tool that begins
                await asyncio.sleep(0.001)
        assert len(begun) == time + 1
        async with App(agents, store=url) as app:
            kept = (await app.store.list_snapshots()).items
            assert {(each.agent_id, each.status) for each in kept} == {("outer", "suspended"), ("waiter", "suspended")}
    (model,) = inner.models
    assert isinstance(model, ScriptedModel)
    assert len(model.requests) == 1


async def test_a_run_that_was_started_just_before_the_app_is_left_ends_well() -> None:
    async with App([waiting()], store="sqlite://") as app:
        run = app.agent("waiter").stream("hi")
    assert run.status in ("canceled", "suspended")
    assert run.chunks[-1].type in ("finish", "tool-call-approval")


async def test_leaving_ends_all_runs_before_any_goes_on_with_what_another_left() -> None:
    says = [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "half"}]
    inner = Agent("waiter", model=ScriptedModel([[*says, {"type": "$await_abort"}]]))
    model = ScriptedModel([HANDS, "Done."])
    outer = Agent("outer", model=model, tools=[inner])
    async with App([inner, waiting_for_ever(), outer], store="sqlite://"):
        run = outer.stream("hi")
        async for chunk in run:
            if chunk.type == "tool-output" and "half" in str(chunk):
                break
    assert (run.status, len(model.requests)) == ("canceled", 1)


def waiting_for_ever() -> Agent:
    return Agent("other", model=ScriptedModel([[{"type": "$await_abort"}]]))


async def test_a_cancelled_run_that_is_left_while_it_is_kept_ends_whole(tmp_path: Path) -> None:
    says = [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "Wel"}]
    agent = Agent("a", model=ScriptedModel([[*says, {"type": "$await_abort"}]]), memory=Memory())
    async with App([agent], store=f"sqlite:///{tmp_path / 'app.db'}"):
        run = agent.stream("hi", thread_id="t")
        async for chunk in run:
            if chunk.type == "text-delta":
                break
        run.cancel()
        await asyncio.sleep(0)
    assert (run.status, [chunk.type for chunk in run.chunks][-2:]) == ("canceled", ["abort", "finish"])


async def test_the_store_is_closed_even_when_leaving_is_cancelled() -> None:
    async def stubborn() -> None:
        async with App([waiting()], store="sqlite://") as app:
            opened.append(app)
            await app.agent("waiter").generate("hi", run_id="r1")
            resumed.append(await app.resume_stream(True, run_id="r1"))

    resumed: list[Run] = []
    opened: list[App] = []
    leaving = asyncio.create_task(stubborn())
    while not leaving.done():
        await asyncio.sleep(0)
        if opened and resumed:
            leaving.cancel()
    store = opened[0].agents["waiter"].store
    with pytest.raises(ConfigError, match="this store is closed"):
        await store.get_snapshot("r1")


async def test_what_was_said_in_a_run_that_is_under_way_when_the_app_is_left_is_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'app.db'}"
    says = [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "Wel"}]
    agent = Agent("a", model=ScriptedModel([[*says, {"type": "$await_abort"}]]), memory=Memory())
    async with App([agent], store=url) as app:
        run = app.agent("a").stream("hi", thread_id="t")
        async for chunk in run:
            if chunk.type == "text-delta":
                break
    async with App([agent], store=url) as app:
        assert [item.message.role for item in await app.store.last_messages("t", 10)] == ["user", "assistant"]


async def test_a_resume_that_is_given_up_leaves_the_run_to_others(tmp_path: Path) -> None:
    async with App([asking("Fine.")], store=f"sqlite:///{tmp_path / 'app.db'}") as app:
        await app.agent("asker").generate("hi", run_id="r1")
        for turns in range(40):
            resuming = asyncio.create_task(app.resume_stream("yes", run_id="r1"))
            for _ in range(turns):
                await asyncio.sleep(0)
            if not resuming.cancel():
                break
            with pytest.raises(asyncio.CancelledError):
                await resuming
            kept = await app.store.get_snapshot("r1")
            assert kept is not None
            assert kept.status == "suspended"


def test_an_agent_of_an_app_that_is_not_entered_has_no_store_yet() -> None:
    with pytest.raises(ConfigError, match="async with App"):
        App([asking()], store="sqlite://").agent("asker")


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
