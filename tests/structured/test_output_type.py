"""An output type knows what to tell the model and makes the wanted value of its answer."""

from __future__ import annotations

import datetime
from collections import deque
from typing import Annotated, Any, Literal

import pytest
from msgspec import UNSET
from pydantic import BaseModel, Field, RootModel

from riverrun.errors import ConfigError
from riverrun.schema import Mismatch
from riverrun.structured import OutputType
from tests.structured.material import PERSON_SCHEMA, Options, Person, Point, Weather

Names = RootModel[list[str]]


class Node(BaseModel):
    value: int
    below: list[Node] = []


class Event(BaseModel):
    at: datetime.date = Field(alias="when")


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
CLOSED = {"additionalProperties": False}


def in_wrapper(name: str, inner: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: inner}, "required": [name], **CLOSED, **more}


@pytest.mark.parametrize(
    ("wanted", "kind", "schema"),
    [
        (Person, "object", PERSON | CLOSED),
        (PERSON_SCHEMA, "object", PERSON_SCHEMA | CLOSED),
        (
            Point,
            "object",
            {
                "type": "object",
                "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0.0}},
                "required": ["x"],
                **CLOSED,
            },
        ),
        (Options, "object", {"type": "object", "properties": {"verbose": {"type": "boolean"}}, **CLOSED}),
        (dict[str, int], "object", {"type": "object", "additionalProperties": {"type": "integer"}}),
        (list[int], "array", in_wrapper("elements", {"type": "array", "items": {"type": "integer"}})),
        (Names, "array", in_wrapper("elements", {"type": "array", "items": {"type": "string"}})),
        (
            list[Person],
            "array",
            in_wrapper(
                "elements",
                {"type": "array", "items": {"$ref": "#/$defs/Person"}},
                **{"$defs": {"Person": PERSON | CLOSED}},
            ),
        ),
        (Weather, "enum", in_wrapper("result", {"enum": ["sunny", "rainy"], "type": "string"})),
        (Literal["a", "b"], "enum", in_wrapper("result", {"enum": ["a", "b"], "type": "string"})),
        (["a", "b"], "enum", in_wrapper("result", {"type": "string", "enum": ["a", "b"]})),
        (deque(["a", "b"]), "enum", in_wrapper("result", {"type": "string", "enum": ["a", "b"]})),
        (Literal["a"], "enum", in_wrapper("result", {"const": "a", "type": "string"})),
        (int, "value", in_wrapper("result", {"type": "integer"})),
        (int | None, "value", in_wrapper("result", {"anyOf": [{"type": "integer"}, {"type": "null"}]})),
        (
            Person | None,
            "value",
            in_wrapper(
                "result",
                {"anyOf": [{"$ref": "#/$defs/Person"}, {"type": "null"}]},
                **{"$defs": {"Person": PERSON | CLOSED}},
            ),
        ),
    ],
)
def test_each_kind_of_type_is_asked_for_as_an_object(wanted: Any, kind: str, schema: dict[str, Any]) -> None:
    made = OutputType(wanted)
    assert made.kind == kind
    assert made.json_schema == schema


def test_a_type_that_holds_itself_has_its_members_at_the_top() -> None:
    schema = OutputType(Node).json_schema
    assert schema["type"] == "object"
    assert schema["properties"]["below"]["items"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("wanted", "answer", "value"),
    [
        (Person, {"name": "Ada", "age": "36"}, Person(name="Ada", age=36)),
        (Point, {"x": 1}, Point(1.0, 0.0)),
        (Options, {"verbose": True}, {"verbose": True}),
        (PERSON_SCHEMA, {"name": "Ada", "age": 36, "x": 1}, {"name": "Ada", "age": 36, "x": 1}),
        (list[Point], {"elements": [{"x": 1}]}, [Point(1.0)]),
        (list[Point], [{"x": 1}], [Point(1.0)]),
        (Names, {"elements": ["a"]}, Names(["a"])),
        (set[int], {"elements": [1, 1]}, {1}),
        (Weather, {"result": "rainy"}, Weather.RAINY),
        (Weather, "rainy", Weather.RAINY),
        (["a", "b"], {"result": "a"}, "a"),
        (int, {"result": 3}, 3),
        (int | None, {"result": None}, None),
        (datetime.date, {"result": "2024-01-02"}, datetime.date(2024, 1, 2)),
        (Person | Point, {"name": "Ada", "age": 1}, Person(name="Ada", age=1)),
        (Node, {"value": 1, "below": [{"value": 2}]}, Node(value=1, below=[Node(value=2)])),
    ],
)
def test_an_answer_becomes_the_wanted_value_in_its_wrapper_or_without(wanted: Any, answer: Any, value: Any) -> None:
    assert OutputType(wanted).validate(answer) == value


@pytest.mark.parametrize(
    ("wanted", "answer", "told"),
    [
        (Person, {"name": "Ada"}, ["age: Field required"]),
        (PERSON_SCHEMA, {"age": "x"}, ["age: must be number", "root: must have required property 'name'"]),
        (list[int], {"elements": [1, "x"]}, ["1: Input should be a valid integer"]),
        ({"type": "array", "items": {}}, {"items": []}, ["root: must be array"]),
        (["a", "b"], {"result": "c"}, ['root: must be one of ["a","b"]']),
        (["a", "b"], {"choice": "a"}, ['root: must be one of ["a","b"]', "root: must be string"]),
    ],
)
def test_what_does_not_fit_is_told(wanted: Any, answer: Any, told: list[str]) -> None:
    with pytest.raises(Mismatch) as caught:
        OutputType(wanted).validate(answer)
    faults = sorted(str(fault) for fault in caught.value.faults)
    assert len(faults) == len(told)
    assert all(fault.startswith(begin) for fault, begin in zip(faults, told, strict=True))


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("City", "answer: a text is no type"),
        ([], "answer: a list of choices is one or more different texts"),
        (["a", "a"], "answer: a list of choices"),
        (["a", 1], "answer: a list of choices"),
        (object(), "answer: "),
        (lambda: 1, "answer: a function is no type"),
        ({"type": "objekt"}, "answer: this is no valid JSON Schema"),
    ],
)
def test_what_is_no_type_is_refused_by_its_name(wanted: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        OutputType(wanted, name="answer")


@pytest.mark.parametrize(
    ("wanted", "value", "json"),
    [
        (Person, Person(name="Ada", age=36), {"name": "Ada", "age": 36}),
        (Event, Event(when=datetime.date(2024, 1, 2)), {"when": "2024-01-02"}),
        (list[Point], [Point(1.0)], [{"x": 1.0, "y": 0.0}]),
        (Weather, Weather.SUNNY, "sunny"),
        (Names, Names(["a"]), ["a"]),
        (Any, {"a": [1, 10**30, None]}, {"a": [1, 10**30, None]}),
    ],
)
def test_a_value_has_its_json_in_the_names_of_the_schema(wanted: Any, value: Any, json: Any) -> None:
    assert OutputType(wanted).dump(value) == json


def test_the_json_of_a_value_shares_nothing_with_it() -> None:
    value = {"a": [1]}
    assert OutputType(dict[str, Any]).dump(value)["a"] is not value["a"]


def test_a_value_without_json_is_told_by_its_type() -> None:
    with pytest.raises(TypeError, match="a value of type object has no JSON form"):
        OutputType(Any).dump(object())


@pytest.mark.parametrize(
    ("wanted", "text", "value"),
    [
        (["a b", "c"], " a b\n", "a b"),
        (["a", "b"], '"a"', "a"),
        (["a", "b"], "c", UNSET),
        (Weather, "sunny", "sunny"),
        (int, "42", 42),
        (int, "about 42", UNSET),
        (bool, "true", True),
        (int, "```json\n42\n```", 42),
        (["a", "b"], "```\na\n```", "a"),
        (str, '"hello"', "hello"),
        (str, '```json\n"hello"\n```', "hello"),
        (str, "42", UNSET),
        (Person, "null", UNSET),
        (list[int], "1", UNSET),
    ],
)
def test_a_scalar_may_stand_alone_where_one_is_wanted(wanted: Any, text: str, value: Any) -> None:
    assert OutputType(wanted).bare(text) == value


@pytest.mark.parametrize(
    ("wanted", "text", "value"),
    [
        (str, " hello\n", "hello"),
        (str, "42", "42"),
        (str, "  ", UNSET),
        ({"type": "string"}, "hello", "hello"),
        (datetime.date, "2024-01-02", "2024-01-02"),
        (int, "hello", UNSET),
        (["a", "b"], "hello", UNSET),
        (Person, "hello", UNSET),
    ],
)
def test_a_text_is_what_was_said_where_one_is_wanted(wanted: Any, text: str, value: Any) -> None:
    assert OutputType(wanted).prose(text) == value


def test_descriptions_reach_the_model() -> None:
    class Place(BaseModel):
        """Somewhere."""

        city: Annotated[str, Field(description="Its name", min_length=1)]

    schema = OutputType(Place).json_schema
    assert schema["description"] == "Somewhere."
    assert schema["properties"]["city"] == {"type": "string", "description": "Its name", "minLength": 1}
