"""Names and schemas as both of OpenAI's APIs take them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import is_list, is_object, mapping
from riverrun.errors import ConfigError

_KEYWORDS = {
    *("type", "enum", "const", "anyOf", "title", "description", "$schema", "$defs", "definitions"),
    *("properties", "required", "additionalProperties", "items", "minItems", "maxItems", "pattern", "format"),
    *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
"""What strict mode knows, beside "$ref", which has to stand alone."""
_FORMATS = ("date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
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
    if allows_strict(schema):
        named["strict"] = True
    return named


def allows_strict(schema: Mapping[str, Any]) -> bool:
    """Whether the API takes the schema of an object in strict mode: every object is closed and requires all its
    members, and no keyword is used that this mode does not know.
    """
    return schema.get("type") == "object" and "anyOf" not in schema and _is_strict(dict(schema))


def _is_strict(schema: object) -> bool:
    if not is_object(schema):
        return False
    if "$ref" in schema:
        return len(schema) == 1
    if not (schema.keys() <= _KEYWORDS and schema.keys() & {"type", "enum", "const", "anyOf"}):
        return False
    kind = schema.get("type")
    kinds = kind if is_list(kind) else [kind]
    return (
        _is_strict_text(schema)
        and ("object" not in kinds or _is_closed(schema))
        and ("array" not in kinds or "items" in schema)
        and all(_is_strict(inner) for inner in _inner_schemas(schema))
    )


def _is_strict_text(schema: Mapping[str, Any]) -> bool:
    return schema.get("format") in (None, *_FORMATS) and "(?" not in str(schema.get("pattern", ""))


def _is_closed(schema: Mapping[str, Any]) -> bool:
    """Whether an object has only the members that it names, and always all of them."""
    required = schema.get("required", [])
    named = mapping(schema.get("properties")).keys()
    return schema.get("additionalProperties") is False and is_list(required) and {*required} == named


def _inner_schemas(schema: Mapping[str, Any]) -> list[object]:
    anyof = schema.get("anyOf")
    found: list[object] = [*anyof] if is_list(anyof) else []
    for name in ("properties", "$defs", "definitions"):
        found += mapping(schema.get(name)).values()
    return [*found, schema["items"]] if "items" in schema else found
