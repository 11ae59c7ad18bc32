"""AnthropicModel against a loopback server: what only this API has, tool loops of an agent, and the clouds."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest
from anthropic import AsyncAnthropicBedrock, AsyncAnthropicFoundry
from anthropic.lib.vertex import AsyncAnthropicVertex

from riverrun import Agent, tool
from riverrun.chunks import ChunkType
from riverrun.errors import ModelError
from riverrun.models.anthropic import AnthropicModel
from riverrun.tools import provider_tool
from riverrun.types import Settings
from tests.models.anthropic_messages import begin, block, end, text
from tests.models.decoding import assert_in_order
from tests.models.exchange import KEY, collect, request, text_of
from tests.models.loopback import Loopback, Reply
from tests.models.providers import ANTHROPIC, root

# -- a call


async def test_headers_reach_the_server_in_place_of_the_sdks_own():
    settings = Settings(temperature=0.5, headers={"anthropic-beta": "one"})
    async with Loopback(ANTHROPIC.whole) as server:
        chat = AnthropicModel("claude-sonnet-4-5", base_url=server.url, api_key=KEY)
        await collect(chat.stream(request(settings=settings, provider_options={"anthropic": {"betas": ["two"]}})))
        (sent,) = server.requests
    assert sent.headers["anthropic-beta"] == "one,two"
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.body["temperature"] == 0.5


# -- a loop of tools


async def test_the_second_request_of_a_loop_brings_back_every_block_word_for_word():
    thought = {"type": "thinking", "thinking": "Hm. ", "signature": "S1=="}
    hidden = {"type": "redacted_thinking", "data": "ENC=="}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "é"}}
    item = {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "E=="}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [item]}
    cited = {"type": "web_search_result_location", "url": "https://a.example", "encrypted_index": "I=="}
    said = {"type": "text", "text": "It rains. ", "citations": [cited]}
    asked = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}, "caller": {"type": "direct"}}
    blocks = [thought, hidden, search, found, said, asked]
    first = [begin(), *(block(index, item) for index, item in enumerate(blocks)), end("tool_use")]

    @tool
    def add(a: int) -> dict[str, int]:
        """Adds one."""
        return {"sum": a + 1}

    async with Loopback(Reply(pieces=first), ANTHROPIC.whole) as server:
        agent = Agent("a", model=ANTHROPIC.model(server), tools=[add, provider_tool("anthropic.web_search_20250305")])
        result = await agent.generate("hi")
        _, second = server.requests
    assert result.text == "Hello"
    assert second.body["messages"][1:] == [
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": '{"sum":2}'}]},
    ]
    assert second.body["tools"][1] == {"type": "web_search_20250305", "name": "web_search"}


async def test_a_turn_that_pauses_is_sent_back_and_goes_on():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    async with Loopback(
        Reply(pieces=[begin(), block(0, search), end("pause_turn")]),
        Reply(pieces=[begin(), block(0, found), text(1, "Done."), end()]),
    ) as server:
        agent = Agent("a", model=ANTHROPIC.model(server), tools=[provider_tool("anthropic.web_search_20250305")])
        result = await agent.generate("hi")
        _, second = server.requests
    assert result.text == "Done."
    assert second.body["messages"][1:] == [{"role": "assistant", "content": [search]}]


async def test_a_call_whose_arguments_are_no_json_is_answered_with_an_error():
    """Bug report anthropics/anthropic-sdk-python#1331: the tool does not run, the call has its result all the same."""
    ran: list[str] = []

    @tool
    def weather(city: str) -> str:
        """The weather."""
        ran.append(city)
        return "sun"

    call = block(0, {"type": "tool_use", "id": "toolu_1", "name": "weather"}, {"partial_json": '{"city": INVALID}'})
    async with Loopback(Reply(pieces=[begin(), call, end("tool_use")]), ANTHROPIC.whole) as server:
        await Agent("a", model=ANTHROPIC.model(server), tools=[weather]).generate("hi")
        _, second = server.requests
    assert ran == []
    assistant, results = second.body["messages"][1:]
    assert assistant["content"] == [{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}]
    (told,) = results["content"]
    assert (told["tool_use_id"], told["is_error"]) == ("toolu_1", True)


# -- clients


async def test_a_client_for_vertex_asks_for_the_model_in_the_path():
    async with Loopback(ANTHROPIC.whole) as server:
        own = AsyncAnthropicVertex(access_token=KEY, region="eu", project_id="p", base_url=server.url)
        assert text_of(await collect(AnthropicModel("claude-x", client=own).stream(request()))) == "Hello"
        (sent,) = server.requests
        await own.close()
    assert sent.path == "/v1/projects/p/locations/eu/publishers/anthropic/models/claude-x:streamRawPredict"
    assert "model" not in sent.body
    assert sent.headers["authorization"] == f"Bearer {KEY}"


async def test_a_client_for_foundry():
    async with Loopback(ANTHROPIC.whole) as server:
        own = AsyncAnthropicFoundry(api_key=KEY, base_url=root(server.url))
        assert text_of(await collect(AnthropicModel("claude-x", client=own).stream(request()))) == "Hello"
        await own.close()
        assert server.requests[0].path == "/v1/messages"


# -- Bedrock, whose events come in frames


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """A frame of AWS's event stream."""
    told = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    told += b"\x05flags"[:6] + b"\x00"  # a header that is no text: true
    head = struct.pack(">II", len(told) + len(payload) + 16, len(told))
    head += struct.pack(">I", zlib.crc32(head))
    return (whole := head + told + payload) + struct.pack(">I", zlib.crc32(whole))


def framed(*events: bytes) -> bytes:
    """Events in frames."""
    found = [line[6:] for line in b"".join(events).split(b"\n") if line.startswith(b"data: ")]
    chunk = {":event-type": "chunk", ":message-type": "event"}
    return b"".join(
        frame(chunk, json.dumps({"bytes": base64.b64encode(event).decode(), "p": "abc"}).encode()) for event in found
    )


async def bedrock(stream: bytes, *, status: int = 200, size: int = 7) -> tuple[list[ChunkType], ModelError | None, Any]:
    """What a call through a client for Bedrock gives, its failure, and what was asked."""
    pieces = [stream[begin : begin + size] for begin in range(0, len(stream), size)]
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    chunks: list[ChunkType] = []
    async with Loopback(Reply(pieces=pieces, headers=headers, status=status)) as server:
        own = AsyncAnthropicBedrock(api_key=KEY, aws_region="eu", base_url=root(server.url))
        error: ModelError | None = None
        try:
            async for chunk in AnthropicModel("anthropic.claude-x", client=own).stream(request()):
                chunks.append(chunk)  # noqa: PERF401 - what came before the error is wanted
        except ModelError as failed:
            error = failed
        await own.close()
        return chunks, error, server.requests[0]


@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_frames_are_read_wherever_they_are_cut(size: int):
    chunks, error, sent = await bedrock(framed(*ANTHROPIC.whole.pieces), size=size)
    assert error is None
    assert_in_order(chunks[1:], failed=False)
    assert text_of(chunks) == "Hello"
    assert sent.path == "/model/anthropic.claude-x/invoke-with-response-stream"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert "model" not in sent.body


@pytest.mark.parametrize(
    ("word", "status", "retryable"),
    [
        ("throttlingException", 429, True),
        ("validationException", 400, False),
        ("modelTimeoutException", 408, True),
        ("newException", None, False),
    ],
)
async def test_a_failure_in_a_frame(word: str, status: int | None, retryable: bool):
    broken = frame({":exception-type": word, ":message-type": "exception"}, b'{"message":"no"}')
    chunks, error, _ = await bedrock(framed(*ANTHROPIC.hello) + broken)
    assert error is not None
    assert_in_order(chunks[1:], failed=True)
    assert text_of(chunks) == "Hello"
    assert (str(error), error.code, error.status, error.retryable) == ("no", word, status, retryable)


async def test_a_failure_that_is_only_in_the_headers_of_a_frame():
    told = {":message-type": "error", ":error-code": "internal", ":error-message": "oh"}
    _, error, _ = await bedrock(framed(*ANTHROPIC.hello) + frame(told, b""))
    assert error is not None
    assert (str(error), error.code, error.retryable) == ("oh", "internal", True)


@pytest.mark.parametrize("place", [9, 40, -1])
async def test_a_damaged_frame_is_a_connection_that_broke(place: int):
    stream = bytearray(framed(*ANTHROPIC.hello))
    stream[place] ^= 1
    _, error, _ = await bedrock(bytes(stream))
    assert error is not None
    assert error.retryable
    assert "damaged" in str(error)


async def test_frames_of_other_kinds_are_passed_over():
    other = frame({":event-type": "new", ":message-type": "event"}, b"[]")
    chunks, error, _ = await bedrock(other + framed(*ANTHROPIC.whole.pieces))
    assert (error, text_of(chunks)) == (None, "Hello")


# -- configuration


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_a_base_url_may_have_the_version_or_not(suffix: str):
    async with Loopback(ANTHROPIC.whole) as server:
        await collect(AnthropicModel("m", base_url=f"{root(server.url)}/proxy{suffix}").stream(request()))
        assert server.requests[0].path == "/proxy/v1/messages"


def test_anthropics_own_server_is_known():
    assert AnthropicModel("claude-x", api_key=KEY)._server.official
    assert not AnthropicModel("claude-x", api_key=KEY, base_url="https://anthropic.com.example")._server.official
