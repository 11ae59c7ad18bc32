"""Schemas keep their meaning when they are put into the shape that models are asked in."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.schema import JsonSchema, Mismatch
from riverrun.structured.shape import closed, resolved, with_own_top, wrapped

TEXT = {"type": "string"}
A = {"type": "object", "properties": {"a": TEXT}}


def fits(schema: dict[str, Any], value: object) -> bool:
    try:
        JsonSchema(schema, name="schema").validate(value)
    except Mismatch:
        return False
    return True


def test_references_in_a_wrapped_schema_still_hold() -> None:
    tree = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "array",
        "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/word"}, {"$ref": "#/$defs/pair/items"}]},
        "$defs": {"word": TEXT, "pair": {"type": "array", "items": {"type": "integer"}}},
    }
    schema = wrapped(tree, "elements")
    assert schema["$schema"] == tree["$schema"]
    assert fits(schema, {"elements": ["a", [["b"], 1]]})
    assert not fits(schema, {"elements": ["a", [[True]]]})


def test_a_property_that_is_named_like_a_keyword_is_a_property() -> None:
    properties = dict.fromkeys(("$ref", "allOf", "properties", "required", "enum"), TEXT)
    schema: dict[str, Any] = {
        "type": "array",
        "items": {"type": "object", "properties": properties, "default": {"$ref": "#/x"}},
    }
    items = wrapped(closed(schema), "elements")["properties"]["elements"]["items"]
    assert items == {**schema["items"], "additionalProperties": False}


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [A, {"type": "object", "properties": {"b": TEXT}}]},
        {**A, "anyOf": [{"properties": {"b": TEXT}}, {"properties": {"c": TEXT}}]},
        {**A, "additionalProperties": TEXT},
        {**A, "additionalProperties": True},
        {**A, "patternProperties": {"^x": TEXT}},
        {"type": "object"},
        TEXT,
    ],
)
def test_objects_that_say_what_else_they_take_or_consist_of_several_stay_open(schema: dict[str, Any]) -> None:
    assert closed(schema) == schema


def test_all_other_objects_are_closed() -> None:
    schema = {"anyOf": [A, {"type": "array", "items": A}], "$defs": {"a": {"properties": {"b": A}}}}
    shut = {**A, "additionalProperties": False}
    assert closed(schema) == {
        "anyOf": [shut, {"type": "array", "items": shut}],
        "$defs": {"a": {"properties": {"b": shut}, "additionalProperties": False}},
    }


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#/$defs/a~1b", TEXT),
        ("#/$defs/link", TEXT),
        ("#/$defs/none", {}),
        ("https://elsewhere/x", {"$ref": "https://elsewhere/x"}),
    ],
)
def test_a_reference_is_followed_inside_of_the_schema(reference: str, found: dict[str, Any]) -> None:
    root = {"$defs": {"a/b": TEXT, "link": {"$ref": "#/$defs/a~1b"}}}
    assert resolved({"$ref": reference}, root) == found


def test_a_reference_to_itself_comes_to_an_end() -> None:
    root = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert with_own_top(root) == root
