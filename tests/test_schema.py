"""Python types and JSON Schemas as validators."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import socket
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from riverrun.errors import ConfigError, RiverrunError
from riverrun.schema import Fault, JsonSchema, Mismatch, PythonType, validator, without_titles


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class City(BaseModel):
    """A place."""

    title: str
    inhabitants: int = Field(default=0, ge=0)


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Options(TypedDict, total=False):
    verbose: bool


def faults(check: Any, value: object) -> list[str]:
    with pytest.raises(Mismatch) as caught:
        check.validate(value)
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("wanted", "schema"),
    [
        (int, {"type": "integer"}),
        (Any, {}),
        (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (Colour, {"enum": ["red", "blue"], "type": "string"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (
            Annotated[int, Field(ge=1, description="How many")],
            {"type": "integer", "minimum": 1, "description": "How many"},
        ),
        (
            City,
            {
                "type": "object",
                "description": "A place.",
                "properties": {
                    "title": {"type": "string"},
                    "inhabitants": {"type": "integer", "default": 0, "minimum": 0},
                },
                "required": ["title"],
            },
        ),
        (
            Point,
            {
                "type": "object",
                "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0.0}},
                "required": ["x"],
            },
        ),
        (Options, {"type": "object", "properties": {"verbose": {"type": "boolean"}}}),
    ],
)
def test_a_type_has_its_json_schema_without_titles(wanted: Any, schema: dict[str, Any]) -> None:
    assert PythonType(wanted, name="x").json_schema == schema


@pytest.mark.parametrize(
    ("wanted", "value", "made"),
    [
        (City, {"title": "Oslo"}, City(title="Oslo")),
        (list[Point], [{"x": 1}], [Point(1.0)]),
        (Colour, "blue", Colour.BLUE),
        (datetime.date, "2024-01-02", datetime.date(2024, 1, 2)),
        (int, "5", 5),
        (Options, {"verbose": True}, {"verbose": True}),
        (tuple[int, str], [1, "a"], (1, "a")),
    ],
)
def test_a_json_value_becomes_the_value_of_the_type(wanted: Any, value: object, made: object) -> None:
    assert PythonType(wanted, name="x").validate(value) == made


def test_a_value_that_does_not_fit_a_type_is_refused_with_path_and_reason() -> None:
    found = faults(PythonType(list[City], name="x"), [{"title": "Oslo"}, {"inhabitants": -1}])
    assert found == ["1.title: Field required", "1.inhabitants: Input should be greater than or equal to 0"]


def test_a_type_without_a_schema_is_a_config_error_that_names_its_owner() -> None:
    with pytest.raises(ConfigError, match=r'tool "x".*socket'):
        PythonType(socket.socket, name='tool "x"')


def test_a_name_that_is_no_class_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match="x: "):
        PythonType("Missing", name="x")


SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "default": 3, "minimum": 1},
        "unit": {"enum": ["C", "F"]},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
    },
    "required": ["city"],
}


def test_a_value_that_fits_a_json_schema_comes_back_as_it_is() -> None:
    value = {"city": "Oslo", "more": 1}
    assert JsonSchema(SCHEMA, name="x").validate(value) is value


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({}, ["root: must have required property 'city'"]),
        (42, ["root: must be object"]),
        ({"city": 5}, ["city: must be string"]),
        ({"city": "a", "days": "3"}, ["days: must be integer"]),
        ({"city": "a", "where": '{"lat":1}'}, ["where: must be object"]),
        ({"city": "a", "where": {}}, ["where: must have required property 'lat'"]),
        ({"city": "a", "unit": "K"}, ['unit: must be one of ["C","F"]']),
        ({"city": "a", "days": 0}, ["days: value is less than the minimum of 1"]),
        ({"city": 1, "days": None}, ["city: must be string", "days: must be integer"]),
    ],
)
def test_a_value_that_does_not_fit_a_json_schema_is_refused_with_path_and_reason(
    value: object, found: list[str]
) -> None:
    assert faults(JsonSchema(SCHEMA, name="x"), value) == found


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        ({"type": ["string", "null"]}, 1, "root: must be null,string"),
        ({"const": {"a": 1}}, 1, 'root: must be {"a":1}'),
        (
            {"properties": {"a": {}}, "additionalProperties": False},
            {"a": 1, "b": 2, "c": 3},
            "root: must not have additional properties: b, c",
        ),
        ({"properties": {"a": False}}, {"a": 1}, "a: is not allowed"),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, None, "root: must be string or must be number"),
        (
            {"oneOf": [{"type": "string"}, {"properties": {"a": {"type": "string"}}}]},
            {"a": 1},
            "root: must be string or a: must be string",
        ),
        ({"maxLength": 2}, "secret", "root: value is longer than 2 characters"),
        ({"prefixItems": [{"type": "string"}]}, [1], "0: must be string"),
    ],
)
def test_reasons_are_in_words_that_say_what_to_do(schema: dict[str, Any], value: object, found: str) -> None:
    assert faults(JsonSchema(schema, name="x"), value) == [found]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"$ref": "#/$defs/none"},
        {"type": "object", "properties": 5},
        {"$schema": "http://nope.invalid", "type": "object"},
        {"type": "string", "pattern": "("},
        {"default": object()},
    ],
)
def test_a_wrong_schema_is_a_config_error_that_names_its_owner(schema: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match='tool "x": this is no valid JSON Schema'):
        JsonSchema(schema, name='tool "x"')


@pytest.mark.parametrize("reference", ["file:///etc/hostname", "https://example.invalid/schema.json"])
def test_a_schema_never_reaches_for_files_or_the_network(reference: str) -> None:
    with pytest.raises(ConfigError, match="Retrieval is disabled"):
        JsonSchema({"$ref": reference}, name="x")


def test_a_schema_of_an_older_draft_is_judged_by_that_draft() -> None:
    old = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}
    assert faults(JsonSchema(old, name="x"), [1]) == ["0: must be string"]


def test_a_value_with_faults_without_end_names_the_first_fifty() -> None:
    assert len(faults(JsonSchema({"items": {"type": "string"}}, name="x"), [0] * 1000)) == 50
    assert len(faults(PythonType(list[int], name="x"), ["x"] * 1000)) == 50


def test_a_mapping_is_taken_for_a_schema_and_anything_else_for_a_type() -> None:
    assert isinstance(validator({"type": "string"}, name="x"), JsonSchema)
    assert isinstance(validator(str, name="x"), PythonType)


def test_a_mismatch_is_a_riverrun_error_with_one_line_for_each_fault() -> None:
    error = Mismatch([Fault(("a", 0), "is wrong"), Fault((), "is odd")])
    assert isinstance(error, RiverrunError)
    assert str(error) == "a.0: is wrong\nroot: is odd"


def test_titles_go_and_members_named_title_stay() -> None:
    schema = {
        "title": "Book",
        "properties": {"title": {"title": "Title", "type": "string", "default": {"title": "x"}}},
        "$defs": {"title": {"title": "T", "enum": [{"title": 1}]}},
        "anyOf": [{"title": "A", "const": {"title": 2}}],
    }
    assert without_titles(schema) == {
        "properties": {"title": {"type": "string", "default": {"title": "x"}}},
        "$defs": {"title": {"enum": [{"title": 1}]}},
        "anyOf": [{"const": {"title": 2}}],
    }
