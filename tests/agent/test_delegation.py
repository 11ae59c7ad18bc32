"""An agent as a tool: its stream inside the outer one, what it waits for, what it costs, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from riverrun import Agent, App, ConfigError, ModelError, Run, Timeout, ToolContext, tool
from riverrun.agent import delegate
from riverrun.agent.delegate import Delegation
from riverrun.chunks import (
    ChunkType,
    FinishChunk,
    ToolCallApprovalChunk,
    ToolCallSuspendedChunk,
    ToolErrorChunk,
    ToolMessage,
    ToolOutput,
    ToolOutputChunk,
    ToolOutputDeniedChunk,
    ToolResultChunk,
    ToolResultPart,
    decode,
    encode,
    fold,
    to_value,
)
from riverrun.errors import RunNotSuspendedError
from riverrun.models import ScriptedModel
from riverrun.models.parts import Part
from riverrun.processors import Processor, ProcessorContext
from riverrun.store import InMemoryStore
from tests.agent.scripts import (
    HANG,
    WatchedModel,
    assert_well_formed,
    call,
    calls,
    finish,
    of,
    read,
    read_until,
    says,
    text,
    turns,
    types,
)


def hands(*prompts: str, to: str = "inner") -> list[Part]:
    """A whole answer that hands on tasks, with the prompts as ids of the calls."""
    return [*(call(f"agent-{to}", prompt, {"prompt": prompt}) for prompt in prompts), finish("tool-calls")]


def nested(chunks: Sequence[ChunkType]) -> list[Any]:
    """The chunks of the runs inside tools."""
    return [chunk.payload.output for chunk in of(ToolOutputChunk, chunks)]


def outer(model: ScriptedModel, *tools: Any, **options: Any) -> Agent:
    return Agent("outer", model=model, tools=tools, **options)


def inner(*answers: Any, **options: Any) -> Agent:
    return Agent("inner", model=ScriptedModel(answers), **options)


def told(model: ScriptedModel, number: int = 1) -> list[ToolOutput]:
    """What the model was told of the calls before its answer of this number."""
    last = model.requests[number].messages[-1]
    assert isinstance(last, ToolMessage)
    return [part.output for part in last.content if isinstance(part, ToolResultPart)]


@tool
async def ask(ctx: ToolContext, question: str = "sure?") -> str:
    return f"{question} {await ctx.suspend(question)}"


@tool(requires_approval=True)
async def pay(amount: int = 5) -> str:
    return f"paid {amount}"


# -- the stream inside the stream


async def test_every_chunk_of_the_inner_run_comes_whole_inside_the_outer_one() -> None:
    run = outer(ScriptedModel([hands("do it"), says("done")]), inner(says("in", "side"))).stream("hi", run_id="r")
    chunks = await read(run)
    assert_well_formed(chunks)
    assert types(nested(chunks)) == [
        "start",
        "step-start",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "step-finish",
        "finish",
    ]
    for chunk in of(ToolOutputChunk, chunks):
        assert (chunk.run_id, chunk.from_) == ("r", "USER")
        assert (chunk.payload.tool_call_id, chunk.payload.tool_name) == ("do it", "agent-inner")
    assert {chunk.from_ for chunk in nested(chunks)} == {"AGENT"}
    assert len({chunk.run_id for chunk in nested(chunks)} | {"r"}) == 2
    whole = fold(nested(chunks))
    assert (whole.status, whole.text, len(whole.messages)) == ("success", "inside", 2)
    assert [to_value(decode(encode(chunk))) for chunk in chunks] == [to_value(chunk) for chunk in chunks]


async def test_the_model_is_told_the_text_and_the_caller_more() -> None:
    async def look() -> str:
        return "seen"

    model = ScriptedModel([hands("do it"), says("done")])
    run = outer(model, inner(calls("look"), says("it is ", "fine"), tools=[look])).stream("hi")
    result = (await run.tool_results)[0].payload.result
    assert told(model) == [ToolOutput("text", "it is fine")]
    assert result["text"] == "it is fine"
    assert result["subAgentToolResults"] == [{"toolName": "look", "toolCallId": "c1", "result": "seen", "args": {}}]
    assert await run.text == "done"


async def test_the_inner_agent_has_the_prompt_and_nothing_else_of_the_conversation() -> None:
    agent = inner(says("ok"), instructions="Be brief.")
    await outer(ScriptedModel([hands("do it"), says("done")]), agent, instructions="Hand on.").generate("hi")
    model = agent.models[0]
    assert isinstance(model, ScriptedModel)
    assert [(message.role, words(message)) for message in model.requests[0].messages] == [
        ("system", "Be brief."),
        ("user", "do it"),
    ]


def words(message: Any) -> str:
    return message.content if isinstance(message.content, str) else "".join(part.text for part in message.content)


async def test_agents_nest_as_deep_as_they_are_handed_on() -> None:
    middle = Agent("middle", model=ScriptedModel([hands("deeper"), says("mid")]), tools=[inner(says("deep"))])
    chunks = await read(outer(ScriptedModel([hands("deep", to="middle"), says("done")]), middle).stream("hi"))
    assert_well_formed(chunks)
    assert fold(nested(chunks)).text == "mid"
    assert fold(nested(nested(chunks))).text == "deep"


async def test_the_tool_is_named_and_described_by_the_agent_or_by_the_caller() -> None:
    plain = inner(says("ok"))
    described = Agent("poet", model=ScriptedModel([]), description="Writes poems.")
    specs = [
        delegate(plain).spec,
        delegate(described).spec,
        delegate(described, name="verses", description="Makes verses.").spec,
    ]
    assert [spec.name for spec in specs] == ["agent-inner", "agent-poet", "verses"]
    assert [spec.description for spec in specs[1:]] == ["Writes poems.", "Makes verses."]
    assert "inner" in specs[0].description
    assert specs[0].input_schema["required"] == ["prompt"]


async def test_what_the_caller_hands_to_tools_reaches_the_inner_ones() -> None:
    @tool
    async def greet(ctx: ToolContext[dict[str, str]]) -> str:
        return f"hello {ctx.deps['user']}"

    agent = inner(calls("greet"), says("ok"), tools=[greet])
    run = outer(ScriptedModel([hands("do it"), says("done")]), agent).stream("hi", deps={"user": "Ann"})
    assert (await run.tool_results)[0].payload.result["subAgentToolResults"][0]["result"] == "hello Ann"


async def test_an_inner_run_that_fails_is_an_error_that_the_outer_model_is_told() -> None:
    model = ScriptedModel([hands("do it"), says("sorry")])
    run = outer(model, inner(ModelError("the inner model is down"), max_retries=0)).stream("hi")
    chunks = await read(run)
    assert "the inner model is down" in str(of(ToolErrorChunk, chunks)[0].payload.error)
    assert types(nested(chunks))[-3:] == ["error", "step-finish", "finish"]
    assert_well_formed(chunks)
    assert told(model) == [ToolOutput("error-text", "the inner model is down")]
    assert (run.status, await run.text) == ("success", "sorry")


async def test_an_outer_run_that_nobody_reads_holds_up_the_inner_one() -> None:
    model = WatchedModel([says(*map(str, range(2000)))])
    agent = Agent("inner", model=model)
    run = outer(ScriptedModel([hands("do it"), says("done")]), agent).stream("hi")
    await turns(5000)
    assert (model.opened, model.closed) == (1, 0)
    assert len(run.chunks) < 1000
    assert fold(nested(await read(run))).text == "".join(map(str, range(2000)))


# -- what it costs

COSTS = {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}


async def test_the_tokens_of_inner_runs_are_counted_beside_those_of_the_run_itself() -> None:
    deep = Agent("deep", model=ScriptedModel([[*text("d"), finish(usage=COSTS)]]))
    middle = Agent("middle", model=ScriptedModel([hands("deep", to="deep"), says("m")]), tools=[deep])
    run = outer(ScriptedModel([hands("middle", to="middle"), says("done")]), middle).stream("hi")
    result = await run.result()
    assert result.usage.total_tokens == 2 * 15
    assert result.nested_usage.total_tokens == 2 * 15 + 120
    assert (result.nested_usage.input_tokens, result.nested_usage.output_tokens) == (120, 30)
    assert await run.nested_usage == result.nested_usage
    assert fold(decode(encode(chunk)) for chunk in run.chunks).nested_usage.total_tokens == 150


async def test_a_run_without_inner_runs_has_no_nested_tokens() -> None:
    run = inner(says("ok")).stream("hi")
    assert (await run.nested_usage).total_tokens is None


async def test_an_inner_run_that_fails_has_cost_what_it_has_cost() -> None:
    async def look() -> str:
        return "seen"

    agent = inner(calls("look"), ModelError("no"), tools=[look], max_retries=0)
    run = outer(ScriptedModel([hands("do it"), says("done")]), agent).stream("hi")
    assert (await run.nested_usage).total_tokens == 15


async def test_nothing_that_inner_runs_cost_is_lost_or_counted_twice_while_the_outer_one_waits() -> None:
    quick = Agent("quick", model=ScriptedModel([[*text("q"), finish(usage=COSTS)]]))
    slow = inner(calls("ask"), says("ok"), tools=[ask])
    model = ScriptedModel([hands("first", to="quick"), hands("second"), says("done")])
    agent = outer(model, quick, slow)
    waiting = agent.stream("hi", run_id="r")
    assert (await waiting.nested_usage).total_tokens == 120
    run = await agent.resume_stream("yes", run_id="r")
    assert ((await run.usage).total_tokens, (await run.nested_usage).total_tokens) == (45, 120 + 30)


# -- hooks


async def test_hooks_see_the_task_before_it_starts_and_when_it_is_done_and_may_change_both() -> None:
    seen: list[Delegation] = []

    def on_start(task: Delegation) -> str:
        seen.append(task)
        return f"{task.prompt}, please"

    async def on_end(task: Delegation) -> str:
        seen.append(task)
        await asyncio.sleep(0)
        assert task.result is not None
        return task.result.text.upper()

    agent = inner(says("ok"))
    model = ScriptedModel([hands("do it"), says("done")])
    run = outer(model, delegate(agent, on_start=on_start, on_end=on_end)).stream("hi", deps="deps")
    await read(run)
    start, end = seen
    assert (start.agent_name, start.prompt, start.tool_call_id, start.deps) == ("inner", "do it", "do it", "deps")
    assert start.result is None
    assert end == replace(start, result=end.result)
    assert {chunk.run_id for chunk in nested(run.chunks)} == {start.run_id}
    assert told(model) == [ToolOutput("text", "OK")]
    assert words((await fold_of(run)).messages[0]) == "do it, please"


async def fold_of(run: Run) -> Any:
    return fold(nested(await read(run)))


async def test_what_a_hook_gives_that_is_no_text_the_model_is_told_as_json() -> None:
    model = ScriptedModel([hands("do it"), says("done")])
    counting = delegate(inner(says("ok")), on_end=lambda task: {"words": 1})
    await outer(model, counting).generate("hi")
    assert told(model) == [ToolOutput("json", {"words": 1})]


async def test_hooks_that_say_nothing_change_nothing() -> None:
    seen: list[str] = []
    model = ScriptedModel([hands("do it"), says("done")])

    def notes(task: Delegation) -> None:
        seen.append(task.prompt)

    await outer(model, delegate(inner(says("ok")), on_start=notes, on_end=notes)).generate("hi")
    assert (seen, told(model)) == (["do it", "do it"], [ToolOutput("text", "ok")])


async def test_a_task_that_waits_in_between_starts_once_and_is_done_once() -> None:
    seen: list[str] = []
    hooked = delegate(
        inner(calls("ask"), says("ok"), tools=[ask]),
        on_start=lambda task: seen.append("start"),
        on_end=lambda task: seen.append("end"),
    )
    agent = outer(ScriptedModel([hands("do it"), says("done")]), hooked)
    await read(agent.stream("hi", run_id="r"))
    await read(await agent.resume_stream("yes", run_id="r"))
    assert seen == ["start", "end"]


@pytest.mark.parametrize("when", ["on_start", "on_end"])
async def test_a_hook_that_fails_fails_the_call(when: str) -> None:
    def refuses(task: Delegation) -> None:
        raise PermissionError("not this agent")

    hooks: dict[str, Any] = {when: refuses}
    model = ScriptedModel([hands("do it"), says("sorry")])
    chunks = await read(outer(model, delegate(inner(says("ok")), **hooks)).stream("hi"))
    assert (nested(chunks) == []) == (when == "on_start")
    assert told(model) == [ToolOutput("error-text", "not this agent")]


# -- cancelling


class Canceled:
    """An inner tool that notes that it was cancelled."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = False

    async def hang(self) -> str:
        self.begun.set()
        try:
            return await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.ended = True
            raise


async def test_cancelling_the_outer_run_cancels_the_model_of_the_inner_one() -> None:
    model = WatchedModel([[*text("on"), HANG]])
    run = outer(ScriptedModel([hands("do it"), says("never")]), Agent("inner", model=model)).stream("hi")
    await read_until(run, "tool-output", 4)
    run.cancel()
    chunks = await read(run)
    assert types(chunks)[-2:] == ["abort", "finish"]
    assert (run.status, model.opened, model.closed) == ("canceled", 1, 1)
    assert [message.role for message in await run.messages] == ["user"]


@pytest.mark.parametrize("by", ["cancel", "timeout", "leaving"])
async def test_the_end_of_the_outer_run_reaches_tools_of_the_innermost_one(by: str) -> None:
    canceled = Canceled()
    middle = Agent(
        "middle", model=ScriptedModel([hands("deeper")]), tools=[inner(calls("hang"), tools=[canceled.hang])]
    )
    agent = outer(ScriptedModel([hands("deep", to="middle")]), middle)
    limit = Timeout(total=0.2) if by == "timeout" else None
    async with agent.stream("hi", timeout=limit) as run:
        await canceled.begun.wait()
        if by == "cancel":
            run.cancel()
        if by != "leaving":
            await read(run)
    assert canceled.ended
    assert run.status == ("failed" if by == "timeout" else "canceled")


# -- waiting


async def test_what_an_inner_call_needs_approval_for_the_outer_run_asks() -> None:
    model = ScriptedModel([hands("do it"), says("done")])
    agent = outer(model, inner([call("pay", "p1", {"amount": 7}), finish("tool-calls")], says("ok"), tools=[pay]))
    run = agent.stream("hi", run_id="r")
    chunks = await read(run)
    assert types(chunks)[-2:] == ["tool-output", "tool-call-approval"]
    assert_well_formed(chunks)
    inside, outside = nested(chunks)[-1], of(ToolCallApprovalChunk, chunks)[0]
    assert (outside.run_id, outside.payload.tool_call_id) == ("r", "do it")
    assert (outside.payload.tool_name, outside.payload.args) == ("pay", {"amount": 7})
    assert (inside.payload.tool_call_id, inside.payload.resume_schema) == ("p1", outside.payload.resume_schema)
    assert run.status == "suspended"

    approved = await agent.approve_tool_call(run_id="r", tool_call_id="do it")
    more = await read(approved)
    assert_well_formed([*chunks, *more])
    assert of(ToolResultChunk, nested(more))[0].payload.result == "paid 7"
    assert types(more)[-1] == "finish"
    assert (approved.status, told(model)) == ("success", [ToolOutput("text", "ok")])


async def test_an_inner_call_may_be_declined_with_a_reason() -> None:
    inside = ScriptedModel([calls("pay"), says("a pity")])
    agent = outer(ScriptedModel([hands("do it"), says("done")]), Agent("inner", model=inside, tools=[pay]))
    await read(agent.stream("hi", run_id="r"))
    chunks = await read(await agent.decline_tool_call(run_id="r", reason="too dear"))
    assert of(ToolOutputDeniedChunk, nested(chunks))[0].payload.approval == {
        "id": "c1",
        "approved": False,
        "reason": "too dear",
    }
    assert told(inside) == [ToolOutput("text", "too dear")]


async def test_an_answer_that_is_neither_yes_nor_no_leaves_the_inner_call_waiting() -> None:
    agent = outer(ScriptedModel([hands("do it"), says("done")]), inner(calls("pay"), says("ok"), tools=[pay]))
    await read(agent.stream("hi", run_id="r"))
    with pytest.raises(ConfigError, match="approved"):
        await agent.resume_stream("maybe", run_id="r")
    assert await (await agent.approve_tool_call(run_id="r")).text == "done"


async def test_the_outer_call_is_approved_first_when_it_has_to_be() -> None:
    agent = outer(
        ScriptedModel([hands("do it"), says("done")]),
        inner(calls("pay"), says("ok"), tools=[pay]),
        require_tool_approval=True,
    )
    run = agent.stream("hi", run_id="r")
    asked = [(await run.suspend_payload).tool_name]
    run = await agent.approve_tool_call(run_id="r")
    asked.append((await run.suspend_payload).tool_name)
    run = await agent.approve_tool_call(run_id="r")
    assert (asked, await run.text) == (["agent-inner", "pay"], "done")


@pytest.mark.parametrize("answer", ["yes", False, 0, "", None])
async def test_what_an_inner_tool_asks_the_outer_run_asks(answer: Any) -> None:
    agent = outer(ScriptedModel([hands("do it"), says("done")]), inner(calls("ask"), says("ok"), tools=[ask]))
    run = agent.stream("hi", run_id="r")
    chunks = await read(run)
    outside = of(ToolCallSuspendedChunk, chunks)[0].payload
    assert (outside.tool_call_id, outside.tool_name, outside.suspend_payload) == ("do it", "ask", "sure?")
    more = await read(await agent.resume_stream(answer, run_id="r"))
    assert_well_formed([*chunks, *more])
    assert of(ToolResultChunk, nested(more))[0].payload.result == f"sure? {answer}"


async def test_several_calls_that_wait_inside_are_asked_for_one_after_the_other() -> None:
    two = [*(call("ask", name, {"question": name}) for name in "ab"), finish("tool-calls")]
    agent = outer(ScriptedModel([hands("do it"), says("done")]), inner(two, says("ok"), tools=[ask]))
    run = agent.stream("hi", run_id="r")
    assert [chunk.payload.tool_call_id for chunk in of(ToolCallSuspendedChunk, nested(await read(run)))] == ["a", "b"]
    asked = [(await run.suspend_payload).suspend_payload]
    run = await agent.resume_stream(1, run_id="r")
    asked.append((await run.suspend_payload).suspend_payload)
    run = await agent.resume_stream(2, run_id="r")
    results = [chunk.payload.result for chunk in of(ToolResultChunk, nested(await read(run)))]
    assert (asked, results, await run.text) == (["a", "b"], ["a 1", "b 2"], "done")


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
async def test_two_inner_runs_that_wait_are_answered_in_any_order(order: tuple[str, str]) -> None:
    first = inner(calls("ask"), says("of one"), tools=[ask])
    second = Agent("second", model=ScriptedModel([calls("ask"), says("of two")]), tools=[ask])
    both = [call("agent-inner", "one", {"prompt": "1"}), call("agent-second", "two", {"prompt": "2"})]
    model = ScriptedModel([[*both, finish("tool-calls")], says("done")])
    agent = outer(model, first, second)
    chunks = await read(agent.stream("hi", run_id="r"))
    assert [chunk.payload.tool_call_id for chunk in of(ToolCallSuspendedChunk, chunks)] == ["one", "two"]
    more = await read(await agent.resume_stream("yes", run_id="r", tool_call_id=order[0]))
    assert [chunk.payload.tool_call_id for chunk in of(ToolCallSuspendedChunk, more)] == [order[1]]
    last = await read(await agent.resume_stream("yes", run_id="r", tool_call_id=order[1]))
    assert_well_formed([*chunks, *more, *last])
    assert told(model) == [ToolOutput("text", "of one"), ToolOutput("text", "of two")]


async def test_what_waits_two_levels_down_reaches_the_outermost_run() -> None:
    middle = Agent(
        "middle",
        model=ScriptedModel([hands("deeper"), says("mid")]),
        tools=[inner(calls("ask"), calls("pay"), says("ok"), tools=[ask, pay])],
    )
    agent = outer(ScriptedModel([hands("deep", to="middle"), says("done")]), middle)
    run = agent.stream("hi", run_id="r")
    assert (await run.suspend_payload).tool_name == "ask"
    run = await agent.resume_stream("yes", run_id="r")
    assert (await run.suspend_payload).tool_name == "pay"
    run = await agent.approve_tool_call(run_id="r")
    assert (await run.text, (await run.nested_usage).total_tokens) == ("done", 5 * 15)
    for each in (agent, middle):
        assert (await each.list_suspended_runs()).total == 0


async def test_an_inner_run_that_waits_may_be_cancelled_when_it_goes_on() -> None:
    canceled = Canceled()
    agent = outer(ScriptedModel([hands("do it")]), inner(calls("ask"), calls("hang"), tools=[ask, canceled.hang]))
    await read(agent.stream("hi", run_id="r"))
    run = await agent.resume_stream("yes", run_id="r")
    await canceled.begun.wait()
    run.cancel()
    await read(run)
    assert (run.status, canceled.ended) == ("canceled", True)
    assert (await agent.store.list_snapshots()).total == 0


# -- where inner runs are kept


@pytest.mark.parametrize("how", ["agent", "tool", "option"])
async def test_inner_runs_are_kept_where_the_outer_ones_are(how: str) -> None:
    store = InMemoryStore()
    agent = inner(calls("ask"), says("ok"), tools=[ask])
    made = delegate(agent) if how == "tool" else agent
    model = ScriptedModel([hands("do it"), says("done")])
    if how == "option":
        run = outer(model, store=store).stream("hi", tools=[made])
    else:
        run = outer(model, made, store=store).stream("hi")
    await read(run)
    assert (await store.list_snapshots()).total == 2


async def test_an_inner_agent_keeps_to_a_store_of_its_own() -> None:
    store, own = InMemoryStore(), InMemoryStore()
    agent = outer(ScriptedModel([hands("do it")]), inner(calls("ask"), tools=[ask], store=own), store=store)
    await read(agent.stream("hi"))
    assert [(await each.list_snapshots()).total for each in (store, own)] == [1, 1]


# -- whose run it is


async def test_a_run_inside_of_another_is_answered_only_through_that_one() -> None:
    child = inner(calls("ask"), says("ok"), tools=[ask])
    agent = outer(ScriptedModel([hands("do it"), says("done")]), child)
    async with App([child, agent]) as app:
        await read(agent.stream("hi", run_id="r"))
        waiting = {each.parent_run_id: each.run_id for each in (await app.store.list_snapshots()).items}
        assert waiting.keys() == {None, "r"}
        assert (await child.list_suspended_runs()).total == 0
        assert [each.run_id for each in (await agent.list_suspended_runs()).items] == ["r"]
        with pytest.raises(RunNotSuspendedError, match='it is part of the run "r", which is to be resumed'):
            await app.resume_stream("yes", run_id=waiting["r"])
        assert await (await app.resume_stream("yes", run_id="r")).text == "done"
        assert (await app.store.list_snapshots()).total == 0


async def test_a_run_that_waits_inside_of_a_cancelled_one_is_forgotten_with_it() -> None:
    asks_on = inner(calls("ask"), calls("ask"), tools=[ask])
    middle = Agent("middle", model=ScriptedModel([hands("ask"), says("ok")]), tools=[asks_on])
    model = ScriptedModel([hands("do it", to="middle"), says("done")])
    agent = outer(model, middle)
    await read(agent.stream("hi", run_id="r"))
    assert (await agent.store.list_snapshots()).total == 3
    run = await agent.resume_stream("yes", run_id="r")
    run.cancel()
    assert types(await read(run))[-2:] == ["abort", "finish"]
    assert (await agent.store.list_snapshots()).total == 0


@pytest.mark.parametrize("end", ["cancel", "tripwire", "unsavable"])
async def test_of_a_run_that_waits_inside_of_one_that_ends_before_it_waits_nothing_is_left(end: str) -> None:
    class Guard(Processor):
        def process_tool_result(self, chunk: Any, ctx: ProcessorContext) -> None:
            ctx.abort("no")

    async def slow() -> str:
        await asyncio.sleep(3600 if end == "cancel" else 0.05)
        return "done"

    both = [*hands("do it")[:-1], call("slow", "c2"), finish("tool-calls")]
    options: dict[str, Any] = {"processors": [Guard()]} if end == "tripwire" else {}
    agent = outer(ScriptedModel([both]), inner(calls("ask"), tools=[ask]), slow, **options)
    unsavable = {"provider_options": {"x": {"y": object()}}} if end == "unsavable" else {}
    run = agent.stream("hi", **unsavable)  # type: ignore[arg-type]
    while not (await agent.store.list_snapshots()).total:
        await turns(1)
    if end == "cancel":
        run.cancel()
    await read(run)
    assert run.status == {"cancel": "canceled", "tripwire": "tripwire", "unsavable": "failed"}[end]
    assert (await agent.store.list_snapshots()).total == 0


async def test_a_run_option_changes_no_agents_store() -> None:
    child = inner(calls("ask"), says("ok"), tools=[ask])
    before = child.store
    other = Agent("other", model=ScriptedModel([hands("do it"), says("done")]))
    await read(other.stream("hi", run_id="r", tools=[child]))
    assert (child.store, (await before.list_snapshots()).total) == (before, 0)
    assert (await other.store.list_snapshots()).total == 2


# -- when a process died in between


async def test_a_task_of_which_nothing_is_left_begins_again_and_asks_again() -> None:
    own = InMemoryStore()
    agent = outer(
        ScriptedModel([hands("do it"), says("done")]),
        inner(calls("ask"), calls("ask"), says("ok"), tools=[ask], store=own),
    )
    await read(agent.stream("hi", run_id="r"))
    for snapshot in (await own.list_snapshots()).items:
        await own.discard(snapshot.run_id)
    run = await agent.resume_stream("yes", run_id="r")
    assert (await run.suspend_payload).suspend_payload == "sure?"
    assert await (await agent.resume_stream("yes", run_id="r")).text == "done"


async def test_an_inner_run_that_a_dead_process_holds_goes_on_with_the_outer_one() -> None:
    agent = outer(ScriptedModel([hands("do it"), says("done")]), inner(calls("ask"), says("ok"), tools=[ask]))
    await read(agent.stream("hi", run_id="r"))
    (run_id,) = [each.run_id for each in (await agent.store.list_snapshots()).items if each.parent_run_id == "r"]
    assert await agent.store.claim(run_id, lease=1000)
    run = await agent.resume_stream("yes", run_id="r")
    assert of(ToolResultChunk, nested(await read(run)))[0].payload.result == "sure? yes"
    assert await run.text == "done"


async def test_an_answer_is_never_taken_for_one_to_a_question_that_nobody_has_seen() -> None:
    paid: list[int] = []

    @tool(requires_approval=True)
    async def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    little, much = ([call("pay", "p", {"amount": amount}), finish("tool-calls")] for amount in (5, 5000))
    child = inner(little, much, says("ok"), tools=[pay])
    agent = outer(ScriptedModel([hands("do it"), says("done")]), child)
    await read(agent.stream("hi", run_id="r"))
    # a process took the approval of 5 to the inner run and died before it could say what that asks next
    (run_id,) = [each.run_id for each in (await agent.store.list_snapshots()).items if each.parent_run_id == "r"]
    await read(await child.inside("r", agent.store).approve_tool_call(run_id=run_id))
    run = await agent.approve_tool_call(run_id="r")
    assert ((await run.suspend_payload).args, paid) == ({"amount": 5000}, [5])
    assert await (await agent.approve_tool_call(run_id="r")).text == "done"
    assert paid == [5, 5000]


async def test_the_finish_of_the_inner_run_says_what_all_of_it_cost() -> None:
    agent = outer(ScriptedModel([hands("do it"), says("done")]), inner(calls("ask"), says("ok"), tools=[ask]))
    await read(agent.stream("hi", run_id="r"))
    chunks = await read(await agent.resume_stream("yes", run_id="r"))
    ends = [chunk.payload.output.usage.total_tokens for chunk in of(FinishChunk, nested(chunks))]  # type: ignore[union-attr]
    assert ends == [30]


class Guard(Processor):
    """Lets nothing of what is said pass."""

    async def process_output_stream(self, chunk: Any, ctx: ProcessorContext) -> Any:
        return ctx.abort("not for your ears") if chunk.type == "text-end" else chunk


async def test_what_a_processor_of_the_inner_run_refuses_does_not_reach_the_outer_model() -> None:
    model = ScriptedModel([hands("tell"), says("sorry")])
    run = outer(model, inner(says("the secret"), processors=[Guard()])).stream("hi")
    chunks = await read(run)
    assert types(nested(chunks))[-1] == "tripwire"
    (answer,) = told(model)
    assert (answer.type, "not for your ears" in str(answer.value), "secret" in str(answer.value)) == (
        "error-text",
        True,
        False,
    )
    assert run.status == "success"
