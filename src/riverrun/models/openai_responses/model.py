"""OpenAIResponsesModel: a response from OpenAI or any server that speaks its API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from riverrun.chunks import AssistantMessage, Message, ToolCallPart, ToolMessage, ToolResultPart
from riverrun.models.http import HttpModel, Response, WireRequest
from riverrun.models.openai_responses.request import responses_request
from riverrun.models.openai_responses.stream import StreamDecoder
from riverrun.models.openai_server import OpenAIServer
from riverrun.types import ModelRequest

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIResponsesModel(HttpModel[OpenAIServer]):
    """A model behind the responses API.

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
        provider: str = "openai",
    ) -> None:
        server = OpenAIServer(base_url=base_url, api_key=api_key, client=client, needed_by=f"the model {model_id}")
        super().__init__(model_id, provider=provider, server=server)

    def _call(self, request: ModelRequest) -> WireRequest:
        return responses_request(
            request, model_id=self._model_id, provider=self._provider, official=self._server.official
        )

    async def _send(self, request: ModelRequest, call: WireRequest) -> Response:
        return await self._server.post("/responses", call, request.settings.headers)

    def _decoder(self, request: ModelRequest, headers: dict[str, str]) -> StreamDecoder:
        return StreamDecoder(
            request.run_id,
            provider=self._provider,
            tools=request.tools,
            include_raw=request.include_raw,
            headers=headers,
            owed=_owed(request.messages),
        )


def _owed(messages: Sequence[Message]) -> set[str]:
    """The ids of the calls that the provider runs and whose outcome it has not given yet."""
    owed: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage | ToolMessage):
            for part in message.content:
                if isinstance(part, ToolCallPart) and part.provider_executed:
                    owed.add(part.tool_call_id)
                elif isinstance(part, ToolResultPart):
                    owed.discard(part.tool_call_id)
    return owed
