"""The object is read out of an answer while it comes; at the end it is the wanted value, or a failure says why."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator

from riverrun.chunks import ErrorChunk, ObjectChunk, ObjectResultChunk, encode, to_value
from riverrun.structured import ObjectReader, OutputType, StructuredOutput, StructuredOutputError
from riverrun.structured.reader import SHORT
from tests.structured.material import (
    PERSON_SCHEMA,
    Person,
    Weather,
    comparable,
    cut,
    read,
    recorded,
    reported,
)

ADA = '{"name":"Ada","age":36}'
HALF = '{"name":"Ada","age":'


# -- the recordings


def test_recorded_answers_give_the_recorded_chunks(shared: Path) -> None:
    deviations = json.loads((shared / "oracle/deviations.json").read_text("utf-8"))
    compared = 0
    for case in recorded(shared):
        if case.name in deviations:
            continue
        reader = ObjectReader(case.settings, run_id="run-1")
        told = [chunk for delta in case.deltas for chunk in reader.feed(delta)]
        assert comparable([*told, *reader.finish(case.reason).chunks]) == case.chunks, case.name
        compared += 1
    assert compared > 14


def test_a_bare_array_is_an_array(shared: Path) -> None:
    """object_array_bare, where we deliberately do better."""
    (case,) = [case for case in recorded(shared) if case.name == "object_array_bare"]
    told, outcome = read(case.settings, case.deltas)
    assert told == [["a"], ["a", "b"]]
    assert outcome.value == ["a", "b"]


def test_a_second_model_that_fails_fails_the_run(shared: Path) -> None:
    """object_structuring_model_invalid, where we deliberately do better."""
    (case,) = [case for case in recorded(shared) if case.name == "object_structuring_model_invalid"]
    _, outcome = read(case.settings, case.deltas)
    assert outcome.status == "failed"
    assert str(outcome.error) == "Structured output validation failed: - root: must have required property 'age'"


# -- reported faults


def test_vercel_ai_1508_partial_objects_come_once_each_in_order(shared: Path) -> None:
    report = reported(shared, "vercel/ai#1508")
    told, outcome = read(StructuredOutput({"type": "object"}), report["minimal_input"]["deltas"])
    assert told == report["expect"]["partials"]
    assert outcome.value == told[-1]


def test_onyx_9161_no_chunk_holds_half_a_surrogate_pair(shared: Path) -> None:
    report = reported(shared, "onyx-dot-app/onyx#9161")
    reader = ObjectReader(StructuredOutput({"type": "object"}), run_id="run-1")
    chunks = [chunk for delta in report["minimal_input"]["deltas"] for chunk in reader.feed(delta)]
    outcome = reader.finish("stop")
    assert [to_value(chunk)["object"] for chunk in chunks] == [{"a": ""}, {"a": "😀"}]
    assert b"\xf0\x9f\x98\x80" in encode(outcome.chunks[-1])
    assert outcome.value == report["expect"]["final"]


def test_assistant_ui_6355_a_lone_character_at_a_time_never_goes_backwards(shared: Path) -> None:
    report = reported(shared, "assistant-ui/assistant-ui#6355")
    told, outcome = read(StructuredOutput({"type": "object"}), cut(report["minimal_input"]["text"], 1))
    assert told[:4] == [{}, {"a": ""}, {"a": "😀"}, {"a": "😀x"}]
    assert [value for value in told if "d" in value] == [outcome.value]
    assert outcome.value == report["expect"]["final"]


def test_mastra_7864_a_fence_in_prose_is_seen_through_and_one_in_a_string_kept(shared: Path) -> None:
    report = reported(shared, "mastra-ai/mastra#7864")
    told, outcome = read(StructuredOutput({"type": "object"}), report["minimal_input"]["deltas"])
    assert told == [{}, {"name": "A```B"}]
    assert outcome.value == report["expect"]["final"]


# -- while it comes


def test_the_chunks_carry_run_origin_and_metadata() -> None:
    reader = ObjectReader(StructuredOutput(Person), run_id="run-7", metadata={"from": "structured-output"})
    for chunk in [*reader.feed(ADA), *reader.finish("stop").chunks]:
        assert (chunk.run_id, chunk.from_) == ("run-7", "AGENT")
        assert chunk.metadata == {"from": "structured-output"}


def test_a_short_answer_is_told_with_every_change() -> None:
    told, _ = read(StructuredOutput(PERSON_SCHEMA), cut(ADA, 1))
    assert told == [
        {},
        *[{"name": "Ada"[:size]} for size in range(4)],
        {"name": "Ada", "age": 3},
        {"name": "Ada", "age": 36},
    ]


def test_elements_are_told_when_they_are_worth_it() -> None:
    """Half a scalar and an empty container are left out, a growing object is not."""
    told, _ = read(StructuredOutput(list[Any]), cut('{"elements":["ab",12,{"a":1},[]]}', 1))
    assert told == [
        [],
        ["ab"],
        ["ab", 12],
        ["ab", 12, {"a": 1}],
        ["ab", 12, {"a": 1}, []],
    ]


def test_an_unfinished_member_behind_the_elements_takes_none_away() -> None:
    told, _ = read(StructuredOutput(list[str]), ['{"elements":["a","b"],', '"note":"x', '"}'])
    assert told == [["a", "b"]]


def test_a_choice_is_told_when_it_is_the_only_one_left() -> None:
    told, outcome = read(StructuredOutput(Weather), cut('{"result":"sunny"}', 1))
    assert told == ["sunny"]
    assert outcome.value is Weather.SUNNY


def test_what_is_none_of_the_choices_is_not_told() -> None:
    told, outcome = read(StructuredOutput(["sunny", "rainy"]), ['{"result":"f', 'oggy"}'])
    assert told == ["foggy"]
    assert outcome.status == "failed"


@pytest.mark.parametrize(
    ("type_", "text", "told"), [(int, '{"result":42}', [4, 42]), (str, '{"result":"a"}', ["", "a"])]
)
def test_other_values_are_told_without_their_wrapper(type_: type, text: str, told: list[object]) -> None:
    assert read(StructuredOutput(type_), cut(text, 1))[0] == told


@pytest.mark.parametrize("size", [1, 4, 50])
def test_what_is_told_of_a_long_answer_is_a_fixed_number_of_times_as_long(size: int) -> None:
    def told_of(length: int) -> tuple[int, int]:
        text = json.dumps([{"name": "Ada", "note": "x" * 40, "n": n} for n in range(length)])
        told, outcome = read(StructuredOutput(list[dict[str, Any]]), cut(text, size))
        assert told[-1] == outcome.value
        return len(text), sum(len(json.dumps(value)) for value in told)

    (short, told_short), (long, told_long) = told_of(250), told_of(1_000)
    assert told_long / long < 1.2 * told_short / short
    assert told_long / long < 60


def test_a_long_answer_is_still_told_step_by_step() -> None:
    text = json.dumps({"text": "x" * 10 * SHORT})
    told, _ = read(StructuredOutput({"type": "object"}), cut(text, 4))
    lengths = [len(value["text"]) for value in told if "text" in value]
    assert lengths[-1] == 10 * SHORT
    assert all(after - before <= max(4, after / 20) for before, after in itertools.pairwise(lengths))


# -- what it comes to


def test_the_value_is_the_python_value_and_the_chunk_has_its_json() -> None:
    _, outcome = read(StructuredOutput(Person), ['{"name":"Ada","age":"36"}'])
    assert outcome.status == "valid"
    assert outcome.value == Person(name="Ada", age=36)
    assert [chunk.object for chunk in outcome.chunks if isinstance(chunk, ObjectResultChunk)] == [
        {"name": "Ada", "age": 36}
    ]


def test_the_value_of_a_schema_is_not_the_object_in_the_chunks() -> None:
    """Its owner may change it."""
    reader = ObjectReader(StructuredOutput(PERSON_SCHEMA), run_id="run-1")
    chunks = reader.feed(ADA)
    outcome = reader.finish("stop")
    outcome.value["name"] = "Eve"
    assert [chunk.object["name"] for chunk in [*chunks, *outcome.chunks]] == ["Ada", "Ada"]


@pytest.mark.parametrize("text", ["", "Ada is 36.", "I call {tool}, {so} to say", "<think>{"])
def test_a_text_without_json_comes_to_nothing(text: str) -> None:
    told, outcome = read(StructuredOutput(PERSON_SCHEMA), [text])
    assert told == []
    assert (outcome.status, outcome.chunks) == ("none", ())


@pytest.mark.parametrize("reason", ["length", "content-filter"])
@pytest.mark.parametrize("text", [ADA, HALF])
def test_an_answer_that_was_cut_off_is_none_even_when_it_can_be_read(text: str, reason: str) -> None:
    _, outcome = read(StructuredOutput(PERSON_SCHEMA), [text], reason)
    assert outcome.error is not None
    assert outcome.error.code == "truncated"
    assert outcome.error.details == {
        "id": "STRUCTURED_OUTPUT_TRUNCATED",
        "details": {"finishReason": reason, "value": text},
    }


def test_json_that_ends_in_the_middle_is_not_completed() -> None:
    told, outcome = read(StructuredOutput({"type": "object"}), [HALF + "3"])
    assert told == [{"name": "Ada", "age": 3}]
    assert outcome.status == "failed"
    assert "ends in the middle" in str(outcome.error)


def test_every_fault_is_named_and_their_number_is_bounded() -> None:
    _, outcome = read(StructuredOutput(list[int]), [json.dumps(["x" * 500] * 100)])
    assert outcome.error is not None
    assert str(outcome.error).count("\n- ") == 19
    assert len(outcome.error.value) == 2_000


def test_a_validator_of_the_callers_that_raises_fails_the_answer() -> None:
    prices = {"tea": 3}
    priced = OutputType(Annotated[str, AfterValidator(lambda name: prices[name])])
    assert read(StructuredOutput(priced), ['{"result":"tea"}'])[1].value == 3
    _, outcome = read(StructuredOutput(priced), ['{"result":"gold"}'])
    assert str(outcome.error) == "Structured output validation failed: - root: KeyError: 'gold'"


def test_the_strategies() -> None:
    strict = read(StructuredOutput(PERSON_SCHEMA), ['{"name":"Ada"}'])[1]
    assert strict.status == "failed"
    assert isinstance(strict.chunks[-1], ErrorChunk)
    assert strict.chunks[-1].payload.error is strict.error
    assert isinstance(strict.error, StructuredOutputError)

    warn = read(StructuredOutput(PERSON_SCHEMA, error_strategy="warn"), ['{"name":"Ada"}'])[1]
    assert (warn.status, warn.value, list(warn.chunks)) == ("ignored", None, [])
    assert isinstance(warn.error, StructuredOutputError)

    nobody = Person(name="n/a", age=0)
    fallback = read(StructuredOutput(Person, error_strategy="fallback", fallback_value=nobody), ['{"name":"Ada"}'])[1]
    assert (fallback.status, fallback.value) == ("fallback", nobody)
    (result,) = fallback.chunks
    assert isinstance(result, ObjectResultChunk)
    assert (result.object, result.metadata) == ({"name": "n/a", "age": 0}, {"fallback": True})


def test_json_beside_tool_calls_counts_only_when_it_fits() -> None:
    assert read(StructuredOutput(Person), [ADA], "tool-calls")[1].status == "valid"
    assert read(StructuredOutput(Person), ['{"thought":1}'], "tool-calls")[1].status == "none"
    assert read(StructuredOutput(Person), [HALF], "tool-calls")[1].status == "none"


def test_near_json_is_repaired_at_the_end() -> None:
    text = "{'name': 'Ada', 'age': 36, 'tags': {\"a\": True}}"
    assert read(StructuredOutput(Person), cut(text, 3))[1].value == Person(name="Ada", age=36)


def test_null_stands_for_what_may_be_missing_only_when_the_model_was_held_to_the_strict_schema() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "nick": {"type": "string"}}}
    settings = StructuredOutput({**schema, "required": ["name"]})
    text = '{"name":"Ada","nick":null}'
    assert read(settings, [text], strict=True)[1].value == {"name": "Ada"}
    assert read(settings, [text])[1].status == "failed"


def test_a_value_without_json_form_is_told_as_the_model_wrote_it() -> None:
    handle = object()
    told, outcome = read(
        StructuredOutput(OutputType(Annotated[Any, AfterValidator(lambda _: handle)])), ['{"result":7}']
    )
    assert told == [7]
    assert outcome.value is handle
    assert [to_value(chunk)["object"] for chunk in outcome.chunks] == [7]


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (["sunny", "rainy"], "sunny\n", "sunny"),
        (["sunny", "rainy"], '"rainy"', "rainy"),
        (int, " 42", 42),
        (int | None, "null", None),
    ],
)
def test_a_choice_or_scalar_alone_is_taken(type_: Any, text: str, value: object) -> None:
    told, outcome = read(StructuredOutput(OutputType(type_)), cut(text, 2))
    assert told == []
    assert (outcome.status, outcome.value) == ("valid", value)


@pytest.mark.parametrize("type_", [["sunny", "rainy"], int, Person])
def test_prose_is_no_scalar(type_: Any) -> None:
    assert read(StructuredOutput(OutputType(type_)), ["It is sunny."])[1].status == "none"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("hello", "hello"),
        ("Well,\nhello {x}!", "Well,\nhello {x}!"),
        ("<think>a {b} c</think>\nhello", "hello"),
        ("42", "42"),
        ('"hello"', "hello"),
        ('{"result": "hello"}', "hello"),
        ('{result: "hello"}', "hello"),
        ('Here:\n```json\n{"result": "hello"}\n```', "hello"),
        ('```json\n"hello"\n```', "hello"),
    ],
)
def test_a_text_that_is_wanted_may_stand_alone(text: str, value: str) -> None:
    _, outcome = read(StructuredOutput(str), cut(text, 2))
    assert (outcome.status, outcome.value) == ("valid", value)
    assert [to_value(chunk)["object"] for chunk in outcome.chunks][-1:] == [value]


@pytest.mark.parametrize("text", ["", "  ", "<think>still at it", '{"answer": "hello"}'])
def test_what_is_no_text_is_not_taken_for_one(text: str) -> None:
    reader = ObjectReader(StructuredOutput(str), run_id="run-1")
    reader.feed(text)
    assert reader.finish("stop", required=True).status == "failed"


def test_what_is_said_beside_tool_calls_is_not_the_text_that_is_wanted() -> None:
    reader = ObjectReader(StructuredOutput(str), run_id="run-1")
    reader.feed("Let me look.")
    assert reader.finish("tool-calls", required=True).status == "none"


@pytest.mark.parametrize(("wanted", "told"), [(["red", "blue"], '"red", "blue"'), (Literal["red", 1], '"red", 1')])
def test_an_answer_that_is_no_choice_names_the_choices(wanted: Any, told: str) -> None:
    reader = ObjectReader(StructuredOutput(OutputType(wanted)), run_id="run-1")
    reader.feed("green")
    assert f"the answer is none of {told}" in str(reader.finish("stop", required=True).error)


answers = st.fixed_dictionaries(
    {"name": st.text(st.characters(codec="utf-8"), max_size=12), "age": st.integers(0, 10**6)}
)
before = st.sampled_from(["", "Here: ", "```json\n", "<|start|>x<|message|>", "<think>{}</think>", "{no} [1] "])
after = st.sampled_from(["", "\n```", " {done}", "\n```\nHope it helps {}"])


@given(answers, before, after, st.integers(1, 9))
@settings(max_examples=150, deadline=None)
def test_wherever_it_is_cut_and_whatever_is_around_it_an_object_is_read(
    answer: dict[str, Any], prefix: str, suffix: str, size: int
) -> None:
    told, outcome = read(StructuredOutput(PERSON_SCHEMA), cut(prefix + json.dumps(answer) + suffix, size))
    assert outcome.value == answer
    assert told[-1] == answer
    assert all(one != other for one, other in itertools.pairwise(told))


def test_the_last_change_is_told_before_the_result() -> None:
    """Also when it came too soon after the change before."""
    text = json.dumps({"text": "x" * 4 * SHORT})[:-2]
    reader = ObjectReader(StructuredOutput({"type": "object"}, error_strategy="warn"), run_id="run-1")
    told = [chunk for piece in cut(text, 4) for chunk in reader.feed(piece)]
    rest = reader.finish("stop").chunks
    values = [chunk.object for chunk in [*told, *rest] if isinstance(chunk, ObjectChunk)]
    assert values[-1] == {"text": "x" * 4 * SHORT}
