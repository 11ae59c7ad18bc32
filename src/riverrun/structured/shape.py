"""JSON Schemas in the shape that models are asked in: an object at the top, closed objects, references that hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from riverrun.chunks.envelope import is_list, is_object, mapping

Kind: TypeAlias = Literal["object", "array", "enum", "value"]
"""What an output is: an object, an array, one of some values, or any other value."""

Schema: TypeAlias = dict[str, Any]

DEFINITIONS = ("$defs", "definitions")
"""The members of a schema that hold others, for references."""
_MOST_REFERENCES = 20


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that this one refers to, by references inside of `root`, or this one when it is none."""
    for _ in range(_MOST_REFERENCES):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            break
        schema = root
        for step in reference.split("/")[1:]:
            schema = mapping(schema.get(step.replace("~1", "/").replace("~0", "~")))
    return schema


def with_own_top(schema: Mapping[str, Any]) -> Schema:
    """The schema with what it refers to in place of a reference at its top."""
    definitions = {name: schema[name] for name in DEFINITIONS if name in schema}
    return {**resolved(schema, schema), **definitions}


def kind_of(schema: Mapping[str, Any]) -> Kind:
    """The kind of the values that a schema describes."""
    if "enum" in schema or "const" in schema:
        return "enum"
    if is_object_schema(schema):
        return "object"
    return "array" if schema.get("type") == "array" else "value"


def is_object_schema(schema: Mapping[str, Any]) -> bool:
    """Whether the values are objects, and nothing else."""
    kind: object = schema.get("type", "object" if "properties" in schema else None)
    return kind == "object"


def wrapped(schema: Mapping[str, Any], member: str) -> Schema:
    """The schema of objects with one member, of which this is the schema."""
    top = {name: schema[name] for name in (*DEFINITIONS, "$schema") if name in schema}
    inner = {name: value for name, value in schema.items() if name not in top}

    def moved(part: Schema) -> Schema:
        reference = part.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#") or is_to_definition(reference):
            return part
        return {**part, "$ref": f"#/properties/{member}{reference[1:]}"}

    outer = {
        "type": "object",
        "properties": {member: inner},
        "required": [member],
        "additionalProperties": False,
    }
    return _each(top | outer, moved)


def is_to_definition(reference: str) -> bool:
    """Whether a reference is to one of the schema's definitions."""
    return reference.startswith(tuple(f"#/{name}/" for name in DEFINITIONS))


def closed(schema: Mapping[str, Any]) -> Schema:
    """The schema with `additionalProperties: false` in every object that does not say which other members it may have.

    Models do better with it, and some providers insist. A schema that is put together out of several stays as it is:
    each of them would refuse the members of the others.
    """
    try:
        return _each(schema, _close)
    except _Composed:
        return dict(schema)


class _Composed(Exception):
    """A schema of objects consists of several."""


_OTHER_MEMBERS = {"additionalProperties", "unevaluatedProperties", "patternProperties"}
_COMPOSING = {"anyOf", "oneOf", "if", "not"}


def _close(part: Schema) -> Schema:
    if part.keys() & {"allOf", "$dynamicRef"} or ("properties" in part and part.keys() & _COMPOSING):
        raise _Composed
    if "properties" in part and is_object_schema(part) and not part.keys() & _OTHER_MEMBERS:
        return {**part, "additionalProperties": False}
    return part


_NAMED_SCHEMAS = {"properties", "patternProperties", "dependentSchemas", *DEFINITIONS}
_NO_SCHEMAS = {"default", "const", "enum", "examples", "required"}


def _each(schema: Mapping[str, Any], change: Callable[[Schema], Schema]) -> Schema:
    """The schema, with all schemas in it and at last itself changed."""

    def walk(part: Any) -> Any:
        if is_list(part):
            return [walk(item) for item in part]
        return _each(part, change) if is_object(part) else part

    out: Schema = {}
    for name, member in schema.items():
        if name in _NAMED_SCHEMAS:
            out[name] = {key: walk(named) for key, named in mapping(member).items()}
        else:
            out[name] = member if name in _NO_SCHEMAS else walk(member)
    return change(out)
