"""Names and schemas as both of OpenAI's APIs take them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from riverrun.errors import ConfigError

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def checked_name(name: str) -> str:
    """The name of a tool. Raises ConfigError for one that the API refuses."""
    if not _TOOL_NAME.fullmatch(name):
        raise ConfigError(
            f"the tool name {name!r} cannot be sent: it must be 1 to 64 letters, digits, underscores and hyphens"
        )
    return name


def valid_name(name: str) -> str:
    """A name as the model wrote it may be one that the API refuses to see again."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def named_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A response format's members: its name, the schema, and `strict` where the schema allows it."""
    title = schema.get("title")
    named: dict[str, Any] = {
        "name": valid_name(title) if isinstance(title, str) and title else "response",
        "schema": dict(schema),
    }
    if _allows_strict(schema):
        named["strict"] = True
    return named


def _allows_strict(schema: object) -> bool:
    """Whether the API takes a schema in strict mode: every object is closed and requires all its properties."""
    if isinstance(schema, list):
        return all(_allows_strict(item) for item in cast("list[object]", schema))
    if not isinstance(schema, Mapping):
        return True
    members = cast("Mapping[str, Any]", schema)
    properties = members.get("properties")
    if members.get("type") == "object" or isinstance(properties, Mapping):
        names = set(cast("Mapping[str, Any]", properties)) if isinstance(properties, Mapping) else set[str]()
        if members.get("additionalProperties") is not False or names != set(members.get("required") or ()):
            return False
    return all(_allows_strict(value) for name, value in members.items() if name not in ("enum", "const", "default"))
