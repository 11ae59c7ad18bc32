"""JSON Schemas as Google takes them. It knows most of JSON Schema and ignores the rest, with two exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_VALUES = ("enum", "const", "default", "examples", "required")
"""Keywords that hold no schemas."""
_BY_NAME = ("properties", "$defs", "definitions")
"""Keywords that hold schemas under names."""


def sent_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema in Google's dialect: a constant is an enumeration of one, and nothing stands beside a `$ref`."""
    out = {name: _sent(name, value) for name, value in schema.items() if name != "$schema"}
    const = out.get("const")
    if isinstance(const, str | int | float) and not isinstance(const, bool):
        del out["const"]
        out["enum"] = [const]
    if "$ref" in out and any(not name.startswith("$") for name in out):
        out["anyOf"] = [{"$ref": out.pop("$ref")}]
    return out


def _sent(keyword: str, value: object) -> object:
    if keyword in _VALUES:
        return value
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        if keyword in _BY_NAME:
            return {name: _sent("", inner) for name, inner in members.items()}
        return sent_schema(members)
    if isinstance(value, list | tuple):
        return [_sent("", item) for item in cast("list[object]", value)]
    return value
