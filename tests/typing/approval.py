"""What type checkers know of calls that wait: for approval, or for an answer. Only checked, never run."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_type

from riverrun import Agent, Memory, Run, ToolContext, tool
from riverrun.agent import Candidate, Score, Scorer, TaskComplete
from riverrun.store import InMemoryStore, Page, PendingCall, Snapshot
from riverrun.tools import Tool


def is_dear(args: Mapping[str, Any], ctx: ToolContext[Any]) -> bool:
    return bool(args["euros"] > 100) and ctx.tool_name == "pay"


async def is_dear_later(args: Any, ctx: ToolContext[Any]) -> bool:
    return is_dear(args, ctx)


def wrong(args: Any) -> bool:
    return True


@tool(requires_approval=is_dear)
async def pay(euros: int) -> str:
    return "paid"


@tool
async def ask(ctx: ToolContext[int]) -> str:
    assert_type(await ctx.suspend({"question": "which?"}), Any)
    assert_type(ctx.deps, int)
    return "asked"


agent = Agent("a", model="m", tools=[pay, ask], require_tool_approval=is_dear_later, store=InMemoryStore())


def options() -> None:
    assert_type(pay, Tool)
    agent.stream("hi", require_tool_approval=True)
    agent.stream("hi", require_tool_approval=is_dear, thread_id="t1", resource_id="ada")
    agent.stream("hi", require_tool_approval="yes")  # type: ignore[arg-type]
    Agent("a", model="m", require_tool_approval=wrong)  # type: ignore[arg-type]
    Agent("a", model="m", memory=Memory(last_messages=5, save_per_step=True, read_only=False, generate_title=True))
    Agent("a", model="m", memory=Memory(last_messages="5"))  # type: ignore[arg-type]


async def verbs() -> None:
    assert_type(await agent.resume_stream({"any": "JSON"}, run_id="r1", tool_call_id="c1", deps=1), Run[Any])
    assert_type(await agent.approve_tool_call(run_id="r1"), Run[Any])
    assert_type(await agent.decline_tool_call(run_id="r1", tool_call_id="c1", reason="too dear"), Run[Any])
    await agent.approve_tool_call("r1")  # type: ignore[call-arg]
    waiting = await agent.list_suspended_runs(thread_id="t1", limit=10)
    assert_type(waiting, Page[Snapshot])
    assert_type(waiting.items[0].calls, Sequence[PendingCall])
    assert_type(await agent.stream("hi").suspend_payload, Any)


def is_long(candidate: Candidate) -> bool:
    assert_type(candidate.text, str)
    return len(candidate.text) > 10


async def has_sources(candidate: Candidate) -> Score:
    return Score(1 if "source" in candidate.text else 0, "no source is named")


def completion() -> None:
    done = TaskComplete(scorers=[is_long, has_sources, Scorer(is_long, id="long")], strategy="any", timeout=5)
    agent.stream("hi", task_complete=done)
    agent.stream("hi", task_complete=is_long)  # type: ignore[arg-type]
    TaskComplete(scorers=[is_long], strategy="most")  # type: ignore[arg-type]
