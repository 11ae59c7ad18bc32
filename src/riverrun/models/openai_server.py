"""Where OpenAI's APIs are asked: OpenAI itself, Azure, or any server that speaks them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from riverrun.errors import MissingExtraError, MissingKeyError
from riverrun.models.http import ClientKind, Response, WireRequest, checked_url, client_of
from riverrun.models.http.stainless import post

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_BASE_URL = "https://api.openai.com/v1"
_NO_KEY = "no-key"
"""Sent where a server needs no key, since the SDK always sends one."""


class OpenAIServer:
    """A base URL and a key, or a client of the caller's own, which is used as it is and never closed.

    `base_url` and `api_key` default to OPENAI_BASE_URL and OPENAI_API_KEY; a server that is not OpenAI's needs no key.
    `needed_by` says who asks, in the errors: MissingExtraError without the SDK, MissingKeyError without a key.
    """

    def __init__(
        self, *, base_url: str | None, api_key: str | None, client: AsyncOpenAI | None, needed_by: str
    ) -> None:
        try:
            import openai  # noqa: F401  # pyright: ignore[reportUnusedImport]
        except ModuleNotFoundError as error:
            raise MissingExtraError("openai", needed_by=needed_by) from error
        self._client = client
        self._base_url = checked_url(
            (str(client.base_url) if client else base_url) or os.environ.get("OPENAI_BASE_URL") or _BASE_URL
        )
        self.official = _is_official(self._base_url)
        key = api_key or os.environ.get("OPENAI_API_KEY") or ("" if self.official else _NO_KEY)
        if client is None and not key:
            raise MissingKeyError("OPENAI_API_KEY", needed_by=needed_by)
        self._key = key

    def secret(self) -> str:
        """The key, which no error may repeat. A client of the caller's own may have changed it."""
        key = self._client.api_key if self._client else self._key
        return "" if key == _NO_KEY else key

    async def post(self, path: str, call: WireRequest, headers: Mapping[str, str] | None) -> Response:
        """Send a call; gives the response once its headers are there. Raises ModelError when there is none."""
        import openai

        client = self._client
        if client is None:
            client = await client_of(self, _KIND, self._base_url, self._key)
        return await post(openai, client, path, call, headers=headers)


def _is_official(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host == "api.openai.com" or host.endswith((".api.openai.com", ".openai.azure.com"))


def _client(base_url: str, api_key: str) -> AsyncOpenAI:
    """The SDK's transport on aiohttp costs a fifth of its usual one. And it is ours to close: a client that the SDK
    makes for itself makes a task when it is collected, whose loop may be gone by then.
    """
    from openai import AsyncOpenAI, DefaultAioHttpClient

    return AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0, http_client=DefaultAioHttpClient())


async def _close(client: AsyncOpenAI) -> None:
    await client.close()


_KIND = ClientKind(_client, _close)
