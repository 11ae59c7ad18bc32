"""AnthropicModel: a message from Anthropic or any server that speaks its API."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from riverrun.chunks import ChunkType
from riverrun.models.anthropic.request import anthropic_request
from riverrun.models.anthropic.server import AnthropicServer
from riverrun.models.anthropic.stream import StreamDecoder
from riverrun.models.http import Decoder, exchange
from riverrun.types import ModelRequest

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.lib.bedrock import AsyncAnthropicBedrock
    from anthropic.lib.vertex import AsyncAnthropicVertex


class AnthropicModel:
    """A model behind the Messages API.

    `base_url` and `api_key` default to ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN); a server
    that is not Anthropic's needs no key. `client` is an AsyncAnthropic of the caller's own, or one for Bedrock, Vertex
    or Foundry, which is used as it is and never closed. `provider` names the server in provider options and metadata.
    Raises MissingExtraError without the SDK, MissingKeyError without a key.
    """

    def __init__(
        self,
        model_id: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: AsyncAnthropic | AsyncAnthropicBedrock | AsyncAnthropicVertex | None = None,
        provider: str = "anthropic",
    ) -> None:
        self._model_id = model_id
        self._provider = provider
        self._server = AnthropicServer(
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
            )

        call = anthropic_request(
            request, model_id=self._model_id, provider=self._provider, official=self._server.official
        )
        return exchange(call, self._server.post, decoder, run_id=request.run_id, secret=self._server.secret)

    async def aclose(self) -> None:
        """Close the connections to the server, unless another model of this event loop uses them too."""
        await self._server.aclose()
