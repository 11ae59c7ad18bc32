"""JSON Schemas as the API takes them for an answer: closed, and without what it cannot hold an answer to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import is_list, is_object, mapping

_DEFINITIONS = "#/$defs/"


def answer_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in the form that the API takes, as the SDK makes it; None when it has no such form: when an object may
    have members that it does not name, or when it refers to itself.

    Bounds and the like become part of the descriptions, so that the model knows of them all the same.
    """
    from anthropic import transform_schema

    if not _Definitions(schema).fits(schema):
        return None
    try:
        return transform_schema(dict(schema))
    except (ValueError, TypeError, AttributeError, AssertionError):  # an unknown type, or none at all
        return None


class _Definitions:
    """What the references of one schema lead to."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._schemas = {_DEFINITIONS + name: mapping(inner) for name, inner in mapping(root.get("$defs")).items()}
        self._fits: dict[object, bool] = {}

    def fits(self, schema: Mapping[str, Any]) -> bool:
        """Whether all objects of the schema are closed, and no reference leads back to itself."""
        if "$ref" in schema:
            return self._target_fits(str(schema["$ref"]))
        return not _is_open(schema) and all(self.fits(inner) for inner in _parts(schema))

    def _target_fits(self, reference: str) -> bool:
        if reference not in self._fits:
            self._fits[reference] = False  # while it is looked at: whoever comes here again comes in a circle
            self._fits[reference] = reference in self._schemas and self.fits(self._schemas[reference])
        return self._fits[reference]


def _is_open(schema: Mapping[str, Any]) -> bool:
    others = schema.get("additionalProperties")
    is_nameless = schema.get("type") == "object" and not mapping(schema.get("properties"))
    return "patternProperties" in schema or others not in (None, False) or (is_nameless and others is None)


def _parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts: list[object] = [*mapping(schema.get("properties")).values(), schema.get("items")]
    for name in ("anyOf", "oneOf", "allOf"):
        variants = schema.get(name)
        parts += variants if is_list(variants) else ()
    return [part for part in parts if is_object(part)]
