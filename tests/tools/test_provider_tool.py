"""Tools that the provider runs: declared here, run there."""

from __future__ import annotations

import pytest

from riverrun import Agent, ConfigError, ToolContext, provider_tool
from riverrun.chunks import TextPart, UserMessage
from riverrun.models import ScriptedModel
from riverrun.models.local.request import local_request
from riverrun.models.openai_chat.request import chat_request
from riverrun.types import ModelRequest


def request() -> ModelRequest:
    search = provider_tool("groq.browser_search", args={"depth": 2})
    return ModelRequest(messages=[UserMessage([TextPart("hi")])], run_id="r", tools=[search.spec])


def test_a_chat_server_is_told_the_tool_by_its_type() -> None:
    body = chat_request(request(), model_id="m", provider="groq", official=False).body
    assert body["tools"] == [{"type": "browser_search", "depth": 2}]


def test_the_embedded_model_says_that_it_has_none() -> None:
    sent = local_request(request())
    assert "tools" not in sent.body
    assert sent.warnings == [{"type": "unsupported-tool", "tool": "browser_search"}]


async def test_its_calls_are_not_run_here() -> None:
    answer = [
        {
            "type": "tool-call",
            "toolCallId": "c",
            "toolName": "browser_search",
            "input": "{}",
            "providerExecuted": True,
        },
        {
            "type": "tool-result",
            "toolCallId": "c",
            "toolName": "browser_search",
            "result": "found",
            "providerExecuted": True,
        },
        {"type": "text-delta", "id": "t", "delta": "Found."},
        {"type": "finish", "finishReason": "stop", "usage": {}},
    ]
    agent = Agent("a", model=ScriptedModel([answer]), tools=[provider_tool("groq.browser_search")])
    result = await agent.generate("hi")
    assert [chunk.payload.result for chunk in result.tool_results] == ["found"]
    assert result.text == "Found."


async def test_one_that_the_provider_only_calls_is_run_here() -> None:
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "write_sql", "input": '"SELECT 1"'}
    model = ScriptedModel([[call, {"type": "finish", "finishReason": "tool-calls", "usage": {}}], "One row."])

    async def run_sql(query: str, _: ToolContext) -> str:
        return f"ran {query}"

    sql = provider_tool("openai.custom", name="write_sql", args={"name": "write_sql"}, execute=run_sql)
    result = await Agent("a", model=model, tools=[sql]).generate("hi")
    assert [part.output.value for part in result.steps[0].tool_results] == ["ran SELECT 1"]
    assert result.text == "One row."


async def test_without_a_function_its_call_is_left_to_the_caller() -> None:
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "local_shell", "input": '{"command": ["ls"]}'}
    model = ScriptedModel([[call, {"type": "finish", "finishReason": "tool-calls", "usage": {}}]])
    result = await Agent("a", model=model, tools=[provider_tool("openai.local_shell")]).generate("hi")
    assert [chunk.payload.args for chunk in result.tool_calls] == [{"command": ["ls"]}]
    assert (result.finish_reason, result.tool_results) == ("tool-calls", [])


@pytest.mark.parametrize("id", ["browser_search", ".x", "groq."])
def test_an_id_names_its_provider(id: str) -> None:
    with pytest.raises(ConfigError, match=r"provider\.tool"):
        provider_tool(id)
