"""What a caller decides while a run goes on: before each step, after each step, and when to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from riverrun import (
    Agent,
    ConfigError,
    Iteration,
    ModelError,
    NamedTool,
    RunError,
    Settings,
    StepChanges,
    StepInfo,
    ToolContext,
    Verdict,
    client_tool,
    step_count_is,
)
from riverrun.chunks import ErrorChunk, Step, SystemMessage, TextPart, ToolErrorChunk, UserMessage
from riverrun.models import ScriptedModel
from tests.agent.scripts import agent_of, call, calls, finish, of, read, says, types


async def look() -> str:
    return "seen"


async def peek() -> str:
    return "peeked"


def user(words: str) -> UserMessage:
    return UserMessage([TextPart(words)])


def in_step(number: int, **changes: Any) -> Any:
    """A hook that changes one step."""
    return lambda info: StepChanges(**changes) if info.number == number else None


# -- before a step


async def test_the_hook_knows_what_is_to_come() -> None:
    seen: list[StepInfo] = []
    lengths: list[tuple[int, int]] = []

    def note(info: StepInfo) -> None:
        seen.append(info)
        lengths.append((len(info.steps), len(info.messages)))

    model = ScriptedModel([calls("look"), says("a")])
    agent = Agent("a", model=model, tools=[look])
    await agent.generate("hi", prepare_step=note, run_id="r", deps="mine", context="It rains.")
    assert [(info.number, info.run_id, info.deps, info.model) for info in seen] == [
        (0, "r", "mine", model),
        (1, "r", "mine", model),
    ]
    assert lengths == [(0, 2), (1, 4)]


async def test_the_hook_may_be_a_coroutine_function() -> None:
    async def change(info: StepInfo) -> StepChanges:
        await asyncio.sleep(0)
        return StepChanges(instructions="Be quick.")

    model = ScriptedModel([says("a")])
    await Agent("a", model=model).generate("hi", prepare_step=change)
    assert model.requests[0].messages[0] == SystemMessage("Be quick.")


async def test_a_change_holds_for_its_step_alone() -> None:
    model = ScriptedModel([calls("look"), calls("look"), says("a")])
    agent = Agent("a", model=model, tools=[look], settings=Settings(temperature=0.1))
    await agent.generate("hi", prepare_step=in_step(1, settings=Settings(temperature=0.9), tool_choice="none"))
    assert [request.settings.temperature for request in model.requests] == [0.1, 0.9, 0.1]
    assert [request.tool_choice for request in model.requests] == ["auto", "none", "auto"]


async def test_instructions_of_a_step_take_the_place_of_the_agents() -> None:
    model = ScriptedModel([calls("look"), says("a")])
    agent = Agent("a", model=model, tools=[look], instructions="Be brief.")
    await agent.generate("hi", prepare_step=in_step(1, instructions="Answer now."))
    assert [request.messages[0] for request in model.requests] == [
        SystemMessage("Be brief."),
        SystemMessage("Answer now."),
    ]


async def test_messages_of_a_step_are_seen_in_it_and_forgotten() -> None:
    model = ScriptedModel([calls("look"), calls("look"), says("a")])
    agent = Agent("a", model=model, tools=[look], instructions="Be brief.")
    run = agent.stream("hi", prepare_step=in_step(1, messages="only this"))
    assert [message.role for message in await run.messages] == ["user", *["assistant", "tool"] * 2, "assistant"]
    assert model.requests[1].messages == [SystemMessage("Be brief."), user("only this")]
    assert len(model.requests[2].messages) == 6


async def test_a_tool_choice_of_a_step() -> None:
    model = ScriptedModel([calls("look"), says("a")])
    agent = Agent("a", model=model, tools=[look])
    await agent.generate("hi", prepare_step=in_step(0, tool_choice=NamedTool("look")))
    assert [request.tool_choice for request in model.requests] == [NamedTool("look"), "auto"]


async def test_tools_that_are_not_active_in_a_step_are_not_offered_and_cannot_be_called() -> None:
    model = ScriptedModel([calls("peek"), says("a")])
    agent = Agent("a", model=model, tools=[look, peek])
    run = agent.stream("hi", prepare_step=in_step(0, active_tools=["look"]))
    chunks = await read(run)
    assert [[spec.name for spec in request.tools] for request in model.requests] == [["look"], ["look", "peek"]]
    (error,) = of(ToolErrorChunk, chunks)
    assert 'Tool "peek" not found' in str(error.payload.error)


async def test_no_tool_may_be_active_in_a_step() -> None:
    model = ScriptedModel([says("a")])
    await Agent("a", model=model, tools=[look]).generate("hi", prepare_step=in_step(0, active_tools=[]))
    assert list(model.requests[0].tools) == []


async def test_active_tools_of_a_step_take_the_place_of_the_runs() -> None:
    model = ScriptedModel([says("a")])
    agent = Agent("a", model=model, tools=[look, peek])
    await agent.generate("hi", active_tools=["look"], prepare_step=in_step(0, active_tools=["peek"]))
    assert [spec.name for spec in model.requests[0].tools] == ["peek"]


async def test_provider_options_of_a_step() -> None:
    model = ScriptedModel([says("a")])
    await Agent("a", model=model).generate("hi", prepare_step=in_step(0, provider_options={"p": {"effort": "low"}}))
    assert model.requests[0].provider_options == {"p": {"effort": "low"}}


async def test_another_model_answers_a_step() -> None:
    usual, other = ScriptedModel([calls("look"), says("usual")]), ScriptedModel([calls("look")], model_id="other")
    result = await Agent("a", model=usual, tools=[look]).generate("hi", prepare_step=in_step(1, model=other))
    assert (result.text, len(other.requests), len(usual.requests)) == ("usual", 1, 2)


async def test_another_model_for_one_step_does_not_bring_a_failed_model_back() -> None:
    first, second = ScriptedModel([ModelError("down")]), ScriptedModel([calls("look"), says("second")])
    other = ScriptedModel([calls("look")])
    agent = Agent("a", model=[first, second], tools=[look])
    assert (await agent.generate("hi", prepare_step=in_step(1, model=other))).text == "second"
    assert len(first.requests) == 1


async def test_nothing_to_change_is_none_or_an_empty_answer() -> None:
    for answer in (None, StepChanges()):
        model = ScriptedModel([says("a")])
        await Agent("a", model=model, instructions="Be brief.").generate("hi", prepare_step=lambda _, it=answer: it)
        assert model.requests[0].messages == [SystemMessage("Be brief."), user("hi")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "no-such-provider/m"}, "unknown model"),
        ({"active_tools": ["nope"]}, "active_tools names no tool of the run: nope"),
        ({"messages": [{"no": "role"}]}, "a message is an object with a role"),
        ({"messages": 5}, "an input is a text"),
    ],
)
async def test_a_change_that_cannot_work_fails_the_run(changes: dict[str, Any], message: str) -> None:
    model = ScriptedModel([says("never")])
    run = Agent("a", model=model, tools=[look]).stream("hi", prepare_step=in_step(0, **changes))
    assert types(await read(run)) == ["start", "error", "finish"]
    assert isinstance(run.error, ConfigError)
    assert message in str(run.error)
    assert model.requests == []


# -- hooks that go wrong


async def test_a_hook_that_raises_before_a_step_fails_the_run() -> None:
    def broken(info: StepInfo) -> StepChanges:
        raise LookupError("my bug")

    run = agent_of(says("never")).stream("hi", prepare_step=broken)
    assert types(await read(run)) == ["start", "error", "finish"]
    with pytest.raises(RunError, match="my bug") as raised:
        await run.result()
    assert isinstance(raised.value.__cause__, LookupError)


async def test_a_hook_that_raises_before_a_later_step_keeps_the_steps_before() -> None:
    def broken(info: StepInfo) -> None:
        if info.number == 1:
            raise LookupError("my bug")

    run = agent_of(calls("look"), tools=[look]).stream("hi", prepare_step=broken)
    chunks = await read(run)
    assert types(chunks)[-3:] == ["step-finish", "error", "finish"]
    assert len(run.partial.steps) == 1
    assert [message.role for message in run.partial.messages] == ["user", "assistant", "tool"]


async def test_a_hook_that_raises_after_a_step_fails_the_run() -> None:
    async def broken(iteration: Iteration) -> Verdict:
        raise LookupError("my bug")

    run = agent_of(says("a")).stream("hi", on_iteration=broken)
    chunks = await read(run)
    assert types(chunks)[-2:] == ["error", "finish"]
    assert (run.status, run.partial.text) == ("failed", "a")
    assert run.partial.usage.total_tokens == 15


@pytest.mark.parametrize("hook", ["prepare_step", "on_iteration"])
@pytest.mark.parametrize("answer", [{"go_on": False}, True, "stop", 3])
async def test_a_hook_that_answers_nonsense_fails_the_run(hook: str, answer: Any) -> None:
    def odd(_: object) -> Any:
        return answer

    options: Any = {hook: odd}
    run = agent_of(says("a")).stream("hi", **options)
    (error,) = of(ErrorChunk, await read(run))
    assert isinstance(error.payload.error, ConfigError)
    kind = "StepChanges" if hook == "prepare_step" else "Verdict"
    assert str(error.payload.error) == f"odd must give {kind} or None, not {type(answer).__name__}"


async def test_a_hook_that_takes_nothing_fails_the_run() -> None:
    hook: Any = lambda: None  # noqa: E731
    run = agent_of(says("a")).stream("hi", prepare_step=hook)
    assert isinstance((await failure_of(run)), TypeError)


async def failure_of(run: Any) -> Any:
    (error,) = of(ErrorChunk, await read(run))
    return error.payload.error


# -- after a step


async def test_the_hook_knows_the_step_that_was_taken() -> None:
    seen: list[Iteration] = []
    agent = agent_of(calls("look"), calls("look"), says("a"), tools=[look])
    await agent.generate("hi", on_iteration=seen.append, run_id="r", deps="mine")
    assert [(it.number, it.will_continue, it.run_id, it.deps) for it in seen] == [
        (1, True, "r", "mine"),
        (2, True, "r", "mine"),
        (3, False, "r", "mine"),
    ]


async def test_a_step_that_was_noted_stays_the_same() -> None:
    seen: list[Iteration] = []
    await agent_of(calls("look"), says("a"), tools=[look]).generate("hi", on_iteration=seen.append)
    assert [iteration.step.finish_reason for iteration in seen] == ["tool-calls", "stop"]


async def test_a_verdict_may_stop_the_run() -> None:
    model = ScriptedModel([calls("look"), says("never")])
    result = await Agent("a", model=model, tools=[look]).generate("hi", on_iteration=lambda _: Verdict(go_on=False))
    assert (len(model.requests), result.status, result.finish_reason) == (1, "success", "tool-calls")


async def test_a_verdict_may_stop_the_run_after_one_more_step_with_feedback() -> None:
    model = ScriptedModel([calls("look"), calls("look"), says("never")])
    verdict = Verdict(go_on=False, feedback="Wrap up.")
    await Agent("a", model=model, tools=[look]).generate("hi", on_iteration=lambda _: verdict)
    assert len(model.requests) == 2
    assert model.requests[1].messages[-1] == UserMessage([TextPart("Wrap up.")])


async def test_a_verdict_may_ask_for_another_step() -> None:
    model = ScriptedModel([says("first"), says("second")])

    def again(iteration: Iteration) -> Verdict | None:
        return Verdict(go_on=True, feedback="Say it better.") if iteration.number == 1 else None

    run = Agent("a", model=model).stream("hi", on_iteration=again)
    chunks = await read(run)
    assert types(chunks).count("step-start") == 2
    assert [message.content[0].text for message in await run.messages] == [  # type: ignore[union-attr]
        "hi",
        "first",
        "Say it better.",
        "second",
    ]


async def test_feedback_alone_is_put_before_the_model_when_the_run_goes_on() -> None:
    model = ScriptedModel([calls("look"), says("a")])
    agent = Agent("a", model=model, tools=[look])
    await agent.generate("hi", on_iteration=lambda it: Verdict(feedback="Hurry.") if it.will_continue else None)
    assert model.requests[1].messages[-1] == UserMessage([TextPart("Hurry.")])


async def test_feedback_alone_does_not_make_the_run_go_on() -> None:
    run = agent_of(says("a")).stream("hi", on_iteration=lambda _: Verdict(feedback="More?"))
    assert [message.role for message in await run.messages] == ["user", "assistant"]


async def test_a_verdict_does_not_overrule_a_stop_condition() -> None:
    model = ScriptedModel([says("a") for _ in range(9)])
    agent = Agent("a", model=model)
    await agent.generate("hi", stop_when=step_count_is(3), on_iteration=lambda _: Verdict(go_on=True))
    assert len(model.requests) == 3


async def test_a_verdict_does_not_overrule_the_default_limit() -> None:
    model = ScriptedModel([says("a") for _ in range(9)])
    await Agent("a", model=model).generate("hi", on_iteration=lambda _: Verdict(go_on=True))
    assert len(model.requests) == 5


async def test_the_hook_is_asked_once_for_each_step() -> None:
    asked: list[int] = []

    def note(iteration: Iteration) -> None:
        asked.append(iteration.number)

    await agent_of(calls("look"), calls("look"), says("a"), tools=[look]).generate("hi", on_iteration=note)
    assert asked == [1, 2, 3]


async def test_a_verdict_does_not_answer_for_a_client() -> None:
    model = ScriptedModel([calls("pick"), says("never")])
    agent = Agent("a", model=model, tools=[client_tool("pick")])
    await agent.generate("hi", on_iteration=lambda _: Verdict(go_on=True))
    assert len(model.requests) == 1


# -- stop conditions that go wrong, and options that the hooks share


async def test_a_stop_condition_may_answer_with_anything_true() -> None:
    def tired(steps: Sequence[Step]) -> Any:
        return steps

    model = ScriptedModel([calls("look"), says("never")])
    await Agent("a", model=model, tools=[look]).generate("hi", stop_when=tired)
    assert len(model.requests) == 1


async def test_deps_reach_tools_and_hooks_alike() -> None:
    seen: list[Any] = []

    async def ask(ctx: ToolContext[dict[str, int]]) -> None:
        seen.append(ctx.deps)

    deps = {"user": 1}
    model = ScriptedModel([[call("ask"), finish("tool-calls")], says("a")])
    await Agent("a", model=model, tools=[ask]).generate(
        "hi",
        deps=deps,
        prepare_step=lambda info: seen.append(info.deps),
        on_iteration=lambda it: seen.append(it.deps),
    )
    assert all(item is deps for item in seen)
    assert len(seen) == 5
