"""A model behind an HTTP API: what the models of all providers have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from functools import partial
from typing import Generic, Protocol, TypeVar

from riverrun.chunks import ChunkType
from riverrun.models.http.body import Response
from riverrun.models.http.client import release
from riverrun.models.http.decoder import Decoder
from riverrun.models.http.exchange import WireRequest, exchange
from riverrun.types import ModelRequest


class Server(Protocol):
    """Where an API is asked. It is the user of its clients (see client.py)."""

    def secret(self) -> str:
        """The key, which no error may repeat; "" when there is none."""
        ...


S = TypeVar("S", bound=Server)


class HttpModel(ABC, Generic[S]):
    """Asks a server: a request is written, sent and its answer decoded as the API wants it."""

    def __init__(self, model_id: str, *, provider: str, server: S) -> None:
        self._model_id = model_id
        self._provider = provider
        self._server = server

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
        call = self._call(request)
        send, decode = partial(self._send, request), partial(self._decoder, request)
        return exchange(call, send, decode, run_id=request.run_id, secret=self._server.secret)

    async def aclose(self) -> None:
        """Close the connections to the server, unless another model of this event loop uses them too."""
        await release(self._server)

    @abstractmethod
    def _call(self, request: ModelRequest) -> WireRequest:
        """The request as it is sent. Raises ConfigError when it cannot be."""

    @abstractmethod
    async def _send(self, request: ModelRequest, call: WireRequest) -> Response:
        """Send it; gives the response once its headers are there. Raises ModelError when there is none."""

    @abstractmethod
    def _decoder(self, request: ModelRequest, headers: dict[str, str]) -> Decoder:
        """The decoder for a response, given its headers."""
