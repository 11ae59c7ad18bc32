"""Steps: when another follows, what the model is told in it, what it cost, and the messages for the next turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from riverrun import (
    Agent,
    ModelError,
    ModelRequest,
    RunError,
    Timeout,
    ToolContext,
    client_tool,
    has_tool_call,
    step_count_is,
)
from riverrun.chunks import (
    AssistantMessage,
    ChunkType,
    ErrorChunk,
    FinishChunk,
    FinishPayload,
    Message,
    ReasoningPart,
    Step,
    StepFinishChunk,
    StepResult,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultChunk,
    ToolResultPart,
    UserMessage,
    to_value,
)
from riverrun.models import ScriptedModel
from riverrun.models.parts import Part
from tests.agent.scripts import (
    HANG,
    USAGE,
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


async def look() -> str:
    return "seen"


def roles(messages: Sequence[Message]) -> list[str]:
    return [message.role for message in messages]


def user(words: str) -> UserMessage:
    return UserMessage([TextPart(words)])


# -- when another step follows


async def test_a_tool_is_run_and_the_model_asked_again() -> None:
    model = ScriptedModel([calls("look"), says("done")])
    chunks = await read(Agent("a", model=model, tools=[look]).stream("hi"))
    assert types(chunks) == [
        "start",
        "step-start",
        "tool-call",
        "tool-result",
        "step-finish",
        "step-start",
        "text-start",
        "text-delta",
        "text-end",
        "step-finish",
        "finish",
    ]
    assert_well_formed(chunks)
    assert model.requests[1].messages == [
        user("hi"),
        AssistantMessage([ToolCallPart(tool_call_id="c1", tool_name="look", input={})]),
        ToolMessage([ToolResultPart(tool_call_id="c1", tool_name="look", output=ToolOutput("text", "seen"), input={})]),
    ]


@pytest.mark.parametrize(
    ("reason", "steps", "finish_reason"),
    [
        ("stop", 1, "stop"),
        ("length", 1, "length"),
        ("content-filter", 1, "content-filter"),
        ("tool-calls", 2, "stop"),
        ("other", 2, "stop"),
        ("unknown", 2, "stop"),
    ],
)
async def test_an_answer_of_text_is_followed_by_another_step_as_its_reason_says(
    reason: str, steps: int, finish_reason: str
) -> None:
    model = ScriptedModel([says("a", reason=reason), says("b")])
    result = await Agent("a", model=model).generate("hi")
    assert (len(model.requests), result.finish_reason) == (steps, finish_reason)
    assert result.text == "ab"[:steps]


@pytest.mark.parametrize(
    ("reason", "steps"), [("stop", 2), ("tool-calls", 2), ("other", 2), ("length", 1), ("content-filter", 1)]
)
async def test_a_call_of_a_tool_is_run_and_followed_by_another_step_as_its_reason_says(reason: str, steps: int) -> None:
    model = ScriptedModel([[call("look"), finish(reason)], says("done")])
    chunks = await read(Agent("a", model=model, tools=[look]).stream("hi"))
    assert len(of(ToolResultChunk, chunks)) == 1
    assert len(model.requests) == steps


async def test_a_reason_of_error_without_an_error_is_an_error() -> None:
    chunks = await read(agent_of(says("par", reason="error")).stream("hi"))
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]
    assert "no error payload" in str(of(ErrorChunk, chunks)[0].payload.error)


async def test_an_answer_that_says_nothing_for_no_reason_is_an_error() -> None:
    chunks = await read(agent_of([finish("other")]).stream("hi"))
    assert types(chunks) == ["start", "step-start", "error", "step-finish", "finish"]
    assert "without producing any output" in str(of(ErrorChunk, chunks)[0].payload.error)


async def test_an_empty_answer_that_simply_stops_is_a_success() -> None:
    result = await agent_of([finish("stop")]).generate("hi")
    assert (result.status, result.text, result.messages) == ("success", "", [user("hi")])


async def test_is_continued_says_whether_another_step_follows() -> None:
    chunks = await read(agent_of(calls("look"), calls("look"), says("a"), tools=[look]).stream("hi"))
    flags = [chunk.payload.step_result.is_continued for chunk in of(StepFinishChunk, chunks)]  # type: ignore[union-attr]
    assert flags == [True, True, False]


async def test_one_message_id_names_the_answer_through_all_its_steps() -> None:
    chunks = await read(agent_of(calls("look"), says("a"), tools=[look]).stream("hi"))
    framing = [chunk for chunk in chunks if chunk.type in ("start", "step-start", "step-finish", "finish")]
    assert len({to_value(chunk)["payload"]["messageId"] for chunk in framing}) == 1


# -- stop conditions


async def test_a_run_stops_after_five_steps_when_nothing_is_said() -> None:
    model = ScriptedModel([calls("look") for _ in range(9)])
    result = await Agent("a", model=model, tools=[look]).generate("hi")
    assert (len(model.requests), result.finish_reason, len(result.steps)) == (5, "tool-calls", 5)
    assert len(result.tool_results) == 5


@pytest.mark.parametrize("most", [1, 2, 7])
async def test_a_run_stops_after_max_steps(most: int) -> None:
    model = ScriptedModel([calls("look") for _ in range(9)])
    await Agent("a", model=model, tools=[look], max_steps=most).generate("hi")
    assert len(model.requests) == most


async def test_max_steps_of_a_run_take_the_place_of_the_agents() -> None:
    model = ScriptedModel([calls("look") for _ in range(9)])
    await Agent("a", model=model, tools=[look], max_steps=1).generate("hi", max_steps=3)
    assert len(model.requests) == 3


async def test_a_stop_condition_takes_the_place_of_the_default_limit() -> None:
    model = ScriptedModel([*(calls("look") for _ in range(7)), says("done")])
    result = await Agent("a", model=model, tools=[look], stop_when=has_tool_call("other")).generate("hi")
    assert (len(model.requests), result.text) == (8, "done")


async def test_max_steps_bound_a_run_whatever_its_stop_conditions_say() -> None:
    model = ScriptedModel([calls("look") for _ in range(9)])
    await Agent("a", model=model, tools=[look], stop_when=step_count_is(6), max_steps=3).generate("hi")
    assert len(model.requests) == 3


async def test_has_tool_call_stops_after_the_step_that_calls_the_tool() -> None:
    model = ScriptedModel([calls("look"), calls("answer"), says("never")])
    agent = Agent("a", model=model, tools=[look, answer], stop_when=has_tool_call("answer"))
    result = await agent.generate("hi")
    assert (len(model.requests), [chunk.payload.result for chunk in result.tool_results]) == (2, ["seen", "42"])


async def answer() -> str:
    return "42"


async def test_any_of_several_conditions_stops_a_run() -> None:
    model = ScriptedModel([calls("look") for _ in range(9)])
    conditions = [step_count_is(4), has_tool_call("answer")]
    await Agent("a", model=model, tools=[look], stop_when=conditions).generate("hi")
    assert len(model.requests) == 4


async def test_a_condition_of_the_program_is_asked_with_the_steps_so_far() -> None:
    asked: list[int] = []

    async def enough(steps: Sequence[Step]) -> bool:
        await asyncio.sleep(0)
        asked.append(len(steps))
        return steps[-1].usage.total_tokens == 15 and len(steps) == 3

    model = ScriptedModel([calls("look") for _ in range(9)])
    await Agent("a", model=model, tools=[look]).generate("hi", stop_when=enough)
    assert (len(model.requests), asked) == (3, [1, 2, 3])


async def test_a_condition_is_not_asked_after_the_last_step() -> None:
    asked: list[int] = []

    def enough(steps: Sequence[Step]) -> bool:
        asked.append(len(steps))
        return False

    await agent_of(calls("look"), says("a"), tools=[look]).generate("hi", stop_when=enough)
    assert asked == [1]


async def test_a_condition_that_raises_fails_the_run_and_keeps_what_was_paid() -> None:
    def broken(steps: Sequence[Step]) -> bool:
        raise LookupError("my bug")

    run = agent_of(calls("look"), tools=[look]).stream("hi", stop_when=broken)
    chunks = await read(run)
    assert types(chunks)[-2:] == ["error", "finish"]
    assert isinstance(run.error, LookupError)
    assert run.partial.usage.total_tokens == 15


# -- usage


async def test_usage_is_each_steps_own_and_the_sum_at_the_end() -> None:
    first = [call("look"), finish("tool-calls", {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5})]
    second = [*text("a"), finish(usage={"inputTokens": 7, "outputTokens": 1, "cachedInputTokens": 4})]
    run = agent_of(first, second, tools=[look]).stream("hi")
    chunks = await read(run)
    usages = [chunk.payload.output.usage for chunk in of(StepFinishChunk, chunks)]  # type: ignore[union-attr]
    assert [usage.input_tokens for usage in usages if usage] == [3, 7]
    total = await run.usage
    assert (total.input_tokens, total.output_tokens, total.cached_input_tokens) == (10, 3, 4)
    assert [step.usage.output_tokens for step in await run.steps] == [2, 1]


async def test_counts_that_nobody_gave_stay_unknown() -> None:
    result = await agent_of([*text("a"), finish(usage={})]).generate("hi")
    assert result.usage.input_tokens is None
    assert result.total_usage.total_tokens == 0


async def test_the_usage_in_finish_is_always_a_number() -> None:
    (end,) = of(FinishChunk, await read(agent_of([*text("a"), finish(usage={})]).stream("hi")))
    assert end.payload.output is not None
    usage = end.payload.output.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (0, 0, 0)


async def test_usage_of_a_failed_run_counts_the_steps_before() -> None:
    run = agent_of(calls("look"), ModelError("no"), tools=[look]).stream("hi")
    with pytest.raises(RunError) as raised:
        await run.result()
    assert raised.value.partial.usage.total_tokens == 15  # type: ignore[attr-defined]


# -- what the model is told


async def test_instructions_come_first_and_are_no_part_of_the_conversation() -> None:
    model = ScriptedModel([says("a")])
    run = Agent("a", model=model, instructions=["Be brief.", "Be kind."]).stream("hi", system="Today is Monday.")
    messages = await run.messages
    assert model.requests[0].messages == [
        SystemMessage("Be brief."),
        SystemMessage("Be kind."),
        SystemMessage("Today is Monday."),
        user("hi"),
    ]
    assert messages == [user("hi"), AssistantMessage([TextPart("a")])]


async def test_system_messages_of_the_input_follow_the_instructions() -> None:
    model = ScriptedModel([says("a")])
    given: list[Any] = [{"role": "system", "content": "Be quick."}, "hi"]
    await Agent("a", model=model, instructions="Be brief.").generate(given)
    assert model.requests[0].messages == [SystemMessage("Be brief."), SystemMessage("Be quick."), user("hi")]


async def test_context_is_seen_in_this_run_only() -> None:
    model = ScriptedModel([calls("look"), says("a")])
    run = Agent("a", model=model, tools=[look]).stream("hi", context="It rains.")
    assert roles(await run.messages) == ["user", "assistant", "tool", "assistant"]
    assert all(request.messages[0] == user("It rains.") for request in model.requests)


async def test_text_reasoning_and_calls_are_told_in_the_order_in_which_they_began() -> None:
    model = ScriptedModel([[*reasoning("hm"), *text("I look."), call("look"), finish("tool-calls")], says("a")])
    await Agent("a", model=model, tools=[look]).generate("hi")
    said = model.requests[1].messages[1]
    assert isinstance(said, AssistantMessage)
    assert said.content == [
        ReasoningPart("hm"),
        TextPart("I look."),
        ToolCallPart(tool_call_id="c1", tool_name="look", input={}),
    ]


async def test_what_the_provider_said_of_a_block_goes_back_to_it() -> None:
    metadata = {"p": {"signature": "sig"}}
    first = [*reasoning("hm", providerMetadata=metadata), call("look", providerMetadata=metadata), finish("tool-calls")]
    model = ScriptedModel([first, says("a")])
    await Agent("a", model=model, tools=[look]).generate("hi")
    said = model.requests[1].messages[1]
    assert isinstance(said, AssistantMessage)
    assert [part.provider_options for part in said.content] == [metadata, metadata]  # type: ignore[union-attr]


async def test_each_step_sees_all_steps_before() -> None:
    model = ScriptedModel([calls("look"), calls("look"), says("a")])
    await Agent("a", model=model, tools=[look]).generate("hi")
    assert [roles(request.messages) for request in model.requests] == [
        ["user"],
        ["user", "assistant", "tool"],
        ["user", "assistant", "tool", "assistant", "tool"],
    ]


# -- messages for the next turn


async def test_the_messages_of_a_run_are_the_beginning_of_the_next() -> None:
    model = ScriptedModel([calls("look"), says("It is fine."), says("bye")])
    agent = Agent("a", model=model, instructions="Be brief.", tools=[look])
    first = agent.stream("hi")
    await agent.generate([*await first.messages, "thanks"])
    assert model.requests[2].messages == [
        *model.requests[1].messages,
        AssistantMessage([TextPart("It is fine.")]),
        user("thanks"),
    ]
    assert roles(model.requests[2].messages) == ["system", "user", "assistant", "tool", "assistant", "user"]


async def test_messages_that_went_over_the_wire_say_the_same() -> None:
    first = [*reasoning("hm"), *text("I look."), call("look"), finish("tool-calls")]
    model = ScriptedModel([first, says("done"), says("again"), says("again")])
    agent = Agent("a", model=model, tools=[look])
    run = agent.stream("hi")
    (end,) = of(FinishChunk, await read(run))
    wired = to_value(end)["payload"]["messages"]["all"]
    await agent.generate([*await run.messages, "more"])
    await agent.generate([*wired, "more"])
    assert model.requests[2].messages == model.requests[3].messages


async def test_calls_without_a_result_are_not_told() -> None:
    model = ScriptedModel([says("a")])
    history: list[Any] = [
        "look",
        AssistantMessage([TextPart("I look."), ToolCallPart(tool_call_id="c1", tool_name="look", input={})]),
        AssistantMessage([ToolCallPart(tool_call_id="c2", tool_name="look", input={})]),
        "never mind",
    ]
    await Agent("a", model=model, tools=[look]).generate(history)
    assert model.requests[0].messages == [
        user("look"),
        AssistantMessage([TextPart("I look.")]),
        user("never mind"),
    ]


async def test_a_call_is_answered_by_what_comes_behind_it_only() -> None:
    """Some models number their calls from 1 in every answer."""
    model = ScriptedModel([says("a")])
    asked = AssistantMessage([ToolCallPart(tool_call_id="1", tool_name="look", input={})])
    told = ToolMessage([ToolResultPart(tool_call_id="1", tool_name="look", output=ToolOutput("text", "seen"))])
    await Agent("a", model=model, tools=[look]).generate([user("one"), asked, told, user("two"), asked, user("three")])
    assert model.requests[0].messages == [user("one"), asked, told, user("two"), user("three")]


async def test_calls_that_the_provider_runs_are_told_without_a_result() -> None:
    model = ScriptedModel([says("a")])
    searched = AssistantMessage(
        [ToolCallPart(tool_call_id="s1", tool_name="search", input={}, provider_executed=True), TextPart("found")]
    )
    await Agent("a", model=model).generate(["hi", searched, "more"])
    assert searched in model.requests[0].messages


async def test_results_of_a_step_are_told_in_one_message_in_the_order_of_its_calls() -> None:
    model = ScriptedModel([says("a")])
    asked = AssistantMessage([ToolCallPart(tool_call_id=id, tool_name="look", input={}) for id in ("x", "y", "z")])
    told = {
        id: ToolResultPart(tool_call_id=id, tool_name="look", output=ToolOutput("text", id)) for id in ("x", "y", "z")
    }
    history = ["hi", asked, ToolMessage([told["z"]]), ToolMessage([told["x"], told["y"]])]
    await Agent("a", model=model).generate(history)
    assert model.requests[0].messages[-1] == ToolMessage([told["x"], told["y"], told["z"]])


async def test_an_aborted_run_keeps_finished_tools_and_drops_the_others() -> None:
    async def waits() -> str:
        await asyncio.get_running_loop().create_future()
        return "never"

    model = ScriptedModel([[*text("Both."), call("waits", "w"), call("look", "l"), finish("tool-calls")], says("ok")])
    agent = Agent("a", model=model, tools=[waits, look])
    run = agent.stream("hi")
    await read_until(run, "tool-call", 2)
    await turns()
    run.cancel()
    kinds = types(await read(run))
    assert kinds[-3:] == ["tool-result", "abort", "finish"]
    await agent.generate([*await run.messages, "go on"])
    assert model.requests[1].messages == [
        user("hi"),
        AssistantMessage([TextPart("Both."), ToolCallPart(tool_call_id="l", tool_name="look", input={})]),
        ToolMessage([ToolResultPart(tool_call_id="l", tool_name="look", output=ToolOutput("text", "seen"), input={})]),
        user("go on"),
    ]


async def test_a_failed_run_leaves_messages_that_can_be_said_again() -> None:
    model = ScriptedModel([calls("look"), ModelError("no"), says("ok")])
    agent = Agent("a", model=model, tools=[look])
    run = agent.stream("hi")
    await read(run)
    await agent.generate([*run.partial.messages, "again"])
    assert roles(model.requests[2].messages) == ["user", "assistant", "tool", "user"]


# -- client tools, and tools that the provider runs


def pick() -> Any:
    return client_tool("pick", description="Lets the user pick a colour.")


async def test_a_call_of_a_client_tool_ends_the_run() -> None:
    model = ScriptedModel([calls("pick"), says("Blue it is.")])
    agent = Agent("a", model=model, tools=[pick()])
    run = agent.stream("hi")
    chunks = await read(run)
    assert types(chunks) == ["start", "step-start", "tool-call", "step-finish", "finish"]
    assert_well_formed(chunks)
    assert (run.status, await run.finish_reason) == ("success", "tool-calls")
    answered: Any = {
        "role": "tool",
        "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "pick", "result": "blue"}],
    }
    assert (await agent.generate([*await run.messages, answered])).text == "Blue it is."
    assert roles(model.requests[1].messages) == ["user", "assistant", "tool"]


async def test_client_and_server_tools_in_one_step() -> None:
    """The server's results are given and kept; the run ends, and both results are told in the next."""
    model = ScriptedModel([calls("pick", "look"), says("done")])
    agent = Agent("a", model=model, tools=[pick(), look])
    run = agent.stream("hi")
    chunks = await read(run)
    assert [chunk.payload.tool_call_id for chunk in of(ToolResultChunk, chunks)] == ["c2"]
    answered: Any = {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "result": "blue"}]}
    await agent.generate([*await run.messages, answered])
    told = model.requests[1].messages[-1]
    assert isinstance(told, ToolMessage)
    assert [part.tool_call_id for part in told.content] == ["c1", "c2"]  # type: ignore[union-attr]


async def test_a_client_tool_that_was_not_answered_is_dropped_from_the_next_turn() -> None:
    model = ScriptedModel([calls("pick"), says("ok")])
    agent = Agent("a", model=model, tools=[pick()])
    await agent.generate([*await agent.stream("hi").messages, "never mind"])
    assert model.requests[1].messages == [user("hi"), user("never mind")]


def searched(**more: Any) -> list[Part]:
    found = {"type": "tool-result", "toolCallId": "s1", "toolName": "search", "result": {"hits": 3}, **more}
    return [call("search", "s1", providerExecuted=True), {**found, "providerExecuted": True}]


async def test_a_tool_that_the_provider_runs_is_not_run_here() -> None:
    model = ScriptedModel([[*searched(), *text("Three."), finish()]])
    run = Agent("a", model=model).stream("hi")
    chunks = await read(run)
    assert types(chunks).index("tool-result") < types(chunks).index("text-delta")
    assert_well_formed(chunks)
    assert [message.role for message in await run.messages] == ["user", "assistant"]
    said = (await run.messages)[1]
    assert isinstance(said, AssistantMessage)
    assert [part.type for part in said.content] == ["tool-call", "tool-result", "text"]


async def test_the_providers_tools_and_own_tools_in_one_step() -> None:
    model = ScriptedModel([[*searched(), call("look"), finish("tool-calls")], says("done")])
    await Agent("a", model=model, tools=[look]).generate("hi")
    said, told = model.requests[1].messages[1:]
    assert isinstance(said, AssistantMessage)
    assert isinstance(told, ToolMessage)
    assert [part.type for part in said.content] == ["tool-call", "tool-result", "tool-call"]
    assert [part.tool_call_id for part in told.content] == ["c1"]  # type: ignore[union-attr]


async def test_an_error_of_a_tool_that_the_provider_ran_is_told_as_one() -> None:
    run = agent_of([*searched(isError=True), *text("No luck."), finish()]).stream("hi")
    said = (await run.messages)[1]
    assert isinstance(said, AssistantMessage)
    result = said.content[1]
    assert isinstance(result, ToolResultPart)
    assert result.output == ToolOutput("error-json", {"hits": 3})


# -- errors


async def test_tools_called_before_an_error_run_and_no_step_follows() -> None:
    model = ScriptedModel([[call("look"), {"type": "$stream_error", "error": ModelError("cut")}], says("never")])
    chunks = await read(Agent("a", model=model, tools=[look]).stream("hi"))
    assert types(chunks)[-4:] == ["error", "tool-result", "step-finish", "finish"]
    assert len(model.requests) == 1


async def test_an_error_in_a_later_step_keeps_the_steps_before() -> None:
    run = agent_of(calls("look"), ModelError("no"), tools=[look]).stream("hi")
    chunks = await read(run)
    assert types(chunks)[-4:] == ["step-start", "error", "step-finish", "finish"]
    assert [step.finish_reason for step in run.partial.steps] == ["tool-calls", "error"]
    assert [chunk.payload.result for chunk in run.partial.tool_results] == ["seen"]


async def test_the_total_limit_fails_the_run_and_stops_its_tools() -> None:
    stopped: list[str] = []

    async def waits(ctx: ToolContext) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            stopped.append(ctx.tool_call_id)

    agent = agent_of(calls("waits", "look"), tools=[waits, look], timeout=Timeout(total=0.04))
    run = agent.stream("hi")
    chunks = await read(run)
    assert types(chunks)[-3:] == ["tool-result", "error", "finish"]
    assert_well_formed(chunks)
    assert (run.status, stopped) == ("failed", ["c1"])


@pytest.mark.parametrize("names", [["takes_it"], ["takes_it", "look"]])
async def test_a_tool_that_keeps_the_total_limit_to_itself_does_not_make_the_run_go_on(names: list[str]) -> None:
    async def takes_it() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return "cleaned up"
        return "never"

    model = ScriptedModel([calls(*names), says("never")])
    run = Agent("a", model=model, tools=[takes_it, look], timeout=Timeout(total=0.04)).stream("hi")
    assert types(await read(run))[-2:] == ["error", "finish"]
    assert (run.status, len(model.requests)) == ("failed", 1)


async def test_the_total_limit_tells_tools_in_threads() -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def busy(ctx: ToolContext) -> None:
        while not ctx.cancelled:
            pass
        loop.call_soon_threadsafe(ended.set)

    run = agent_of(calls("busy"), tools=[busy], timeout=Timeout(total=0.04)).stream("hi")
    assert types(await read(run))[-2:] == ["error", "finish"]
    await ended.wait()


async def test_a_run_within_its_limit_leaves_no_timer_behind() -> None:
    run = agent_of(says("a"), timeout=Timeout(total=60)).stream("hi")
    await read(run)
    loop: Any = asyncio.get_running_loop()
    assert [timer for timer in loop._scheduled if not timer.cancelled()] == []


async def test_a_cancelled_run_is_not_late_as_well() -> None:
    run = agent_of([HANG], timeout=Timeout(total=60)).stream("hi")
    await turns()
    run.cancel()
    assert types(await read(run))[-2:] == ["abort", "finish"]


async def test_the_steps_of_a_result_hold_their_reasons_and_results() -> None:
    result = await agent_of(calls("look"), says("a"), tools=[look]).generate("hi")
    first, second = result.steps
    assert (first.finish_reason, second.finish_reason) == ("tool-calls", "stop")
    assert [part.tool_name for part in first.tool_calls] == ["look"]
    assert [part.output.value for part in first.tool_results] == ["seen"]
    assert (second.text, second.usage.raw) == ("a", USAGE)


class Final(ScriptedModel):
    """Says of a reason that is not known that nothing follows."""

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        last = StepResult(reason="other", raw_reason="OTHER", is_continued=False)
        async with aclosing(super().stream(request)) as stream:
            async for chunk in stream:
                if isinstance(chunk, FinishChunk):
                    chunk = FinishChunk(FinishPayload(step_result=last), run_id=request.run_id, from_="AGENT")
                yield chunk


async def test_a_reason_that_is_not_known_but_final_ends_the_run() -> None:
    model = Final([says("x"), says("y")])
    result = await Agent("a", model=model).generate("hi")
    assert (result.text, result.finish_reason, len(model.requests)) == ("x", "other", 1)
