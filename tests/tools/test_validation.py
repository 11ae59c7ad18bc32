"""What goes into tools and comes out of them."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel

from riverrun.schema import Fault, JsonSchema, Mismatch, PythonType
from riverrun.tools.validation import check_json, failure, is_failure, snapshot, validated

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "note": {"type": ["string", "null"]},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}}},
        "more": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}},
    },
    "required": ["city"],
}


class Place(BaseModel):
    city: str
    days: int = 3
    where: Place | int = 0


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        ({"city": "a", "days": None}, {"city": "a"}),
        ({"city": "a", "note": None}, {"city": "a", "note": None}),
        ({"city": "a", "other": None}, {"city": "a", "other": None}),
        ({"city": "a", "where": {"lat": None, "x": 1}}, {"city": "a", "where": {"x": 1}}),
        ({"city": "a", "more": [{"x": 1}, {"x": None}]}, {"city": "a", "more": [{"x": 1}, {}]}),
    ],
)
def test_null_for_what_may_be_missing_but_not_null_is_taken_as_missing(
    value: dict[str, Any], taken: dict[str, Any]
) -> None:
    before = repr(value)
    assert validated(JsonSchema(SCHEMA, name="x"), value) == taken
    assert repr(value) == before


def test_null_for_a_parameter_with_a_default_brings_the_default_in() -> None:
    place = validated(PythonType(Place, name="x"), {"city": "a", "days": None, "where": {"city": "b", "days": None}})
    assert place == Place(city="a", days=3, where=Place(city="b"))


def test_null_for_a_required_member_is_refused() -> None:
    with pytest.raises(Mismatch, match="city: must be string"):
        validated(JsonSchema(SCHEMA, name="x"), {"city": None})


def test_of_several_faults_those_are_told_that_leaving_nulls_out_does_not_mend() -> None:
    with pytest.raises(Mismatch) as caught:
        validated(JsonSchema(SCHEMA, name="x"), {"city": 1, "days": None})
    assert caught.value.faults == (Fault(("city",), "must be string"),)


def test_a_failure_tells_the_model_what_to_mend() -> None:
    mismatch = Mismatch([Fault((), "must have required property 'city'"), Fault(("days", 0), "must be integer")])
    assert failure("input", "weather", mismatch, {"days": ["x"]}) == {
        "error": True,
        "message": (
            "Tool input validation failed for weather. Please fix the following errors and try again:\n"
            "- root: must have required property 'city'\n"
            "- days.0: must be integer\n\n"
            'Provided arguments: {\n  "days": [\n    "x"\n  ]\n}'
        ),
        "validationErrors": {
            "errors": ["must have required property 'city'"],
            "fields": {
                "days": {"errors": [], "fields": {"0": {"errors": ["must be integer"], "fields": {}}}},
            },
        },
    }


def test_a_failure_stays_short_for_huge_arguments() -> None:
    mismatch = Mismatch([Fault((number,), "x" * 1000) for number in range(50)])
    result = failure("input", "weather", mismatch, ["y" * 100_000])
    assert len(result["message"]) < 10_000
    assert "- and 30 more" in result["message"]
    assert result["message"].endswith("more characters)")


def test_a_failure_is_known_from_other_results() -> None:
    assert is_failure(failure("output", "x", Mismatch([Fault((), "is wrong")]), None))
    assert not is_failure({"error": True, "message": "no"})
    assert not is_failure(None)


@dataclasses.dataclass
class Row:
    connection: object


class Broken(BaseModel):
    value: object


a_cycle: list[Any] = [1]
a_cycle.append({"again": a_cycle})
a_deep_list: list[Any] = []
for _ in range(5000):
    a_deep_list = [a_deep_list]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (lambda: 1, "the result has no JSON form: a value of type function"),
        ([1, {"a": Row(asyncio.Event)}], "the result has no JSON form: at 1.a.connection, a value of type type"),
        ({"a": {(1, 2): 3}}, "the result has no JSON form: at a, a key of type tuple"),
        (a_cycle, "the result has no JSON form: at 1.again, a list that contains itself"),
        (a_deep_list, f"the result has no JSON form: at {'.'.join('0' * 10)}, a list too deep inside others"),
        (iter([1]), "the result has no JSON form: a value of type list_iterator"),
    ],
)
def test_a_value_without_a_json_form_is_refused_with_place_and_type(value: object, reason: str) -> None:
    with pytest.raises(TypeError) as caught:
        check_json(value, what="the result")
    assert str(caught.value).startswith(reason)


def test_a_model_that_cannot_be_dumped_is_refused() -> None:
    with pytest.raises(TypeError, match=r"a value of type .*Broken \("):
        check_json(Broken(value=lambda: 1), what="the result")


def test_values_that_have_a_json_form_pass() -> None:
    check_json({"a": [Place(city="x"), Row(b"bytes"), {1, 2}, ValueError("x"), 1.5, None], 1: 2}, what="the result")


def test_a_snapshot_copies_containers_and_keeps_what_is_in_them() -> None:
    place = Place(city="x")
    value = {"a": [place, {"b": 1}]}
    taken = snapshot(value, what="x")
    value["a"].append(1)  # type: ignore[arg-type]
    assert taken == {"a": [place, {"b": 1}]}
    assert taken["a"][0] is place
