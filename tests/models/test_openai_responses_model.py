"""OpenAIResponsesModel against a loopback server: requests, failures, cancellation, and a tool loop of an agent."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from riverrun import Agent
from riverrun.chunks import (
    StepStartChunk,
    SystemMessage,
    TextDeltaChunk,
    ToolCallChunk,
    ToolResultChunk,
)
from riverrun.errors import MissingExtraError, MissingKeyError
from riverrun.models.openai_responses import OpenAIResponsesModel
from riverrun.tools import Tool
from riverrun.types import Model, ModelRequest, Settings, ToolSpec
from tests.models.decoding import RUN, assert_in_order
from tests.models.exchange import collect, failure_of, request, text_of
from tests.models.loopback import Loopback, Reply
from tests.models.openai_responses import frame, offered, wire

HELLO = [wire([item]) for item in ({"created": {}}, {"output_text": "Hel"}, {"output_text": "lo"})]
END = wire([{"completed": {"usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}}])
KEY = "sk-secret-0123456789"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)


def model(server: Loopback, **members: Any) -> OpenAIResponsesModel:
    return OpenAIResponsesModel("m-1", base_url=server.url, api_key=KEY, **members)


# -- a call


async def test_a_call_gives_its_chunks_in_order():
    async with Loopback(Reply(pieces=[*HELLO, END])) as server:
        settings = Settings(top_k=3, headers={"x-own": "1"})
        chunks = await collect(model(server).stream(request(settings=settings)))
        (sent,) = server.requests
    assert isinstance(chunks[0], StepStartChunk)
    assert chunks[0].payload.request == {"body": sent.body}
    assert chunks[0].payload.warnings == [{"type": "unsupported-setting", "setting": "topK"}]
    assert_in_order(chunks[1:], failed=False)
    assert text_of(chunks) == "Hello"
    assert sent.path == "/v1/responses"
    assert sent.body == {"model": "m-1", "input": [{"role": "user", "content": "hi"}], "stream": True}
    assert (sent.headers["authorization"], sent.headers["x-own"]) == (f"Bearer {KEY}", "1")
    assert KEY not in str(chunks)


async def test_the_model_is_what_an_agent_needs():
    async with Loopback(Reply()) as server:
        own: Model = model(server, provider="acme")
        assert (own.provider, own.model_id) == ("acme", "m-1")
        assert model(server).provider == "openai"


async def test_response_headers_are_told_without_cookies():
    headers = {"content-type": "text/event-stream", "x-request-id": "7", "set-cookie": "a=b"}
    async with Loopback(Reply(pieces=[*HELLO, END], headers=headers)) as server:
        chunks = await collect(model(server).stream(request()))
    (told,) = [chunk.payload.headers for chunk in chunks if chunk.type == "response-metadata"]
    assert told["x-request-id"] == "7"
    assert "set-cookie" not in told


async def test_raw_chunks_and_tools_that_were_offered_reach_the_decoder():
    item = {"id": "apc_1", "type": "apply_patch_call", "call_id": "c1", "operation": {"type": "delete_file"}}
    pieces = [wire([{"created": {}}, {"done": item}]), END]
    async with Loopback(Reply(pieces=pieces)) as server:
        chunks = await collect(model(server).stream(request(tools=offered("openai.apply_patch"), include_raw=True)))
        assert server.requests[0].body["tools"] == [{"type": "apply_patch"}]
    assert sum(chunk.type == "raw" for chunk in chunks) == 3
    (call,) = [chunk.payload for chunk in chunks if isinstance(chunk, ToolCallChunk)]
    assert (call.tool_name, call.provider_executed) == ("apply_patch", None)


async def test_an_answer_that_is_no_stream_is_read_all_the_same():
    whole = frame(
        {
            "object": "response",
            "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}],
        }
    ).removeprefix(b"data: ")
    async with Loopback(Reply(pieces=[whole], headers={"content-type": "application/json"})) as server:
        assert text_of(await collect(model(server).stream(request()))) == "Hi"


# -- failures


@pytest.mark.parametrize(
    ("reply", "message", "attributes"),
    [
        (
            Reply(status=400, pieces=[b'{"error":{"message":"bad id","code":"invalid_value","param":"input"}}']),
            "bad id",
            {"status": 400, "code": "invalid_value", "retryable": False},
        ),
        (
            Reply(status=401, pieces=[b'{"error":{"message":"Bad key: %b.","code":"invalid_api_key"}}' % KEY.encode()]),
            "Bad key: ***.",
            {"status": 401, "code": "invalid_api_key", "retryable": False},
        ),
        (
            Reply(
                status=429,
                pieces=[b'{"error":{"message":"slow","code":"rate_limit_exceeded"}}'],
                headers={"retry-after": "7"},
            ),
            "slow",
            {"status": 429, "code": "rate_limit_exceeded", "retryable": True, "retry_after": 7.0},
        ),
        (
            Reply(status=429, pieces=[b'{"error":{"message":"pay","code":"insufficient_quota"}}']),
            "pay",
            {"status": 429, "code": "insufficient_quota", "retryable": False},
        ),
        (
            Reply(status=500, pieces=[b'{"error":{"message":"sorry","type":"server_error"}}']),
            "sorry",
            {"status": 500, "code": "server_error", "retryable": True},
        ),
        (Reply(status=529, pieces=[b"<html>busy</html>"]), "<html>busy</html>", {"status": 529, "retryable": True}),
    ],
    ids=["400", "401", "429", "429 quota", "500", "529"],
)
async def test_http_failures(reply: Reply, message: str, attributes: dict[str, Any]):
    async with Loopback(reply) as server:
        chunks, error = await failure_of(model(server).stream(request()))
        assert len(server.requests) == 1  # retries are made elsewhere
    assert chunks == []
    assert str(error) == f"{message} (HTTP {attributes['status']})"
    assert {name: getattr(error, name) for name in attributes} == attributes


async def test_an_error_in_the_stream_comes_after_what_was_open_is_closed():
    events = [
        {"type": "error", "error": {"code": "server_overloaded", "message": f"busy, {KEY}"}},
        {"failed": {"error": {"code": "server_error", "message": "again"}}},
    ]
    async with Loopback(Reply(pieces=[*HELLO, wire(events)])) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert chunks[-1].type == "text-end"
    assert (str(error), error.code, error.retryable) == ("busy, ***", "server_overloaded", True)


async def test_a_stream_that_ends_too_soon_is_truncated():
    async with Loopback(Reply(pieces=HELLO)) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert (error.code, error.retryable) == ("truncated", True)


async def test_a_connection_that_breaks_in_the_middle():
    async with Loopback(Reply(pieces=[*HELLO, b"event: resp"], end="drop")) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert text_of(chunks) == "Hello"
    assert error.retryable


async def test_a_connection_that_breaks_after_the_final_response_is_an_end():
    async with Loopback(Reply(pieces=[*HELLO, END], end="drop")) as server:
        chunks = await collect(model(server).stream(request()))
    assert chunks[-1].type == "finish"


async def test_a_server_that_cannot_be_reached_is_named_without_the_key():
    own = OpenAIResponsesModel("m", base_url=f"http://127.0.0.1:1/{KEY}", api_key=KEY)
    _, error = await failure_of(own.stream(request()))
    assert "http://127.0.0.1:1/*** cannot be reached" in str(error)
    assert error.retryable


# -- leaving before the end


async def test_the_server_sees_a_cancelled_reader_go():
    async with Loopback(Reply(pieces=HELLO, end="hang")) as server:
        begun = asyncio.Event()

        async def read() -> None:
            async for chunk in model(server).stream(request()):
                if isinstance(chunk, TextDeltaChunk):
                    begun.set()

        reader = asyncio.create_task(read())
        await begun.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert await server.went(1, within=1)


async def test_closing_the_stream_closes_the_connection():
    async with Loopback(Reply(pieces=HELLO, end="hang")) as server:
        stream = model(server).stream(request())
        async for chunk in stream:
            if isinstance(chunk, TextDeltaChunk):
                break
        await stream.aclose()
        assert await server.went(1, within=1)


# -- clients and configuration


async def test_aclose_closes_the_connections_and_the_model_works_on():
    async with Loopback(Reply(pieces=[*HELLO, END])) as server:
        own = model(server)
        for _ in range(2):
            assert text_of(await collect(own.stream(request()))) == "Hello"
            await own.aclose()
        assert server.connections == 2


async def test_an_azure_client_of_the_callers_own_is_used_and_not_closed():
    from openai import AsyncAzureOpenAI

    async with Loopback(Reply(pieces=[*HELLO, END])) as server:
        root = server.url.removesuffix("/v1")
        own = AsyncAzureOpenAI(azure_endpoint=root, api_key="own", api_version="2025-04-01-preview")
        azure = OpenAIResponsesModel("gpt", client=own, provider="azure")
        assert text_of(await collect(azure.stream(request()))) == "Hello"
        await azure.aclose()
        assert not own.is_closed()
        assert server.requests[0].path == "/openai/responses?api-version=2025-04-01-preview"
        assert server.requests[0].headers["api-key"] == "own"
        await own.close()


def test_no_key_for_openais_own_server():
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        OpenAIResponsesModel("gpt-5")


async def test_other_servers_need_no_key():
    async with Loopback(Reply(pieces=[*HELLO, END])) as server:
        assert text_of(await collect(OpenAIResponsesModel("m", base_url=server.url).stream(request()))) == "Hello"


async def test_the_environment_names_server_and_key(monkeypatch: pytest.MonkeyPatch):
    async with Loopback(Reply(pieces=[*HELLO, END])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
        await collect(OpenAIResponsesModel("m").stream(request()))
        assert server.requests[0].headers["authorization"] == "Bearer from-environment"


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"riverrun\[openai\]"):
        OpenAIResponsesModel("gpt-5", api_key=KEY)


async def test_openais_own_server_is_told_instructions_as_a_developers():
    async with Loopback(Reply(pieces=[*HELLO, END])) as server:
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
    async with Loopback(Reply(pieces=[wire([*events, end])]), Reply(pieces=[*HELLO, END])) as server:
        own = model(server)
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
        agent = Agent("a", model=model(server), tools=TOOLS[:1])
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
        agent = Agent("a", model=model(server), tools=[Tool(name=spec.name, provider_id=spec.provider_id)])
        result = await agent.generate("Ask.")
        assert len(server.requests) == 1
    assert [call.payload.tool_call_id for call in result.tool_calls] == ["mcpr_1"]
