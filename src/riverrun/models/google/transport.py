"""One call through Google's SDK → its response, unread. The only file that uses what the SDK keeps to itself.

The SDK's public stream makes pydantic objects of the events, which costs more than all the rest and loses what they do
not know. So the request goes the way that it goes in the SDK (authentication, endpoints, Vertex AI's paths, the
client's own options), and the response is read here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from importlib import import_module
from json import JSONDecodeError
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, cast

from riverrun.errors import ConfigError, ModelError
from riverrun.models.google.failure import response_failure
from riverrun.models.http import Response, WireRequest

if TYPE_CHECKING:
    from google.genai import Client


async def post(client: Client, model_id: str, call: WireRequest, headers: Mapping[str, str] | None) -> Response:
    """Send a call; gives the response once its headers are there. The SDK neither waits nor tries again.

    Raises ModelError when there is no response, or one that is no success; ConfigError for a model id that is none.
    """
    from google.genai.errors import APIError
    from google.genai.types import HttpOptions, HttpRetryOptions

    api: Any = client._api_client  # pyright: ignore[reportPrivateUsage]
    options = HttpOptions(headers={**call.headers, **(headers or {})}, retry_options=HttpRetryOptions(attempts=1))
    path = f"{_resource(api, model_id)}:streamGenerateContent?alt=sse"
    request = api._build_request("post", path, dict(call.body), options)
    try:
        response = await api._async_request(http_request=request, http_options=options, stream=True)
    except APIError as error:
        raise await _failure_of(cast("Any", error).response) from error
    except _unreachable() as error:
        told = str(error) or type(error).__name__
        raise ModelError(f"{_server(request.url)} cannot be reached: {told}", retryable=True) from error
    except (JSONDecodeError, UnicodeDecodeError) as error:  # the SDK reads the JSON of a failure, and this is none
        response = _unread(error)
        if response is None:
            raise ModelError(f"{_server(request.url)} failed and did not say why: {error}", retryable=True) from error
        raise await _failure_of(response) from error
    stream = response.response_stream
    return cast("Response", stream if hasattr(stream, "aiter_bytes") else _AiohttpResponse(stream))


def api_key_of(client: Client) -> str:
    """A client's API key; none for one that has other credentials."""
    return str(client._api_client.api_key or "")  # pyright: ignore[reportPrivateUsage]


def asks_vertex(client: Client) -> bool:
    """Whether a client asks Vertex AI."""
    return bool(client._api_client.vertexai)  # pyright: ignore[reportPrivateUsage]


def _resource(api: Any, model_id: str) -> str:
    from google.genai import _transformers  # pyright: ignore[reportPrivateUsage]

    try:
        return _transformers.t_model(api, model_id)
    except ValueError as error:
        raise ConfigError(f"{model_id!r} is no name of a model: {error}") from error


async def _failure_of(response: Any) -> ModelError:
    """The failure that a response tells of. The SDK has read it."""
    response = getattr(response, "_response", response)
    if hasattr(response, "aread"):
        return response_failure(response.status_code, response.headers, response.content)
    return response_failure(response.status, response.headers, await response.read())


def _unread(error: Exception) -> Any:
    """The response whose JSON the SDK could not read, if there was one: it is left in the SDK's own frames alone."""
    found = [frame.f_locals["response"] for frame, _ in walk_tb(error.__traceback__) if "response" in frame.f_locals]
    return found[-1] if found else None


def _unreachable() -> tuple[type[Exception], ...]:
    """What says that there was no response, in each of the transports that a client may have."""
    import httpx2
    from google.auth.exceptions import TransportError

    found: list[type[Exception]] = [OSError, TimeoutError, TransportError, httpx2.HTTPError]
    for name, member in (("aiohttp", "ClientError"), ("httpx", "HTTPError")):
        try:
            found.append(getattr(import_module(name), member))
        except ModuleNotFoundError:  # not one that this client can have
            continue
    return tuple(found)


def _server(url: str) -> str:
    return url.partition("/models/")[0]


class _AiohttpResponse:
    """A response of aiohttp, the SDK's usual transport, as riverrun reads responses."""

    def __init__(self, response: Any) -> None:
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    async def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        async for piece in self._response.content.iter_any():
            yield piece

    async def aclose(self) -> None:
        self._response.close()
