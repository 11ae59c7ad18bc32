"""Strict mode, in which a provider holds its model to a schema and every member is required.

What may be missing may be null instead: a schema → the one to send, and the answer → without those nulls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import is_list, is_object, mapping
from riverrun.structured.shape import DEFINITIONS, Schema, is_object_schema, is_to_definition, resolved


def strict_schema(schema: Mapping[str, Any]) -> Schema | None:
    """The schema of objects as strict mode takes it, or None when that cannot say what it says.

    Strict mode knows no members of any name, no values of any kind and no compositions. It knows fewer keywords, too,
    so an answer is still to be held against `schema`.
    """
    try:
        strict = _strict(schema)
    except _NotStrict:
        return None
    return strict if is_object_schema(strict) and "anyOf" not in strict else None


class _NotStrict(Exception):
    """A schema that strict mode has no form for."""


_KEPT = {
    *("type", "enum", "const", "description", "multipleOf", "minItems", "maxItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
_REFUSED = {"allOf", "prefixItems", "patternProperties", "$dynamicRef"}
_FORMATS = {"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}


def _strict(schema: object) -> Schema:
    members = mapping(schema)
    if members.keys() & _REFUSED:
        raise _NotStrict
    if "$ref" in members:
        return _strict_reference(members["$ref"])
    out = {name: member for name, member in members.items() if name in _KEPT} | _strict_text(members)
    if branches := members.get("anyOf") or members.get("oneOf"):
        out["anyOf"] = [_strict(branch) for branch in branches]
    out |= _strict_container(members)
    if not out.keys() & {"type", "enum", "const", "anyOf"}:
        raise _NotStrict
    for name in DEFINITIONS:
        if name in members:
            out[name] = {key: _strict(definition) for key, definition in members[name].items()}
    return out


def _strict_reference(reference: str) -> Schema:
    if reference != "#" and not is_to_definition(reference):
        raise _NotStrict
    return {"$ref": reference}


def _strict_text(members: Schema) -> Schema:
    """What is said of texts: formats that strict mode knows, and patterns without groups that it does not know."""
    out: Schema = {}
    if members.get("format") in _FORMATS:
        out["format"] = members["format"]
    if "pattern" in members and "(?" not in members["pattern"]:
        out["pattern"] = members["pattern"]
    return out


def _strict_container(members: Schema) -> Schema:
    kind = members.get("type")
    if is_list(kind) and {"object", "array"} & {*kind}:
        raise _NotStrict
    if kind == "array":
        return {"items": _strict(members.get("items"))}
    return _strict_object(members) if is_object_schema(members) else {}


def _strict_object(members: Schema) -> Schema:
    properties = members.get("properties")
    if not is_object(properties) or members.get("additionalProperties", False) is not False:
        raise _NotStrict
    required = members.get("required", ())
    return {
        "type": "object",
        "properties": {
            name: _strict(member) if name in required else _nullable(_strict(member))
            for name, member in properties.items()
        },
        "required": [*properties],
        "additionalProperties": False,
    }


def _nullable(schema: Schema) -> Schema:
    return schema if _allows_null(schema, schema) else {"anyOf": [schema, {"type": "null"}]}


def _allows_null(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    schema = resolved(schema, root)
    kind = schema.get("type")
    if kind == "null" or (is_list(kind) and "null" in kind):
        return True
    values = schema.get("enum") or [schema.get("const", "")]
    branches: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
    return None in values or any(_allows_null(branch, root) for branch in branches)


# -- answers


def without_nulls(value: Any, schema: Mapping[str, Any]) -> Any:
    """A copy of an answer without the members that are null only because strict mode has no missing ones."""
    return _without_nulls(value, schema, schema)


def _without_nulls(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    schema = _branch(value, resolved(schema, root), root)
    if is_list(value):
        items = mapping(schema.get("items"))
        return [_without_nulls(item, items, root) for item in value]
    if not is_object(value):
        return value
    properties = mapping(schema.get("properties"))
    optional = properties.keys() - {*schema.get("required", ())}
    return {
        name: _without_nulls(member, mapping(properties.get(name)), root)
        for name, member in value.items()
        if not (member is None and name in optional and not _allows_null(mapping(properties[name]), root))
    }


def _branch(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first of a schema's alternatives that an object or array may be meant by; the schema if it has none."""
    branches = schema.get("anyOf") or schema.get("oneOf")
    if not branches:
        return schema
    for branch in branches:
        found = _branch(value, resolved(branch, root), root)
        if _may_mean(found, value):
            return found
    return Schema()


def _may_mean(schema: Mapping[str, Any], value: Any) -> bool:
    if is_list(value):
        return schema.get("type") == "array"
    if not is_object(value) or not is_object_schema(schema):
        return False
    known = {name: mapping(member) for name, member in mapping(schema.get("properties")).items()}
    fixed = {name: member["const"] for name, member in known.items() if "const" in member}
    return value.keys() >= {*schema.get("required", ())} and all(value.get(name) == fixed[name] for name in fixed)
