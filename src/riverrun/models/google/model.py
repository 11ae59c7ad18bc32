"""GoogleModel: a model behind generateContent, at Google's Gemini API, at Vertex AI or at any server that speaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from riverrun.models.google.request import google_request, takes_schema
from riverrun.models.google.server import GoogleServer
from riverrun.models.google.stream import StreamDecoder
from riverrun.models.http import HttpModel, Response, WireRequest
from riverrun.types import ModelRequest

if TYPE_CHECKING:
    from google.genai import Client


class GoogleModel(HttpModel[GoogleServer]):
    """A model behind the generateContent API.

    `base_url` defaults to GOOGLE_GEMINI_BASE_URL, `api_key` to GOOGLE_API_KEY or GEMINI_API_KEY; a server that is not
    Google's needs no key. `client` is a google.genai.Client of the caller's own, for Vertex AI too, which is used as it
    is and never closed. `provider` names the server in provider options and metadata.
    Raises MissingExtraError without the SDK, MissingKeyError without a key.
    """

    def __init__(
        self,
        model_id: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: Client | None = None,
        provider: str = "google",
    ) -> None:
        server = GoogleServer(base_url=base_url, api_key=api_key, client=client, needed_by=f"the model {model_id}")
        super().__init__(model_id, provider=provider, server=server)

    def takes_schema(self, schema: Mapping[str, Any], /, *, beside_tools: bool) -> bool:
        """Whether an answer can be held to a JSON Schema."""
        return takes_schema(self._model_id, beside_tools=beside_tools)

    def _call(self, request: ModelRequest) -> WireRequest:
        return google_request(request, model_id=self._model_id, provider=self._provider, vertex=self._server.vertex)

    async def _send(self, request: ModelRequest, call: WireRequest) -> Response:
        return await self._server.post(self._model_id, call, request.settings.headers)

    def _decoder(self, request: ModelRequest, headers: dict[str, str]) -> StreamDecoder:
        return StreamDecoder(
            request.run_id,
            provider=self._provider,
            tools=request.tools,
            include_raw=request.include_raw,
            headers=headers,
        )
