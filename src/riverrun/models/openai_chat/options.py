"""Provider options: which of them are for this API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def options_for(options: Mapping[str, Any] | None, provider: str) -> dict[str, Any]:
    """The options under "openai", "openai-chat" and the provider's own name, the last having the last word."""
    found: dict[str, Any] = {}
    if options:
        for name in ("openai", "openai-chat", provider):
            given = options.get(name)
            if isinstance(given, Mapping):
                found.update(cast("Mapping[str, Any]", given))
    return found
