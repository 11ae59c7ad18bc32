"""Processors, structured output, agents as tools, and the check that a task is complete."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.processors import option_processors, processors
from tests.conformance.small import agent, calls, perform, text, tool, types

OBJECT = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
LIST = {"type": "array", "items": {"type": "string"}}


def guard(hook: str, **told: Any) -> dict[str, Any]:
    return {"id": f"{hook}-guard", hook: told}


def structured(**members: Any) -> dict[str, Any]:
    return {"options": {"structuredOutput": {"schema": OBJECT, **members}}}


def piped(record: dict[str, Any]) -> list[str]:
    """The types of the chunks that a tool wrote."""
    return [chunk["payload"]["output"]["type"] for chunk in record["chunks"] if chunk["type"] == "tool-output"]


# -- processors


async def test_processors_of_all_lists_take_part() -> None:
    spec = agent(
        {"throws": "down"},
        text("a cat"),
        maxRetries=0,
        inputProcessors=[guard("input", replace=["Hi", "Hello"])],
        outputProcessors=[guard("output_stream", replace=["cat", "dog"])],
        errorProcessors=[guard("api_error", retries=1)],
    )
    result = await perform(spec)
    assert result["modelCalls"][0]["prompt"][0]["content"][0]["text"] == "Hello"
    assert result["actions"][0]["final"]["text"] == {"value": "a dog"}


async def test_a_tripwire_is_in_the_record() -> None:
    spec = agent(text("x"), inputProcessors=[guard("input", blocks_if_text_contains="Hi", reason="no greetings")])
    record = (await perform(spec))["actions"][0]
    assert types(record) == ["tripwire"]
    assert record["final"]["tripwire"]["value"]["reason"] == "no greetings"
    assert record["final"]["status"] == "running"


async def test_an_agent_tries_again_as_often_as_it_says() -> None:
    rejecting = guard("output_step", blocks_if_text_contains="bad", reason="be good", options={"retry": True})
    spec = agent(text("bad"), text("good"), outputProcessors=[rejecting], maxProcessorRetries=1)
    assert len((await perform(spec))["modelCalls"]) == 2


def test_processors_are_listed_in_one_order() -> None:
    spec = {"errorProcessors": [{"id": "e"}], "outputProcessors": [{"id": "o"}], "inputProcessors": [{"id": "i"}]}
    assert [processor.id for processor in processors(spec)] == ["i", "o", "e"]


def test_a_list_of_the_options_takes_the_place_of_the_agents() -> None:
    spec = {"inputProcessors": [{"id": "i"}], "outputProcessors": [{"id": "o"}]}
    (listed,) = option_processors(spec, {"inputProcessors": [{"id": "mine"}]}).values()
    assert [processor.id for processor in listed] == ["mine", "o"]
    assert option_processors(spec, {"maxSteps": 1}) == {}


# -- structured output


async def test_an_object_is_read_from_the_answer() -> None:
    action = {**structured(), "also_read": ["objectStream"]}
    result = await perform(agent(text('{"name":"A', 'da"}')), action)
    record = result["actions"][0]
    assert record["final"]["object"] == {"value": {"name": "Ada"}}
    assert record["final"]["objectStream"]["value"][-1] == {"name": "Ada"}
    assert result["modelCalls"][0]["responseFormat"]["schema"]["properties"] == OBJECT["properties"]


async def test_the_elements_of_a_list_are_read_one_by_one() -> None:
    action = {"options": {"structuredOutput": {"schema": LIST}}, "also_read": ["elementStream"]}
    record = (await perform(agent(text('{"elements":["a",', '"b"]}')), action))["actions"][0]
    assert record["final"]["elementStream"] == {"value": ["a", "b"]}


async def test_an_object_of_a_second_model_is_recorded_as_its_call() -> None:
    result = await perform(agent(text("Ada")), structured(model=[{"parts": text('{"name":"Ada"}')}]))
    assert [call["model"] for call in result["modelCalls"]] == ["main", "structurer"]
    assert result["actions"][0]["final"]["object"] == {"value": {"name": "Ada"}}


@pytest.mark.parametrize(
    ("members", "settled"),
    [
        ({"errorStrategy": "warn"}, {}),
        ({"errorStrategy": "fallback", "fallbackValue": {"name": "?"}}, {"value": {"name": "?"}}),
    ],
)
async def test_an_answer_that_does_not_fit_is_dealt_with_as_asked(
    members: dict[str, Any], settled: dict[str, Any]
) -> None:
    record = (await perform(agent(text('{"age":36}')), structured(**members)))["actions"][0]
    assert record["final"]["object"] == settled


async def test_the_schema_may_be_told_in_words() -> None:
    (call,) = (await perform(agent(text('{"name":"Ada"}')), structured(jsonPromptInjection=True)))["modelCalls"]
    assert "responseFormat" not in call
    assert '"name"' in call["prompt"][0]["content"]


# -- agents as tools


async def test_an_agent_among_agents_is_a_tool() -> None:
    spec = agent(calls("agent-sub", arguments='{"prompt":"do it"}'), text("final"), agents=["sub"])
    metadata = {"type": "response-metadata", "id": "resp", "modelId": "m"}  # no recorded agent tells it
    result = await perform(spec, sub=agent([metadata, *text("sub answer")], description="helps"))
    record = result["actions"][0]
    assert [call["model"] for call in result["modelCalls"]] == ["main", "sub", "main"]
    assert result["modelCalls"][0]["tools"][0]["name"] == "agent-sub"
    assert piped(record) == ["start", "step-start", "text-start", "text-delta", "text-end", "step-finish", "finish"]
    assert record["final"]["toolResults"]["value"][0]["payload"]["result"]["text"] == "sub answer"


async def test_a_tool_pipes_the_stream_of_an_agent_that_it_calls() -> None:
    piping = tool({"calls_agent": {"agent": "sub", "input": {"$input": "q"}}})
    spec = agent(calls("t", arguments='{"q":"why?"}'), text("final"), tools={"t": piping})
    result = await perform(spec, sub=agent(text("because")))
    record = result["actions"][0]
    assert result["modelCalls"][1]["prompt"][0]["content"][0]["text"] == "why?"
    assert piped(record)[-1] == "finish"
    assert record["final"]["toolResults"]["value"][0]["payload"]["result"] == {"text": "because"}


# -- the task


async def test_a_run_goes_on_until_the_task_is_complete() -> None:
    options = {"options": {"task_complete_if_text_contains": "DONE"}}
    record = (await perform(agent(text("half"), text("DONE")), options))["actions"][0]
    verdicts = [chunk["payload"] for chunk in record["chunks"] if chunk["type"] == "is-task-complete"]
    assert [verdict["passed"] for verdict in verdicts] == [False, True]
    (scored,) = verdicts[0]["results"]
    assert (scored["scorerId"], scored["scorerName"], scored["reason"]) == ("contains", "Contains", "not found")
