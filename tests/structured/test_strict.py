"""The schema for a strict mode requires everything and is closed; nulls for what is missing are taken out again."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from riverrun.models.openai_format import named_schema
from riverrun.schema import JsonSchema
from riverrun.structured import OutputType
from riverrun.structured.strict import strict_schema, without_nulls
from tests.structured.material import Person

TEXT = {"type": "string"}
NULL = {"type": "null"}


def obj(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required or [], **more}


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str] = []


class Owner(BaseModel):
    pet: Cat | Dog
    friend: Owner | None = None
    nick: str = "none"


def test_what_may_be_missing_may_be_null_instead() -> None:
    assert strict_schema(obj({"name": TEXT, "nick": TEXT, "note": {"type": ["string", "null"]}}, ["name"])) == {
        "type": "object",
        "properties": {
            "name": TEXT,
            "nick": {"anyOf": [TEXT, NULL]},
            "note": {"type": ["string", "null"]},
        },
        "required": ["name", "nick", "note"],
        "additionalProperties": False,
    }


def test_it_holds_at_every_depth() -> None:
    inner = obj({"a": {"type": "array", "items": obj({"b": TEXT})}})
    strict = strict_schema({"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": inner}})
    assert strict is not None
    assert strict["properties"]["x"] == {"anyOf": [{"$ref": "#/$defs/X"}, NULL]}
    items = strict["$defs"]["X"]["properties"]["a"]["anyOf"][0]["items"]
    assert (items["required"], items["additionalProperties"]) == (["b"], False)


def test_only_what_strict_mode_knows_is_sent() -> None:
    told = {
        "a": {
            "type": "string",
            "format": "uri",
            "minLength": 1,
            "pattern": "(?i)x",
            "description": "A",
            "default": "x",
        },
        "b": {"type": "string", "format": "date", "pattern": "^x$", "examples": ["x"]},
        "c": {"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True},
    }
    strict = strict_schema(obj(told, ["a", "b", "c"]))
    assert strict is not None
    assert strict["properties"] == {
        "a": {"type": "string", "description": "A"},
        "b": {"type": "string", "format": "date", "pattern": "^x$"},
        "c": {"type": "array", "items": TEXT, "minItems": 1},
    }


@pytest.mark.parametrize(
    "member",
    [
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": TEXT},
        obj({}, additionalProperties=True),
        obj({}, patternProperties={"^x": TEXT}),
        {"type": "array"},
        {"type": "array", "prefixItems": [TEXT]},
        {"type": ["object", "null"], "properties": {}},
        {"allOf": [TEXT]},
        {"$ref": "#/properties/other"},
        {"anyOf": [TEXT, {}]},
    ],
)
def test_what_strict_mode_cannot_say_has_no_strict_schema(member: dict[str, Any]) -> None:
    assert strict_schema(obj({"x": member})) is None
    assert strict_schema(obj({"x": {"type": "array", "items": member}})) is None


@pytest.mark.parametrize("schema", [TEXT, {"type": "object", "properties": {}, "anyOf": [obj({})]}])
def test_the_top_is_one_object(schema: dict[str, Any]) -> None:
    assert strict_schema(schema) is None


@pytest.mark.parametrize("wanted", [Person, Owner, list[Owner], Literal["a", "b"], int | None, Cat | Dog])
def test_openai_takes_the_strict_schema_of_usual_types(wanted: Any) -> None:
    strict = OutputType(wanted).strict_schema
    assert strict is not None
    assert named_schema(strict)["strict"] is True


def test_nulls_that_stand_for_missing_members_are_taken_out() -> None:
    owner = OutputType(Owner)
    answer = {
        "pet": {"kind": "dog", "tricks": None},
        "friend": {"pet": {"kind": "cat", "lives": None}, "friend": None, "nick": "Bo"},
        "nick": None,
    }
    friend = Owner(pet=Cat(kind="cat"), nick="Bo")
    assert owner.validate(answer, strict=True) == Owner(pet=Dog(kind="dog"), friend=friend)
    assert OutputType(list[Owner]).validate({"elements": [answer] * 100}, strict=True)[99].friend == friend


def test_a_null_that_is_meant_stays() -> None:
    schema = obj(
        {"a": {"type": ["string", "null"]}, "b": {"enum": ["x", None]}, "c": {"const": None}, "d": TEXT}, ["d"]
    )
    answer = {"a": None, "b": None, "c": None, "d": None, "e": None}
    assert without_nulls(answer, schema) == answer


def test_the_answer_itself_is_left_as_it_is() -> None:
    answer = {"x": {"nick": None}}
    assert without_nulls(answer, obj({"x": obj({"nick": TEXT})})) == {"x": {}}
    assert answer == {"x": {"nick": None}}


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """Objects with members that may be missing or null, objects and arrays among them."""
    kinds: list[Any] = [st.sampled_from([TEXT, {"type": "integer"}, {"type": ["string", "null"]}])]
    if depth:
        below = schemas(depth=depth - 1)
        kinds += [below, below.map(lambda items: {"type": "array", "items": items}), below.map(_or_null)]
        kinds += [below.map(lambda items: _or_null({"type": "array", "items": items}))]
    properties = draw(st.dictionaries(st.sampled_from("abcd"), st.one_of(kinds), max_size=3))
    return obj(
        properties, draw(st.lists(st.sampled_from(sorted(properties) or [""]), unique=True)) if properties else []
    )


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, NULL]}


def answers(strict: Any) -> st.SearchStrategy[Any]:
    """Answers that the strict schema takes."""
    if "anyOf" in strict:
        return st.one_of([answers(branch) for branch in strict["anyOf"]])
    match strict["type"]:
        case "object":
            return st.fixed_dictionaries({name: answers(member) for name, member in strict["properties"].items()})
        case "array":
            return st.lists(answers(strict["items"]), max_size=2)
        case "string":
            return st.text(max_size=2)
        case "integer":
            return st.integers(0, 9)
        case "null":
            return st.none()
        case kinds:
            return st.one_of([answers({"type": kind}) for kind in kinds])


@given(schemas(), st.data())
@settings(max_examples=100, deadline=None)
def test_what_fits_the_strict_schema_fits_the_schema_without_its_nulls(
    schema: dict[str, Any], data: st.DataObject
) -> None:
    strict = strict_schema(schema)
    assert strict is not None
    answer = data.draw(answers(strict))
    JsonSchema(strict, name="strict").validate(answer)
    JsonSchema(schema, name="schema").validate(without_nulls(answer, schema))
