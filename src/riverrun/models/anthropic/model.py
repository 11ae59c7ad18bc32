"""AnthropicModel: a message from Anthropic or any server that speaks its API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from riverrun.models.anthropic.abilities import abilities_of
from riverrun.models.anthropic.request import anthropic_request
from riverrun.models.anthropic.schemas import answer_schema
from riverrun.models.anthropic.server import AnthropicServer
from riverrun.models.anthropic.stream import StreamDecoder
from riverrun.models.http import HttpModel, Response, WireRequest
from riverrun.types import ModelRequest

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.lib.bedrock import AsyncAnthropicBedrock
    from anthropic.lib.vertex import AsyncAnthropicVertex


class AnthropicModel(HttpModel[AnthropicServer]):
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
        server = AnthropicServer(base_url=base_url, api_key=api_key, client=client, needed_by=f"the model {model_id}")
        super().__init__(model_id, provider=provider, server=server)

    def takes_schema(self, schema: Mapping[str, Any], /, *, beside_tools: bool) -> bool:
        """Whether an answer can be held to this JSON Schema: newer models are, to schemas that the API can express."""
        return abilities_of(self._model_id).schemas and answer_schema(schema) is not None

    def _call(self, request: ModelRequest) -> WireRequest:
        return anthropic_request(
            request, model_id=self._model_id, provider=self._provider, official=self._server.official
        )

    async def _send(self, request: ModelRequest, call: WireRequest) -> Response:
        return await self._server.post(call)

    def _decoder(self, request: ModelRequest, headers: dict[str, str]) -> StreamDecoder:
        return StreamDecoder(
            request.run_id,
            provider=self._provider,
            tools=request.tools,
            include_raw=request.include_raw,
            headers=headers,
        )
