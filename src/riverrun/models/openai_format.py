"""Names, tools, schemas and options as both of OpenAI's APIs take them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from riverrun.chunks.envelope import is_list, is_object, mapping
from riverrun.errors import ConfigError
from riverrun.types import ToolSpec

_KEYWORDS = {
    *("type", "enum", "const", "anyOf", "title", "description", "$schema", "$defs", "definitions"),
    *("properties", "required", "additionalProperties", "items", "minItems", "maxItems", "pattern", "format"),
    *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
"""What strict mode knows, beside "$ref", which has to stand alone."""
_FORMATS = ("date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
_VALUES = ("enum", "const", "default", "examples")
"""Keywords that hold values, not schemas."""
_CAPITAL = re.compile(r"(?<=[a-z0-9])[A-Z]")
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


def snake_case(options: Mapping[str, Any]) -> dict[str, Any]:
    """The same members in snake_case; what is inside them stays as it is."""
    return {_CAPITAL.sub(lambda found: f"_{found[0].lower()}", name): value for name, value in options.items()}


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


def known_tools(tools: Sequence[ToolSpec], names: Collection[str], warnings: list[dict[str, Any]]) -> list[ToolSpec]:
    """The functions, and the provider's own tools, whose ids begin with one of `names`; `warnings` gets the rest."""
    known = [tool for tool in tools if tool.provider_id is None or tool.provider_id.partition(".")[0] in names]
    warnings += [{"type": "unsupported-tool", "tool": tool.name} for tool in tools if tool not in known]
    return known


def function_members(tool: ToolSpec, warnings: list[dict[str, Any]]) -> dict[str, Any]:
    """A function's members, which are the same in both APIs. Strict mode gets the schema with its objects closed; where
    it cannot take it even so, it is not asked for, and `warnings` says so. Raises ConfigError for a name that the API
    refuses.
    """
    members: dict[str, Any] = {"name": checked_name(tool.name)}
    if tool.description:
        members["description"] = tool.description
    schema = members["parameters"] = dict(tool.input_schema) or {"type": "object", "properties": {}}
    if not tool.strict:
        return members if tool.strict is None else members | {"strict": False}
    closed = _closed(schema)
    if allows_strict(closed):
        return members | {"parameters": closed, "strict": True}
    why = "strict mode takes no optional members and not all keywords"
    warnings.append({"type": "other", "message": f"the tool {tool.name} is sent without strict: {why}"})
    return members


def _closed(schema: Any) -> Any:
    """A copy of a schema whose objects have no members but those that it names, unless it says otherwise."""
    if is_list(schema):
        return [_closed(item) for item in schema]
    if not is_object(schema):
        return schema
    members = {name: inner if name in _VALUES else _closed(inner) for name, inner in schema.items()}
    kind = schema.get("type")
    if kind == "object" or (is_list(kind) and "object" in kind):
        members.setdefault("additionalProperties", False)
    return members


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
