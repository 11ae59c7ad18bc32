"""The models of all providers against a loopback server: streams that are left, clients, and configuration."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from typing import Any

import pytest

from riverrun.chunks import TextDeltaChunk
from riverrun.errors import ConfigError, MissingExtraError, MissingKeyError
from riverrun.models.http import HttpModel
from riverrun.models.http import client as clients
from tests.models.exchange import KEY, collect, made_tasks, needs_proc, request, sockets, text_of
from tests.models.loopback import Loopback, Reply
from tests.models.providers import PROVIDERS, Provider, every_provider, root


def hanging(provider: Provider) -> Reply:
    """An answer that does not go on after "Hello"."""
    return Reply(pieces=provider.hello, end="hang")


async def assert_seen_to_go(reader: asyncio.Task[Any], server: Loopback) -> None:
    """A reader that is cancelled ends so, and the server sees that its client is gone."""
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert await server.went(1, within=1)


# -- leaving before the end


@every_provider
async def test_closing_the_stream_closes_the_connection(provider: Provider):
    """Bug report pydantic/pydantic-ai#4204: nothing is left for the garbage collector, which would make tasks of it."""
    async with Loopback(Reply(pieces=[*provider.hello, provider.hello[-1]], end="hang")) as server:
        stream = provider.model(server).stream(request())
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


@every_provider
async def test_a_stream_that_is_dropped_is_closed_by_its_loop(provider: Provider):
    async with Loopback(hanging(provider)) as server:
        async for _ in provider.model(server).stream(request()):
            break
        gc.collect()
        assert await server.went(1, within=1)


@every_provider
async def test_the_server_sees_a_cancelled_reader_go(provider: Provider):
    """Bug report deepset-ai/haystack#10133: the provider goes on, and bills, until the connection is closed."""
    async with Loopback(hanging(provider)) as server:
        begun = asyncio.Event()

        async def read() -> None:
            async for chunk in provider.model(server).stream(request()):
                if isinstance(chunk, TextDeltaChunk):
                    begun.set()

        reader = asyncio.create_task(read())
        await begun.wait()
        await assert_seen_to_go(reader, server)


@every_provider
async def test_a_call_that_is_cancelled_before_the_answer_begins(provider: Provider):
    async with Loopback(Reply(end="silent")) as server:
        reader = asyncio.create_task(collect(provider.model(server).stream(request())))
        await server.asked()
        await assert_seen_to_go(reader, server)


@every_provider
async def test_a_cancellation_while_the_stream_closes_waits_for_the_connection(provider: Provider):
    async with Loopback(hanging(provider)) as server:
        stream = provider.model(server).stream(request())
        await anext(stream)
        closing = asyncio.create_task(stream.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert await server.went(1, within=1)


@needs_proc
@every_provider
async def test_two_hundred_cancelled_calls_leave_no_socket(provider: Provider):
    """Bug report langchain-ai/langchain#37976, with cancellations at all moments, some of them while it closes."""
    async with Loopback(hanging(provider)) as server:
        model = provider.model(server)
        await cancelled_after(model, 1, 0)
        await server.went(1, within=1)
        before = sockets()
        for number in range(200):
            await cancelled_after(model, number % 5 + 1, number % 4)
        assert await server.went(server.connections, within=1)
        await asyncio.sleep(0.01)
        assert sockets() <= before


async def cancelled_after(model: HttpModel[Any], chunks: int, turns: int) -> None:
    """Cancel a reader once it has so many chunks, and once more so many turns of the loop later."""
    begun = asyncio.Event()

    async def read() -> None:
        count = 0
        async with contextlib.aclosing(model.stream(request())) as stream:
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


# -- connections


@every_provider
async def test_one_connection_serves_call_after_call(provider: Provider):
    async with Loopback(provider.whole) as server:
        model = provider.model(server)
        for _ in range(5):
            await collect(model.stream(request()))
        await collect(provider.model(server).stream(request()))
        assert server.connections == 1


@needs_proc
@every_provider
def test_one_model_serves_loop_after_loop_and_leaves_no_socket(provider: Provider):
    async def call() -> str:
        async with Loopback(provider.whole) as server:
            model._server._base_url = provider.base(server.url)  # each loop has a server of its own
            return text_of(await collect(model.stream(request())))

    model = provider.kind("m-1", base_url="http://127.0.0.1/v1", api_key=KEY)
    assert asyncio.run(call()) == "Hello"
    before = sockets()
    for _ in range(3):
        assert asyncio.run(call()) == "Hello"
    assert sockets() == before
    assert [loop for loop, kept in clients._by_loop.items() if kept] == []


@needs_proc
@every_provider
async def test_aclose_closes_the_connections_and_the_model_works_on(provider: Provider):
    async with Loopback(provider.whole) as server:
        before = sockets()
        model = provider.model(server)
        for _ in range(2):
            assert text_of(await collect(model.stream(request()))) == "Hello"
            assert sockets() == before + 2  # both ends are here
            await model.aclose()
            await asyncio.sleep(0.01)
            assert sockets() == before
        assert server.connections == 2


@every_provider
async def test_models_of_one_server_and_key_share_a_client_until_nobody_needs_it(provider: Provider):
    async with Loopback(provider.whole) as server:
        one, other = provider.model(server), provider.model(server)
        for model in (one, other):
            await collect(model.stream(request()))
        await one.aclose()
        await collect(other.stream(request()))
        assert server.connections == 1
        await other.aclose()
        assert clients._by_loop[asyncio.get_running_loop()] == {}


@needs_proc
@every_provider
async def test_the_connections_of_models_that_are_gone_are_closed_when_a_new_server_or_key_comes(provider: Provider):
    async with Loopback(provider.whole) as server:
        before = sockets()
        for number in range(10):
            await collect(provider.model(server, api_key=f"key-{number}").stream(request()))
            gc.collect()
        await asyncio.sleep(0.01)
        assert len(clients._by_loop[asyncio.get_running_loop()]) == 1
        assert sockets() == before + 2  # both ends are here


@every_provider
async def test_a_stream_goes_on_when_its_model_is_dropped_and_another_server_or_key_comes(provider: Provider):
    async with Loopback(hanging(provider), provider.whole) as server:
        stream = provider.model(server).stream(request())
        await anext(stream)
        gc.collect()
        others = [provider.model(server, api_key=f"key-{number}") for number in range(3)]
        answers = await asyncio.gather(*(collect(other.stream(request())) for other in others))
        assert [text_of(chunks) for chunks in answers] == ["Hello"] * 3
        assert not server.gone
        assert [(await anext(stream)).type for _ in range(3)] == ["response-metadata", "text-start", "text-delta"]
        await stream.aclose()


@every_provider
async def test_calls_that_begin_together_close_what_is_not_used_once(provider: Provider):
    async with Loopback(provider.whole) as server:
        for number in range(3):
            await collect(provider.model(server, api_key=f"old-{number}").stream(request()))
        gc.collect()
        models = [provider.model(server, api_key=f"new-{number % 4}") for number in range(8)]
        answers = await asyncio.gather(*(collect(model.stream(request())) for model in models))
        assert [text_of(chunks) for chunks in answers] == ["Hello"] * 8
        kept = clients._by_loop[asyncio.get_running_loop()]
        assert sorted(key for _, _, key in kept) == ["new-0", "new-1", "new-2", "new-3"]


@every_provider
async def test_a_client_of_the_callers_own_is_used_and_not_closed(provider: Provider):
    async with Loopback(provider.whole) as server, provider.own(root(server.url), "own") as own:
        model = provider.kind("m-1", client=own)
        for _ in range(2):  # a client that was closed could not be asked again
            assert text_of(await collect(model.stream(request()))) == "Hello"
            await model.aclose()
        assert server.connections == 1
        sent = server.requests[0]
    assert sent.path == provider.path
    assert provider.sends_key(sent.headers, "own")
    assert sent.headers["x-own"] == "1"


# -- configuration


@every_provider
def test_no_key_for_the_providers_own_server(provider: Provider):
    with pytest.raises(MissingKeyError, match=provider.key_variables[0]):
        provider.kind("m")
    with pytest.raises(MissingKeyError, match=provider.key_variables[0]):
        provider.kind("m", base_url=f"{provider.address}/v1")


@every_provider
async def test_other_servers_need_no_key(provider: Provider):
    async with Loopback(provider.whole) as server:
        assert text_of(await collect(provider.kind("m", base_url=server.url).stream(request()))) == "Hello"
    provider.kind("m", base_url=f"{provider.address}.example/v1")


@every_provider
def test_a_base_url_that_names_no_server_is_an_error_of_configuration(provider: Provider):
    with pytest.raises(ConfigError, match="begins with http"):
        provider.kind("m", base_url="localhost:1", api_key=KEY)


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        pytest.param(provider, name, id=f"{provider.name} {name}")
        for provider in PROVIDERS
        for name in provider.key_variables
    ],
)
async def test_the_environment_names_server_and_key(provider: Provider, name: str, monkeypatch: pytest.MonkeyPatch):
    async with Loopback(provider.whole) as server:
        monkeypatch.setenv(provider.base_variable, server.url)
        monkeypatch.setenv(name, "from-environment")
        model = provider.kind("m")
        await collect(model.stream(request()))
        assert provider.sends_key(server.requests[0].headers, "from-environment")
        assert model._server.secret() == "from-environment"


@pytest.mark.parametrize(
    "provider", [pytest.param(each, id=each.name) for each in PROVIDERS if len(each.key_variables) > 1]
)
async def test_of_two_keys_in_the_environment_the_first_counts(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    async with Loopback(provider.whole) as server:
        for name in provider.key_variables:
            monkeypatch.setenv(name, f"of-{name}")
        await collect(provider.kind("m", base_url=server.url).stream(request()))
        assert provider.sends_key(server.requests[0].headers, f"of-{provider.key_variables[0]}")


@every_provider
def test_without_the_sdk_the_extra_is_named(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, provider.sdk, None)
    with pytest.raises(MissingExtraError, match=rf"riverrun\[{provider.extra}\]"):
        provider.kind("m", api_key=KEY)
