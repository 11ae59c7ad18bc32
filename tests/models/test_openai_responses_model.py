"""OpenAIResponsesModel against a loopback server: what only this API has, and a tool loop of an agent."""

from __future__ import annotations

from typing import Any

import pytest
from openai import AsyncAzureOpenAI

from riverrun import Agent
from riverrun.chunks import SystemMessage, ToolCallChunk, ToolResultChunk
from riverrun.models.openai_responses import OpenAIResponsesModel
from riverrun.tools import Tool
from riverrun.types import ModelRequest, ToolSpec
from tests.models.decoding import RUN
from tests.models.exchange import KEY, collect, request, text_of
from tests.models.loopback import Loopback, Reply
from tests.models.openai_responses import offered, wire
from tests.models.providers import OPENAI_RESPONSES, root

# -- a call


async def test_raw_chunks_and_tools_that_were_offered_reach_the_decoder():
    item = {"id": "apc_1", "type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file"}}
    pieces = [wire([{"created": {}}, {"done": item}]), *OPENAI_RESPONSES.reason]
    async with Loopback(Reply(pieces=pieces)) as server:
        chunks = await collect(
            OPENAI_RESPONSES.model(server).stream(request(tools=offered("openai.apply_patch"), include_raw=True))
        )
        assert server.requests[0].body["tools"] == [{"type": "apply_patch"}]
    assert sum(chunk.type == "raw" for chunk in chunks) == 3
    (call,) = [chunk.payload for chunk in chunks if isinstance(chunk, ToolCallChunk)]
    assert (call.tool_name, call.provider_executed) == ("apply_patch", None)


# -- clients and configuration


async def test_an_azure_client_of_the_callers_own_is_used_and_not_closed():
    async with Loopback(OPENAI_RESPONSES.whole) as server:
        own = AsyncAzureOpenAI(azure_endpoint=root(server.url), api_key="own", api_version="2025-04-01-preview")
        azure = OpenAIResponsesModel("gpt", client=own, provider="azure")
        assert text_of(await collect(azure.stream(request()))) == "Hello"
        await azure.aclose()
        assert not own.is_closed()
        assert server.requests[0].path == "/openai/responses?api-version=2025-04-01-preview"
        assert server.requests[0].headers["api-key"] == "own"
        await own.close()


async def test_openais_own_server_is_told_instructions_as_a_developers():
    async with Loopback(OPENAI_RESPONSES.whole) as server:
        own = OpenAIResponsesModel("gpt-5", api_key=KEY)
        own._server._base_url = server.url
        asked = ModelRequest(messages=[SystemMessage(content="be brief")], run_id=RUN)
        await collect(own.stream(asked))
        assert server.requests[0].body["input"] == [{"role": "developer", "content": "be brief"}]


# -- the loop of an agent

REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Add them."}],
    "encrypted_content": "gAAAAABo+/opaque==",
}
SEARCH = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "sum", "sources": [{"type": "url", "url": "https://a.example"}]},
}
IMAGE = {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": "iVBORw0KGgo="}
COMPACTION = {"id": "cmp_1", "type": "compaction", "encrypted_content": "opaque+compaction=="}
SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [{"type": "output_text", "text": "I add.", "annotations": []}],
}
CALL = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"a": 1, "b": 2}'}
PATCH = {
    "id": "apc_1",
    "type": "apply_patch_call",
    "call_id": "call_2",
    "status": "completed",
    "operation": {"type": "delete_file", "path": "a"},
}
FIRST = [REASONING, SEARCH, IMAGE, COMPACTION, SAID, CALL, PATCH]


async def add(arguments: Any, context: Any) -> int:
    return arguments["a"] + arguments["b"]


async def patch(arguments: Any, context: Any) -> str:
    return f"deleted {arguments['path']}"


TOOLS = [Tool(name="add", execute=add), Tool(name="patch", provider_id="openai.apply_patch", execute=patch)]


@pytest.mark.parametrize("form", ["streamed", "whole"])
async def test_an_agent_sends_everything_back_as_it_came(form: str):
    events: list[Any] = [{"created": {}}]
    if form == "streamed":
        for place, item in enumerate(FIRST):
            events += [{"added": {**item, "content": [], "arguments": ""}, "on": place}, {"done": item, "on": place}]
    end = {"completed": {"output": FIRST, "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}}
    async with Loopback(Reply(pieces=[wire([*events, end])]), OPENAI_RESPONSES.whole) as server:
        own = OPENAI_RESPONSES.model(server)
        agent = Agent("a", model=own, tools=TOOLS)
        async with agent.stream("Add.") as run:
            result = await run.result()
        bodies = [request.body for request in server.requests]
    assert bodies[1]["input"] == [
        {"role": "user", "content": "Add."},
        *FIRST,
        {"type": "function_call_output", "call_id": "call_1", "output": "3"},
        {"type": "apply_patch_call_output", "call_id": "call_2", "status": "completed", "output": "deleted a"},
    ]
    assert bodies[1]["tools"] == bodies[0]["tools"]
    assert result.text == "Hello"
    assert result.usage.total_tokens == 6


async def test_a_program_that_calls_a_function_ends_in_the_next_answer():
    program = {"id": "cm_1", "type": "program", "call_id": "call_0", "code": "add()", "fingerprint": "opaque=="}
    inner = {**CALL, "caller": {"type": "program", "caller_id": "call_0"}}
    output = {"id": "cmo_1", "type": "program_output", "call_id": "call_0", "result": "3", "status": "completed"}
    first = wire([{"created": {}}, {"completed": {"output": [program, inner]}}])
    second = wire([{"created": {}}, {"done": output}, {"completed": {}}])
    async with Loopback(Reply(pieces=[first]), Reply(pieces=[second])) as server:
        agent = Agent("a", model=OPENAI_RESPONSES.model(server), tools=TOOLS[:1])
        async with agent.stream("Add.") as run:
            chunks = [chunk async for chunk in run]
        sent = server.requests[1].body["input"][1:]
    assert sent == [
        program,
        inner,
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": "3",
            "caller": {"type": "program", "caller_id": "call_0"},
        },
    ]
    results = [chunk.payload for chunk in chunks if isinstance(chunk, ToolResultChunk)]
    assert [(payload.tool_call_id, payload.provider_executed) for payload in results] == [
        ("call_1", None),
        ("call_0", True),
    ]


async def test_a_call_that_waits_for_approval_ends_the_run():
    item = {"id": "mcpr_1", "type": "mcp_approval_request", "name": "ask", "arguments": "{}", "server_label": "wiki"}
    spec = ToolSpec(name="wiki", description="", input_schema={}, provider_id="openai.mcp")
    async with Loopback(Reply(pieces=[wire([{"created": {}}, {"completed": {"output": [item]}}])])) as server:
        agent = Agent(
            "a", model=OPENAI_RESPONSES.model(server), tools=[Tool(name=spec.name, provider_id=spec.provider_id)]
        )
        result = await agent.generate("Ask.")
        assert len(server.requests) == 1
    assert [call.payload.tool_call_id for call in result.tool_calls] == ["mcpr_1"]
