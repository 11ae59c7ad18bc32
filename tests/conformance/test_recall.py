"""Memory: what an agent remembers, and the form in which a thread is recalled."""

from __future__ import annotations

from typing import Any

from riverrun.chunks import AssistantMessage, Message, TextPart, ToolCallPart, ToolMessage, ToolOutput, ToolResultPart
from riverrun.chunks import UserMessage as User
from riverrun.store import StoredMessage
from tests.conformance.recall import recalled
from tests.conformance.small import agent, perform, text

THREAD = {"options": {"memory": {"thread": "th", "resource": "u"}}}
RECALL = {"op": "recall", "thread": "th", "resource": "u"}


def prompts(result: dict[str, Any]) -> list[list[str]]:
    """What each model call was told."""
    return [[message["content"][0]["text"] for message in call["prompt"]] for call in result["modelCalls"]]


def stored(*messages: Message) -> list[StoredMessage]:
    return [StoredMessage(id=f"m{number}", thread_id="th", message=message) for number, message in enumerate(messages)]


async def test_a_thread_is_remembered_and_recalled() -> None:
    spec = agent(text("one"), text("two"), memory=True)
    result = await perform(spec, THREAD, {**THREAD, "input": "again"}, RECALL)
    assert prompts(result) == [["Hi"], ["Hi", "one", "again"]]
    kept = result["actions"][2]["result"]
    assert [message["content"]["content"] for message in kept] == ["Hi", "one", "again", "two"]
    assert {(message["threadId"], message["resourceId"]) for message in kept} == {("th", "u")}


async def test_the_memory_says_how_many_messages() -> None:
    spec = agent(text("one"), text("two"), memory={"lastMessages": 1})
    assert prompts(await perform(spec, THREAD, {**THREAD, "input": "again"}))[1] == ["one", "again"]


async def test_without_a_thread_nothing_is_kept() -> None:
    result = await perform(agent(text("one"), memory=True), {}, RECALL)
    assert result["actions"][1]["result"] == []


def test_a_call_and_its_result_are_one_part_of_one_answer() -> None:
    call = ToolCallPart(tool_call_id="c", tool_name="t", input={"n": 1})
    answer = ToolResultPart(tool_call_id="c", tool_name="t", output=ToolOutput("json", {"ok": True}))
    thread = stored(
        User([TextPart("q")]),
        AssistantMessage([TextPart("let me see"), call]),
        ToolMessage([answer]),
        AssistantMessage([TextPart(", done")]),
    )
    question, answered = recalled(thread, "u")
    assert (question["role"], answered["role"], answered["id"]) == ("user", "assistant", "m1")
    assert answered["content"]["content"] == "let me see, done"
    invocation = {"state": "result", "toolCallId": "c", "toolName": "t", "args": {"n": 1}, "result": {"ok": True}}
    assert answered["content"]["parts"][1] == {"type": "tool-invocation", "toolInvocation": invocation}


def test_a_call_without_result_is_a_call() -> None:
    (answered,) = recalled(stored(AssistantMessage([ToolCallPart(tool_call_id="c", tool_name="t")])), None)
    assert answered["content"]["parts"][0]["toolInvocation"]["state"] == "call"


def test_two_questions_are_two_messages() -> None:
    assert len(recalled(stored(User([TextPart("a")]), User([TextPart("b")])), "u")) == 2
