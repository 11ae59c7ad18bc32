"""A server's address, looked at where it is given."""

from __future__ import annotations

from riverrun.errors import ConfigError


def checked_url(base_url: str) -> str:
    """The base URL. Raises ConfigError for one that names no server."""
    if not base_url.startswith(("http://", "https://")):
        raise ConfigError(f"a base URL begins with http:// or https://, unlike {base_url!r:.80}")
    return base_url
