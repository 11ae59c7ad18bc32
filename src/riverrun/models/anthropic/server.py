"""Where Anthropic's API is asked: Anthropic itself, a cloud that has its models, or any server that speaks it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from riverrun.errors import MissingExtraError, MissingKeyError
from riverrun.models.anthropic.frames import unframed
from riverrun.models.http import ClientKind, Response, WireRequest, checked_url, client_of
from riverrun.models.http.stainless import post

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic

_BASE_URL = "https://api.anthropic.com"
_NO_KEY = "no-key"
"""Sent where a server needs no key, since the SDK always sends one."""


class AnthropicServer:
    """A base URL and a key, or a client of the caller's own, which is used as it is and never closed.

    `base_url` and `api_key` default to ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN; a server that
    is not Anthropic's needs no key. `needed_by` says who asks, in the errors: MissingExtraError without the SDK,
    MissingKeyError without a key.
    """

    def __init__(self, *, base_url: str | None, api_key: str | None, client: Any, needed_by: str) -> None:
        try:
            import anthropic  # noqa: F401  # pyright: ignore[reportUnusedImport]
        except ModuleNotFoundError as error:
            raise MissingExtraError("anthropic", needed_by=needed_by) from error
        self._client = client
        self._base_url = _rooted(
            (str(client.base_url) if client else base_url) or os.environ.get("ANTHROPIC_BASE_URL") or _BASE_URL
        )
        self.official = _is_official(self._base_url)
        key = api_key or os.environ.get("ANTHROPIC_API_KEY")
        token = None if key else os.environ.get("ANTHROPIC_AUTH_TOKEN")
        self._kind = _BY_TOKEN if token else _BY_KEY
        self._key = key or token or ("" if self.official else _NO_KEY)
        if client is None and not self._key:
            raise MissingKeyError("ANTHROPIC_API_KEY", needed_by=needed_by)

    def secret(self) -> str:
        """The key, which no error may repeat. A client of the caller's own may have changed it."""
        if self._client is None:
            return "" if self._key == _NO_KEY else self._key
        secrets = (getattr(self._client, name, None) for name in ("api_key", "auth_token", "access_token"))
        return next((secret for secret in secrets if isinstance(secret, str)), "")

    async def post(self, call: WireRequest) -> Response:
        """Send a call; gives the response once its headers are there. Raises ModelError when there is none."""
        import anthropic

        client = self._client
        if client is None:
            client = await client_of(self, self._kind, self._base_url, self._key)
        return unframed(await post(anthropic, client, "/v1/messages", call))


def _rooted(base_url: str) -> str:
    """The SDK adds the API's version to a base URL; many write it there, too."""
    return checked_url(base_url).rstrip("/").removesuffix("/v1")


def _is_official(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    return host == "anthropic.com" or host.endswith(".anthropic.com")


def _client_by_key(base_url: str, key: str) -> AsyncAnthropic:
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(base_url=base_url, api_key=key, max_retries=0, http_client=_transport())


def _client_by_token(base_url: str, token: str) -> AsyncAnthropic:
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(base_url=base_url, auth_token=token, max_retries=0, http_client=_transport())


def _transport() -> httpx2.AsyncClient:
    """The SDK's transport on aiohttp costs a fifth of its usual one. And it is ours to close: a client that the SDK
    makes for itself makes a task when it is collected, whose loop may be gone by then.
    """
    from anthropic import DefaultAioHttpClient

    return DefaultAioHttpClient()


async def _close(client: AsyncAnthropic) -> None:
    await client.close()


_BY_KEY = ClientKind(_client_by_key, _close)
_BY_TOKEN = ClientKind(_client_by_token, _close)
