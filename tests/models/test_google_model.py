"""GoogleModel against a loopback server: what only this API has, Vertex AI, and a tool loop of an agent."""

from __future__ import annotations

import json

import httpx2
import pytest
from google.genai import Client
from google.genai.types import HttpOptions

from riverrun import Agent, tool
from riverrun.errors import ConfigError
from riverrun.models.google import GoogleModel
from riverrun.testing import assert_well_formed
from tests.models.exchange import KEY, collect, failure_of, request, text_of
from tests.models.failures import JSON, told
from tests.models.google_content import event
from tests.models.loopback import Loopback, Reply
from tests.models.providers import GOOGLE, own_google, root

# -- a call


@pytest.mark.parametrize(
    ("base", "path"),
    [("", "/v1/models/m-1"), ("/v1beta", "/v1beta/models/m-1"), ("/gate/v1alpha/", "/gate/v1alpha/models/m-1")],
)
async def test_a_base_url_may_name_the_version_of_the_api(base: str, path: str):
    async with Loopback(GOOGLE.whole) as server:
        url = root(server.url) + base
        await collect(GoogleModel("m-1", base_url=url, api_key=KEY).stream(request()))
        assert server.requests[0].path == f"{path}:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(("model_id", "path"), [("models/x", "models/x"), ("tunedModels/y", "tunedModels/y")])
async def test_a_model_may_be_named_by_its_resource(model_id: str, path: str):
    async with Loopback(GOOGLE.whole) as server:
        await collect(GoogleModel(model_id, base_url=server.url, api_key=KEY).stream(request()))
        assert server.requests[0].path == f"/v1/{path}:streamGenerateContent?alt=sse"


async def test_a_model_id_that_is_none_is_an_error_of_configuration():
    async with Loopback(GOOGLE.whole) as server:
        with pytest.raises(ConfigError, match=r"m\?x=1"):
            await collect(GoogleModel("m?x=1", base_url=server.url, api_key=KEY).stream(request()))
        assert server.requests == []


# -- failures


@pytest.mark.parametrize("rest", ["", f" {KEY}"])
async def test_a_failure_whose_json_is_broken(rest: str):
    """The SDK reads the JSON of a failure itself."""
    async with Loopback(Reply(status=502, headers=JSON, pieces=[f'{{"error":{rest}'.encode()])) as server:
        chunks, error = await failure_of(GOOGLE.model(server).stream(request()))
    assert (chunks, error.retryable) == ([], True)
    assert "(HTTP 502)" in str(error)
    assert KEY[:8] not in f"{error} {error.code}"


# -- clients


async def test_a_vertex_client_asks_for_a_publishers_model():
    async with Loopback(GOOGLE.whole) as server, own_google(root(server.url), KEY, vertexai=True) as own:
        chat = GoogleModel("gemini-3-flash", client=own, provider="google-vertex")
        assert text_of(await collect(chat.stream(request()))) == "Hello"
        path = "/v1beta1/publishers/google/models/gemini-3-flash:streamGenerateContent?alt=sse"
        assert server.requests[0].path == path
        assert chat._server.vertex


async def test_a_client_on_httpx_is_used_as_it_is():
    said = told("busy", code=503, status="UNAVAILABLE")
    busy = Reply(status=503, headers=JSON, pieces=[json.dumps(said).encode()])
    async with httpx2.AsyncClient() as http:
        async with Loopback(GOOGLE.whole, busy, Reply(pieces=GOOGLE.hello, end="hang")) as server:
            options = HttpOptions(base_url=root(server.url), httpx_async_client=http)
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


async def test_what_the_environment_says_of_vertex_is_for_the_sdks_own_clients(monkeypatch: pytest.MonkeyPatch):
    async with Loopback(GOOGLE.whole) as server:
        monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
        await collect(GOOGLE.model(server).stream(request()))
        assert server.requests[0].path == GOOGLE.path


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
    first = Reply(pieces=[*(event(part) for part in said), *GOOGLE.reason])

    @tool
    def look(at: str) -> dict[str, str]:
        """Look."""
        return {"seen": at}

    async with Loopback(first, GOOGLE.whole) as server:
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
