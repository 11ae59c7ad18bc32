"""OpenAIChatModel against a loopback server: what only this API has."""

from __future__ import annotations

from openai import AsyncAzureOpenAI

from riverrun.models.openai_chat import OpenAIChatModel
from riverrun.types import Settings, ToolSpec
from tests.models.exchange import KEY, collect, request, text_of
from tests.models.loopback import Loopback, Reply
from tests.models.openai_chat import event
from tests.models.providers import OPENAI_CHAT, root


async def test_a_tool_that_was_offered_is_announced_before_its_arguments():
    fragment = {"index": 0, "id": "c", "function": {"name": "now", "arguments": ""}}
    async with Loopback(Reply(pieces=[event({"tool_calls": [fragment]})], end="hang")) as server:
        stream = OPENAI_CHAT.model(server).stream(
            request(tools=[ToolSpec(name="now", description="", input_schema={})])
        )
        types = [(await anext(stream)).type for _ in range(3)]
        await stream.aclose()
    assert types == ["step-start", "response-metadata", "tool-call-input-streaming-start"]


async def test_an_azure_client_asks_for_its_deployment():
    async with Loopback(OPENAI_CHAT.whole) as server:
        own = AsyncAzureOpenAI(azure_endpoint=root(server.url), api_key="own", api_version="2024-10-21")
        assert text_of(await collect(OpenAIChatModel("gpt", client=own).stream(request()))) == "Hello"
        assert server.requests[0].path == "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
        await own.close()


async def test_openais_own_server_gets_its_own_name_for_the_token_limit():
    async with Loopback(OPENAI_CHAT.whole) as server:
        chat = OpenAIChatModel("gpt-5", api_key=KEY)
        assert chat._server.official
        chat._server._base_url = server.url
        await collect(chat.stream(request(settings=Settings(max_output_tokens=5))))
        assert server.requests[0].body["max_completion_tokens"] == 5
