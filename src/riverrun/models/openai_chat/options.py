"""Provider options: which of them are for this API, or for this provider alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def options_for(options: Mapping[str, Any] | None, provider: str) -> dict[str, Any]:
    """The options under "openai", "openai-chat" and the provider's own name, the last having the last word."""
    if not options:
        return {}
    return {**_under("openai", options), **_under("openai-chat", options), **_under(provider, options)}


def returned_to(options: Mapping[str, Any] | None, provider: str) -> dict[str, Any]:
    """What this very provider gave with a part of its answer, to be sent back with it."""
    if not options:
        return {}
    return dict(_under(provider, options))


def _under(name: str, options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    given = options.get(name) if options else None
    return cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
