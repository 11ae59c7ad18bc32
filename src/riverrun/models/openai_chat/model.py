"""OpenAIChatModel: a chat completion from OpenAI or any server that speaks its API.

request → body → the SDK's HTTP client (its authentication, headers and endpoints) → bytes → events → chunks. The SDK's
own event objects are not used: making them costs more than all the rest.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import msgspec

from riverrun.chunks import ChunkType, StepStartChunk, StepStartPayload
from riverrun.errors import MissingExtraError, MissingKeyError, ModelError
from riverrun.models.openai_chat.body import Body
from riverrun.models.openai_chat.client import client_of, release
from riverrun.models.openai_chat.failure import make_fit, model_error
from riverrun.models.openai_chat.request import chat_request
from riverrun.models.openai_chat.stream import StreamDecoder
from riverrun.models.sse import SseReader
from riverrun.types import ModelRequest

if TYPE_CHECKING:
    import httpx2
    from openai import APIStatusError, AsyncOpenAI

_BASE_URL = "https://api.openai.com/v1"
_NO_KEY = "no-key"
"""Sent where a server needs no key, since the SDK always sends one."""


class OpenAIChatModel:
    """A model behind the chat completions API.

    `base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY; a server that is not OpenAI's needs no key.
    `client` is an AsyncOpenAI (or AsyncAzureOpenAI) of the caller's own, which is used as it is and never closed.
    `provider` names the server in provider options and metadata.
    Raises MissingExtraError without the SDK, MissingKeyError without a key.
    """

    def __init__(
        self,
        model_id: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: AsyncOpenAI | None = None,
        provider: str = "openai-chat",
    ) -> None:
        try:
            import openai  # noqa: F401  # pyright: ignore[reportUnusedImport]
        except ModuleNotFoundError as error:
            raise MissingExtraError("openai", needed_by="OpenAIChatModel") from error
        self._model_id = model_id
        self._provider = provider
        self._client = client
        self._base_url = (
            (str(client.base_url) if client else base_url) or os.environ.get("OPENAI_BASE_URL") or _BASE_URL
        )
        self._official = _is_official(self._base_url)
        key = api_key or os.environ.get("OPENAI_API_KEY") or ("" if self._official else _NO_KEY)
        if client is None and not key:
            raise MissingKeyError("OPENAI_API_KEY", needed_by=f"the model {model_id}")
        self._key = key

    @property
    def provider(self) -> str:
        """The provider's name, as in model strings."""
        return self._provider

    @property
    def model_id(self) -> str:
        """The provider's name of the model."""
        return self._model_id

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        """Call the model. Raises ModelError when the call fails, ConfigError for a request that cannot be sent."""
        call = chat_request(request, model_id=self._model_id, provider=self._provider, official=self._official)
        with self._fit():
            response = await self._send(call.body, request.settings.headers)
            body = Body(response)
            try:
                payload = StepStartPayload(request={"body": call.body}, warnings=cast("list[Any]", call.warnings))
                yield StepStartChunk(payload, run_id=request.run_id, from_="AGENT")
                decoder = StreamDecoder(
                    request.run_id,
                    provider=self._provider,
                    tool_names=[tool.name for tool in request.tools],
                    include_raw=request.include_raw,
                    headers=_shown_headers(response.headers),
                )
                reader = SseReader()
                while decoder.open:
                    try:
                        piece = await body.read()
                        events = reader.feed(piece) if piece else reader.close()
                    except ModelError as error:
                        for chunk in decoder.fail(error):
                            yield chunk
                        break
                    for event in events:
                        for chunk in decoder.feed(event.data, event.event):
                            yield chunk
                    if not piece:
                        break
                if decoder.done:
                    await body.finish()
                for chunk in decoder.close():
                    yield chunk
                if decoder.error is not None:
                    raise decoder.error
            finally:
                await body.aclose()

    async def aclose(self) -> None:
        """Close the connections to the server, unless another model of this event loop uses them too."""
        await release(self)

    @contextmanager
    def _fit(self) -> Generator[None, None, None]:
        """Whatever failure leaves here does not repeat the key. A client of the caller's own may have changed it."""
        try:
            yield
        except ModelError as error:
            key = self._client.api_key if self._client else self._key
            make_fit(error, "" if key == _NO_KEY else key)
            raise

    async def _send(self, body: dict[str, Any], headers: Mapping[str, str] | None) -> httpx2.Response:
        """Send the request; gives the response once its headers are there."""
        import httpx2
        from openai import APIConnectionError, APIStatusError, AsyncStream, OpenAIError

        client = self._client or await client_of(self, self._base_url, self._key)
        try:
            response = await client.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                body=body,
                options={"max_retries": 0, "headers": dict(headers or {})},
                stream=True,
                stream_cls=AsyncStream[object],
            )
            return cast("httpx2.Response", response)  # what the SDK gives for this cast_to
        except APIStatusError as error:
            raise _failure(error) from error
        except (APIConnectionError, httpx2.HTTPError) as error:
            told = str(error.__cause__ or "") or str(error)
            raise ModelError(f"{self._base_url} cannot be reached: {told}", retryable=True) from error
        except OpenAIError as error:
            raise ModelError(str(error)) from error


def _is_official(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host == "api.openai.com" or host.endswith((".api.openai.com", ".openai.azure.com"))


def _failure(error: APIStatusError) -> ModelError:
    response = error.response
    try:
        said: object = msgspec.json.decode(response.content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = response.text
    if isinstance(said, list):  # Google's servers put the error in a list
        said = next(iter(cast("list[object]", said)), None)
    return model_error(said, status=response.status_code, retry_after=_retry_after(response.headers))


def _shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The response's headers without its cookies."""
    return {name: value for name, value in headers.items() if name != "set-cookie"}


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the server asked to wait: as milliseconds, as seconds or as a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return seconds if 0 <= seconds < 1e9 else None
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
