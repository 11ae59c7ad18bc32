"""The tool calls of a step: side by side, their outcomes in the order of the calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from riverrun import Agent, NamedTool, RunError, Tool, ToolContext, tool
from riverrun.chunks import (
    DataChunk,
    ToolErrorChunk,
    ToolMessage,
    ToolOutput,
    ToolOutputChunk,
    ToolResultChunk,
    ToolResultPart,
)
from riverrun.models import ScriptedModel
from tests.agent.scripts import (
    agent_of,
    assert_well_formed,
    call,
    calls,
    finish,
    of,
    read,
    says,
    text,
    turns,
    types,
)


async def look() -> str:
    return "seen"


async def fails() -> str:
    raise ValueError("broken")


async def told(agent: Agent, model: ScriptedModel) -> dict[str, ToolOutput]:
    """What the model is told of the calls of its first answer."""
    await agent.generate("hi")
    message = model.requests[1].messages[-1]
    assert isinstance(message, ToolMessage)
    return {part.tool_call_id: part.output for part in message.content if isinstance(part, ToolResultPart)}


class Stations:
    """Tools that note when they begin and end, and how many run at once."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.running = 0
        self.most = 0

    def tool(self, name: str, turns_taken: int) -> Tool:
        async def execute(_: dict[str, Any], ctx: ToolContext) -> str:
            self.running += 1
            self.most = max(self.most, self.running)
            await turns(turns_taken)
            self.running -= 1
            self.events.append(name)
            return name

        return Tool(name=name, execute=execute)


async def test_results_come_in_the_order_of_the_calls_not_of_their_ends() -> None:
    stations = Stations()
    tools = [stations.tool("slow", 12), stations.tool("middle", 6), stations.tool("quick", 1)]
    chunks = await read(agent_of(calls("slow", "middle", "quick"), says("a"), tools=tools).stream("hi"))
    assert stations.events == ["quick", "middle", "slow"]
    assert [chunk.payload.result for chunk in of(ToolResultChunk, chunks)] == ["slow", "middle", "quick"]
    assert_well_formed(chunks)


async def test_errors_come_before_results() -> None:
    chunks = await read(agent_of(calls("look", "fails", "look"), says("a"), tools=[look, fails]).stream("hi"))
    outcomes = [chunk for chunk in chunks if isinstance(chunk, ToolErrorChunk | ToolResultChunk)]
    assert [(chunk.type, chunk.payload.tool_call_id) for chunk in outcomes] == [
        ("tool-error", "c2"),
        ("tool-result", "c1"),
        ("tool-result", "c3"),
    ]


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (2, 2), (10, 4)])
async def test_no_more_tools_run_at_once_than_allowed(limit: int, most: int) -> None:
    stations = Stations()
    tools = [stations.tool("work", 3)]
    await agent_of(calls(*["work"] * 4), says("a"), tools=tools, tool_concurrency=limit).generate("hi")
    assert stations.most == most


async def test_a_run_may_allow_fewer_tools_at_once_than_its_agent() -> None:
    stations = Stations()
    agent = agent_of(calls(*["work"] * 4), says("a"), tools=[stations.tool("work", 3)])
    await agent.generate("hi", tool_concurrency=1)
    assert stations.most == 1


async def test_a_tool_that_raises_is_told_to_the_model_which_goes_on() -> None:
    model = ScriptedModel([calls("fails", "look"), says("sorry")])
    agent = Agent("a", model=model, tools=[fails, look])
    assert await told(agent, model) == {"c1": ToolOutput("error-text", "broken"), "c2": ToolOutput("text", "seen")}


async def test_the_error_of_a_tool_is_the_exception_itself() -> None:
    chunks = await read(agent_of(calls("fails"), says("a"), tools=[fails]).stream("hi"))
    (error,) = of(ToolErrorChunk, chunks)
    assert isinstance(error.payload.error, ValueError)
    assert error.payload.args == {}


async def test_a_tool_that_is_not_there_is_told_with_those_that_are() -> None:
    model = ScriptedModel([calls("nope"), says("sorry")])
    output = (await told(Agent("a", model=model, tools=[look, fails]), model))["c1"]
    assert output.type == "error-text"
    assert 'Tool "nope" not found. Available tools: look, fails.' in output.value


async def test_a_tool_is_found_by_its_id_as_well() -> None:
    @tool(id="weather-v2")
    async def weather() -> str:
        return "fine"

    model = ScriptedModel([calls("weather-v2"), says("a")])
    assert await told(Agent("a", model=model, tools=[weather]), model) == {"c1": ToolOutput("text", "fine")}


async def test_a_result_that_is_no_text_is_told_as_json() -> None:
    async def count() -> dict[str, int]:
        return {"n": 3}

    model = ScriptedModel([calls("count"), says("a")])
    assert await told(Agent("a", model=model, tools=[count]), model) == {"c1": ToolOutput("json", {"n": 3})}


async def test_a_tool_decides_what_the_model_is_told_of_its_result() -> None:
    @tool(to_model_output=lambda result: f"{len(result)} rows")
    async def rows() -> list[int]:
        return [1, 2, 3]

    model = ScriptedModel([calls("rows"), says("a")])
    run = Agent("a", model=model, tools=[rows]).stream("hi")
    assert [chunk.payload.result for chunk in await run.tool_results] == [[1, 2, 3]]
    message = model.requests[1].messages[-1]
    assert isinstance(message, ToolMessage)
    assert message.content[0].output == ToolOutput("text", "3 rows")  # type: ignore[union-attr]


async def test_a_program_that_cannot_tell_a_result_fails_the_run() -> None:
    """Several at once, too: no exception is left that nobody looked at."""

    def broken(result: Any) -> str:
        raise LookupError("my bug")

    @tool(to_model_output=broken)
    async def rows() -> list[int]:
        return [1]

    run = agent_of(calls("rows", "rows", "look"), says("never"), tools=[rows, look]).stream("hi")
    with pytest.raises(RunError, match="my bug"):
        await run.result()
    kinds = types(await read(run))
    assert kinds[-3:] == ["tool-result", "error", "finish"]


async def test_what_a_tool_writes_is_in_the_stream_while_it_runs() -> None:
    go = asyncio.Event()

    async def writes(ctx: ToolContext) -> str:
        await ctx.write({"at": 1})
        await go.wait()
        await ctx.emit("progress", 50, transient=True)
        return "done"

    run = agent_of(calls("writes"), says("a"), tools=[writes]).stream("hi")
    async for chunk in run:
        if isinstance(chunk, ToolOutputChunk):
            assert (chunk.payload.output, chunk.payload.tool_call_id) == ({"at": 1}, "c1")
            assert chunk.from_ == "USER"
            go.set()
    chunks = await read(run)
    (data,) = of(DataChunk, chunks)
    assert (data.type, data.data, data.transient, data.run_id) == ("data-progress", 50, True, run.run_id)
    assert_well_formed(chunks)


async def test_a_tool_knows_its_call() -> None:
    seen: list[Any] = []

    async def knows(ctx: ToolContext) -> None:
        seen.append((ctx.run_id, ctx.agent_id, ctx.tool_call_id, ctx.tool_name, ctx.deps))
        seen.append([message.role for message in ctx.messages])

    agent = agent_of(calls("knows"), says("a"), tools=[knows], instructions="Be brief.")
    await agent.generate("hi", run_id="r", deps=7)
    assert seen == [("r", "tested", "c1", "knows", 7), ["system", "user"]]


async def test_arguments_reach_the_tool_as_its_types() -> None:
    async def add(a: int, b: int = 2) -> int:
        return a + b

    chunks = await read(
        agent_of([call("add", args='{"a": 40}'), finish("tool-calls")], says("a"), tools=[add]).stream("hi")
    )
    assert [chunk.payload.result for chunk in of(ToolResultChunk, chunks)] == [42]


async def test_arguments_that_do_not_fit_are_told_to_the_model() -> None:
    async def add(a: int) -> int:
        return a

    run = agent_of([call("add", args='{"a": "many"}'), finish("tool-calls")], says("a"), tools=[add]).stream("hi")
    (result,) = await run.tool_results
    assert result.payload.result["error"] is True
    assert "Tool input validation failed for add" in result.payload.result["message"]


async def test_tools_of_a_run_are_added_to_the_agents_and_take_their_place() -> None:
    @tool(name="look")
    async def other_look() -> str:
        return "seen by another"

    async def peek() -> str:
        return "peeked"

    model = ScriptedModel([calls("look", "peek"), says("a")])
    result = await Agent("a", model=model, tools=[look]).generate("hi", tools=[other_look, peek])
    assert [chunk.payload.result for chunk in result.tool_results] == ["seen by another", "peeked"]
    assert [spec.name for spec in model.requests[0].tools] == ["look", "peek"]


async def test_only_active_tools_are_offered() -> None:
    async def peek() -> str:
        return "peeked"

    model = ScriptedModel([says("a"), says("b")])
    agent = Agent("a", model=model, tools=[look, peek])
    await agent.generate("hi", active_tools=["peek"])
    await agent.generate("hi")
    assert [[spec.name for spec in request.tools] for request in model.requests] == [["peek"], ["look", "peek"]]


@pytest.mark.parametrize("choice", ["auto", "none", "required", NamedTool("look")])
async def test_the_tool_choice_is_passed_on_in_every_step(choice: Any) -> None:
    model = ScriptedModel([calls("look"), says("a")])
    await Agent("a", model=model, tools=[look]).generate("hi", tool_choice=choice)
    assert [request.tool_choice for request in model.requests] == [choice, choice]


async def test_text_after_a_call_is_part_of_the_same_answer() -> None:
    answer = [*text("I look."), call("look"), *text("Wait.", id="u"), finish("tool-calls")]
    model = ScriptedModel([answer, says("done")])
    chunks = await read(Agent("a", model=model, tools=[look]).stream("hi"))
    kinds = types(chunks)
    assert kinds.index("tool-call") < kinds.index("text-start", kinds.index("tool-call")) < kinds.index("tool-result")
    assert [part.type for part in model.requests[1].messages[1].content] == [  # type: ignore[union-attr]
        "text",
        "tool-call",
        "text",
    ]


async def test_a_tool_may_run_another_agent() -> None:
    inner = agent_of(says("from within"))

    async def delegate(ctx: ToolContext) -> str:
        run = inner.stream("go")
        async for chunk in run:
            await ctx.write(chunk)
        return await run.text

    chunks = await read(agent_of(calls("delegate"), says("a"), tools=[delegate]).stream("hi"))
    nested = [chunk.payload.output for chunk in of(ToolOutputChunk, chunks)]
    assert types(nested)[0] == "start"
    assert types(nested)[-1] == "finish"
    assert [chunk.payload.result for chunk in of(ToolResultChunk, chunks)] == ["from within"]
