"""OpenAIChatModel: a chat completion from OpenAI or any server that speaks its API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverrun.models.http import HttpModel, Response, WireRequest
from riverrun.models.openai_chat.request import chat_request
from riverrun.models.openai_chat.stream import StreamDecoder
from riverrun.models.openai_server import OpenAIServer
from riverrun.types import ModelRequest

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIChatModel(HttpModel[OpenAIServer]):
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
        server = OpenAIServer(base_url=base_url, api_key=api_key, client=client, needed_by=f"the model {model_id}")
        super().__init__(model_id, provider=provider, server=server)
        self._think_tags = think_tags

    def _call(self, request: ModelRequest) -> WireRequest:
        return chat_request(request, model_id=self._model_id, provider=self._provider, official=self._server.official)

    async def _send(self, request: ModelRequest, call: WireRequest) -> Response:
        return await self._server.post("/chat/completions", call, request.settings.headers)

    def _decoder(self, request: ModelRequest, headers: dict[str, str]) -> StreamDecoder:
        return StreamDecoder(
            request.run_id,
            provider=self._provider,
            tools=request.tools,
            include_raw=request.include_raw,
            headers=headers,
            think_tags=self._think_tags,
        )
