"""The four adapters over HTTP, as the tests that all of them pass need to know them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import aiohttp
import anthropic
import openai
import pytest
from google import genai
from google.genai.types import HttpOptions

from riverrun.models.anthropic import AnthropicModel
from riverrun.models.google import GoogleModel
from riverrun.models.http import HttpModel
from riverrun.models.openai_chat import OpenAIChatModel
from riverrun.models.openai_responses import OpenAIResponsesModel
from tests.models import anthropic_messages, failures, google_content, openai_chat, openai_responses
from tests.models.exchange import KEY
from tests.models.failures import Failure
from tests.models.loopback import Loopback, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """An adapter, and how the API that it speaks writes what the tests send."""

    name: str
    """The model's `provider` when none is given."""
    kind: Callable[..., HttpModel[Any]]
    """The class of the model."""

    path: str
    body: Mapping[str, Any]
    """Where the model "m-1" is asked at a loopback server, and what, when the user says "hi"."""
    key_headers: Mapping[str, str]
    """Headers of which one holds the key, and how."""
    unsupported: Mapping[str, Any]
    warned_of: str
    """A setting that the API does not have, and its name in the warning."""

    hello: Sequence[bytes]
    """The events of an answer that says "Hello" in two deltas, as far as these."""
    reason: Sequence[bytes]
    """The events that go on until the answer is known to be whole."""
    rest: Sequence[bytes] = ()
    """What comes after them."""
    unstreamed: bytes
    """The same answer from a server that does not stream."""
    calls: Callable[[str, str], Sequence[bytes]]
    """The events of an answer that calls the tool "w", given the id of the call and the city to ask for."""
    error: Callable[[str, str], bytes]
    """An event that tells of a failure, given its message and its code."""
    overloaded: bytes
    overload: tuple[int | None, str | int]
    """An event that says "overloaded", as the API itself would, and the status and the code of its ModelError."""
    failures: Sequence[Failure]
    """Answers that are no success, in the API's own form."""

    extra: str
    sdk: str
    """The extra of riverrun that has the SDK, and the SDK's module."""
    own: Callable[[str, str], AbstractAsyncContextManager[Any]]
    """A client of the caller's own, given a server's address without a version and a key; it sends "x-own: 1"."""
    takes_new_keys: bool = True
    """Whether such a client can be given another key."""
    address: str
    """The provider's own server."""
    version_in_base: bool = True
    """Whether the base URL that the SDK is given names the API's version."""
    base_variable: str
    key_variables: Sequence[str]
    """Variables of the environment; of several keys the first counts."""

    @property
    def whole(self) -> Reply:
        """An answer that says "Hello"."""
        return Reply(pieces=[*self.hello, *self.reason, *self.rest])

    def model(self, server: Loopback, **members: Any) -> HttpModel[Any]:
        """The model "m-1" of a server."""
        return self.kind("m-1", **{"base_url": server.url, "api_key": KEY, **members})

    def base(self, url: str) -> str:
        """What the SDK is given for a base URL that ends in a version."""
        return url if self.version_in_base else root(url)

    def sends_key(self, headers: Mapping[str, str], key: str) -> bool:
        """Whether a request has this key where the API wants it."""
        return any(headers.get(name) == form.format(key) for name, form in self.key_headers.items())


def root(url: str) -> str:
    """The address of a server whose URL ends in a version."""
    return url.removesuffix("/v1")


# -- OpenAI


@contextlib.asynccontextmanager
async def _own_openai(address: str, key: str) -> AsyncGenerator[openai.AsyncOpenAI, None]:
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key=key, default_headers={"x-own": "1"}) as client:
        yield client


def _chat_error(message: str, code: str | int) -> bytes:
    return openai_chat.data({"error": {"message": message, "code": code}})


def _chat_calls(call_id: str, city: str) -> Sequence[bytes]:
    begin = {"index": 0, "id": call_id, "function": {"name": "w", "arguments": '{"city":'}}
    end = {"index": 0, "function": {"arguments": f'"{city}"}}'}}
    deltas = [openai_chat.event({"tool_calls": [piece]}) for piece in (begin, end)]
    return [*deltas, openai_chat.event({}, "tool_calls")]


OPENAI_CHAT = Provider(
    name="openai-chat",
    kind=OpenAIChatModel,
    path="/v1/chat/completions",
    body={
        "model": "m-1",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    },
    key_headers={"authorization": "Bearer {}"},
    unsupported={"top_k": 3},
    warned_of="topK",
    hello=[openai_chat.event(d) for d in ({"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo"})],
    reason=[
        openai_chat.event({}, "stop", usage={"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}),
    ],
    rest=[openai_chat.DONE],
    unstreamed=b'{"id":"1","model":"m","choices":[{"index":0,"message":{"content":"Hello"},"finish_reason":"stop"}]}',
    calls=_chat_calls,
    error=_chat_error,
    overloaded=_chat_error("overloaded", 503),
    overload=(503, 503),
    failures=failures.OPENAI_CHAT,
    extra="openai",
    sdk="openai",
    own=_own_openai,
    address="https://api.openai.com",
    base_variable="OPENAI_BASE_URL",
    key_variables=["OPENAI_API_KEY"],
)


def _responses_error(message: str, code: str) -> bytes:
    return openai_responses.wire([{"type": "error", "error": {"code": code, "message": message}}])


def _responses_calls(call_id: str, city: str) -> Sequence[bytes]:
    item = {"id": f"fc_{call_id}", "type": "function_call", "call_id": call_id, "name": "w", "arguments": ""}
    events = [
        {"created": {}},
        {"added": item},
        {"function_call_arguments": '{"city":'},
        {"function_call_arguments": f'"{city}"}}'},
        {"done": {**item, "arguments": f'{{"city":"{city}"}}'}},
        {"completed": {}},
    ]
    return [openai_responses.wire([event]) for event in events]


OPENAI_RESPONSES = Provider(
    name="openai",
    kind=OpenAIResponsesModel,
    path="/v1/responses",
    body={"model": "m-1", "input": [{"role": "user", "content": "hi"}], "stream": True},
    key_headers={"authorization": "Bearer {}"},
    unsupported={"top_k": 3},
    warned_of="topK",
    hello=[openai_responses.wire([e]) for e in ({"created": {}}, {"output_text": "Hel"}, {"output_text": "lo"})],
    reason=[
        openai_responses.wire([{"completed": {"usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}}])
    ],
    unstreamed=json.dumps(
        {
            "object": "response",
            "status": "completed",
            "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}],
        }
    ).encode(),
    calls=_responses_calls,
    error=_responses_error,
    overloaded=_responses_error("overloaded", "server_overloaded")
    + openai_responses.wire([{"failed": {"error": {"code": "server_error", "message": "again"}}}]),
    overload=(None, "server_overloaded"),
    failures=failures.OPENAI_RESPONSES,
    extra="openai",
    sdk="openai",
    own=_own_openai,
    address="https://api.openai.com",
    base_variable="OPENAI_BASE_URL",
    key_variables=["OPENAI_API_KEY"],
)


# -- Anthropic


@contextlib.asynccontextmanager
async def _own_anthropic(address: str, key: str) -> AsyncGenerator[anthropic.AsyncAnthropic, None]:
    async with anthropic.AsyncAnthropic(base_url=address, api_key=key, default_headers={"x-own": "1"}) as client:
        yield client


def _anthropic_error(message: str, code: str) -> bytes:
    return anthropic_messages.data({"type": "error", "error": {"type": code, "message": message}, "request_id": "r"})


def _anthropic_calls(call_id: str, city: str) -> Sequence[bytes]:
    return [
        anthropic_messages.begin(),
        anthropic_messages.start(0, type="tool_use", id=call_id, name="w", input={}),
        anthropic_messages.delta(0, partial_json='{"city":'),
        anthropic_messages.delta(0, partial_json=f'"{city}"}}'),
        anthropic_messages.stop(0),
        anthropic_messages.end("tool_use"),
    ]


ANTHROPIC = Provider(
    name="anthropic",
    kind=AnthropicModel,
    path="/v1/messages",
    body={
        "model": "m-1",
        "max_tokens": 32000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "stream": True,
    },
    key_headers={"x-api-key": "{}", "authorization": "Bearer {}"},
    unsupported={"seed": 3},
    warned_of="seed",
    hello=[
        anthropic_messages.begin(),
        anthropic_messages.start(0, type="text", text=""),
        anthropic_messages.delta(0, text="Hel"),
        anthropic_messages.delta(0, text="lo"),
    ],
    reason=[
        anthropic_messages.stop(0),
        anthropic_messages.data(
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 15}}
        ),
    ],
    rest=[anthropic_messages.data({"type": "message_stop"})],
    unstreamed=json.dumps(
        {"type": "message", "id": "1", "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn"}
    ).encode(),
    calls=_anthropic_calls,
    error=_anthropic_error,
    overloaded=_anthropic_error("overloaded", "overloaded_error"),
    overload=(None, "overloaded_error"),
    failures=failures.ANTHROPIC,
    extra="anthropic",
    sdk="anthropic",
    own=_own_anthropic,
    address="https://api.anthropic.com",
    version_in_base=False,
    base_variable="ANTHROPIC_BASE_URL",
    key_variables=["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
)


# -- Google


@contextlib.asynccontextmanager
async def own_google(address: str, key: str, **members: Any) -> AsyncGenerator[genai.Client, None]:
    """A client of Google's SDK on connections of its own: those that the SDK makes warn of how they are made."""
    async with aiohttp.ClientSession() as session:
        options = HttpOptions(base_url=address, aiohttp_client=session, headers={"x-own": "1"})
        client = genai.Client(api_key=key, http_options=options, **members)
        yield client
        await client.aio.aclose()
        client.close()


def _google_error(message: str, code: str) -> bytes:
    return google_content.data({"error": {"message": message, "status": code}})


def _google_calls(call_id: str, city: str) -> Sequence[bytes]:
    call = {"name": "w", "args": {"city": city}, "id": call_id}
    return [google_content.event({"functionCall": call}), google_content.event(finish="STOP")]


_GOOGLE_HELLO = [google_content.event({"text": "Hel"}), google_content.event({"text": "lo"})]
_GOOGLE_USAGE = {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3}
_GOOGLE_END = google_content.event(finish="STOP", usageMetadata=_GOOGLE_USAGE)

GOOGLE = Provider(
    name="google",
    kind=GoogleModel,
    path="/v1/models/m-1:streamGenerateContent?alt=sse",
    body={"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    key_headers={"x-goog-api-key": "{}"},
    unsupported={"parallel_tool_calls": False},
    warned_of="parallelToolCalls",
    hello=_GOOGLE_HELLO,
    reason=[_GOOGLE_END],
    unstreamed=json.dumps([json.loads(event[6:]) for event in (*_GOOGLE_HELLO, _GOOGLE_END)], indent=2).encode(),
    calls=_google_calls,
    error=_google_error,
    overloaded=google_content.data({"error": {"message": "overloaded", "code": 503, "status": "UNAVAILABLE"}}),
    overload=(503, "UNAVAILABLE"),
    failures=failures.GOOGLE,
    extra="google",
    sdk="google.genai",
    own=own_google,
    takes_new_keys=False,
    address="https://generativelanguage.googleapis.com",
    base_variable="GOOGLE_GEMINI_BASE_URL",
    key_variables=["GOOGLE_API_KEY", "GEMINI_API_KEY"],
)

PROVIDERS = (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GOOGLE)

every_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=[provider.name for provider in PROVIDERS])
"""Runs a test for each."""
