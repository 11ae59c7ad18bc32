"""JSON Schemas as Google takes them. It knows most of JSON Schema and ignores the rest, with two exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_NO_SCHEMAS = ("enum", "const", "default", "examples", "required")


def sent_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema in Google's dialect: a constant is an enumeration of one, and nothing stands beside a `$ref`."""
    return _object(schema)


def _object(schema: Mapping[str, Any]) -> dict[str, Any]:
    out = {name: value if name in _NO_SCHEMAS else _sent(value) for name, value in schema.items() if name != "$schema"}
    const = out.get("const")
    if isinstance(const, str | int | float) and not isinstance(const, bool):
        del out["const"]
        out["enum"] = [const]
    if isinstance(out.get("$ref"), str) and any(not name.startswith("$") for name in out):
        out["anyOf"] = [{"$ref": out.pop("$ref")}]
    return out


def _sent(value: object) -> object:
    if isinstance(value, Mapping):
        return _object(cast("Mapping[str, Any]", value))
    if isinstance(value, list | tuple):
        return [_sent(item) for item in cast("list[object]", value)]
    return value
