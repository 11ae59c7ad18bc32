"""Provider options as the API takes them: its names have underscores, and clients may write them in camelCase."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import is_list, is_object
from riverrun.models.options import options_under

_NESTED = ("thinking", "container", "context_management", "mcp_servers")
"""Options that are objects of the API's own all the way down; others may hold what is the caller's."""


def wire_options(options: Mapping[str, Any] | None, *names: str) -> dict[str, Any]:
    """The options under these providers' names, the last having the last word, by the API's names."""
    return wire_names(options_under(options, *names))


def wire_names(members: Mapping[str, Any]) -> dict[str, Any]:
    """Members by the API's names for them."""
    named = {_wire_name(name): value for name, value in members.items()}
    return {name: _nested(value) if name in _NESTED else value for name, value in named.items()}


def _wire_name(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def _nested(value: Any) -> Any:
    if is_object(value):
        return {_wire_name(name): _nested(member) for name, member in value.items()}
    return [_nested(item) for item in value] if is_list(value) else value
