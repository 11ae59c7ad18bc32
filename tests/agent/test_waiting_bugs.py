"""Faults that users of other libraries reported, on runs that wait and agents inside agents: none is ours."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from riverrun import Agent, ConfigError, Run, ToolContext, tool
from riverrun.chunks import (
    ToolCallDeltaChunk,
    ToolCallSuspendedChunk,
    ToolOutputChunk,
    ToolResultChunk,
)
from riverrun.errors import RunNotSuspendedError
from riverrun.models import ScriptedModel
from riverrun.models.parts import Part
from tests.agent.scripts import agent_of, assert_well_formed, call, finish, of, read, says, types


def several(name: str, *ids: str) -> list[Part]:
    """A whole answer that calls one tool several times."""
    return [*(call(name, id) for id in ids), finish("tool-calls")]


@tool
async def ask(ctx: ToolContext) -> str:
    return f"said {await ctx.suspend('well?')!r}"


def asked(run: Run) -> list[str]:
    """The calls that suspended themselves, as the stream says."""
    return [chunk.payload.tool_call_id for chunk in of(ToolCallSuspendedChunk, run.chunks)]


async def test_calls_that_suspend_again_after_their_first_answer_are_all_kept() -> None:
    """mastra-ai/mastra#24581"""

    @tool
    async def ask2(ctx: ToolContext) -> list[Any]:
        return [await ctx.suspend("first?"), await ctx.suspend("second?")]

    agent = agent_of(several("ask2", "a", "b", "c"), says("ok"), tools=[ask2])
    run = agent.stream("hi", run_id="r")
    await read(run)
    for call_id in "abc":
        run = await agent.resume_stream(1, run_id="r", tool_call_id=call_id)
        await read(run)
    assert asked(run) == ["a", "b", "c"]
    assert {chunk.payload.suspend_payload for chunk in of(ToolCallSuspendedChunk, run.chunks)} == {"second?"}
    for call_id in "cba":
        run = await agent.resume_stream(2, run_id="r", tool_call_id=call_id)
        await read(run)
    assert [chunk.payload.result for chunk in await run.tool_results] == [[1, 2]] * 3
    assert await run.text == "ok"


async def test_every_call_that_suspends_itself_is_told_before_the_stream_ends() -> None:
    """langchain-ai/langgraph#3886"""
    run = agent_of(several("ask", "a", "b"), tools=[ask]).stream("hi")
    chunks = await read(run)
    assert asked(run) == ["a", "b"]
    assert types(chunks)[-2:] == ["tool-call-suspended"] * 2


@pytest.mark.parametrize("verb", ["approve_tool_call", "decline_tool_call"])
async def test_a_decision_on_a_call_that_does_not_wait_runs_nothing(verb: str) -> None:
    """mastra-ai/mastra#19377"""
    deleted: list[str] = []

    @tool(requires_approval=True)
    async def delete() -> str:
        deleted.append("it")
        return "deleted"

    agent = agent_of(several("delete", "a"), says("ok"), tools=[delete])
    await read(agent.stream("hi", run_id="r"))
    with pytest.raises(ConfigError, match="one of the calls that wait: a; not 'zzz'"):
        await getattr(agent, verb)(run_id="r", tool_call_id="zzz")
    assert deleted == []
    waiting = (await agent.list_suspended_runs()).items[0]
    assert (waiting.status, [pending.tool_call_id for pending in waiting.calls]) == ("suspended", ["a"])
    assert await (await agent.approve_tool_call(run_id="r", tool_call_id="a")).text == "ok"
    assert deleted == ["it"]


async def test_a_run_that_waits_keeps_each_payload_once() -> None:
    """mastra-ai/mastra#17738"""
    size = 256 * 1024
    number = 0

    @tool
    async def blob() -> dict[str, Any]:
        nonlocal number
        number += 1
        return {"rows": [f"{number} {row} ".ljust(64, "x") for row in range(size // 64)]}

    @tool(requires_approval=True)
    async def danger() -> str:
        return "done"

    answers = [*[several("blob", "t1")] * 10, several("danger", "t2"), says("ok")]
    agent = agent_of(*answers, tools=[blob, danger], max_steps=20)
    await read(agent.stream("hi", run_id="r"))
    kept = await agent.store.get_snapshot("r")
    assert kept is not None
    assert len(msgspec.json.encode([kept.state, kept.calls])) < 1.5 * 10 * size
    run = await agent.approve_tool_call(run_id="r")
    results = [chunk.payload.result["rows"][0].split()[0] for chunk in (await run.tool_results)[:10]]
    assert (results, await run.text) == ([str(place) for place in range(1, 11)], "ok")
    told = [str(part) for message in (await run.messages) if message.role == "tool" for part in message.content]
    assert [f"'{place} 0 " in text for place, text in enumerate(told[:10], 1)] == [True] * 10


async def test_of_two_who_resume_at_once_both_come_to_an_end() -> None:
    """mastra-ai/mastra#20429"""
    agent = agent_of(several("ask", "a"), says("ok"), tools=[ask])
    await read(agent.stream("hi", run_id="r"))

    async def resumes() -> str:
        return types(await read(await agent.resume_stream("yes", run_id="r")))[-1]

    async with asyncio.timeout(5):
        ends = await asyncio.gather(resumes(), resumes(), return_exceptions=True)
    assert [type(end) for end in ends if not isinstance(end, str)] == [RunNotSuspendedError]
    assert [end for end in ends if isinstance(end, str)] == ["finish"]


@pytest.mark.parametrize("answer", [False, 0, ""])
async def test_an_answer_that_is_falsy_is_an_answer(answer: Any) -> None:
    """mastra-ai/mastra#21319"""
    got: list[Any] = []

    @tool
    async def confirm(ctx: ToolContext) -> str:
        got.append(await ctx.suspend("sure?"))
        return "ok"

    answers = [call("confirm", "a"), call("ask", "b"), finish("tool-calls")]
    agent = agent_of(answers, says("ok"), tools=[confirm, ask])
    await read(agent.stream("hi", run_id="r"))
    run = await agent.resume_stream(answer, run_id="r", tool_call_id="a")
    await read(run)
    assert (got, asked(run)) == ([answer], ["b"])
    kept = await agent.store.get_snapshot("r")
    assert kept is not None
    assert [pending.tool_call_id for pending in kept.calls] == ["b"]


async def test_the_arguments_that_an_inner_model_writes_come_piece_by_piece() -> None:
    """mastra-ai/mastra#16422"""

    async def note(words: str) -> str:
        return words

    pieces = ['{"words": "', *map(str, range(18)), '"}']
    written: list[Part] = [
        {"type": "tool-input-start", "id": "n1", "toolName": "note"},
        *({"type": "tool-input-delta", "id": "n1", "delta": piece} for piece in pieces),
        {"type": "tool-input-end", "id": "n1"},
        call("note", "n1", "".join(pieces)),
        finish("tool-calls"),
    ]
    inner = Agent("sub", model=ScriptedModel([written, says("noted")]), tools=[note])
    handed = [call("agent-sub", "p1", {"prompt": "note it"}), finish("tool-calls")]
    chunks = await read(agent_of(handed, says("ok"), tools=[inner]).stream("hi", run_id="r"))
    outer = of(ToolOutputChunk, chunks)
    assert {(chunk.run_id, chunk.payload.tool_call_id) for chunk in outer} == {("r", "p1")}
    nested: list[Any] = [chunk.payload.output for chunk in outer]
    assert [chunk.payload.args_text_delta for chunk in of(ToolCallDeltaChunk, nested)] == pieces
    inside = [kind for kind in types(nested) if kind.startswith("tool-call")]
    assert inside == [
        "tool-call-input-streaming-start",
        *["tool-call-delta"] * 20,
        "tool-call-input-streaming-end",
        "tool-call",
    ]
    assert_well_formed(chunks)


async def test_what_a_nested_agent_asks_is_seen_at_the_top_and_on_its_path() -> None:
    """assistant-ui/assistant-ui#4563"""
    inner = Agent("sub", model=ScriptedModel([several("ask", "i1"), says("in")]), tools=[ask])
    handed = [call("agent-sub", "p1", {"prompt": "ask"}), finish("tool-calls")]
    agent = agent_of(handed, says("ok"), tools=[inner])
    chunks = await read(agent.stream("hi", run_id="r"))
    on_its_path, at_the_top = chunks[-2:]
    assert isinstance(on_its_path, ToolOutputChunk)
    assert isinstance(at_the_top, ToolCallSuspendedChunk)
    inside = on_its_path.payload.output
    assert isinstance(inside, ToolCallSuspendedChunk)
    assert (on_its_path.payload.tool_call_id, inside.payload.tool_call_id) == ("p1", "i1")
    assert at_the_top.payload.tool_call_id == "p1"
    assert at_the_top.payload.suspend_payload == inside.payload.suspend_payload == "well?"
    run = await agent.resume_stream("fine", run_id="r", tool_call_id="p1")
    results = of(ToolResultChunk, [chunk.payload.output for chunk in of(ToolOutputChunk, await read(run))])
    assert [chunk.payload.result for chunk in results] == ["said 'fine'"]
