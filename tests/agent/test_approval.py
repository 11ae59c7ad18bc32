"""Approval: which calls wait for a yes or no, what is told of them, and what becomes of them then."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from riverrun import (
    Agent,
    ConfigError,
    ModelRequest,
    Run,
    ToolContext,
    Verdict,
    client_tool,
    has_tool_call,
    tool,
)
from riverrun.chunks import (
    StepFinishChunk,
    ToolCallApprovalChunk,
    ToolErrorChunk,
    ToolMessage,
    ToolOutput,
    ToolOutputDeniedChunk,
    ToolResultChunk,
    ToolResultPart,
    to_value,
)
from riverrun.errors import RunNotSuspendedError
from riverrun.models import ScriptedModel
from riverrun.models.parts import Part
from riverrun.tools import Approval, Tool
from tests.agent.scripts import assert_well_formed, call, calls, finish, of, read, read_until, says, text, types

ANSWER = ["step-start", "text-start", "text-delta", "text-end", "step-finish", "finish"]


class Till:
    """Pays and looks, and notes what it did."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.looked = 0

    async def pay(self, amount: int = 5) -> str:
        """Pay an invoice."""
        self.paid.append(amount)
        return f"paid {amount}"

    async def look(self) -> str:
        self.looked += 1
        return "seen"

    def paying(self, requires_approval: Approval | None = True) -> Tool:
        return tool(requires_approval=requires_approval)(self.pay)


def pays(*amounts: int) -> list[Part]:
    """A whole answer that pays, with the ids p1, p2, …"""
    made = [call("pay", f"p{place}", {"amount": amount}) for place, amount in enumerate(amounts, 1)]
    return [*made, finish("tool-calls")]


def told(request: ModelRequest) -> list[ToolOutput]:
    """What the model was told of the calls before."""
    last = request.messages[-1]
    assert isinstance(last, ToolMessage)
    return [part.output for part in last.content if isinstance(part, ToolResultPart)]


async def waits_for(run: Run) -> list[str]:
    """The calls that a run waits for, in the order in which it says so."""
    return [chunk.payload.tool_call_id for chunk in of(ToolCallApprovalChunk, await read(run))]


# -- yes or no


async def test_a_call_that_needs_approval_waits_and_runs_when_it_has_it() -> None:
    till, model = Till(), ScriptedModel([pays(5), says("done")])
    agent = Agent("a", model=model, tools=[till.paying()])
    run = agent.stream("hi", run_id="r")
    chunks = await read(run)
    assert types(chunks) == ["start", "step-start", "tool-call", "tool-call-approval"]
    assert_well_formed(chunks)
    assert (run.status, await run.finish_reason, till.paid) == ("suspended", "suspended", [])
    asked = await run.suspend_payload
    assert (asked.tool_call_id, asked.tool_name, asked.args) == ("p1", "pay", {"amount": 5})
    schema = json.loads(asked.resume_schema)
    assert (schema["required"], list(schema["properties"])) == (["approved"], ["approved", "reason"])

    approved = await agent.approve_tool_call(run_id="r", tool_call_id="p1")
    more = await read(approved)
    assert types(more) == ["tool-result", "step-finish", *ANSWER]
    assert_well_formed([*chunks, *more])
    assert {chunk.run_id for chunk in more} == {"r"}
    assert (approved.status, till.paid, told(model.requests[1])) == ("success", [5], [ToolOutput("text", "paid 5")])


@pytest.mark.parametrize(
    ("given", "reason"), [("too dear", "too dear"), (None, "Tool call was not approved by the user")]
)
async def test_a_declined_call_does_not_run_and_the_model_is_told_why(given: str | None, reason: str) -> None:
    till, model = Till(), ScriptedModel([pays(5), says("sorry")])
    agent = Agent("a", model=model, tools=[till.paying()])
    chunks = await read(agent.stream("hi", run_id="r"))
    declined = await read(await agent.decline_tool_call(run_id="r", reason=given))
    assert types(declined) == ["tool-output-denied", "step-finish", *ANSWER]
    assert_well_formed([*chunks, *declined])
    assert to_value(of(ToolOutputDeniedChunk, declined)[0])["payload"] == {
        "toolCallId": "p1",
        "toolName": "pay",
        "args": {"amount": 5},
        "approval": {"id": "p1", "approved": False, "reason": reason},
    }
    assert (till.paid, told(model.requests[1])) == ([], [ToolOutput("text", reason)])


@pytest.mark.parametrize(("answer", "paid"), [(True, [5]), (False, []), ({"approved": True, "reason": "fine"}, [5])])
async def test_an_approval_may_be_given_as_any_other_answer(answer: Any, paid: list[int]) -> None:
    till = Till()
    agent = Agent("a", model=ScriptedModel([pays(5), says("done")]), tools=[till.paying()])
    await read(agent.stream("hi", run_id="r"))
    run = await agent.resume_stream(answer, run_id="r")
    assert (await run.text, till.paid) == ("done", paid)


@pytest.mark.parametrize("answer", [None, "yes", 1, {}, {"approved": "yes"}, {"reason": "fine"}])
async def test_an_answer_that_is_neither_yes_nor_no_leaves_the_call_waiting(answer: Any) -> None:
    till = Till()
    agent = Agent("a", model=ScriptedModel([pays(5), says("done")]), tools=[till.paying()])
    await read(agent.stream("hi", run_id="r"))
    with pytest.raises(ConfigError, match="approved"):
        await agent.resume_stream(answer, run_id="r")
    assert till.paid == []
    assert await (await agent.approve_tool_call(run_id="r")).text == "done"
    assert till.paid == [5]


@pytest.mark.parametrize("verb", ["approve_tool_call", "decline_tool_call"])
async def test_a_question_is_no_approval(verb: str) -> None:
    @tool
    async def book(ctx: ToolContext) -> str:
        return f"booked for {await ctx.suspend('Which night?')}"

    agent = Agent("a", model=ScriptedModel([calls("book"), says("done")]), tools=[book])
    await read(agent.stream("hi", run_id="r"))
    with pytest.raises(ConfigError, match=r"waits for no approval: answer it with resume_stream"):
        await getattr(agent, verb)(run_id="r")
    run = await agent.resume_stream("Friday", run_id="r")
    assert "booked for Friday" in str(await run.tool_results)


STOPS: list[dict[str, Any]] = [
    {"max_steps": 1},
    {"stop_when": has_tool_call("pay")},
    {"on_iteration": lambda _: Verdict(go_on=False)},
]


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: next(iter(stop)))
async def test_a_run_that_waited_stops_where_it_would_have_stopped_without_the_wait(stop: dict[str, Any]) -> None:
    model = ScriptedModel([pays(5), says("done")])
    agent = Agent("a", model=model, tools=[Till().paying()])
    await read(agent.stream("hi", run_id="r", **stop))
    again = {name: value for name, value in stop.items() if name != "max_steps"}  # what is code is given again
    chunks = await read(await agent.approve_tool_call(run_id="r", **again))
    flags = [chunk.payload.step_result.is_continued for chunk in of(StepFinishChunk, chunks)]  # type: ignore[union-attr]
    assert (flags, len(model.requests)) == ([False], 1)


async def test_generate_gives_the_result_of_a_run_that_waits() -> None:
    agent = Agent("a", model=ScriptedModel([pays(5)]), tools=[Till().paying()])
    result = await agent.generate("hi")
    assert (result.status, result.suspend_payload.tool_name) == ("suspended", "pay")


# -- which calls need it


def is_much(arguments: dict[str, Any], ctx: ToolContext[Any]) -> bool:
    return bool(arguments["amount"] > 10)


async def is_much_for(arguments: dict[str, Any], ctx: ToolContext[Any]) -> bool:
    return bool(arguments["amount"] > ctx.deps["limit"])


@pytest.mark.parametrize("needs", [is_much, is_much_for])
async def test_a_function_of_the_arguments_says_which_calls_of_a_tool_need_approval(needs: Approval) -> None:
    till = Till()
    agent = Agent("a", model=ScriptedModel([pays(5), pays(20), says("done")]), tools=[till.paying(needs)])
    run = agent.stream("hi", deps={"limit": 10})
    chunks = await read(run)
    assert types(chunks).count("tool-result") == 1
    assert (await run.suspend_payload).args == {"amount": 20}
    assert till.paid == [5]


@pytest.mark.parametrize("agent_wide", [False, True])
async def test_a_function_that_fails_lets_no_call_through(agent_wide: bool) -> None:
    def fails(arguments: dict[str, Any], ctx: ToolContext[Any]) -> bool:
        raise LookupError("no such policy")

    till = Till()
    agent = Agent(
        "a",
        model=ScriptedModel([pays(5), says("done")]),
        tools=[till.paying(None if agent_wide else fails)],
        require_tool_approval=fails if agent_wide else False,
    )
    assert await waits_for(agent.stream("hi", run_id="r")) == ["p1"]
    assert till.paid == []
    assert await (await agent.approve_tool_call(run_id="r")).text == "done"


async def test_what_the_function_makes_of_the_arguments_does_not_reach_the_tool() -> None:
    def meddles(arguments: dict[str, Any], ctx: ToolContext[Any]) -> bool:
        arguments["amount"] = 1000
        return False

    till = Till()
    await Agent("a", model=ScriptedModel([pays(5), says("done")]), tools=[till.paying(meddles)]).generate("hi")
    assert till.paid == [5]


@pytest.mark.parametrize(
    ("own", "agent_wide", "paid"),
    [
        (None, True, []),
        (None, lambda arguments, ctx: ctx.tool_name == "pay", []),
        (None, lambda arguments, ctx: False, [5]),
        (False, True, [5]),
        (False, lambda arguments, ctx: True, [5]),
        (True, False, []),
        (True, lambda arguments, ctx: False, []),
        (is_much, True, [5]),
    ],
)
async def test_the_agent_speaks_for_tools_that_say_nothing_themselves(
    own: Approval | None, agent_wide: Approval, paid: list[int]
) -> None:
    till = Till()
    model = ScriptedModel([pays(5), says("done")])
    await Agent("a", model=model, tools=[till.paying(own)], require_tool_approval=agent_wide).generate("hi")
    assert till.paid == paid


@pytest.mark.parametrize(("agents", "runs", "paid"), [(False, True, []), (True, False, [5]), (True, None, [])])
async def test_a_run_may_have_it_another_way_than_its_agent(agents: bool, runs: bool | None, paid: list[int]) -> None:
    till = Till()
    agent = Agent("a", model=ScriptedModel([pays(5), says("done")]), tools=[till.pay], require_tool_approval=agents)
    await agent.generate("hi", require_tool_approval=runs)
    assert till.paid == paid


async def test_what_the_run_requires_holds_for_its_later_steps_too() -> None:
    till = Till()
    agent = Agent("a", model=ScriptedModel([pays(5), pays(6), says("done")]), tools=[till.pay])
    assert await waits_for(agent.stream("hi", run_id="r", require_tool_approval=True)) == ["p1"]
    assert await waits_for(await agent.approve_tool_call(run_id="r")) == ["p1"]
    assert till.paid == [5]


@pytest.mark.parametrize(("given_again", "paid"), [(False, [20]), (True, [20, 6])])
async def test_a_function_that_is_not_given_again_lets_no_call_through(given_again: bool, paid: list[int]) -> None:
    till = Till()
    agent = Agent("a", model=ScriptedModel([pays(20), pays(6), says("done")]), tools=[till.pay])
    assert await waits_for(agent.stream("hi", run_id="r", require_tool_approval=is_much)) == ["p1"]
    again: dict[str, Any] = {"require_tool_approval": is_much} if given_again else {}
    await read(await agent.approve_tool_call(run_id="r", **again))
    assert till.paid == paid


async def test_a_tool_that_needs_no_approval_runs_beside_one_that_waits_for_it() -> None:
    till = Till()
    model = ScriptedModel([[*pays(5)[:-1], *calls("look")], says("done")])
    looking = tool(requires_approval=False)(till.look)
    agent = Agent("a", model=model, tools=[till.pay, looking], require_tool_approval=True)
    assert await waits_for(agent.stream("hi", run_id="r")) == ["p1"]
    assert (till.paid, till.looked) == ([], 1)


async def test_calls_that_nobody_here_can_run_do_not_wait_for_approval() -> None:
    model = ScriptedModel(
        [[call("nowhere", "n1"), call("pay", "p1", '{"amount": 5'), call("browser", "b1"), finish("tool-calls")]]
    )
    agent = Agent("a", model=model, tools=[Till().pay, client_tool("browser")], require_tool_approval=True)
    chunks = await read(agent.stream("hi"))
    assert [chunk.payload.tool_call_id for chunk in of(ToolErrorChunk, chunks)] == ["n1", "p1"]
    assert types(chunks)[-2:] == ["step-finish", "finish"]


# -- several calls


async def test_calls_that_need_approval_ask_one_after_the_other() -> None:
    till, model = Till(), ScriptedModel([pays(1, 2), says("done")])
    agent = Agent("a", model=model, tools=[till.paying()])
    assert await waits_for(agent.stream("hi", run_id="r")) == ["p1"]
    assert await waits_for(await agent.approve_tool_call(run_id="r", tool_call_id="p1")) == ["p2"]
    chunks = await read(await agent.decline_tool_call(run_id="r", tool_call_id="p2"))
    assert types(chunks) == ["tool-result", "tool-output-denied", "step-finish", *ANSWER]
    assert (till.paid, len(told(model.requests[1]))) == ([1], 2)


@pytest.mark.parametrize("order", [("look", "pay"), ("pay", "look")])
async def test_a_call_that_is_done_when_another_asks_never_runs_again(order: tuple[str, str]) -> None:
    till = Till()
    agent = Agent("a", model=ScriptedModel([calls(*order), says("done")]), tools=[till.paying(), till.look])
    chunks = await read(agent.stream("hi", run_id="r"))
    assert (till.looked, of(ToolResultChunk, chunks)) == (1, [])
    results = of(ToolResultChunk, await read(await agent.approve_tool_call(run_id="r")))
    assert [chunk.payload.tool_name for chunk in results] == list(order)
    assert (till.looked, till.paid) == (1, [5])


async def test_an_approved_call_may_ask_for_more_and_is_not_to_be_approved_again() -> None:
    @tool(requires_approval=True)
    async def book(ctx: ToolContext) -> str:
        return f"booked {await ctx.suspend('Which night?')}"

    model = ScriptedModel([calls("book"), says("done")])
    agent = Agent("a", model=model, tools=[book])
    kinds = [types(await read(agent.stream("hi", run_id="r")))[-1]]
    kinds.append(types(await read(await agent.approve_tool_call(run_id="r")))[-1])
    assert kinds == ["tool-call-approval", "tool-call-suspended"]
    assert await (await agent.resume_stream("tonight", run_id="r")).text == "done"
    assert told(model.requests[1]) == [ToolOutput("text", "booked tonight")]


# -- what is known of runs that wait


async def test_the_runs_that_wait_are_listed_with_what_they_wait_for() -> None:
    agent = Agent("a", model=ScriptedModel([pays(5), pays(6)]), tools=[Till().paying()])
    await read(agent.stream("hi", run_id="r1"))
    await read(agent.stream("hi", run_id="r2"))
    page = await agent.list_suspended_runs(limit=1)
    assert (page.total, [item.run_id for item in page.items]) == (2, ["r1"])
    waiting = page.items[0].calls[0]
    assert (waiting.tool_call_id, waiting.tool_name, waiting.kind) == ("p1", "pay", "approval")
    assert waiting.payload == {"amount": 5}


async def test_a_run_that_is_being_resumed_is_listed_as_running_and_then_no_more() -> None:
    states: list[str] = []

    async def pay() -> str:
        states.extend(item.status for item in (await agent.list_suspended_runs()).items)
        return "paid"

    model = ScriptedModel([calls("pay"), says("done")])
    agent = Agent("a", model=model, tools=[tool(requires_approval=True)(pay)])
    await read(agent.stream("hi", run_id="r"))
    await read(await agent.approve_tool_call(run_id="r"))
    assert (states, (await agent.list_suspended_runs()).total) == (["running"], 0)


@pytest.mark.parametrize("verb", ["approve_tool_call", "decline_tool_call"])
async def test_a_call_is_decided_on_once(verb: str) -> None:
    till = Till()
    agent = Agent("a", model=ScriptedModel([pays(5), says("done")]), tools=[till.paying()])
    await read(agent.stream("hi", run_id="r"))
    await read(await agent.approve_tool_call(run_id="r"))
    decide: Callable[..., Any] = getattr(agent, verb)
    with pytest.raises(RunNotSuspendedError, match="may be over"):
        await decide(run_id="r")
    assert till.paid == [5]


async def test_who_reads_that_a_call_waits_can_decide_on_it_at_once() -> None:
    model = ScriptedModel([[*text("I pay"), *pays(5)], says("done")])
    agent = Agent("a", model=model, tools=[Till().paying()])
    run = agent.stream("hi", run_id="r")
    await read_until(run, "tool-call-approval")
    assert await (await agent.approve_tool_call(run_id="r")).text == "I paydone"
