"""OpenAIChatModel against a loopback server: requests, failures, cancellation, and what is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun.chunks import ChunkType, StepStartChunk, TextDeltaChunk, ToolCallChunk
from riverrun.errors import MissingExtraError, MissingKeyError
from riverrun.models.http import client as clients
from riverrun.models.openai_chat import OpenAIChatModel
from riverrun.types import Model, Settings, ToolSpec
from tests.models.decoding import assert_in_order
from tests.models.exchange import collect, failure_of, made_tasks, request, text_of
from tests.models.loopback import Loopback, Reply
from tests.models.openai_chat import DONE, event

HELLO = (event({"role": "assistant", "content": ""}), event({"content": "Hel"}), event({"content": "lo"}))
END = (event({}, "stop", usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}), DONE)
KEY = "sk-secret-0123456789"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)


def model(server: Loopback, **members: Any) -> OpenAIChatModel:
    return OpenAIChatModel("m-1", base_url=server.url, api_key=KEY, **members)


def sockets() -> int:
    """How many sockets this process has open."""
    return sum(link.startswith("socket:") for link in _links())


def _links() -> Iterator[str]:
    for entry in Path("/proc/self/fd").iterdir():
        try:
            yield str(entry.readlink())
        except FileNotFoundError:  # the folder's own handle
            continue


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open sockets in /proc")


# -- a call


async def test_a_call_gives_its_chunks_in_order():
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        chat = model(server)
        chunks = await collect(chat.stream(request(settings=Settings(top_k=3, headers={"x-own": "1"}))))
        (sent,) = server.requests
    assert isinstance(chunks[0], StepStartChunk)
    assert chunks[0].payload.request == {"body": sent.body}
    assert chunks[0].payload.warnings == [{"type": "unsupported-setting", "setting": "topK"}]
    assert_in_order(chunks[1:], failed=False)
    assert text_of(chunks) == "Hello"
    assert sent.path == "/v1/chat/completions"
    assert sent.body["messages"] == [{"role": "user", "content": "hi"}]
    assert (sent.headers["authorization"], sent.headers["x-own"]) == (f"Bearer {KEY}", "1")
    assert KEY not in str(chunks)


async def test_the_model_is_what_an_agent_needs():
    async with Loopback(Reply()) as server:
        chat: Model = model(server, provider="acme")
        assert (chat.provider, chat.model_id) == ("acme", "m-1")


async def test_response_headers_are_told_without_cookies():
    headers = {"content-type": "text/event-stream", "x-request-id": "7", "set-cookie": "a=b"}
    async with Loopback(Reply(pieces=[*HELLO, *END], headers=headers)) as server:
        chunks = await collect(model(server).stream(request()))
    (told,) = [chunk.payload.headers for chunk in chunks if chunk.type == "response-metadata"]
    assert told["x-request-id"] == "7"
    assert "set-cookie" not in told


async def test_the_first_chunk_comes_when_the_headers_are_there():
    async with Loopback(Reply(end="hang")) as server:
        stream = model(server).stream(request())
        first = await anext(stream)
        assert first.type == "step-start"
        await stream.aclose()


async def test_one_connection_serves_call_after_call():
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        chat = model(server)
        for _ in range(5):
            await collect(chat.stream(request()))
        await collect(model(server).stream(request()))
        assert server.connections == 1


async def test_a_stream_that_goes_on_after_its_end_marker_is_not_waited_for():
    async with Loopback(Reply(pieces=[*HELLO, *END], end="hang")) as server:
        async with asyncio.timeout(1):
            chunks = await collect(model(server).stream(request()))
        assert text_of(chunks) == "Hello"
        assert chunks[-1].type == "finish"
        assert await server.went(1, within=1)


async def test_two_streams_of_one_model_do_not_mix():
    """Bug report oracle/langchain-oracle#254."""

    def reply(call_id: str, city: str) -> Reply:
        begin = {"index": 0, "id": call_id, "function": {"name": "w", "arguments": '{"city":'}}
        end = {"index": 0, "function": {"arguments": f'"{city}"}}'}}
        return Reply(pieces=[event({"tool_calls": [begin]}), event({"tool_calls": [end]}), event({}, "tool_calls")])

    async with Loopback(reply("a", "Rome"), reply("b", "Oslo")) as server:
        chat = model(server)
        streams = [chat.stream(request()), chat.stream(request())]
        found: list[list[ChunkType]] = [[await anext(stream)] for stream in streams]
        for _ in range(20):
            for stream, chunks in zip(streams, found, strict=True):
                chunks.extend([chunk] if (chunk := await anext(stream, None)) is not None else [])
    calls = [
        [(c.payload.tool_call_id, c.payload.args) for c in chunks if isinstance(c, ToolCallChunk)] for chunks in found
    ]
    assert calls == [[("a", {"city": "Rome"})], [("b", {"city": "Oslo"})]]


async def test_a_tool_that_was_offered_is_announced_before_its_arguments():
    fragment = {"index": 0, "id": "c", "function": {"name": "now", "arguments": ""}}
    async with Loopback(Reply(pieces=[event({"tool_calls": [fragment]})], end="hang")) as server:
        stream = model(server).stream(request(tools=[ToolSpec(name="now", description="", input_schema={})]))
        types = [(await anext(stream)).type for _ in range(3)]
        await stream.aclose()
    assert types == ["step-start", "response-metadata", "tool-call-input-streaming-start"]


# -- failures


@pytest.mark.parametrize(
    ("reply", "message", "attributes"),
    [
        (
            Reply(status=401, pieces=[b'{"error":{"message":"Bad key: %b.","code":"invalid_api_key"}}' % KEY.encode()]),
            "Bad key: ***.",
            {"status": 401, "code": "invalid_api_key", "retryable": False},
        ),
        (
            Reply(
                status=429, pieces=[b'{"error":{"message":"slow","type":"rate_limit"}}'], headers={"retry-after": "7"}
            ),
            "slow",
            {"status": 429, "code": "rate_limit", "retryable": True, "retry_after": 7.0},
        ),
        (
            Reply(status=429, pieces=[b'{"error":{"message":"pay","code":"insufficient_quota"}}']),
            "pay",
            {"status": 429, "code": "insufficient_quota", "retryable": False},
        ),
        (
            Reply(status=503, pieces=[b"<html>busy</html>"], headers={"retry-after-ms": "1500", "retry-after": "9"}),
            "<html>busy</html>",
            {"status": 503, "code": None, "retryable": True, "retry_after": 1.5},
        ),
        (
            Reply(status=500, headers={"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}),
            "the provider failed and did not say why",
            {"status": 500, "retryable": True, "retry_after": 0.0},
        ),
        (
            Reply(status=404, pieces=[b'[{"error":{"message":"no such model","code":404}}]']),
            "no such model",
            {"status": 404, "code": 404, "retryable": False, "retry_after": None},
        ),
        (
            Reply(status=422, pieces=[b'{"detail":"bad field"}'], headers={"retry-after": "soon"}),
            "bad field",
            {"status": 422, "retryable": False, "retry_after": None},
        ),
        (Reply(status=400, pieces=[b"[]"]), "the provider failed and did not say why", {"status": 400}),
    ],
    ids=["401", "429", "429 quota", "503 html", "500 empty", "404 list", "422 detail", "400 odd"],
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
    assert chat.model_id not in str(error)
    assert "cannot be reached" in str(error)


async def test_a_connection_that_breaks_while_a_failure_is_told():
    async with Loopback(Reply(status=500, pieces=[b'{"error":'], end="drop")) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert (chunks, error.retryable) == ([], True)


async def test_a_connection_that_breaks_in_the_middle():
    async with Loopback(Reply(pieces=[*HELLO, b'data: {"choices":[{"del'], end="drop")) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert text_of(chunks) == "Hello"
    assert chunks[-1].type == "text-end"
    assert error.retryable
    assert "connection broke" in str(error)


async def test_a_connection_that_breaks_after_the_finish_reason_is_an_end():
    async with Loopback(Reply(pieces=[*HELLO, END[0]], end="drop")) as server:
        chunks = await collect(model(server).stream(request()))
    assert chunks[-1].type == "finish"


async def test_a_stream_that_ends_too_soon_is_truncated():
    async with Loopback(Reply(pieces=HELLO)) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert (error.code, error.retryable) == ("truncated", True)


async def test_an_error_in_the_stream_comes_after_what_was_open_is_closed():
    failure = b'data: {"error":{"message":"overloaded","code":503}}\n\n'
    async with Loopback(Reply(pieces=[*HELLO, failure, *END])) as server:
        chunks, error = await failure_of(model(server).stream(request()))
        assert_in_order(chunks[1:], failed=True)
        assert (str(error), error.status, error.retryable) == ("overloaded", 503, True)
        assert (await failure_of(model(server).stream(request())))[1].status == 503


@pytest.mark.parametrize(
    "reply",
    [
        Reply(pieces=[b'data: {"error":{"message":"Bad key: %b","code":"%b"}}\n\n' % (KEY.encode(), KEY.encode())]),
        Reply(pieces=[b"data: Bad key: %b\n\n" % KEY.encode()]),
        Reply(pieces=[b"data: %b%b\n\n" % (b"x" * 190, KEY.encode())]),
        Reply(pieces=[b'data: {"error":{"message":"%b%b"}}\n\n' % (b"x" * 1990, KEY.encode())]),
        Reply(status=401, pieces=[b'{"error":{"message":"%b%b"}}' % (b"x" * 1990, KEY.encode())]),
        Reply(status=401, pieces=[b"%b%b" % (b"x" * 490, KEY.encode())]),
    ],
    ids=["error", "no JSON", "no JSON, long", "error, long", "status, long", "status, no JSON, long"],
)
async def test_no_failure_repeats_the_key_nor_a_part_of_it(reply: Reply):
    async with Loopback(reply) as server:
        _, error = await failure_of(model(server).stream(request()))
    assert KEY[:8] not in f"{error} {error.code}"
    assert "***" in str(error)
    assert len(str(error)) <= 2000


async def test_a_server_that_cannot_be_reached_is_named_without_the_key():
    _, error = await failure_of(
        OpenAIChatModel("m", base_url=f"http://127.0.0.1:1/{KEY}", api_key=KEY).stream(request())
    )
    assert "http://127.0.0.1:1/*** cannot be reached" in str(error)


async def test_the_key_of_a_client_of_the_callers_own_is_not_repeated_when_it_changed():
    from openai import AsyncOpenAI

    async with Loopback(Reply(pieces=[b'data: {"error":{"message":"Bad key: %b"}}\n\n' % KEY.encode()])) as server:
        own = AsyncOpenAI(base_url=server.url, api_key="old")
        chat = OpenAIChatModel("m-1", client=own)
        own.api_key = KEY
        _, error = await failure_of(chat.stream(request()))
        await own.close()
    assert str(error) == "Bad key: ***"


async def test_what_stands_for_no_key_is_not_masked():
    async with Loopback(Reply(pieces=[b'data: {"error":{"message":"no-key is not a key"}}\n\n'])) as server:
        _, error = await failure_of(OpenAIChatModel("m", base_url=server.url).stream(request()))
    assert str(error) == "no-key is not a key"


async def test_an_event_that_never_ends_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("riverrun.models.sse._LIMIT", 1000)
    async with Loopback(Reply(pieces=[*HELLO, b"data: ", b"x" * 900, b"x" * 95], end="hang")) as server:
        chunks, error = await failure_of(model(server).stream(request()))
        assert await server.went(1, within=1)
    assert_in_order(chunks[1:], failed=True)
    assert text_of(chunks) == "Hello"
    assert (error.code, error.retryable) == ("event_too_long", False)


async def test_an_answer_that_is_no_stream_is_read_all_the_same():
    whole = b'{"id":"1","model":"m","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}'
    async with Loopback(Reply(pieces=[whole], headers={"content-type": "application/json"})) as server:
        assert text_of(await collect(model(server).stream(request()))) == "Hi"


# -- leaving before the end


async def test_closing_the_stream_closes_the_connection():
    """Bug report pydantic/pydantic-ai#4204: nothing is left for the garbage collector, which would make tasks of it."""
    async with Loopback(Reply(pieces=[*HELLO, event({"content": "!"})], end="hang")) as server:
        stream = model(server).stream(request())
        async for chunk in stream:
            if isinstance(chunk, TextDeltaChunk):
                break
        made = made_tasks()
        await stream.aclose()
        del stream
        gc.collect()
        for _ in range(20):
            await asyncio.sleep(0)
        assert made == ["Body._close"]
        assert await server.went(1, within=1)


async def test_a_stream_that_is_dropped_is_closed_by_its_loop():
    async with Loopback(Reply(pieces=HELLO, end="hang")) as server:
        async for _ in model(server).stream(request()):
            break
        gc.collect()
        assert await server.went(1, within=1)


async def test_the_server_sees_a_cancelled_reader_go():
    """Bug report deepset-ai/haystack#10133: the provider goes on, and bills, until the connection is closed."""
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


async def test_a_cancellation_while_the_stream_closes_waits_for_the_connection():
    async with Loopback(Reply(pieces=HELLO, end="hang")) as server:
        stream = model(server).stream(request())
        await anext(stream)
        closing = asyncio.create_task(stream.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert await server.went(1, within=1)


@needs_proc
async def test_two_hundred_cancelled_calls_leave_no_socket():
    """Bug report langchain-ai/langchain#37976, with cancellations at all moments, some of them while it closes."""
    async with Loopback(Reply(pieces=HELLO, end="hang")) as server:
        chat = model(server)
        await cancelled_after(chat, 1, 0)
        await server.went(1, within=1)
        before = sockets()
        for number in range(200):
            await cancelled_after(chat, number % 5 + 1, number % 4)
        assert await server.went(server.connections, within=1)
        await asyncio.sleep(0.01)
        assert sockets() <= before


async def cancelled_after(chat: OpenAIChatModel, chunks: int, turns: int) -> None:
    """Cancel a reader once it has so many chunks, and once more so many turns of the loop later."""
    begun = asyncio.Event()

    async def read() -> None:
        count = 0
        async with contextlib.aclosing(chat.stream(request())) as stream:
            async for _ in stream:
                count += 1
                if count >= min(chunks, 3):
                    begun.set()
                    if chunks > 3:
                        await asyncio.sleep(10)

    reader = asyncio.create_task(read())
    await begun.wait()
    reader.cancel()
    for _ in range(turns):
        await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader


# -- clients


@needs_proc
def test_one_model_serves_loop_after_loop_and_leaves_no_socket():
    async def call() -> str:
        async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
            chat._server._base_url = server.url  # each loop has a server of its own
            return text_of(await collect(chat.stream(request())))

    chat = OpenAIChatModel("m-1", base_url="http://127.0.0.1/v1", api_key=KEY)
    assert asyncio.run(call()) == "Hello"
    before = sockets()
    for _ in range(3):
        assert asyncio.run(call()) == "Hello"
    assert sockets() == before
    assert [loop for loop, kept in clients._by_loop.items() if kept] == []


@needs_proc
async def test_aclose_closes_the_connections_and_the_model_works_on():
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        before = sockets()
        chat = model(server)
        for _ in range(2):
            await collect(chat.stream(request()))
            assert sockets() == before + 2  # both ends are here
            await chat.aclose()
            await asyncio.sleep(0.01)
            assert sockets() == before


async def test_aclose_leaves_the_connections_that_another_model_uses():
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        one, other = model(server), model(server)
        for chat in (one, other):
            await collect(chat.stream(request()))
        await one.aclose()
        await collect(other.stream(request()))
        assert server.connections == 1


@needs_proc
async def test_the_connections_of_models_that_are_gone_are_closed_when_a_new_server_or_key_comes():
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        before = sockets()
        for number in range(30):
            await collect(OpenAIChatModel("m-1", base_url=server.url, api_key=f"key-{number}").stream(request()))
            gc.collect()
        await asyncio.sleep(0.01)
        assert len(clients._by_loop[asyncio.get_running_loop()]) == 1
        assert sockets() == before + 2  # both ends are here


async def test_a_stream_goes_on_when_its_model_is_dropped_and_another_server_or_key_comes():
    async with Loopback(Reply(pieces=HELLO, end="hang"), Reply(pieces=[*HELLO, *END])) as server:
        stream = model(server).stream(request())
        await anext(stream)
        gc.collect()
        others = [OpenAIChatModel("m-1", base_url=server.url, api_key=f"key-{number}") for number in range(3)]
        texts = await asyncio.gather(*(collect(other.stream(request())) for other in others))
        assert [text_of(chunks) for chunks in texts] == ["Hello"] * 3
        assert not server.gone
        assert [(await anext(stream)).type for _ in range(3)] == ["response-metadata", "text-start", "text-delta"]
        await stream.aclose()


async def test_calls_that_begin_together_close_what_is_not_used_once():
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        for number in range(3):
            await collect(OpenAIChatModel("m-1", base_url=server.url, api_key=f"old-{number}").stream(request()))
        gc.collect()
        chats = [OpenAIChatModel("m-1", base_url=server.url, api_key=f"new-{number % 4}") for number in range(8)]
        texts = await asyncio.gather(*(collect(chat.stream(request())) for chat in chats))
        assert [text_of(chunks) for chunks in texts] == ["Hello"] * 8
        kept = clients._by_loop[asyncio.get_running_loop()]
        assert sorted(key for _, _, key in kept) == ["new-0", "new-1", "new-2", "new-3"]


async def test_a_client_of_the_callers_own_is_used_and_not_closed():
    from openai import AsyncOpenAI

    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        own = AsyncOpenAI(base_url=server.url, api_key="own", default_headers={"x-own": "1"})
        chat = OpenAIChatModel("m-1", client=own)
        assert text_of(await collect(chat.stream(request()))) == "Hello"
        await chat.aclose()
        assert not own.is_closed()
        assert (server.requests[0].headers["authorization"], server.requests[0].headers["x-own"]) == ("Bearer own", "1")
        await own.close()


async def test_an_azure_client_asks_for_its_deployment():
    from openai import AsyncAzureOpenAI

    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        root = server.url.removesuffix("/v1")
        own = AsyncAzureOpenAI(azure_endpoint=root, api_key="own", api_version="2024-10-21")
        assert text_of(await collect(OpenAIChatModel("gpt", client=own).stream(request()))) == "Hello"
        assert server.requests[0].path == "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
        await own.close()


# -- configuration


def test_no_key_for_openais_own_server():
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY"):
        OpenAIChatModel("gpt-5")


async def test_other_servers_need_no_key():
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        assert text_of(await collect(OpenAIChatModel("m", base_url=server.url).stream(request()))) == "Hello"


async def test_the_environment_names_server_and_key(monkeypatch: pytest.MonkeyPatch):
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
        await collect(OpenAIChatModel("m").stream(request()))
        assert server.requests[0].headers["authorization"] == "Bearer from-environment"


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"riverrun\[openai\]"):
        OpenAIChatModel("gpt-5", api_key=KEY)


async def test_openais_own_server_gets_its_own_name_for_the_token_limit(monkeypatch: pytest.MonkeyPatch):
    async with Loopback(Reply(pieces=[*HELLO, *END])) as server:
        chat = OpenAIChatModel("gpt-5", api_key=KEY)
        assert chat._server.official
        chat._server._base_url = server.url
        await collect(chat.stream(request(settings=Settings(max_output_tokens=5))))
        assert server.requests[0].body["max_completion_tokens"] == 5
