"""Provider options: which of them are for which provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def options_under(options: Mapping[str, Any] | None, *names: str) -> dict[str, Any]:
    """The options under these providers' names, the last having the last word."""
    found: dict[str, Any] = {}
    for name in names:
        given = options.get(name) if options else None
        if isinstance(given, Mapping):
            found.update(cast("Mapping[str, Any]", given))
    return found


def merged(members: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options beside the members; those of an inner object inside it."""
    out = dict(members)
    for name, value in options.items():
        inner = out.get(name)
        out[name] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, dict) else value
    return out
