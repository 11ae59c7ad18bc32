"""Suspension: a tool asks, the run waits, and goes on with the answer; alone, or as one of several calls."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel

from riverrun import Agent, ConfigError, ModelError, NamedTool, Run, Settings, Timeout, ToolContext, tool
from riverrun.agent import Memory
from riverrun.chunks import (
    AbortChunk,
    ErrorChunk,
    FinishChunk,
    StepFinishChunk,
    ToolCallSuspendedChunk,
    ToolErrorChunk,
    ToolMessage,
    ToolOutput,
    ToolResultChunk,
    ToolResultPart,
    fold,
    to_value,
)
from riverrun.errors import RunNotSuspendedError, StoreError
from riverrun.models import ScriptedModel
from riverrun.models.parts import Part
from riverrun.models.scripted import Call
from riverrun.processors import Processor, ProcessorContext
from riverrun.store import InMemoryStore, Snapshot, StoredMessage
from tests.agent.scripts import (
    HANG,
    agent_of,
    assert_well_formed,
    call,
    calls,
    finish,
    of,
    read,
    read_until,
    reasoning,
    says,
    text,
    turns,
    types,
)

ANSWER = ["step-start", "text-start", "text-delta", "text-end", "step-finish", "finish"]


@tool
async def ask(ctx: ToolContext, question: str = "sure?") -> str:
    return f"{question} {json.dumps(await ctx.suspend({'question': question}))}"


class Counter:
    """Tools that count their runs."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    async def ask(self, ctx: ToolContext, question: str = "sure?") -> str:
        self.runs.append(question)
        return f"{question} {json.dumps(await ctx.suspend({'question': question}))}"

    async def look(self) -> str:
        self.runs.append("look")
        return "seen"


def asks(*questions: str) -> list[Part]:
    """A whole answer that asks, with the questions as ids of the calls."""
    return [*(call("ask", question, {"question": question}) for question in questions), finish("tool-calls")]


def told(model: ScriptedModel, number: int = 1) -> list[ToolOutput]:
    """What the model was told of the calls before its answer of this number."""
    last = model.requests[number].messages[-1]
    assert isinstance(last, ToolMessage)
    return [part.output for part in last.content if isinstance(part, ToolResultPart)]


async def waits_for(run: Run) -> list[str]:
    """The calls that a run waits for, as it says at its end."""
    return [chunk.payload.tool_call_id for chunk in of(ToolCallSuspendedChunk, await read(run))]


async def suspended(agent: Agent, **options: Any) -> Run:
    """A run "r" that waits."""
    run = agent.stream("hi", run_id="r", **options)
    assert (await run.result()).status == "suspended"
    return run


# -- asking and going on


async def test_a_tool_that_suspends_ends_the_stream_with_what_it_asks() -> None:
    run = agent_of(asks("sure?"), tools=[ask]).stream("hi")
    chunks = await read(run)
    assert types(chunks) == ["start", "step-start", "tool-call", "tool-call-suspended"]
    assert_well_formed(chunks)
    assert to_value(chunks[-1])["payload"] == {
        "toolCallId": "sure?",
        "toolName": "ask",
        "suspendPayload": {"question": "sure?"},
        "args": {"question": "sure?"},
    }
    assert (run.status, await run.finish_reason) == ("suspended", "suspended")
    assert (await run.suspend_payload).suspend_payload == {"question": "sure?"}


async def test_a_resumed_tool_runs_again_from_its_beginning_and_is_given_the_answer() -> None:
    done: list[str] = []

    @tool
    async def book(city: str, ctx: ToolContext) -> str:
        done.append("begun")
        night = await ctx.suspend({"city": city})
        done.append("answered")
        return f"{city}, {night}"

    model = ScriptedModel([[call("book", "c1", {"city": "Oslo"}), finish("tool-calls")], says("done")])
    agent = Agent("a", model=model, tools=[book])
    before = await read(agent.stream("hi", run_id="r"))
    resumed = await agent.resume_stream("tonight", run_id="r", tool_call_id="c1")
    after = await read(resumed)
    assert types(after) == ["tool-result", "step-finish", *ANSWER]
    assert_well_formed([*before, *after])
    assert (done, resumed.status) == (["begun", "begun", "answered"], "success")
    assert told(model) == [ToolOutput("text", "Oslo, tonight")]


@pytest.mark.parametrize("answer", [False, 0, 0.0, "", None, [], {}, True, {"deep": [1, None]}])
async def test_any_json_is_an_answer(answer: Any) -> None:
    got: list[Any] = []

    @tool
    async def confirm(ctx: ToolContext) -> str:
        got.append(await ctx.suspend())
        return "ok"

    agent = agent_of(calls("confirm"), says("done"), tools=[confirm])
    await suspended(agent)
    assert await (await agent.resume_stream(answer, run_id="r")).text == "done"
    assert got == [answer]
    assert type(got[0]) is type(answer)


async def test_an_answer_is_given_as_json_in_this_process_as_in_any() -> None:
    agent = agent_of(asks("when?"), says("done"), tools=[ask])
    await suspended(agent)
    run = await agent.resume_stream({"day": date(2026, 12, 24), "pair": (1, 2)}, run_id="r")
    assert (await run.tool_results)[0].payload.result == 'when? {"day": "2026-12-24", "pair": [1, 2]}'


class Price(BaseModel):
    euros: float


async def test_an_answer_that_is_no_json_is_refused_and_the_run_waits_on() -> None:
    agent = agent_of(asks("sure?"), says("done"), tools=[ask])
    await suspended(agent)
    for answer in (object(), math.nan, {"rooms": [1, math.inf]}, Price(euros=-math.inf)):
        with pytest.raises(ConfigError, match="the answer to a call must be JSON"):
            await agent.resume_stream(answer, run_id="r")
    assert await (await agent.resume_stream("yes", run_id="r")).text == "done"


async def test_a_payload_that_is_no_json_is_an_error_of_the_tool() -> None:
    @tool
    async def shows(ctx: ToolContext) -> str:
        return str(await ctx.suspend(object()))

    chunks = await read(agent_of(calls("shows"), says("done"), tools=[shows]).stream("hi"))
    assert 'What tool "shows" suspended with' in str(of(ToolErrorChunk, chunks)[0].payload.error)
    assert types(chunks)[-1] == "finish"


async def test_what_the_caller_hands_to_tools_is_handed_over_again() -> None:
    @tool
    async def greet(ctx: ToolContext[dict[str, str]]) -> str:
        await ctx.suspend()
        return f"hello {ctx.deps['user']}"

    agent = agent_of(calls("greet"), says("done"), tools=[greet])
    await suspended(agent, deps={"user": "Ann"})
    run = await agent.resume_stream(None, run_id="r", deps={"user": "Bo"})
    assert (await run.tool_results)[0].payload.result == "hello Bo"


async def test_a_tool_that_suspends_several_times_is_given_each_answer_in_its_place() -> None:
    begun: list[int] = []

    @tool
    async def book(ctx: ToolContext) -> list[Any]:
        begun.append(len(begun))
        first = await ctx.suspend("city?")
        return [first, await ctx.suspend("night?"), await ctx.suspend("name?")]

    agent = agent_of(calls("book"), says("done"), tools=[book])
    run = await suspended(agent)
    asked = [(await run.suspend_payload).suspend_payload]
    for answer in ("Oslo", "tonight"):
        run = await agent.resume_stream(answer, run_id="r")
        asked.append((await run.suspend_payload).suspend_payload)
    run = await agent.resume_stream("Ann", run_id="r")
    assert asked == ["city?", "night?", "name?"]
    assert (await run.tool_results)[0].payload.result == ["Oslo", "tonight", "Ann"]
    assert len(begun) == 4


async def test_what_a_tool_makes_of_an_answer_does_not_change_the_answer() -> None:
    seen: list[list[int]] = []

    @tool
    async def adds(ctx: ToolContext) -> str:
        numbers: list[int] = await ctx.suspend("numbers?")
        seen.append([*numbers])
        numbers.append(3)
        return str(await ctx.suspend("fine?"))

    agent = agent_of(calls("adds"), says("done"), tools=[adds])
    await suspended(agent)
    given = [1, 2]
    assert (await (await agent.resume_stream(given, run_id="r")).result()).status == "suspended"
    await read(await agent.resume_stream(True, run_id="r"))
    assert (seen, given) == ([[1, 2], [1, 2]], [1, 2])


# -- tools that do something else around it


async def test_a_tool_that_is_a_plain_function_suspends_too() -> None:
    @tool
    def book(ctx: ToolContext, city: str = "Oslo") -> str:
        night = ctx.suspend_sync({"city": city})
        return f"{city}, {night}, {ctx.suspend_sync('sure?')}"

    agent = agent_of(calls("book"), says("done"), tools=[book])
    run = await suspended(agent)
    assert (await run.suspend_payload).suspend_payload == {"city": "Oslo"}
    run = await agent.resume_stream("tonight", run_id="r")
    assert (await run.suspend_payload).suspend_payload == "sure?"
    run = await agent.resume_stream("yes", run_id="r")
    assert (await run.tool_results)[0].payload.result == "Oslo, tonight, yes"


async def swallows(ctx: ToolContext) -> str:
    try:
        return f"got {await ctx.suspend('first?')}"
    except BaseException:
        return "never mind"


async def insists(ctx: ToolContext) -> str:
    for question in ("first?", "second?"):
        try:
            return f"got {await ctx.suspend(question)}"
        except BaseException:
            continue
    return "never mind"


async def fails_after(ctx: ToolContext) -> str:
    try:
        return f"got {await ctx.suspend('first?')}"
    except BaseException as error:
        raise ValueError("cannot ask") from error


async def in_a_task_group(ctx: ToolContext) -> str:
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(ctx.suspend("first?"))
        group.create_task(asyncio.sleep(0))
    return f"got {asked.result()}"


async def side_by_side(ctx: ToolContext) -> str:
    answers = await asyncio.gather(ctx.suspend("first?"), asyncio.sleep(0, "slept"))
    return f"got {answers[0]}"


async def within_a_time(ctx: ToolContext) -> str:
    return f"got {await asyncio.wait_for(ctx.suspend('first?'), 5)}"


def plain_and_swallows(ctx: ToolContext) -> str:
    try:
        return f"got {ctx.suspend_sync('first?')}"
    except BaseException:
        return "never mind"


@pytest.mark.parametrize(
    "function",
    [swallows, insists, fails_after, in_a_task_group, side_by_side, within_a_time, plain_and_swallows],
)
async def test_a_call_waits_for_what_it_asked_first_whatever_its_tool_does_then(function: Callable[..., Any]) -> None:
    agent = agent_of(calls(function.__name__), says("done"), tools=[function])
    run = agent.stream("hi", run_id="r")
    assert types(await read(run)) == ["start", "step-start", "tool-call", "tool-call-suspended"]
    assert (await run.suspend_payload).suspend_payload == "first?"
    resumed = await agent.resume_stream("it", run_id="r")
    assert (await resumed.tool_results)[0].payload.result == "got it"


async def test_a_tool_may_clean_up_when_it_suspends() -> None:
    opened = 0

    @tool
    async def careful(ctx: ToolContext) -> str:
        nonlocal opened
        opened += 1
        try:
            return str(await ctx.suspend())
        finally:
            await asyncio.sleep(0)
            opened -= 1

    await suspended(agent_of(calls("careful"), tools=[careful]))
    assert opened == 0


# -- answers that are checked

WANTED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def test_what_an_answer_is_to_be_is_told_and_checked() -> None:
    got: list[Any] = []

    @tool(resume_schema=WANTED)
    async def count(ctx: ToolContext) -> str:
        got.append(await ctx.suspend("how many?"))
        return "counted"

    model = ScriptedModel([calls("count"), says("I see")])
    agent = Agent("a", model=model, tools=[count])
    run = await suspended(agent)
    assert json.loads((await run.suspend_payload).resume_schema) == WANTED
    chunks = await read(await agent.resume_stream({"n": "many"}, run_id="r"))
    result = of(ToolResultChunk, chunks)[0].payload.result
    assert (result["error"], list(result["validationErrors"]["fields"])) == (True, ["n"])
    assert "validation failed for count" in told(model)[0].value["message"]
    assert (got, types(chunks)[-1]) == ([], "finish")


async def test_an_answer_that_fits_reaches_the_tool() -> None:
    @tool(resume_schema=WANTED, suspend_schema={"type": "string"})
    async def count(ctx: ToolContext) -> int:
        return int((await ctx.suspend("how many?"))["n"])

    agent = agent_of(calls("count"), says("done"), tools=[count])
    await suspended(agent)
    run = await agent.resume_stream({"n": 3}, run_id="r")
    assert (await run.tool_results)[0].payload.result == 3


class Night(BaseModel):
    on: date
    rooms: int = 1


async def test_an_answer_may_be_a_value_of_a_type() -> None:
    got: list[Any] = []

    @tool(resume_schema=Night)
    async def book(ctx: ToolContext) -> str:
        got.extend([await ctx.suspend("when?"), await ctx.suspend("and then?")])
        return "booked"

    model = ScriptedModel([calls("book"), says("done")])
    agent = Agent("a", model=model, tools=[book])
    asked = await (await suspended(agent)).suspend_payload
    assert json.loads(asked.resume_schema)["required"] == ["on"]
    await read(await agent.resume_stream({"on": "2026-12-24"}, run_id="r"))
    chunks = await read(await agent.resume_stream(Night(on=date(2026, 12, 25), rooms=2), run_id="r"))
    assert types(chunks)[0] == "tool-result"
    assert got == [Night(on=date(2026, 12, 24)), Night(on=date(2026, 12, 25), rooms=2)]


async def test_an_answer_that_is_no_value_of_the_type_does_not_reach_the_tool() -> None:
    @tool(resume_schema=int | None)
    async def count(ctx: ToolContext) -> str:
        return f"counted {await ctx.suspend('how many?')}"

    model = ScriptedModel([calls("count"), says("I see")])
    agent = Agent("a", model=model, tools=[count])
    await suspended(agent)
    await read(await agent.resume_stream("many", run_id="r"))
    assert "validation failed for count" in told(model)[0].value["message"]


# -- several calls of one step


@pytest.mark.parametrize("order", list(itertools.permutations("abc")))
async def test_several_calls_are_resumed_one_by_one_in_any_order(order: tuple[str, ...]) -> None:
    counter, model = Counter(), ScriptedModel([asks("a", "b", "c"), says("done")])
    agent = Agent("x", model=model, tools=[counter.ask])
    chunks = await read(agent.stream("hi", run_id="r"))
    assert [chunk.payload.tool_call_id for chunk in of(ToolCallSuspendedChunk, chunks)] == ["a", "b", "c"]
    for place, question in enumerate(order[:2], 1):
        run = await agent.resume_stream(place, run_id="r", tool_call_id=question)
        more = await read(run)
        assert of(ToolCallSuspendedChunk, more) == [
            chunk for chunk in of(ToolCallSuspendedChunk, chunks) if chunk.payload.tool_call_id not in order[:place]
        ]  # what still waits is told again, and nothing else
        assert len(more) == 3 - place
    chunks = await read(await agent.resume_stream(3, run_id="r", tool_call_id=order[2]))
    results = {chunk.payload.tool_call_id: chunk.payload.result for chunk in of(ToolResultChunk, chunks)}
    assert list(results) == ["a", "b", "c"]
    assert results == {question: f"{question} {place}" for place, question in enumerate(order, 1)}
    assert sorted(counter.runs) == sorted("abc" * 2)
    assert told(model) == [ToolOutput("text", results[question]) for question in "abc"]


async def test_calls_that_are_done_when_another_waits_never_run_again() -> None:
    runs: list[str] = []

    async def look() -> str:
        runs.append("look")
        return "seen"

    async def fall() -> str:
        runs.append("fall")
        raise ValueError("fell")

    agent = agent_of(calls("look", "ask", "fall"), says("done"), tools=[look, ask, fall])
    chunks = await read(agent.stream("hi", run_id="r"))
    assert types(chunks)[-1] == "tool-call-suspended"
    assert not {"tool-result", "tool-error"} & {*types(chunks)}
    more = await read(await agent.resume_stream("yes", run_id="r"))
    assert types(more) == ["tool-error", "tool-result", "tool-result", "step-finish", *ANSWER]
    assert [chunk.payload.tool_call_id for chunk in of(ToolResultChunk, more)] == ["c1", "c2"]
    assert sorted(runs) == ["fall", "look"]


async def test_tools_that_say_they_may_suspend_ask_one_after_the_other() -> None:
    @tool(suspend_schema={"type": "object"})
    async def ask(ctx: ToolContext, question: str) -> str:
        return f"{question} {await ctx.suspend({'question': question})}"

    agent = agent_of(asks("a", "b"), says("done"), tools=[ask])
    assert await waits_for(agent.stream("hi", run_id="r")) == ["a"]
    assert await waits_for(await agent.resume_stream(1, run_id="r", tool_call_id="a")) == ["b"]
    assert await (await agent.resume_stream(2, run_id="r", tool_call_id="b")).text == "done"


async def test_what_still_waits_is_told_again_as_it_was_told_first() -> None:
    @tool(resume_schema=WANTED)
    async def count(ctx: ToolContext, of_what: str = "cats") -> str:
        return str(await ctx.suspend({"of": of_what}))

    agent = agent_of(calls("count", "ask"), says("done"), tools=[count, ask])
    chunks = await read(agent.stream("hi", run_id="r"))
    first = [to_value(chunk) for chunk in of(ToolCallSuspendedChunk, chunks)]
    assert [list(value["payload"]) for value in first] == [
        ["toolCallId", "toolName", "suspendPayload", "args", "resumeSchema"],
        ["toolCallId", "toolName", "suspendPayload", "args"],
    ]
    again = await read(await agent.resume_stream("yes", run_id="r", tool_call_id="c2"))
    assert [to_value(chunk) for chunk in again] == first[:1]


async def test_calls_of_different_steps_may_have_one_id() -> None:
    model = ScriptedModel([[call("ask", "a", {"question": "1"}), finish("tool-calls")]] * 2 + [says("done")])
    agent = Agent("x", model=model, tools=[ask])
    await suspended(agent)
    run = await agent.resume_stream("one", run_id="r", tool_call_id="a")
    assert (await run.suspend_payload).args == {"question": "1"}
    run = await agent.resume_stream("two", run_id="r", tool_call_id="a")
    assert [chunk.payload.result for chunk in await run.tool_results] == ['1 "one"', '1 "two"']


# -- answers that go nowhere


@pytest.mark.parametrize("tool_call_id", ["zzz", "", None])
async def test_an_answer_to_no_call_runs_nothing_and_the_run_waits_on(tool_call_id: str | None) -> None:
    counter = Counter()
    agent = agent_of(asks("a", "b"), says("done"), tools=[counter.ask])
    await suspended(agent)
    with pytest.raises(ConfigError, match="one of the calls that wait: a, b"):
        await agent.resume_stream(1, run_id="r", tool_call_id=tool_call_id)
    assert counter.runs == ["a", "b"]
    assert await waits_for(await agent.resume_stream(1, run_id="r", tool_call_id="a")) == ["b"]
    assert await (await agent.resume_stream(2, run_id="r")).text == "done"


async def test_an_option_that_cannot_work_runs_nothing_and_the_run_waits_on() -> None:
    counter = Counter()
    agent = agent_of(asks("a"), says("done"), tools=[counter.ask])
    await suspended(agent)
    with pytest.raises(ConfigError, match="nowhere"):
        await agent.resume_stream(1, run_id="r", tool_choice=NamedTool("nowhere"))
    assert counter.runs == ["a"]
    assert await (await agent.resume_stream(1, run_id="r")).text == "done"


async def test_a_run_of_another_agent_is_refused() -> None:
    store = InMemoryStore()
    await suspended(agent_of(asks("a"), tools=[ask], store=store))
    other = Agent("other", model=ScriptedModel([says("done")]), tools=[ask], store=store)
    with pytest.raises(RunNotSuspendedError, match="a run of the agent 'tested'"):
        await other.resume_stream(1, run_id="r")
    again = agent_of(says("done"), tools=[ask], store=store)
    assert await (await again.resume_stream(1, run_id="r")).text == "done"


async def test_a_run_that_does_not_wait_is_refused() -> None:
    agent = agent_of(asks("a"), says("done"), tools=[ask])
    with pytest.raises(RunNotSuspendedError, match='the run "r" cannot be resumed: there is no'):
        await agent.resume_stream(1, run_id="r")
    await suspended(agent)
    await read(await agent.resume_stream(1, run_id="r"))
    with pytest.raises(RunNotSuspendedError, match="it may be over"):
        await agent.resume_stream(1, run_id="r")


async def test_a_run_whose_call_was_answered_does_not_take_another_answer_for_it() -> None:
    agent = agent_of(asks("a", "b"), tools=[ask])
    await suspended(agent)
    await read(await agent.resume_stream(1, run_id="r", tool_call_id="a"))
    with pytest.raises(ConfigError, match="one of the calls that wait: b; not 'a'"):
        await agent.resume_stream(2, run_id="r", tool_call_id="a")


async def test_of_two_who_resume_at_once_one_wins() -> None:
    counter = Counter()
    agent = agent_of(asks("a"), says("done"), tools=[counter.ask])
    await suspended(agent)
    tries = await asyncio.gather(*(agent.resume_stream(n, run_id="r") for n in (1, 2)), return_exceptions=True)
    runs = [outcome for outcome in tries if isinstance(outcome, Run)]
    refusals = [outcome for outcome in tries if isinstance(outcome, RunNotSuspendedError)]
    assert (len(runs), len(refusals)) == (1, 1)
    assert "being resumed already" in str(refusals[0])
    assert await runs[0].text == "done"
    assert counter.runs == ["a", "a"]


# -- cancelling


async def test_cancelling_a_run_in_which_a_call_has_suspended_itself_ends_it() -> None:
    async def look() -> str:
        return "seen"

    async def hang() -> str:
        return await asyncio.get_running_loop().create_future()

    model = ScriptedModel([calls("ask", "look", "hang"), says("done")])
    agent = Agent("a", model=model, tools=[ask, look, hang])
    run = agent.stream("hi", run_id="r")
    await read_until(run, "tool-call", 3)
    await turns()
    run.cancel()
    chunks = await read(run)
    assert types(chunks)[-3:] == ["tool-result", "abort", "finish"]
    assert of(ToolCallSuspendedChunk, chunks) == []
    assert_well_formed(chunks)
    assert (await run.messages)[-1] == ToolMessage(
        [ToolResultPart(tool_call_id="c2", tool_name="look", output=ToolOutput("text", "seen"), input={})]
    )
    with pytest.raises(RunNotSuspendedError):
        await agent.resume_stream(1, run_id="r")


async def test_a_run_that_is_to_stop_after_its_step_asks_for_nothing_more() -> None:
    gate = asyncio.Event()

    @tool
    async def asks_late(ctx: ToolContext) -> str:
        await gate.wait()
        return str(await ctx.suspend())

    async def look() -> str:
        return "seen"

    agent = agent_of(calls("asks_late", "look"), tools=[asks_late, look])
    run = agent.stream("hi", run_id="r")
    await read_until(run, "tool-call", 2)
    run.cancel("after_step")
    gate.set()
    chunks = await read(run)
    assert types(chunks)[-3:] == ["tool-result", "abort", "finish"]
    assert (run.status, len(await run.messages)) == ("canceled", 3)
    assert (await agent.list_suspended_runs()).total == 0


async def test_cancelling_a_run_that_waits_changes_nothing() -> None:
    agent = agent_of(asks("a"), says("done"), tools=[ask])
    run = await suspended(agent)
    run.cancel()
    assert run.status == "suspended"
    assert await (await agent.resume_stream(1, run_id="r")).text == "done"


async def test_a_resumed_run_may_be_cancelled() -> None:
    agent = agent_of(asks("a"), [*text("on"), HANG], tools=[ask])
    await suspended(agent)
    run = await agent.resume_stream(1, run_id="r")
    await read_until(run, "text-delta")
    run.cancel()
    chunks = await read(run)
    assert types(chunks)[-2:] == ["abort", "finish"]
    assert (run.status, await run.text) == ("canceled", "on")
    assert [message.role for message in await run.messages][:3] == ["user", "assistant", "tool"]


# -- the end of what is kept


class Stops(Processor):
    """Stops the run at the second text."""

    async def process_output_stream(self, chunk: Any, ctx: ProcessorContext) -> Any:
        return ctx.abort("no") if chunk.type == "text-delta" else chunk


ENDINGS: Mapping[str, tuple[Sequence[Part] | Call, list[Processor]]] = {
    "success": (says("done"), []),
    "failed": (Call(throws=ModelError("no")), []),
    "tripwire": (says("done"), [Stops()]),
    "canceled": ([*text("on"), HANG], []),
}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_nothing_is_kept_of_a_run_that_is_over(ending: str) -> None:
    answer, processors = ENDINGS[ending]
    agent = agent_of(asks("a"), answer, tools=[ask], processors=processors)
    await suspended(agent)
    run = await agent.resume_stream(1, run_id="r")
    if ending == "canceled":
        await read_until(run, "text-end")
        run.cancel()
    await read(run)
    assert run.status == ending
    assert await agent.store.get_snapshot("r") is None


async def test_a_run_that_suspends_again_is_kept_again() -> None:
    agent = agent_of(asks("a"), asks("b"), says("done"), tools=[ask])
    await suspended(agent)
    assert await waits_for(await agent.resume_stream(1, run_id="r")) == ["b"]
    kept = await agent.store.get_snapshot("r")
    assert kept is not None
    assert (kept.status, [pending.tool_call_id for pending in kept.calls]) == ("suspended", ["b"])
    assert await (await agent.resume_stream(2, run_id="r")).text == "done"


class FullStore(InMemoryStore):
    """Has no room for runs that wait."""

    async def suspend(self, snapshot: Snapshot, messages: Sequence[StoredMessage] = ()) -> bool:
        raise StoreError("the disk is full")


async def test_a_run_that_cannot_be_kept_fails_instead_of_waiting_for_nothing() -> None:
    run = agent_of(asks("a"), tools=[ask], store=FullStore()).stream("hi")
    chunks = await read(run)
    assert types(chunks)[-2:] == ["error", "finish"]
    assert (run.status, str(of(ErrorChunk, chunks)[0].payload.error)) == ("failed", "the disk is full")
    assert of(ToolCallSuspendedChunk, chunks) == []


async def test_an_option_that_cannot_be_kept_is_named_when_the_run_is_to_wait() -> None:
    options: dict[str, Any] = {"max_steps": 3, "provider_options": {"openai": {"callback": object()}}}
    run = agent_of(asks("a"), tools=[ask]).stream("hi", **options)
    error = of(ErrorChunk, await read(run))[0].payload.error
    assert str(error) == (
        "the option provider_options, which is kept while the run waits, has no JSON form: "
        "at openai.callback, a value of type object"
    )
    assert (await agent_of(says("done")).generate("hi", **options)).text == "done"


# -- what the resumed run is

SENT: dict[str, Any] = {
    "settings": Settings(temperature=0.5, stop_sequences=["."], headers={"x-team": "a"}),
    "provider_options": {"openai": {"user": "u"}},
    "instructions": ["Be brief.", "Be kind."],
    "system": "Today is Monday.",
    "tool_choice": NamedTool("ask"),
    "active_tools": ["ask"],
    "include_raw": True,
    "context": "Known already.",
}


async def test_a_resumed_run_asks_the_model_as_it_did_before() -> None:
    model = ScriptedModel([asks("a"), asks("b"), says("done")])
    agent = Agent("x", model=model, tools=[ask, Counter().look])
    await suspended(agent, **SENT)
    await read(await agent.resume_stream(1, run_id="r"))
    await read(await agent.resume_stream(2, run_id="r"))
    first, *later = model.requests
    for request in later:
        assert request.settings == first.settings
        assert request.provider_options == first.provider_options
        assert request.tool_choice == first.tool_choice
        assert request.tools == first.tools
        assert request.include_raw == first.include_raw
        assert request.messages[: len(first.messages)] == first.messages


async def test_what_is_given_with_the_answer_takes_the_place_of_what_was_given_before() -> None:
    model = ScriptedModel([asks("a"), says("done")])
    agent = Agent("x", model=model, tools=[ask])
    await suspended(agent, settings=Settings(temperature=0.5), instructions="Be brief.", context="Known already.")
    options: dict[str, Any] = {"settings": Settings(seed=1), "instructions": "Be long.", "context": "Known by now."}
    await read(await agent.resume_stream(1, run_id="r", **options))
    request = model.requests[1]
    assert request.settings == Settings(seed=1)
    assert [str(to_text(message)) for message in request.messages[:3]] == ["Be long.", "Known by now.", "hi"]


def to_text(message: Any) -> str:
    return message.content if isinstance(message.content, str) else "".join(part.text for part in message.content)


async def test_a_resumed_run_stops_after_as_many_steps_as_it_was_to() -> None:
    counter = Counter()
    agent = agent_of(asks("a"), *[calls("look")] * 8, says("done"), tools=[counter.ask, counter.look])
    await suspended(agent, max_steps=3)
    run = await agent.resume_stream(1, run_id="r")
    assert len(await run.steps) == 3
    assert counter.runs == ["a", "a", "look", "look"]


async def test_a_resumed_run_keeps_its_time_limits() -> None:
    agent = agent_of(asks("a"), [HANG], tools=[ask])
    await suspended(agent, timeout=Timeout(first_chunk=0.01), max_retries=0)
    run = await agent.resume_stream(1, run_id="r")
    assert "before first content" in str(of(ErrorChunk, await read(run))[0].payload.error)


async def test_a_schema_of_the_answer_is_kept() -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    agent = agent_of(asks("a"), says('{"age": 36}'), tools=[ask])
    await suspended(agent, output=schema)
    assert await (await agent.resume_stream(1, run_id="r")).object == {"age": 36}


async def test_choices_for_the_answer_are_kept() -> None:
    agent = agent_of(asks("a"), says("no"), tools=[ask])
    await suspended(agent, output=("yes", "no"))
    assert await (await agent.resume_stream(1, run_id="r")).object == "no"


async def test_text_usage_steps_and_messages_are_those_of_the_whole_run() -> None:
    usage = {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9}
    model = ScriptedModel(
        [
            [*reasoning("hm"), *text("Let me look. ", id="t1"), *calls("look")],
            [*text("Let me ", "ask. ", id="t2"), *asks("a")],
            [*text("Thanks.", id="t3"), finish(usage=usage)],
        ]
    )
    agent = Agent("x", model=model, tools=[ask, Counter().look])
    await suspended(agent)
    run = await agent.resume_stream(1, run_id="r")
    assert [piece async for piece in run.text_stream] == ["Thanks."]
    result = await run.result()
    assert (result.text, result.reasoning_text) == ("Let me look. Let me ask. Thanks.", "hm")
    assert (result.usage.input_tokens, result.usage.total_tokens) == (27, 39)
    assert [step.text for step in result.steps] == ["Let me look. ", "Let me ask. ", "Thanks."]
    assert [chunk.payload.tool_name for chunk in result.tool_calls] == ["look", "ask"]
    assert [chunk.payload.tool_name for chunk in result.tool_results] == ["look", "ask"]
    assert [message.role for message in result.messages] == ["user", *["assistant", "tool"] * 2, "assistant"]
    last = of(FinishChunk, run.chunks)[0].payload
    assert last.output is not None
    assert last.output.usage is not None
    assert (last.output.usage.total_tokens, len(last.output.steps or [])) == (39, 3)


async def test_deltas_with_other_chunks_between_them_are_kept_whole() -> None:
    pieces: list[Part] = []
    for number in range(4):
        pieces += [{"type": "text-delta", "id": "t", "delta": str(number)}, {"type": "raw", "rawValue": number}]
    answer = [{"type": "text-start", "id": "t"}, *pieces, {"type": "text-end", "id": "t"}, *asks("a")]
    model = ScriptedModel([answer, says("4")])
    agent = Agent("x", model=model, tools=[ask])
    run = await suspended(agent, include_raw=True)
    assert types(run.chunks).count("raw") == 4
    resumed = await agent.resume_stream(1, run_id="r")
    assert (await resumed.text, (await resumed.steps)[0].text) == ("01234", "0123")


async def test_only_the_first_tokens_that_a_step_says_count_in_a_resumed_run_too() -> None:
    more = finish("tool-calls", {"inputTokens": 99, "outputTokens": 99, "totalTokens": 198})
    agent = agent_of([*asks("a"), more], says("done"), tools=[ask])
    await suspended(agent)
    assert (await (await agent.resume_stream(1, run_id="r")).usage).total_tokens == 30


async def test_prompts_are_not_kept_with_a_run_that_waits() -> None:
    sent = {"body": {"messages": "what was sent"}}
    model = ScriptedModel([Call(parts=calls("look"), request=sent), Call(parts=asks("a"), request=sent), says("done")])
    agent = Agent("x", model=model, tools=[ask, Counter().look])
    run = await suspended(agent)
    assert "what was sent" in json.dumps([to_value(chunk) for chunk in run.chunks])
    kept = await agent.store.get_snapshot("r")
    assert kept is not None
    assert "what was sent" not in json.dumps(kept.state)


async def test_what_a_call_asks_is_kept_once() -> None:
    @tool
    async def show(ctx: ToolContext) -> str:
        return str(await ctx.suspend("x" * 100_000))

    agent = agent_of(calls("show"), says("done"), tools=[show])
    run = await suspended(agent)
    kept = await agent.store.get_snapshot("r")
    assert kept is not None
    assert len(json.dumps(kept.state)) < 2_000
    assert kept.calls[0].payload == (await run.suspend_payload).suspend_payload


async def test_the_two_streams_of_a_run_are_one_well_formed_stream() -> None:
    agent = agent_of([*text("a"), *calls("look")], [*text("b"), *asks("q")], says("c"), tools=[ask, Counter().look])
    before = [*(await suspended(agent)).chunks]
    after = await read(await agent.resume_stream(1, run_id="r"))
    assert_well_formed([*before, *after])
    assert fold(after).text == "c"
    flags = [chunk.payload.step_result.is_continued for chunk in of(StepFinishChunk, [*before, *after])]  # type: ignore[union-attr]
    assert flags == [True, True, False]


class Watches(Processor):
    """Notes the number of each step, and stamps the results of tools."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def process_input_step(self, step: Any, ctx: ProcessorContext) -> None:
        self.steps.append(ctx.step_number)

    def process_tool_result(self, chunk: ToolResultChunk, ctx: ProcessorContext) -> ToolResultChunk:
        self.steps.append(ctx.step_number)
        return chunk


async def test_processors_know_the_step_that_goes_on() -> None:
    watches = Watches()
    agent = agent_of(calls("look"), asks("a"), says("done"), tools=[ask, Counter().look], processors=[watches])
    await suspended(agent)
    watches.steps.clear()
    await read(await agent.resume_stream(1, run_id="r"))
    assert watches.steps == [1, 1, 2]


async def test_the_messages_of_a_thread_are_there_while_the_run_waits_and_once_when_it_is_over() -> None:
    agent = agent_of(asks("a"), says("done"), tools=[ask], memory=Memory())
    await suspended(agent, thread_id="t", resource_id="u")

    async def roles() -> list[str]:
        return [item.message.role for item in (await agent.store.messages("t")).items]

    assert await roles() == ["user", "assistant"]
    await read(await agent.resume_stream(1, run_id="r"))
    assert await roles() == ["user", "assistant", "tool", "assistant"]


# -- who holds a run that goes on


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Held:
    """A run that was resumed and hangs in its tool, until `gate` is set."""

    def __init__(self, store_type: type[InMemoryStore] = InMemoryStore) -> None:
        self.clock = Clock()
        self.store = store_type(clock=self.clock)
        self.gate = asyncio.Event()
        self.runs = 0

    async def wait(self, ctx: ToolContext) -> str:
        answer = await ctx.suspend()
        self.runs += 1
        if self.runs == 1:
            await self.gate.wait()
        return str(answer)

    def agent(self, *answers: Any) -> Agent:
        return agent_of(*answers, tools=[self.wait], store=self.store, memory=Memory())

    async def resumed(self, *answers: Any) -> Run:
        agent = self.agent(calls("wait"), *answers)
        await suspended(agent, thread_id="t", resource_id="u")
        run = await agent.resume_stream("first", run_id="r", detached=True)
        await turns()
        assert self.runs == 1
        return run


async def test_while_a_run_is_held_nobody_else_resumes_it() -> None:
    held = Held()
    run = await held.resumed(says("done"))
    held.clock.now += 29
    with pytest.raises(RunNotSuspendedError, match="being resumed already"):
        await held.agent().resume_stream("second", run_id="r")
    held.gate.set()
    assert await run.text == "done"


async def test_when_the_lease_of_a_dead_holder_is_over_another_goes_on_and_the_first_changes_nothing() -> None:
    held = Held()
    first = await held.resumed(says("of the first"))
    held.clock.now += 31
    second = await held.agent(says("of the second")).resume_stream("second", run_id="r")
    assert await second.text == "of the second"
    kept = (await held.store.messages("t")).items
    held.gate.set()
    chunks = await read(first)
    assert "taken over by another process" in str(of(ErrorChunk, chunks)[0].payload.error)
    assert (await held.store.messages("t")).items == kept


async def test_a_holder_renews_its_lease(naps: list[float]) -> None:
    held = Held()
    run = await held.resumed(says("done"))
    for _ in range(3):
        held.clock.now += 20
        await turns()
    with pytest.raises(RunNotSuspendedError, match="being resumed already"):
        await held.agent().resume_stream("second", run_id="r")
    assert set(naps) == {10.0}
    held.gate.set()
    assert await run.text == "done"


async def test_a_holder_that_learns_it_has_lost_the_run_calls_no_model_any_more(naps: list[float]) -> None:
    held = Held()
    first = await held.resumed(says("never"))
    await held.store.discard("r")
    await turns()
    held.gate.set()
    chunks = await read(first)
    assert types(chunks) == ["tool-result", "step-finish", "error", "finish"]
    assert "taken over by another process" in str(of(ErrorChunk, chunks)[0].payload.error)


class Flickering(InMemoryStore):
    """Cannot be reached the first two times that a lease is to be renewed."""

    failures = 0

    async def renew(self, run_id: str, attempt: int, *, lease: float, messages: Sequence[StoredMessage] = ()) -> bool:
        self.failures += 1
        if self.failures <= 2:
            raise StoreError("no connection")
        return await super().renew(run_id, attempt, lease=lease, messages=messages)


async def test_a_store_that_cannot_be_reached_for_a_while_does_no_harm(naps: list[float]) -> None:
    held = Held(Flickering)
    run = await held.resumed(says("done"))
    await turns()
    assert isinstance(held.store, Flickering)
    assert held.store.failures > 2
    held.gate.set()
    chunks = await read(run)
    assert (types(chunks)[-1], of(ErrorChunk, chunks), of(AbortChunk, chunks)) == ("finish", [], [])
