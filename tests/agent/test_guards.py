"""Guards: what processors are asked whatever else goes wrong, and what never passes them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from riverrun import Agent, Memory, ModelError, Run, StructuredOutput, Tool, tool
from riverrun.chunks import ChunkType, ErrorChunk, RawChunk, Step, StepFinishChunk, TripwireChunk, encode
from riverrun.models import ScriptedModel
from riverrun.models.parts import Part
from riverrun.processors import Processor, ProcessorContext, RegexFilter, StreamErrorRetry
from tests.agent.scripts import HANG, assert_well_formed, call, calls, finish, of, read, says, text, turns, types

BROKEN: Part = {"type": "$stream_error", "error": ModelError("connection lost")}


class NoTools(Processor):
    """Refuses answers that call tools."""

    def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
        if step.tool_calls:
            ctx.abort("no tools")


def wiping(wiped: list[str]) -> Tool:
    @tool
    async def wipe() -> str:
        """Wipe the disk."""
        wiped.append("all of it")
        return "done"

    return wipe


# -- before tools run

ENDS: dict[str, list[Part]] = {
    "the stream breaks": [call("wipe"), BROKEN],
    "the provider reports an error": [call("wipe"), {"type": "error", "error": {"message": "overloaded"}}],
    "there is no finish": [call("wipe")],
    "all is well": calls("wipe"),
}


@pytest.mark.parametrize("end", ENDS)
async def test_a_guard_is_asked_before_tools_run_however_the_model_call_ended(end: str) -> None:
    wiped: list[str] = []
    run = Agent("a", model=ScriptedModel([ENDS[end]]), tools=[wiping(wiped)], processors=[NoTools()]).stream("hi")
    chunks = await read(run)
    assert_well_formed(chunks)
    assert (wiped, chunks[-1].type) == ([], "tripwire")


class Fails(Processor):
    """Fails in one of the hooks that look at whole answers."""

    def __init__(self, hook: str) -> None:
        super().__init__(id="fails")
        self._hooks = frozenset({hook})

    @property
    def hooks(self) -> frozenset[str]:
        return self._hooks

    def process_output_stream_end(self, ctx: ProcessorContext) -> None:
        raise ValueError("broken guard")

    def process_llm_response(self, chunks: Sequence[ChunkType], ctx: ProcessorContext) -> None:
        raise ValueError("broken guard")

    def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
        raise ValueError("broken guard")


@pytest.mark.parametrize("hook", ["process_output_stream_end", "process_llm_response", "process_output_step"])
async def test_no_tool_runs_when_a_guard_fails_that_looks_at_the_whole_answer(hook: str) -> None:
    wiped: list[str] = []
    agent = Agent("a", model=ScriptedModel([calls("wipe")]), tools=[wiping(wiped)], processors=[Fails(hook)])
    chunks = await read(agent.stream("hi"))
    assert_well_formed(chunks)
    assert (wiped, types(of(ErrorChunk, chunks)), chunks[-1].type) == ([], ["error"], "finish")


async def test_what_a_tool_fails_with_passes_a_guard_before_the_model_reads_it() -> None:
    @tool
    async def fetch() -> str:
        raise ValueError("HTTP 500: write to ann@example.com")

    model = ScriptedModel([calls("fetch"), says("done")])
    chunks = await read(Agent("a", model=model, tools=[fetch], processors=[RegexFilter(["email"])]).stream("hi"))
    assert_well_formed(chunks)
    assert [chunk.type for chunk in chunks if b"example" in encode(chunk)] == []
    assert "HTTP 500: write to [EMAIL]" in str(model.requests[1].messages[-1])
    blocking = Agent(
        "a", model=ScriptedModel([calls("fetch")]), tools=[fetch], processors=[RegexFilter(["email"], strategy="block")]
    )
    assert (await read(blocking.stream("hi")))[-1].type == "tripwire"


class FailsOnce(Processor):
    """Fails when it is shown the first answer."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = 0

    def process_llm_response(self, chunks: Sequence[ChunkType], ctx: ProcessorContext) -> None:
        self.shown += 1
        if self.shown == 1:
            raise ValueError("broken guard")


async def test_the_tools_of_the_next_model_run_when_a_guard_has_failed_on_the_one_before() -> None:
    wiped: list[str] = []
    models = [ScriptedModel([[finish()]]), ScriptedModel([calls("wipe"), says("done")])]
    agent = Agent("a", model=models, tools=[wiping(wiped)], processors=[FailsOnce()])
    assert (await agent.generate("hi")).text == "done"
    assert wiped == ["all of it"]


async def test_a_refused_answer_of_a_call_that_failed_is_not_asked_for_again() -> None:
    model = ScriptedModel([[call("wipe"), BROKEN], says("done")])
    agent = Agent("a", model=model, tools=[wiping([])], processors=[Never(9)], max_processor_retries=3)
    chunks = await read(agent.stream("hi"))
    assert_well_formed(chunks)
    assert (chunks[-1].type, len(model.requests)) == ("tripwire", 1)


async def test_a_guard_reads_of_a_group_of_errors_what_the_model_reads() -> None:
    @tool
    async def fetch() -> str:
        raise ExceptionGroup("several", [ValueError("write to ann@example.com"), KeyError("k")])

    model = ScriptedModel([calls("fetch"), says("done")])
    await read(Agent("a", model=model, tools=[fetch], processors=[RegexFilter(["email"])]).stream("hi"))
    assert "write to [EMAIL]; KeyError: 'k'" in str(model.requests[1].messages[-1])


# -- what comes out


async def test_a_filter_sees_raw_chunks_too() -> None:
    leak = "mail ann@example.com"
    parts: list[Part] = [{"type": "raw", "rawValue": {"delta": leak}}, *says(leak)]
    agent = Agent("a", model=ScriptedModel([parts, parts]), processors=[RegexFilter(["email"])])
    assert of(RawChunk, await read(agent.stream("hi", include_raw=True))) == []
    passing = Agent("a", model=ScriptedModel([parts]), processors=[NoTools()])
    assert len(of(RawChunk, await read(passing.stream("hi", include_raw=True)))) == 1


async def test_a_filter_sees_what_the_second_model_makes_of_the_answer() -> None:
    second = ScriptedModel([says('{"mail": "ann@exam', 'ple.com"}')])
    wanted: StructuredOutput[dict[str, str]] = StructuredOutput(dict[str, str], model=second)
    agent = Agent("a", model=ScriptedModel([says("mail Ann")]), output=wanted, processors=[RegexFilter(["email"])])
    run = agent.stream("hi")
    chunks = await read(run)
    assert_well_formed(chunks)
    assert await run.object == {"mail": "[EMAIL]"}
    assert [chunk.type for chunk in chunks if b"example" in encode(chunk)] == []


async def test_a_guard_may_stop_what_the_second_model_makes_of_the_answer() -> None:
    second = ScriptedModel([says('{"mail": "ann@example.com"}')])
    wanted: StructuredOutput[dict[str, str]] = StructuredOutput(dict[str, str], model=second, error_strategy="warn")
    guard = RegexFilter(["email"], strategy="block")
    run = Agent("a", model=ScriptedModel([says("mail Ann")]), output=wanted, processors=[guard]).stream("hi")
    assert (await read(run))[-1].type == "tripwire"


async def test_a_filter_sees_the_title_of_a_thread() -> None:
    strategies: list[tuple[Literal["redact", "block"], str | None]] = [("redact", "Mail [EMAIL] now"), ("block", None)]
    for strategy, title in strategies:
        model = ScriptedModel([says("done"), says("Mail ann@example.com now")])
        guard = RegexFilter(["email"], strategy=strategy)
        agent = Agent("a", model=model, memory=Memory(generate_title=True), processors=[guard])
        run = agent.stream("hi", thread_id="t")
        assert (await run.result()).status == "success"
        thread = await agent.store.get_thread("t")
        assert thread is not None
        assert thread.title == title


CUTS: dict[str, list[Part]] = {
    "in a text": text("half ")[:-1],
    "in reasoning": [{"type": "reasoning-start", "id": "r"}, {"type": "reasoning-delta", "id": "r", "delta": "hm"}],
    "in arguments": [
        {"type": "tool-input-start", "id": "c", "toolName": "wipe"},
        {"type": "tool-input-delta", "id": "c", "delta": "{"},
    ],
}


@pytest.mark.parametrize("cut", CUTS)
async def test_what_a_broken_answer_left_open_is_closed_before_it_is_asked_for_again(cut: str) -> None:
    cut_off: Part = {"type": "$stream_error", "error": ModelError("cut", retryable=True)}
    model = ScriptedModel([[*CUTS[cut], cut_off], says("whole")])
    run = Agent("a", model=model, processors=[StreamErrorRetry(delay=0)]).stream("hi")
    chunks = await read(run)
    assert_well_formed(chunks)
    assert (len(of(StepFinishChunk, chunks)), await run.text) == (2, "whole")


# -- how often


class Never(Processor):
    """Refuses the first answers."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._times = times

    def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
        if ctx.retry_count < self._times:
            ctx.abort("again", retry=True)


async def test_answers_that_are_refused_do_not_count_as_steps_but_as_retries() -> None:
    model = ScriptedModel([says("no"), calls("wipe"), says("yes")])
    agent = Agent("a", model=model, tools=[wiping([])], processors=[Never(1)], max_processor_retries=1, max_steps=2)
    assert (await agent.generate("hi")).steps[-1].text == "yes"
    model = ScriptedModel([says("no")] * 9)
    run = Agent("a", model=model, processors=[Never(9)], max_processor_retries=2, max_steps=1).stream("hi")
    assert isinstance((await read(run))[-1], TripwireChunk)
    assert len(model.requests) == 3


# -- hooks that wait for something that was cancelled


async def waits() -> Any:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


class Waits(Processor):
    def __init__(self, hook: str) -> None:
        super().__init__()
        self._hooks = frozenset({hook})

    @property
    def hooks(self) -> frozenset[str]:
        return self._hooks

    def process_input(self, *_: Any) -> Any:
        return waits()

    process_input_step = process_llm_request = process_llm_response = process_input
    process_output_step = process_output_result = process_tool_result = process_output_stream_end = process_input


HOOKS = [name for name in vars(Waits) if name.startswith("process_")]


@pytest.mark.parametrize("hook", HOOKS)
async def test_a_processor_that_waits_for_something_cancelled_fails_the_run(hook: str) -> None:
    run = Agent("a", model=ScriptedModel([calls("wipe"), says("done")]), tools=[wiping([])], processors=[Waits(hook)])
    await fails(run.stream("hi"))


CALLERS: dict[str, dict[str, Any]] = {
    "prepare_step": {"prepare_step": lambda _: waits()},
    "on_iteration": {"on_iteration": lambda _: waits()},
    "stop_when": {"stop_when": lambda _: waits()},
}


@pytest.mark.parametrize("hook", CALLERS)
async def test_a_callers_hook_that_waits_for_something_cancelled_fails_the_run(hook: str) -> None:
    agent = Agent("a", model=ScriptedModel([calls("wipe"), says("done")]), tools=[wiping([])])
    await fails(agent.stream("hi", **CALLERS[hook]))


async def fails(run: Run) -> None:
    chunks = await read(run)
    assert_well_formed(chunks)
    assert (run.status, chunks[-1].type) == ("failed", "finish")
    assert "was cancelled" in str(run.error)


async def test_a_cancelled_run_ends_even_when_a_hook_waits_for_something_cancelled() -> None:
    model = ScriptedModel([[*text("a")[:-1], HANG]])
    run = Agent("a", model=model, processors=[Waits("process_output_result")]).stream("hi")
    await turns(20)
    run.cancel()
    assert types(await read(run))[-2:] == ["abort", "finish"]
