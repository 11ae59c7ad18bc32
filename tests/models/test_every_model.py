"""The models of all providers against a loopback server: calls and their failures."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Mapping
from importlib import import_module

import pytest

from riverrun.chunks import ChunkType, ResponseMetadataChunk, StepStartChunk, ToolCallChunk
from riverrun.types import Model, Settings
from tests.models.decoding import assert_in_order
from tests.models.exchange import KEY, collect, failure_of, request, text_of
from tests.models.failures import ANY, HTML, JSON, Failure, told
from tests.models.loopback import Loopback, Reply
from tests.models.providers import PROVIDERS, Provider, every_provider, root

# -- a call


@every_provider
async def test_a_call_gives_its_chunks_in_order(provider: Provider):
    settings = Settings(headers={"x-own": "1"}, **provider.unsupported)
    async with Loopback(provider.whole) as server:
        chunks = await collect(provider.model(server).stream(request(settings=settings)))
        (sent,) = server.requests
    assert isinstance(chunks[0], StepStartChunk)
    assert chunks[0].payload.request == {"body": sent.body}
    assert chunks[0].payload.warnings == [{"type": "unsupported-setting", "setting": provider.warned_of}]
    assert_in_order(chunks[1:], failed=False)
    assert text_of(chunks) == "Hello"
    assert (sent.path, sent.body) == (provider.path, provider.body)
    assert provider.sends_key(sent.headers, KEY)
    assert sent.headers["x-own"] == "1"
    assert KEY not in str(chunks)


@every_provider
async def test_the_model_is_what_an_agent_needs(provider: Provider):
    async with Loopback(Reply()) as server:
        model: Model = provider.model(server, provider="acme")
        assert (model.provider, model.model_id) == ("acme", "m-1")
        assert provider.model(server).provider == provider.name


async def headers_told(provider: Provider, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that a model tells of a response that has these."""
    async with Loopback(Reply(pieces=provider.whole.pieces, headers=headers)) as server:
        chunks = await collect(provider.model(server).stream(request()))
    (shown,) = [chunk.payload.headers for chunk in chunks if isinstance(chunk, ResponseMetadataChunk)]
    return shown


@every_provider
async def test_response_headers_are_told_without_cookies(provider: Provider):
    headers = {"content-type": "text/event-stream", "x-request-id": "7", "set-cookie": "a=b"}
    shown = {name.lower(): value for name, value in (await headers_told(provider, headers)).items()}
    assert shown["x-request-id"] == "7"
    assert "set-cookie" not in shown


@every_provider
async def test_response_headers_are_told_in_lower_case(provider: Provider):
    headers = {"content-type": "text/event-stream", "x-request-id": "7", "X-Mixed-Case": "8"}
    shown = await headers_told(provider, headers)
    assert (shown.get("x-request-id"), shown.get("x-mixed-case")) == ("7", "8")


@every_provider
async def test_a_server_that_never_hangs_up_is_left_when_the_answer_is_whole(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(import_module("riverrun.models.http.exchange"), "_LINGERING", 0.05)
    async with Loopback(Reply(pieces=[*provider.hello, *provider.reason], end="hang")) as server:
        chunks = await collect(provider.model(server).stream(request()))
        assert (text_of(chunks), chunks[-1].type) == ("Hello", "finish")
        assert await server.went(1, within=1)


@every_provider
async def test_raw_chunks_are_given_to_whoever_wants_them(provider: Provider):
    async with Loopback(provider.whole) as server:
        chunks = await collect(provider.model(server).stream(request(include_raw=True)))
    events = b"".join(provider.whole.pieces).count(b"data: {")
    assert sum(chunk.type == "raw" for chunk in chunks) == events


@every_provider
async def test_the_first_chunk_comes_when_the_headers_are_there(provider: Provider):
    async with Loopback(Reply(end="hang")) as server:
        stream = provider.model(server).stream(request())
        assert (await anext(stream)).type == "step-start"
        await stream.aclose()


@every_provider
async def test_a_stream_that_goes_on_after_its_end_marker_is_not_waited_for(provider: Provider):
    pieces = [*provider.hello, *provider.reason, b"data: [DONE]\n\n"]  # gateways send it for APIs without one, too
    async with Loopback(Reply(pieces=pieces, end="hang")) as server:
        async with asyncio.timeout(1):
            chunks = await collect(provider.model(server).stream(request()))
        assert text_of(chunks) == "Hello"
        assert chunks[-1].type == "finish"
        assert await server.went(1, within=1)


@every_provider
async def test_two_streams_of_one_model_do_not_mix(provider: Provider):
    """Bug report oracle/langchain-oracle#254."""
    replies = [Reply(pieces=provider.calls(*asked)) for asked in (("a", "Rome"), ("b", "Oslo"))]
    async with Loopback(*replies) as server:
        model = provider.model(server)
        streams = [model.stream(request()), model.stream(request())]
        found: list[list[ChunkType]] = [[await anext(stream)] for stream in streams]
        for _ in range(20):
            for stream, chunks in zip(streams, found, strict=True):
                chunks.extend([chunk] if (chunk := await anext(stream, None)) is not None else [])
    calls = [
        [(c.payload.tool_call_id, c.payload.args) for c in chunks if isinstance(c, ToolCallChunk)] for chunks in found
    ]
    assert calls == [[("a", {"city": "Rome"})], [("b", {"city": "Oslo"})]]


@every_provider
async def test_an_answer_that_is_no_stream_is_read_all_the_same(provider: Provider):
    pieces = [provider.unstreamed[:40], provider.unstreamed[40:]]
    async with Loopback(Reply(pieces=pieces, headers=JSON)) as server:
        assert text_of(await collect(provider.model(server).stream(request()))) == "Hello"


@every_provider
async def test_a_compressed_answer_is_read(provider: Provider):
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    pieces = [gzip.compress(b"".join(provider.whole.pieces))]
    async with Loopback(Reply(pieces=pieces, headers=headers)) as server:
        assert text_of(await collect(provider.model(server).stream(request()))) == "Hello"


# -- answers that are no success


@pytest.mark.parametrize(
    ("provider", "failure"),
    [
        pytest.param(provider, failure, id=f"{provider.name} {failure.name}")
        for provider in PROVIDERS
        for failure in (*ANY, *provider.failures)
    ],
)
async def test_http_failures(provider: Provider, failure: Failure):
    async with Loopback(failure.reply) as server:
        chunks, error = await failure_of(provider.model(server).stream(request()))
        assert len(server.requests) == 1  # retries are made elsewhere
    assert chunks == []
    assert str(error) == f"{failure.message} (HTTP {failure.status})"
    assert (error.status, error.code) == (failure.status, failure.code)
    assert (error.retryable, error.retry_after) == (failure.retryable, failure.retry_after)


@every_provider
async def test_a_failure_whose_json_is_broken_keeps_its_status(provider: Provider):
    async with Loopback(Reply(status=401, headers=JSON, pieces=[b'{"error":'])) as server:
        chunks, error = await failure_of(provider.model(server).stream(request()))
    assert (chunks, error.status, error.retryable) == ([], 401, False)


@every_provider
async def test_a_connection_that_breaks_while_a_failure_is_told(provider: Provider):
    async with Loopback(Reply(status=500, headers=JSON, pieces=[b'{"error":'], end="drop")) as server:
        chunks, error = await failure_of(provider.model(server).stream(request()))
    assert (chunks, error.retryable) == ([], True)


@every_provider
async def test_a_server_that_is_not_there(provider: Provider):
    async with Loopback(Reply()) as server:
        model = provider.model(server)
    chunks, error = await failure_of(model.stream(request()))
    assert (chunks, error.status, error.retryable) == ([], None, True)
    assert model.model_id not in str(error)
    assert "cannot be reached" in str(error)


# -- streams that fail


@every_provider
async def test_a_connection_that_breaks_in_the_middle(provider: Provider):
    async with Loopback(Reply(pieces=[*provider.hello, provider.hello[-1][:20]], end="drop")) as server:
        chunks, error = await failure_of(provider.model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert text_of(chunks) == "Hello"
    assert chunks[-1].type == "text-end"
    assert error.retryable
    assert "connection broke" in str(error)


@every_provider
async def test_a_connection_that_breaks_after_the_reason_for_the_end_is_an_end(provider: Provider):
    async with Loopback(Reply(pieces=[*provider.hello, *provider.reason], end="drop")) as server:
        chunks = await collect(provider.model(server).stream(request()))
    assert_in_order(chunks[1:], failed=False)
    assert chunks[-1].type == "finish"


@every_provider
async def test_a_stream_that_ends_too_soon_is_truncated(provider: Provider):
    async with Loopback(Reply(pieces=provider.hello)) as server:
        chunks, error = await failure_of(provider.model(server).stream(request()))
    assert_in_order(chunks[1:], failed=True)
    assert (error.code, error.retryable) == ("truncated", True)


@every_provider
async def test_a_page_where_a_stream_was_expected_is_told_as_such(provider: Provider):
    page = b"<!doctype html>\n<html>\n<body>Please sign in." + b"x" * 900 + b"</body></html>"
    async with Loopback(
        Reply(pieces=[page[:20], page[20:]], headers={"content-type": "text/html; charset=utf-8"})
    ) as server:
        chunks, error = await failure_of(provider.model(server).stream(request()))
    assert [chunk.type for chunk in chunks] == ["step-start"]
    assert "text/html" in str(error)
    assert "<!doctype html> <html> <body>Please sign in.xxx" in str(error)
    assert len(str(error)) < 400
    assert not error.retryable


@every_provider
async def test_a_stream_that_says_it_is_something_else_is_read_all_the_same(provider: Provider):
    reply = Reply(pieces=provider.whole.pieces, headers={"content-type": "text/plain"})
    async with Loopback(reply) as server:
        assert text_of(await collect(provider.model(server).stream(request()))) == "Hello"


@every_provider
async def test_an_error_in_the_stream_comes_after_what_was_open_is_closed(provider: Provider):
    pieces = [*provider.hello, provider.overloaded, *provider.reason, *provider.rest]
    async with Loopback(Reply(pieces=pieces)) as server:
        for _ in range(2):  # the connection is as good as before
            chunks, error = await failure_of(provider.model(server).stream(request()))
            assert_in_order(chunks[1:], failed=True)
            assert text_of(chunks) == "Hello"
            assert chunks[-1].type == "text-end"
            assert (str(error), error.retryable) == ("overloaded", True)
            assert (error.status, error.code) == provider.overload


@every_provider
async def test_an_event_that_never_ends_is_a_failure(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("riverrun.models.sse._LIMIT", 1000)
    async with Loopback(Reply(pieces=[*provider.hello, b"data: ", b"x" * 900, b"x" * 95], end="hang")) as server:
        chunks, error = await failure_of(provider.model(server).stream(request()))
        assert await server.went(1, within=1)
    assert_in_order(chunks[1:], failed=True)
    assert text_of(chunks) == "Hello"
    assert (error.code, error.retryable) == ("event_too_long", False)


# -- failures that tell of the key


def _stream(piece: bytes) -> Reply:
    return Reply(pieces=[piece])


@pytest.mark.parametrize(
    "reply",
    [
        lambda provider: _stream(provider.error(f"Bad key: {KEY}", KEY)),
        lambda provider: _stream(provider.error("x" * 1990 + KEY, "x")),
        lambda _: _stream(f"data: Bad key: {KEY}\n\n".encode()),
        lambda _: _stream(f"data: {'x' * 190}{KEY}\n\n".encode()),
        lambda _: Reply(status=401, pieces=[json.dumps(told("x" * 1990 + KEY)).encode()], headers=JSON),
        lambda _: Reply(status=401, pieces=[f"{'x' * 490}{KEY}".encode()], headers=HTML),
    ],
    ids=["error", "error, long", "no JSON", "no JSON, long", "status, long", "status, no JSON, long"],
)
@every_provider
async def test_no_failure_repeats_the_key_nor_a_part_of_it(provider: Provider, reply: Callable[[Provider], Reply]):
    async with Loopback(reply(provider)) as server:
        _, error = await failure_of(provider.model(server).stream(request()))
    assert KEY[:8] not in f"{error} {error.code}"
    assert "***" in str(error)
    assert len(str(error)) <= 2000


@every_provider
async def test_a_short_key_is_masked_as_a_word_only(provider: Provider):
    said = b'{"error": {"message": "the latest test: bad key test", "code": "latest"}}'
    async with Loopback(Reply(status=400, pieces=[said], headers={"content-type": "application/json"})) as server:
        _, error = await failure_of(provider.model(server, api_key="test").stream(request()))
    assert str(error) == "the latest ***: bad key *** (HTTP 400)"
    assert error.code == "latest"


@every_provider
async def test_a_server_that_cannot_be_reached_is_named_without_the_key(provider: Provider):
    model = provider.kind("m", base_url=f"http://127.0.0.1:1/{KEY}/v1", api_key=KEY)
    _, error = await failure_of(model.stream(request()))
    assert f"{provider.base('http://127.0.0.1:1/***/v1')} cannot be reached" in str(error)
    assert error.retryable


@every_provider
async def test_the_key_of_a_client_of_the_callers_own_is_not_repeated(provider: Provider):
    reply = _stream(provider.error(f"Bad key: {KEY}", "x"))
    async with Loopback(reply) as server, provider.own(root(server.url), KEY) as own:
        _, error = await failure_of(provider.kind("m", client=own).stream(request()))
    assert str(error) == "Bad key: ***"


@pytest.mark.parametrize("provider", [pytest.param(each, id=each.name) for each in PROVIDERS if each.takes_new_keys])
async def test_the_key_of_a_client_of_the_callers_own_is_not_repeated_when_it_changed(provider: Provider):
    reply = _stream(provider.error(f"Bad key: {KEY}", "x"))
    async with Loopback(reply) as server, provider.own(root(server.url), "old") as own:
        model = provider.kind("m", client=own)
        own.api_key = KEY
        _, error = await failure_of(model.stream(request()))
    assert str(error) == "Bad key: ***"


@every_provider
async def test_what_stands_for_no_key_is_not_masked(provider: Provider):
    async with Loopback(_stream(provider.error("no-key is not a key", "x"))) as server:
        _, error = await failure_of(provider.kind("m", base_url=server.url).stream(request()))
    assert str(error) == "no-key is not a key"
