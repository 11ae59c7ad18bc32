"""Runs that wait: the actions that go on with them."""

from __future__ import annotations

from typing import Any

from tests.conformance.small import agent, calls, perform, text, tool, types

ASK = tool(
    {"writes": "before"},
    {"suspends": {"question": "sure?"}},
    {"returns": {"said": {"$resume": "answer"}}},
    resumeSchema={"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]},
)
GUARDED = tool({"returns": "done"}, requires_approval=True)
STREAM = {"options": {"runId": "r"}}
HERE = {"options": {"runId": "r", "toolCallId": "call-0"}}


async def test_a_tool_that_suspends_goes_on_with_the_answer() -> None:
    spec = agent(calls("ask"), text("thanks"), tools={"ask": ASK})
    result = await perform(spec, STREAM, {"op": "resumeStream", "resumeData": {"answer": "yes"}, **HERE})
    waiting, resumed = result["actions"]
    assert types(waiting)[-2:] == ["tool-output", "tool-call-suspended"]
    assert (waiting["endedBy"], waiting["final"]["status"]) == ("close", "suspended")
    assert waiting["final"]["suspendPayload"]["value"]["suspendPayload"] == {"question": "sure?"}
    assert (resumed["runId"], types(resumed)[:2]) == ("r", ["tool-output", "tool-result"])
    assert resumed["final"]["toolResults"]["value"][0]["payload"]["result"] == {"said": "yes"}
    first, second = result["toolExecutions"]
    assert ("resumeData" in first, second["resumeData"]) == (False, {"answer": "yes"})


async def test_a_call_that_is_approved_runs() -> None:
    spec = agent(calls("t"), text("ok"), tools={"t": GUARDED})
    result = await perform(spec, STREAM, {"op": "approveToolCall", "full_output": True, **HERE})
    waiting, approved = result["actions"]
    assert types(waiting)[-1] == "tool-call-approval"
    assert types(approved)[0] == "tool-result"
    assert approved["final"]["fullOutput"]["value"]["text"] == "ok"


async def test_a_call_that_is_declined_does_not_run() -> None:
    spec = agent(calls("t"), text("ok"), tools={"t": GUARDED})
    options = {"options": {**HERE["options"], "reason": "too dear"}}
    result = await perform(spec, STREAM, {"op": "declineToolCall", **options})
    declined = result["actions"][1]
    assert declined["chunks"][0]["payload"]["approval"]["reason"] == "too dear"
    assert result["toolExecutions"] == []


async def test_the_run_may_ask_for_approval_of_all_calls() -> None:
    options: dict[str, Any] = {"options": {"requireToolApproval": True}}
    record = (await perform(agent(calls("t"), tools={"t": tool({"returns": 1})}), options))["actions"][0]
    assert types(record)[-1] == "tool-call-approval"


async def test_a_run_that_does_not_wait_is_not_resumed() -> None:
    action = {"op": "resumeStream", "resumeData": {}, "options": {"runId": "nobody"}}
    record = (await perform(agent(text("x")), action))["actions"][0]
    assert record["threw"]["$error"]["name"] == "RunNotSuspendedError"


async def test_an_abort_stops_a_resumed_run() -> None:
    spec = agent(calls("t"), text("never"), tools={"t": GUARDED})
    action = {"op": "approveToolCall", "options": {**HERE["options"], "abort": {"before": True}}}
    result = await perform(spec, STREAM, action)
    assert result["actions"][1]["final"]["status"] == "canceled"
    assert len(result["modelCalls"]) == 1
