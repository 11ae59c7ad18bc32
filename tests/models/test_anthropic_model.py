"""AnthropicModel against a loopback server: requests, failures, cancellation, clients, and what is left behind."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import struct
import sys
import zlib
from typing import Any

import pytest

from riverrun import Agent, tool
from riverrun.chunks import ChunkType, StepStartChunk, TextDeltaChunk
from riverrun.errors import MissingExtraError, MissingKeyError, ModelError
from riverrun.models.anthropic import AnthropicModel
from riverrun.models.http import client as clients
from riverrun.tools import provider_tool
from riverrun.types import Model, Settings
from tests.models.anthropic_messages import begin, block, data, delta, end, start, stop, text
from tests.models.decoding import assert_in_order
from tests.models.exchange import collect, failure_of, request, text_of
from tests.models.loopback import Loopback, Reply

HELLO = (begin(), start(0, type="text", text=""), delta(0, text="Hel"), delta(0, text="lo"))
END = (stop(0), end())
KEY = "sk-ant-secret-0123456789"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "AUTH_TOKEN", "BASE_URL", "CUSTOM_HEADERS", "PROFILE"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)


def model(server: Loopback, **members: Any) -> AnthropicModel:
    return AnthropicModel("claude-x", base_url=server.url, api_key=KEY, **members)


# -- a call


async def test_a_call_gives_its_chunks_in_order():
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        chunks = await collect(model(server).stream(request(settings=Settings(seed=3, headers={"x-own": "1"}))))
        (sent,) = server.requests
    assert isinstance(chunks[0], StepStartChunk)
    assert chunks[0].payload.request == {"body": sent.body}
    assert chunks[0].payload.warnings == [{"type": "unsupported-setting", "setting": "seed"}]
    assert_in_order(chunks[1:], failed=False)
    assert text_of(chunks) == "Hello"
    assert sent.path == "/v1/messages"
    assert sent.body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert (sent.body["model"], sent.body["stream"]) == ("claude-x", True)
    assert KEY in (sent.headers.get("authorization", "") + sent.headers.get("x-api-key", ""))
    assert sent.headers["x-own"] == "1"
    assert KEY not in str(chunks)


async def test_the_model_is_what_an_agent_needs():
    async with Loopback(Reply()) as server:
        chat: Model = model(server, provider="acme")
        assert (chat.provider, chat.model_id) == ("acme", "claude-x")


async def test_headers_reach_the_server_in_place_of_the_sdks_own():
    settings = Settings(temperature=0.5, headers={"anthropic-beta": "one"})
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        chat = AnthropicModel("claude-sonnet-4-5", base_url=server.url, api_key=KEY)
        await collect(chat.stream(request(settings=settings, provider_options={"anthropic": {"betas": ["two"]}})))
        (sent,) = server.requests
    assert sent.headers["anthropic-beta"] == "one,two"
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.body["temperature"] == 0.5


async def test_response_headers_are_told_without_cookies():
    headers = {"content-type": "text/event-stream", "request-id": "7", "set-cookie": "a=b"}
    async with Loopback(Reply(pieces=[*HELLO, *END], headers=headers)) as server:
        chunks = await collect(model(server).stream(request()))
    (told,) = [chunk.payload.headers for chunk in chunks if chunk.type == "response-metadata"]
    assert told["request-id"] == "7"
    assert "set-cookie" not in told


async def test_one_connection_serves_call_after_call():
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        chat = model(server)
        for _ in range(5):
            await collect(chat.stream(request()))
        await collect(model(server).stream(request()))
        assert server.connections == 1


async def test_an_answer_that_is_no_stream_is_read_all_the_same():
    whole = {"type": "message", "id": "1", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}
    reply = Reply(pieces=[json.dumps(whole).encode()], headers={"content-type": "application/json"})
    async with Loopback(reply) as server:
        assert text_of(await collect(model(server).stream(request()))) == "Hi"


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

    async with Loopback(Reply(pieces=first), Reply(pieces=[*HELLO, *END])) as server:
        agent = Agent("a", model=model(server), tools=[add, provider_tool("anthropic.web_search_20250305")])
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
        agent = Agent("a", model=model(server), tools=[provider_tool("anthropic.web_search_20250305")])
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
    async with Loopback(Reply(pieces=[begin(), call, end("tool_use")]), Reply(pieces=[*HELLO, *END])) as server:
        await Agent("a", model=model(server), tools=[weather]).generate("hi")
        _, second = server.requests
    assert ran == []
    assistant, results = second.body["messages"][1:]
    assert assistant["content"] == [{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}]
    (told,) = results["content"]
    assert (told["tool_use_id"], told["is_error"]) == ("toolu_1", True)


# -- failures


def failure(kind: str, message: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}).encode()


@pytest.mark.parametrize(
    ("reply", "message", "attributes"),
    [
        (
            Reply(status=400, pieces=[failure("invalid_request_error", "max_tokens: too big")]),
            "max_tokens: too big",
            {"status": 400, "code": "invalid_request_error", "retryable": False, "retry_after": None},
        ),
        (
            Reply(status=401, pieces=[failure("authentication_error", f"Bad key: {KEY}.")]),
            "Bad key: ***.",
            {"status": 401, "code": "authentication_error", "retryable": False},
        ),
        (
            Reply(status=429, pieces=[failure("rate_limit_error", "slow")], headers={"retry-after": "7"}),
            "slow",
            {"status": 429, "code": "rate_limit_error", "retryable": True, "retry_after": 7.0},
        ),
        (
            Reply(status=500, pieces=[failure("api_error", "oh")]),
            "oh",
            {"status": 500, "code": "api_error", "retryable": True},
        ),
        (
            Reply(status=529, pieces=[failure("overloaded_error", "Overloaded")]),
            "Overloaded",
            {"status": 529, "code": "overloaded_error", "retryable": True},
        ),
        (
            Reply(status=502, pieces=[b"<html>busy</html>"]),
            "<html>busy</html>",
            {"status": 502, "code": None, "retryable": True},
        ),
    ],
    ids=["400", "401", "429", "500", "529", "502 html"],
)
async def test_http_failures(reply: Reply, message: str, attributes: dict[str, Any]):
    async with Loopback(reply) as server:
        chunks, error = await failure_of(model(server).stream(request()))
        assert len(server.requests) == 1  # retries are made elsewhere
    assert chunks == []
    assert str(error) == f"{message} (HTTP {attributes['status']})"
    assert {name: getattr(error, name) for name in attributes} == attributes


async def test_a_server_that_is_not_there():
    async with Loopback(Reply()) as server:
        chat = model(server)
    chunks, error = await failure_of(chat.stream(request()))
    assert (chunks, error.status, error.retryable) == ([], None, True)
    assert "cannot be reached" in str(error)


async def test_an_error_in_the_stream_comes_after_what_was_open_is_closed():
    async with Loopback(Reply(pieces=[*HELLO, data(json.loads(failure("overloaded_error", "Overloaded")))])) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert text_of(chunks) == "Hello"
    assert chunks[-1].type == "text-end"
    assert (str(error), error.code, error.retryable) == ("Overloaded", "overloaded_error", True)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(pieces=[b"event: error\ndata: %b\n\n" % failure(KEY, f"Bad key: {KEY}")]),
        Reply(pieces=[b"data: Bad key: %b\n\n" % KEY.encode()]),
        Reply(status=401, pieces=[failure("x", "x" * 1990 + KEY)]),
    ],
    ids=["error", "no JSON", "status, long"],
)
async def test_no_failure_repeats_the_key_nor_a_part_of_it(reply: Reply):
    async with Loopback(reply) as server:
        _, error = await failure_of(model(server).stream(request()))
    assert KEY[:8] not in f"{error} {error.code}"
    assert "***" in str(error)


async def test_a_connection_that_breaks_in_the_middle():
    async with Loopback(Reply(pieces=[*HELLO, b'data: {"type":"content_blo'], end="drop")) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert text_of(chunks) == "Hello"
    assert error.retryable
    assert "connection broke" in str(error)


async def test_a_stream_that_ends_too_soon_is_truncated():
    async with Loopback(Reply(pieces=HELLO)) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert (error.code, error.retryable) == ("truncated", True)


async def test_a_connection_that_breaks_after_the_reason_for_the_end_is_an_end():
    async with Loopback(Reply(pieces=[*HELLO, *END], end="drop")) as server:
        chunks = await collect(model(server).stream(request()))
    assert chunks[-1].type == "finish"


# -- leaving before the end


async def test_closing_the_stream_closes_the_connection():
    async with Loopback(Reply(pieces=HELLO, end="hang")) as server:
        stream = model(server).stream(request())
        async for chunk in stream:
            if isinstance(chunk, TextDeltaChunk):
                break
        await stream.aclose()
        assert await server.went(1, within=1)


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


async def test_a_call_that_is_cancelled_before_the_answer_begins():
    async with Loopback(Reply(end="silent")) as server:
        reader = asyncio.create_task(collect(model(server).stream(request())))
        await server.asked()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert await server.went(1, within=1)


# -- clients


async def test_models_of_one_server_and_key_share_a_client_until_nobody_needs_it():
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        one, other = model(server), model(server)
        for chat in (one, other):
            await collect(chat.stream(request()))
        await one.aclose()
        await collect(other.stream(request()))
        assert server.connections == 1
        await other.aclose()
        assert clients._by_loop[asyncio.get_running_loop()] == {}


def test_one_model_serves_loop_after_loop():
    async def call() -> str:
        async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
            chat._server._base_url = server.url.removesuffix("/v1")  # each loop has a server of its own
            return text_of(await collect(chat.stream(request())))

    chat = AnthropicModel("claude-x", base_url="http://127.0.0.1", api_key=KEY)
    assert [asyncio.run(call()) for _ in range(3)] == ["Hello"] * 3
    gc.collect()
    assert [loop for loop, kept in clients._by_loop.items() if kept] == []


async def test_a_client_of_the_callers_own_is_used_and_not_closed():
    from anthropic import AsyncAnthropic

    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        root = server.url.removesuffix("/v1")
        own = AsyncAnthropic(base_url=root, api_key="own", default_headers={"x-own": "1"})
        chat = AnthropicModel("claude-x", client=own)
        assert text_of(await collect(chat.stream(request()))) == "Hello"
        await chat.aclose()
        assert not own.is_closed()
        assert server.requests[0].headers["x-own"] == "1"
        await own.close()


async def test_the_key_of_a_client_of_the_callers_own_is_not_repeated_when_it_changed():
    from anthropic import AsyncAnthropic

    async with Loopback(Reply(status=401, pieces=[failure("authentication_error", f"Bad key: {KEY}")])) as server:
        own = AsyncAnthropic(base_url=server.url, api_key="old")
        chat = AnthropicModel("claude-x", client=own)
        own.api_key = KEY
        _, error = await failure_of(chat.stream(request()))
        await own.close()
    assert "Bad key: ***" in str(error)


async def test_a_client_for_vertex_asks_for_the_model_in_the_path():
    from anthropic.lib.vertex import AsyncAnthropicVertex

    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        own = AsyncAnthropicVertex(access_token=KEY, region="eu", project_id="p", base_url=server.url)
        assert text_of(await collect(AnthropicModel("claude-x", client=own).stream(request()))) == "Hello"
        (sent,) = server.requests
        await own.close()
    assert sent.path == "/v1/projects/p/locations/eu/publishers/anthropic/models/claude-x:streamRawPredict"
    assert "model" not in sent.body
    assert sent.headers["authorization"] == f"Bearer {KEY}"


async def test_a_client_for_foundry():
    from anthropic import AsyncAnthropicFoundry

    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        own = AsyncAnthropicFoundry(api_key=KEY, base_url=server.url.removesuffix("/v1"))
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
    from anthropic import AsyncAnthropicBedrock

    pieces = [stream[begin : begin + size] for begin in range(0, len(stream), size)]
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    chunks: list[ChunkType] = []
    async with Loopback(Reply(pieces=pieces, headers=headers, status=status)) as server:
        own = AsyncAnthropicBedrock(api_key=KEY, aws_region="eu", base_url=server.url.removesuffix("/v1"))
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
    chunks, error, sent = await bedrock(framed(*HELLO, *END), size=size)
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
    chunks, error, _ = await bedrock(framed(*HELLO) + broken)
    assert error is not None
    assert_in_order(chunks[1:], failed=True)
    assert text_of(chunks) == "Hello"
    assert (str(error), error.code, error.status, error.retryable) == ("no", word, status, retryable)


async def test_a_failure_that_is_only_in_the_headers_of_a_frame():
    told = {":message-type": "error", ":error-code": "internal", ":error-message": "oh"}
    _, error, _ = await bedrock(framed(*HELLO) + frame(told, b""))
    assert error is not None
    assert (str(error), error.code, error.retryable) == ("oh", "internal", True)


@pytest.mark.parametrize("place", [9, 40, -1])
async def test_a_damaged_frame_is_a_connection_that_broke(place: int):
    stream = bytearray(framed(*HELLO))
    stream[place] ^= 1
    _, error, _ = await bedrock(bytes(stream))
    assert error is not None
    assert error.retryable
    assert "damaged" in str(error)


async def test_frames_of_other_kinds_are_passed_over():
    other = frame({":event-type": "new", ":message-type": "event"}, b"[]")
    chunks, error, _ = await bedrock(other + framed(*HELLO, *END))
    assert (error, text_of(chunks)) == (None, "Hello")


# -- configuration


def test_no_key_for_anthropics_own_server():
    with pytest.raises(MissingKeyError, match="ANTHROPIC_API_KEY"):
        AnthropicModel("claude-x")


async def test_other_servers_need_no_key():
    async with Loopback(Reply(pieces=[b"event: error\ndata: %b\n\n" % failure("x", "no-key is not a key")])) as server:
        _, error = await failure_of(AnthropicModel("m", base_url=server.url).stream(request()))
    assert str(error) == "no-key is not a key"


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
async def test_the_environment_names_server_and_key(monkeypatch: pytest.MonkeyPatch, name: str):
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv(name, "from-environment")
        chat = AnthropicModel("claude-x")
        await collect(chat.stream(request()))
        assert "from-environment" in str(server.requests[0].headers)
        assert chat._server.secret() == "from-environment"


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_a_base_url_may_have_the_version_or_not(suffix: str):
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        root = server.url.removesuffix("/v1")
        await collect(AnthropicModel("m", base_url=f"{root}/proxy{suffix}").stream(request()))
        assert server.requests[0].path == "/proxy/v1/messages"


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(MissingExtraError, match=r"riverrun\[anthropic\]"):
        AnthropicModel("claude-x", api_key=KEY)


def test_anthropics_own_server_is_known():
    assert AnthropicModel("claude-x", api_key=KEY)._server.official
    assert not AnthropicModel("claude-x", api_key=KEY, base_url="https://anthropic.com.example")._server.official
