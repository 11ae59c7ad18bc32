"""Runs that are treated badly end all the same, and say what happened."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Any

import pytest

from riverrun import Agent, NamedTool, Run, RunError, StepChanges, Timeout, streams, tool
from riverrun.agent.cancellation import Cancellation
from riverrun.chunks import ChunkType, ErrorChunk, ToolErrorChunk, ToolResultChunk
from riverrun.models import ScriptedModel
from riverrun.streams import LOOK_AHEAD, Log
from tests.agent.scripts import agent_of, calls, finish, of, read, says, text, types


@tool
def leaves() -> None:
    """Leave."""
    sys.exit(3)


@tool
async def leaves_async() -> None:
    """Leave."""
    sys.exit(3)


@pytest.mark.parametrize("name", ["leaves", "leaves_async"])
async def test_a_tool_cannot_end_the_program(name: str) -> None:
    agent = agent_of(calls(name), says("I stay."), tools=[leaves, leaves_async])
    chunks = await read(agent.stream("hi"))
    (error,) = of(ToolErrorChunk, chunks)
    assert "SystemExit" in str(error.payload.error) or "end the program" in str(error.payload.error)
    assert types(chunks)[-1] == "finish"


async def test_work_that_breaks_is_a_failed_run() -> None:
    async def work(log: Log[ChunkType], cancellation: Cancellation) -> None:
        raise ZeroDivisionError("broken")

    run = Run(work, run_id="r")
    with pytest.raises(RunError, match="broken"):
        await run.result()
    assert run.status == "failed"
    assert types(await read(run)) == ["error", "finish"]


async def test_a_detached_run_lives_without_a_handle() -> None:
    ended = asyncio.Event()
    go_on = asyncio.Event()

    @tool
    async def waits() -> str:
        """Wait."""
        await go_on.wait()
        ended.set()
        return "done"

    agent = agent_of(calls("waits"), says("ok"), tools=[waits])
    agent.stream("hi", detached=True)
    await asyncio.sleep(0.01)
    gc.collect()
    go_on.set()
    await asyncio.wait_for(ended.wait(), 5)
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_reader_that_takes_its_time_is_no_timeout_of_the_model() -> None:
    answer = [*text(*["x"] * (LOOK_AHEAD * 2)), finish()]
    run = agent_of(answer).stream("hi", timeout=Timeout(step=0.2, first_chunk=0.2))
    chunks: list[ChunkType] = []
    async for chunk in run:
        chunks.append(chunk)
        if len(chunks) == 10:
            await asyncio.sleep(0.3)
    assert run.status == "success"
    assert len(await run.text) == LOOK_AHEAD * 2


async def test_asking_for_the_error_at_every_chunk_folds_each_chunk_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from riverrun.chunks import Fold

    folded = 0
    add = Fold.add

    def counted(self: Fold, chunk: ChunkType) -> None:
        nonlocal folded
        folded += 1
        add(self, chunk)

    monkeypatch.setattr(Fold, "add", counted)
    run = agent_of(says("a b c d e f")).stream("hi")
    chunks = [chunk async for chunk in run if run.error is None and run.tripwire is None]
    assert folded == len(chunks)


async def test_a_tool_that_takes_no_cancellation_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "GRACE", 0.02)
    release = asyncio.Event()

    @tool
    async def stubborn() -> str:
        """Go on whatever comes."""
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    agent = agent_of(calls("stubborn"), says("never"), tools=[stubborn])
    chunks = await read(agent.stream("hi", timeout=Timeout(total=0.02)))
    assert types(chunks)[-2:] == ["error", "finish"]
    assert not of(ToolResultChunk, chunks)
    release.set()
    for _ in range(5):
        await asyncio.sleep(0)


@tool
def a() -> str:
    """A."""
    return "a"


@tool
def b() -> str:
    """B."""
    return "b"


@pytest.mark.parametrize(
    ("choice", "active", "complaint"),
    [
        ("requird", None, "tool_choice is"),
        ({"type": "tool", "toolName": "a"}, None, "tool_choice is"),
        (NamedTool("a"), ["b"], "no tool that is offered: a"),
    ],
)
async def test_a_tool_choice_that_cannot_be_made_is_refused(choice: Any, active: Any, complaint: str) -> None:
    agent = Agent("x", model=ScriptedModel([]), tools=[a, b])
    with pytest.raises(Exception, match=complaint):
        agent.stream("hi", tool_choice=choice, active_tools=active)


async def test_a_steps_tool_choice_that_cannot_be_made_is_the_runs_error() -> None:
    agent = Agent("x", model=ScriptedModel([]), tools=[a])
    chunks = await read(agent.stream("hi", prepare_step=lambda _: StepChanges(tool_choice=NamedTool("zzz"))))
    (error,) = of(ErrorChunk, chunks)
    assert "zzz" in str(error.payload.error)


async def test_a_provider_that_wants_a_long_wait_is_not_asked_again() -> None:
    from riverrun import ModelError

    model = ScriptedModel([ModelError("later", retryable=True, retry_after=600.0), "never"])
    with pytest.raises(RunError, match="later"):
        await Agent("x", model=model).generate("hi")
    assert len(model.requests) == 1


async def test_plain_tools_run_side_by_side_however_many() -> None:
    import threading

    together = threading.Barrier(10, timeout=5)

    @tool
    def meets() -> str:
        """Wait for the nine others."""
        together.wait()
        return "met"

    answer = [
        *({"type": "tool-call", "toolCallId": f"c{n}", "toolName": "meets", "input": "{}"} for n in range(10)),
        finish("tool-calls"),
    ]
    result = await agent_of(answer, says("ok"), tools=[meets]).generate("hi")
    assert [chunk.payload.result for chunk in result.tool_results] == ["met"] * 10
