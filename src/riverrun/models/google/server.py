"""Where generateContent is asked: Google's Gemini API, Vertex AI, or any server that speaks it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from riverrun.errors import MissingExtraError, MissingKeyError
from riverrun.models.google.transport import api_key_of, asks_vertex, post
from riverrun.models.http import ClientKind, Response, WireRequest, checked_url, client_of

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from google.genai import Client

_BASE_URL = "https://generativelanguage.googleapis.com"
_VERSION = re.compile(r"/v\d+(?:alpha|beta)?\d*/?$")
_NO_KEY = "no-key"
"""Sent where a server needs no key, since the SDK always sends one."""


class GoogleServer:
    """A base URL and a key, or a client of the caller's own, which is used as it is and never closed.

    `base_url` defaults to GOOGLE_GEMINI_BASE_URL, `api_key` to GOOGLE_API_KEY or GEMINI_API_KEY; a server that is not
    Google's needs no key. `needed_by` says who asks, in the errors: MissingExtraError without the SDK, MissingKeyError
    without a key.
    """

    def __init__(self, *, base_url: str | None, api_key: str | None, client: Client | None, needed_by: str) -> None:
        try:
            import aiohttp  # noqa: F401  # pyright: ignore[reportUnusedImport]
            import google.genai  # noqa: F401  # pyright: ignore[reportUnusedImport]
        except ModuleNotFoundError as error:
            raise MissingExtraError("google", needed_by=needed_by) from error
        self._client = client
        self._base_url = checked_url(base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL") or _BASE_URL)
        given = api_key or os.environ.get("GOOGLE_API_KEY") or os.environ.get("GEMINI_API_KEY")
        self._key = given or ("" if _is_official(self._base_url) else _NO_KEY)
        if client is None and not self._key:
            raise MissingKeyError("GOOGLE_API_KEY", needed_by=needed_by)
        self.vertex = client is not None and asks_vertex(client)

    def secret(self) -> str:
        """The key, which no error may repeat."""
        key = self._key if self._client is None else api_key_of(self._client)
        return "" if key == _NO_KEY else key

    async def post(self, model_id: str, call: WireRequest, headers: Mapping[str, str] | None) -> Response:
        """Send a call; gives the response once its headers are there. Raises ModelError when there is none."""
        client = self._client
        if client is None:
            client = (await client_of(self, _KIND, self._base_url, self._key)).client
        return await post(client, model_id, call, headers)


def _is_official(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host == "googleapis.com" or host.endswith(".googleapis.com")


@dataclass(frozen=True, slots=True)
class _Connected:
    """A client, and its connections: those that the SDK makes for itself warn of how they are made."""

    client: Client
    session: ClientSession


def _connect(base_url: str, api_key: str) -> _Connected:
    """A client of the Gemini API, whatever the environment says of Vertex AI. A base URL may name the API's version."""
    from aiohttp import ClientSession, TCPConnector
    from google.genai import Client
    from google.genai.types import HttpOptions

    session = ClientSession(connector=TCPConnector(limit=0), trust_env=True)
    version = "" if _VERSION.search(base_url) else None
    options = HttpOptions(base_url=base_url, api_version=version, aiohttp_client=session)
    return _Connected(Client(vertexai=False, api_key=api_key, http_options=options), session)


async def _close(connected: _Connected) -> None:
    """Close all three: the SDK also makes a client for blocking calls."""
    await connected.session.close()
    await connected.client.aio.aclose()
    connected.client.close()


_KIND = ClientKind(_connect, _close)
