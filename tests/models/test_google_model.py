"""GoogleModel against a loopback server: requests, failures, cancellation, a tool loop, and what is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import json
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
from google.genai import Client
from google.genai.types import HttpOptions

from riverrun import Agent, tool
from riverrun.chunks import StepStartChunk, TextDeltaChunk
from riverrun.errors import ConfigError, MissingExtraError, MissingKeyError
from riverrun.models.google import GoogleModel
from riverrun.models.http import client as clients
from riverrun.testing import assert_well_formed
from riverrun.types import Model, Settings
from tests.models.decoding import assert_in_order
from tests.models.exchange import collect, failure_of, made_tasks, request, text_of
from tests.models.google_content import data, event
from tests.models.loopback import Loopback, Reply

HELLO = (event({"text": "Hel"}), event({"text": "lo"}))
END = event(finish="STOP", usageMetadata={"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3})
WHOLE = Reply(pieces=[*HELLO, END])
JSON = {"content-type": "application/json"}
KEY = "AIza-secret-0123456789"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)


def model(server: Loopback, **members: Any) -> GoogleModel:
    return GoogleModel("m-1", base_url=server.url, api_key=KEY, **members)


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
    async with Loopback(WHOLE) as server:
        settings = Settings(parallel_tool_calls=False, headers={"x-own": "1"})
        chunks = await collect(model(server).stream(request(settings=settings)))
        (sent,) = server.requests
    assert isinstance(chunks[0], StepStartChunk)
    assert chunks[0].payload.request == {"body": sent.body}
    assert chunks[0].payload.warnings == [{"type": "unsupported-setting", "setting": "parallelToolCalls"}]
    assert_in_order(chunks[1:], failed=False)
    assert text_of(chunks) == "Hello"
    assert sent.path == "/v1/models/m-1:streamGenerateContent?alt=sse"
    assert sent.body == {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    assert (sent.headers["x-goog-api-key"], sent.headers["x-own"]) == (KEY, "1")
    assert KEY not in str(chunks)


async def test_the_model_is_what_an_agent_needs():
    async with Loopback(Reply()) as server:
        chat: Model = model(server, provider="acme")
        assert (chat.provider, chat.model_id) == ("acme", "m-1")


@pytest.mark.parametrize(
    ("base", "path"),
    [("", "/v1/models/m-1"), ("/v1beta", "/v1beta/models/m-1"), ("/gate/v1alpha/", "/gate/v1alpha/models/m-1")],
)
async def test_a_base_url_may_name_the_version_of_the_api(base: str, path: str):
    async with Loopback(WHOLE) as server:
        url = server.url.removesuffix("/v1") + base
        await collect(GoogleModel("m-1", base_url=url, api_key=KEY).stream(request()))
        assert server.requests[0].path == f"{path}:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(("model_id", "path"), [("models/x", "models/x"), ("tunedModels/y", "tunedModels/y")])
async def test_a_model_may_be_named_by_its_resource(model_id: str, path: str):
    async with Loopback(WHOLE) as server:
        await collect(GoogleModel(model_id, base_url=server.url, api_key=KEY).stream(request()))
        assert server.requests[0].path == f"/v1/{path}:streamGenerateContent?alt=sse"


async def test_a_model_id_that_is_none_is_an_error_of_configuration():
    async with Loopback(WHOLE) as server:
        with pytest.raises(ConfigError, match=r"m\?x=1"):
            await collect(GoogleModel("m?x=1", base_url=server.url, api_key=KEY).stream(request()))
        assert server.requests == []


async def test_response_headers_are_told_without_cookies():
    headers = {"content-type": "text/event-stream", "x-request-id": "7", "set-cookie": "a=b"}
    async with Loopback(Reply(pieces=[*HELLO, END], headers=headers)) as server:
        chunks = await collect(model(server).stream(request()))
    (told,) = [chunk.payload.headers for chunk in chunks if chunk.type == "response-metadata"]
    assert {name.lower(): value for name, value in told.items()}["x-request-id"] == "7"
    assert "set-cookie" not in {name.lower() for name in told}


async def test_a_compressed_answer_is_read():
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    async with Loopback(Reply(pieces=[gzip.compress(b"".join([*HELLO, END]))], headers=headers)) as server:
        assert text_of(await collect(model(server).stream(request()))) == "Hello"


async def test_an_answer_that_is_one_json_array_is_read():
    whole = json.dumps([json.loads(item[6:]) for item in (*HELLO, END)], indent=2).encode()
    async with Loopback(Reply(pieces=[whole[:40], whole[40:]], headers=JSON)) as server:
        assert text_of(await collect(model(server).stream(request()))) == "Hello"


async def test_the_first_chunk_comes_when_the_headers_are_there():
    async with Loopback(Reply(end="hang")) as server:
        stream = model(server).stream(request())
        assert (await anext(stream)).type == "step-start"
        await stream.aclose()


async def test_one_connection_serves_call_after_call():
    async with Loopback(WHOLE) as server:
        chat = model(server)
        for _ in range(5):
            await collect(chat.stream(request()))
        await collect(model(server).stream(request()))
        assert server.connections == 1


# -- failures


def failure(**error: Any) -> list[bytes]:
    return [json.dumps({"error": error}).encode()]


@pytest.mark.parametrize(
    ("reply", "message", "attributes"),
    [
        (
            Reply(
                status=400,
                headers=JSON,
                pieces=failure(code=400, message=f"API key {KEY} not valid.", status="INVALID_ARGUMENT"),
            ),
            "API key *** not valid.",
            {"status": 400, "code": "INVALID_ARGUMENT", "retryable": False, "retry_after": None},
        ),
        (
            Reply(
                status=429,
                headers=JSON,
                pieces=failure(
                    code=429,
                    message="slow",
                    status="RESOURCE_EXHAUSTED",
                    details=[{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}],
                ),
            ),
            "slow",
            {"status": 429, "code": "RESOURCE_EXHAUSTED", "retryable": True, "retry_after": 34.5},
        ),
        (
            Reply(status=429, headers={**JSON, "retry-after": "7"}, pieces=failure(message="slow")),
            "slow",
            {"status": 429, "code": None, "retryable": True, "retry_after": 7.0},
        ),
        (
            Reply(status=500, headers=JSON, pieces=failure(code=500, message="oops", status="INTERNAL")),
            "oops",
            {"status": 500, "code": "INTERNAL", "retryable": True},
        ),
        (
            Reply(status=503, pieces=[b"<html>busy</html>"], headers={"content-type": "text/html", "retry-after": "9"}),
            "<html>busy</html>",
            {"status": 503, "code": None, "retryable": True, "retry_after": 9.0},
        ),
        (
            Reply(status=529, headers={"content-type": "text/html"}),
            "the provider failed and did not say why",
            {"status": 529, "retryable": True},
        ),
        (
            Reply(status=404, headers=JSON, pieces=[b'[{"error":{"message":"no such model","code":404}}]']),
            "no such model",
            {"status": 404, "code": 404, "retryable": False},
        ),
        (Reply(status=400, headers=JSON, pieces=[b"[]"]), "the provider failed and did not say why", {"status": 400}),
    ],
    ids=["400", "429 RetryInfo", "429 header", "500", "503 html", "529 empty", "404 list", "400 odd"],
)
async def test_http_failures(reply: Reply, message: str, attributes: dict[str, Any]):
    async with Loopback(reply) as server:
        chunks, error = await failure_of(model(server).stream(request()))
        assert len(server.requests) == 1  # retries are made elsewhere
    assert chunks == []
    assert str(error) == f"{message} (HTTP {attributes['status']})"
    assert {name: getattr(error, name) for name in attributes} == attributes


async def test_a_failure_whose_json_is_broken():
    async with Loopback(Reply(status=502, headers=JSON, pieces=[b'{"error":'])) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert (chunks, error.retryable) == ([], True)
    assert "failed and did not say why" in str(error)


async def test_a_server_that_is_not_there():
    async with Loopback(Reply()) as server:
        chat = model(server)
    chunks, error = await failure_of(chat.stream(request()))
    assert (chunks, error.status, error.retryable) == ([], None, True)
    assert "cannot be reached" in str(error)


async def test_a_server_that_cannot_be_reached_is_named_without_the_key():
    _, error = await failure_of(GoogleModel("m", base_url=f"http://127.0.0.1:1/{KEY}", api_key=KEY).stream(request()))
    assert "http://127.0.0.1:1/***/v1 cannot be reached" in str(error)


async def test_a_connection_that_breaks_while_a_failure_is_told():
    async with Loopback(Reply(status=500, headers=JSON, pieces=[b'{"error":'], end="drop")) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert (chunks, error.retryable) == ([], True)


async def test_a_connection_that_breaks_in_the_middle():
    async with Loopback(Reply(pieces=[*HELLO, b'data: {"candidates":[{"con'], end="drop")) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert text_of(chunks) == "Hello"
    assert chunks[-1].type == "text-end"
    assert error.retryable
    assert "connection broke" in str(error)


async def test_a_connection_that_breaks_after_the_finish_reason_is_an_end():
    async with Loopback(Reply(pieces=[*HELLO, END], end="drop")) as server:
        chunks = await collect(model(server).stream(request()))
    assert chunks[-1].type == "finish"


async def test_a_stream_that_ends_too_soon_is_truncated():
    async with Loopback(Reply(pieces=HELLO)) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert (error.code, error.retryable) == ("truncated", True)


async def test_an_error_in_the_stream_comes_after_what_was_open_is_closed():
    told = data({"error": {"message": "overloaded", "code": 503, "status": "UNAVAILABLE"}})
    async with Loopback(Reply(pieces=[*HELLO, told, END])) as server:
        chunks, error = await failure_of(model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert (str(error), error.status, error.code, error.retryable) == ("overloaded", 503, "UNAVAILABLE", True)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(pieces=[data({"error": {"message": f"Bad key: {KEY}", "status": KEY}})]),
        Reply(pieces=[b"data: %b%b\n\n" % (b"x" * 190, KEY.encode())]),
        Reply(pieces=[data({"error": {"message": "x" * 1990 + KEY}})]),
        Reply(status=401, headers=JSON, pieces=failure(message="x" * 1990 + KEY)),
        Reply(status=401, headers=JSON, pieces=[b'{"error": %b' % KEY.encode()]),
    ],
    ids=["error", "no JSON", "error, long", "status, long", "status, no JSON"],
)
async def test_no_failure_repeats_the_key_nor_a_part_of_it(reply: Reply):
    async with Loopback(reply) as server:
        _, error = await failure_of(model(server).stream(request()))
    assert KEY[:8] not in f"{error} {error.code}"
    assert len(str(error)) <= 2000


async def test_the_key_of_a_client_of_the_callers_own_is_not_repeated():
    async with Loopback(Reply(pieces=[data({"error": f"Bad key: {KEY}"})])) as server, own_client(server) as own:
        _, error = await failure_of(GoogleModel("m", client=own).stream(request()))
    assert str(error) == "Bad key: ***"


async def test_what_stands_for_no_key_is_not_masked():
    async with Loopback(Reply(pieces=[data({"error": "no-key is not a key"})])) as server:
        _, error = await failure_of(GoogleModel("m", base_url=server.url).stream(request()))
    assert str(error) == "no-key is not a key"


# -- leaving before the end


async def test_closing_the_stream_closes_the_connection():
    """Nothing is left for the garbage collector, which would make tasks of it."""
    async with Loopback(Reply(pieces=[*HELLO, event({"text": "!"})], end="hang")) as server:
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


@needs_proc
async def test_a_hundred_cancelled_calls_leave_no_socket():
    """With cancellations at all moments, some of them while it closes."""
    async with Loopback(Reply(pieces=HELLO, end="hang")) as server:
        chat = model(server)
        await cancelled_after(chat, 1, 0)
        await server.went(1, within=1)
        before = sockets()
        for number in range(100):
            await cancelled_after(chat, number % 5 + 1, number % 4)
        assert await server.went(server.connections, within=1)
        await asyncio.sleep(0.01)
        assert sockets() <= before


async def cancelled_after(chat: GoogleModel, chunks: int, turns: int) -> None:
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
        async with Loopback(WHOLE) as server:
            chat._server._base_url = server.url  # each loop has a server of its own
            return text_of(await collect(chat.stream(request())))

    chat = GoogleModel("m-1", base_url="http://127.0.0.1/v1", api_key=KEY)
    assert asyncio.run(call()) == "Hello"
    before = sockets()
    for _ in range(3):
        assert asyncio.run(call()) == "Hello"
    assert sockets() == before
    assert [loop for loop, kept in clients._by_loop.items() if kept] == []


@needs_proc
async def test_aclose_closes_the_connections_and_the_model_works_on():
    async with Loopback(WHOLE) as server:
        before = sockets()
        chat = model(server)
        for _ in range(2):
            await collect(chat.stream(request()))
            assert sockets() == before + 2  # both ends are here
            await chat.aclose()
            await asyncio.sleep(0.01)
            assert sockets() == before


async def test_aclose_leaves_the_connections_that_another_model_uses():
    async with Loopback(WHOLE) as server:
        one, other = model(server), model(server)
        for chat in (one, other):
            await collect(chat.stream(request()))
        await one.aclose()
        await collect(other.stream(request()))
        assert server.connections == 1


@contextlib.asynccontextmanager
async def own_client(server: Loopback, **members: Any) -> AsyncGenerator[Client, None]:
    """A client of the caller's own, on connections of its own."""
    async with aiohttp.ClientSession() as session:
        options = HttpOptions(base_url=server.url.removesuffix("/v1"), aiohttp_client=session, headers={"x-own": "1"})
        own = Client(**({"api_key": KEY} | members), http_options=options)
        yield own
        await own.aio.aclose()
        own.close()


async def test_a_client_of_the_callers_own_is_used_and_not_closed():
    async with Loopback(WHOLE) as server, own_client(server) as own:
        chat = GoogleModel("m-1", client=own)
        for _ in range(2):
            assert text_of(await collect(chat.stream(request()))) == "Hello"
            await chat.aclose()
        assert server.connections == 1
        sent = server.requests[0]
        assert sent.path == "/v1/models/m-1:streamGenerateContent?alt=sse"
        assert (sent.headers["x-goog-api-key"], sent.headers["x-own"]) == (KEY, "1")


async def test_a_vertex_client_asks_for_a_publishers_model():
    vertex = {"vertexai": True, "api_key": KEY}
    async with Loopback(WHOLE) as server, own_client(server, **vertex) as own:
        chat = GoogleModel("gemini-3-flash", client=own, provider="google-vertex")
        assert text_of(await collect(chat.stream(request()))) == "Hello"
        path = "/v1beta1/publishers/google/models/gemini-3-flash:streamGenerateContent?alt=sse"
        assert server.requests[0].path == path
        assert chat._server.vertex


async def test_a_client_on_httpx_is_used_as_it_is():
    busy = Reply(status=503, headers=JSON, pieces=failure(code=503, message="busy", status="UNAVAILABLE"))
    async with httpx2.AsyncClient() as http:
        async with Loopback(WHOLE, busy, Reply(pieces=HELLO, end="hang")) as server:
            options = HttpOptions(base_url=server.url.removesuffix("/v1"), httpx_async_client=http)
            own = Client(api_key=KEY, http_options=options)
            chat = GoogleModel("m-1", client=own)
            assert text_of(await collect(chat.stream(request()))) == "Hello"
            _, error = await failure_of(chat.stream(request()))
            assert (str(error), error.code, error.retryable) == ("busy (HTTP 503)", "UNAVAILABLE", True)
            stream = chat.stream(request())
            await anext(stream)
            await stream.aclose()
            assert await server.went(1, within=1)
        _, error = await failure_of(chat.stream(request()))
        assert "cannot be reached" in str(error)
        own.close()


# -- configuration


def test_no_key_for_googles_own_server():
    with pytest.raises(MissingKeyError, match="GOOGLE_API_KEY"):
        GoogleModel("gemini-3-flash-preview")


async def test_other_servers_need_no_key():
    async with Loopback(WHOLE) as server:
        assert text_of(await collect(GoogleModel("m", base_url=server.url).stream(request()))) == "Hello"


@pytest.mark.parametrize("name", ["GOOGLE_API_KEY", "GEMINI_API_KEY"])
async def test_the_environment_names_server_and_key(name: str, monkeypatch: pytest.MonkeyPatch):
    async with Loopback(WHOLE) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        monkeypatch.setenv(name, "from-environment")
        monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")  # is for the SDK's own clients
        await collect(GoogleModel("m").stream(request()))
        assert server.requests[0].headers["x-goog-api-key"] == "from-environment"


async def test_of_two_keys_in_the_environment_googles_counts(monkeypatch: pytest.MonkeyPatch):
    async with Loopback(WHOLE) as server:
        monkeypatch.setenv("GOOGLE_API_KEY", "one")
        monkeypatch.setenv("GEMINI_API_KEY", "two")
        await collect(GoogleModel("m", base_url=server.url).stream(request()))
        assert server.requests[0].headers["x-goog-api-key"] == "one"


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(MissingExtraError, match=r"riverrun\[google\]"):
        GoogleModel("gemini-3-flash-preview", api_key=KEY)


# -- a tool loop


async def test_a_tool_loop_sends_back_what_the_model_said_as_it_came():
    said = [
        {"text": "**Thinking**", "thought": True},
        {"text": "I look. ", "thoughtSignature": "Sig/Text+1=="},
        {"executableCode": {"language": "PYTHON", "code": "1", "id": "8x"}, "thoughtSignature": "Sig/Code+2=="},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n", "id": "8x"}},
        {"functionCall": {"name": "look", "args": {"at": "é"}, "id": "96c1"}, "thoughtSignature": "Sig/Call+3=="},
        {"functionCall": {"name": "look", "args": {"at": "b"}}},
        {"text": "", "thoughtSignature": "Sig/End+4=="},
    ]
    first = Reply(pieces=[*(event(part) for part in said), END])

    @tool
    def look(at: str) -> dict[str, str]:
        """Look."""
        return {"seen": at}

    async with Loopback(first, WHOLE) as server:
        chat = GoogleModel("gemini-3-flash-preview", base_url=server.url, api_key=KEY)
        async with Agent("a", model=chat, instructions="Be brief.", tools=[look]).stream("hi") as run:
            assert_well_formed([chunk async for chunk in run])
            assert (await run.result()).text == "Hello"
        await chat.aclose()
        second = server.requests[1].body
    assert second["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert second["contents"] == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": said},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "look", "id": "96c1", "response": {"output": {"seen": "é"}}}},
                {"functionResponse": {"name": "look", "response": {"output": {"seen": "b"}}}},
            ],
        },
    ]
    assert [declared["name"] for declared in second["tools"][0]["functionDeclarations"]] == ["look"]
