"""OpenAIChatModel: a chat completion from OpenAI or any server that speaks its API."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from riverrun.chunks import ChunkType
from riverrun.models.http import Decoder, Response, WireRequest, exchange
from riverrun.models.openai_chat.request import chat_request
from riverrun.models.openai_chat.stream import StreamDecoder
from riverrun.models.openai_server import OpenAIServer
from riverrun.types import ModelRequest

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIChatModel:
    """A model behind the chat completions API.

    `base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY; a server that is not OpenAI's needs no key.
    `client` is an AsyncOpenAI (or AsyncAzureOpenAI) of the caller's own, which is used as it is and never closed.
    `provider` names the server in provider options and metadata; `think_tags` tells whether reasoning that a model
    writes into its answer, in `<think>` tags at its very start, is told from the text.
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
        think_tags: bool = True,
    ) -> None:
        self._model_id = model_id
        self._provider = provider
        self._think_tags = think_tags
        self._server = OpenAIServer(
            base_url=base_url, api_key=api_key, client=client, needed_by=f"the model {model_id}"
        )

    @property
    def provider(self) -> str:
        """The provider's name, as in model strings."""
        return self._provider

    @property
    def model_id(self) -> str:
        """The provider's name of the model."""
        return self._model_id

    def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        """Call the model. Raises ModelError when the call fails, ConfigError for a request that cannot be sent."""

        def decoder(headers: dict[str, str]) -> Decoder:
            return StreamDecoder(
                request.run_id,
                provider=self._provider,
                tools=request.tools,
                include_raw=request.include_raw,
                headers=headers,
                think_tags=self._think_tags,
            )

        async def send(call: WireRequest) -> Response:
            return await self._server.post("/chat/completions", call, request.settings.headers)

        call = chat_request(request, model_id=self._model_id, provider=self._provider, official=self._server.official)
        return exchange(call, send, decoder, run_id=request.run_id, secret=self._server.secret)

    async def aclose(self) -> None:
        """Close the connections to the server, unless another model of this event loop uses them too."""
        await self._server.aclose()
