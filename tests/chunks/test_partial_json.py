"""JSON while it is being written: what is known is told, what is unfinished is held back, nothing is taken back."""

from __future__ import annotations

import gc
import itertools
import json
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from riverrun.chunks.partial_json import PartialJson, partial_json

texts = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["", "😀", '"', "\\", "\\u", "a\nb", "tru"])
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=10
)
containers = st.lists(values, max_size=4) | st.dictionaries(texts, values, max_size=4)


@st.composite
def documents(draw: st.DrawFn) -> tuple[Any, str]:
    """A container and its JSON, written in one way or another."""
    value = draw(containers)
    return value, json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))


def same(one: object, other: object) -> bool:
    """1, 1.0 and true are three values."""
    return json.dumps(one) == json.dumps(other)


def grows(before: Any, after: Any) -> bool:
    """Whether `after` may follow `before`: what was known is still there. Numbers may have got more digits."""
    if isinstance(before, dict):
        kept = isinstance(after, dict) and list(after)[: len(before)] == list(before)
        return kept and all(grows(member, after[key]) for key, member in before.items())
    if isinstance(before, list):
        kept = isinstance(after, list) and len(after) >= len(before)
        return kept and all(grows(*pair) for pair in zip(before, after, strict=False))
    if isinstance(before, str):
        return isinstance(after, str) and after.startswith(before)
    if isinstance(before, bool) or before is None:
        return after is before
    return isinstance(after, int | float) and not isinstance(after, bool)


def finished(value: Any, whole: Any, open_path: tuple[str | int, ...]) -> bool:
    """Whether everything in `value` that does not lie on the open path is as it is in the whole."""
    if isinstance(value, dict) and open_path:
        return all(
            finished(member, whole[key], open_path[1:]) if key == open_path[0] else same(member, whole[key])
            for key, member in value.items()
        )
    if isinstance(value, list) and open_path:
        return all(
            finished(member, whole[at], open_path[1:]) if at == open_path[0] else same(member, whole[at])
            for at, member in enumerate(value)
        )
    return True


@given(documents())
@settings(max_examples=150, deadline=None)
def test_what_is_known_of_every_beginning_is_never_taken_back(document: tuple[Any, str]) -> None:
    whole, text = document
    before: Any = UNSET
    for end in range(1, len(text)):
        reading = PartialJson()
        reading.feed(text[:end])
        value = reading.value()
        assert reading.status == "open"
        assert before is UNSET or grows(before, value)
        assert finished(value, whole, reading.path)
        before = value
    known = partial_json(text)
    assert known is not None
    assert known[1]
    assert same(known[0], whole)
    assert grows(before, whole)


@given(documents(), st.data())
@settings(deadline=None)
def test_it_does_not_matter_where_the_text_is_cut(document: tuple[Any, str], data: st.DataObject) -> None:
    _, text = document
    reading = PartialJson()
    at = 0
    while at < len(text):
        size = data.draw(st.integers(1, 7))
        at += size
        reading.feed(text[at - size : at])
        at_once = PartialJson()
        at_once.feed(text[:at])
        assert (reading.status, reading.path, reading.length) == (at_once.status, at_once.path, min(at, len(text)))
        assert same(reading.value(), at_once.value())


@given(documents())
@settings(deadline=None)
def test_the_version_changes_when_the_value_does_or_a_part_of_it_is_finished(document: tuple[Any, str]) -> None:
    reading = PartialJson()
    version, value, path = reading.version, reading.value(), reading.path
    for character in document[1]:
        reading.feed(character)
        if reading.version == version:
            assert reading.value() == value
            assert reading.path[: len(path)] == path
        version, value, path = reading.version, reading.value(), reading.path


@given(documents())
@settings(max_examples=50, deadline=None)
def test_a_value_that_was_given_does_not_change_any_more(document: tuple[Any, str]) -> None:
    reading = PartialJson()
    given_out: list[tuple[Any, str]] = []
    for character in document[1]:
        reading.feed(character)
        value = reading.value()
        given_out.append((value, json.dumps(value)))
    assert [written for value, written in given_out if json.dumps(value) != written] == []


@given(st.text() | st.text(st.sampled_from("{}[]\"':,\\u0d81-.eE tfn\n"), max_size=40))
@settings(max_examples=300, deadline=None)
def test_no_text_raises_and_what_comes_out_can_be_written(text: str) -> None:
    reading = PartialJson()
    for character in text:
        reading.feed(character)
    for known in (partial_json(text), reading.value()):
        if known is not UNSET:
            json.dumps(known, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{", {}),
        ("[", []),
        ('{"na', {}),
        ('{"name"', {}),
        ('{"name":', {}),
        ('{"name":"', {"name": ""}),
        ('{"name":"Ada', {"name": "Ada"}),
        ('{"name":"Ada\\', {"name": "Ada"}),
        ('{"name":"Ada\\u00', {"name": "Ada"}),
        ('{"name":"Ada\\ud83d', {"name": "Ada"}),
        ('{"name":"Ada\\ud83d\\', {"name": "Ada"}),
        ('{"name":"Ada\\ud83d\\ude', {"name": "Ada"}),
        ('{"name":"Ada\\ud83d\\ude00', {"name": "Ada😀"}),
        ('{"a":3', {"a": 3}),
        ('{"a":-', {}),
        ('{"a":-3.', {"a": -3}),
        ('{"a":1.5e', {"a": 1.5}),
        ('{"a":1.5e+', {"a": 1.5}),
        ('{"a":1.5e3', {"a": 1500.0}),
        ('{"a":tru', {}),
        ('{"a":true', {"a": True}),
        ('[1,"a",{"b":[', [1, "a", {"b": []}]),
        (" \n[ 1 , 2 ", [1, 2]),
        ('"abc', "abc"),
        ("12", 12),
    ],
)
def test_what_the_beginning_of_a_text_says(text: str, value: object) -> None:
    assert partial_json(text) == (value, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ('{"a":1}\n', {"a": 1}),
        ("null", None),
        ("12 ", 12),
        ('""', ""),
        ("[123456789012345678901234567890]", [123456789012345678901234567890]),
        ('["one\ntwo\tthree"]', ["one\ntwo\tthree"]),
        (r'["\d+\."]', [r"\d+\."]),
        ("[1,2,]", [1, 2]),
        ('{"a":1,}', {"a": 1}),
        ('["\\ud83dx"]', ["\ufffdx"]),
        ('["\\ud83d\\n"]', ["\ufffd\n"]),
        ('["\\ude00\\ud83d\\ud83d\\ude00"]', ["\ufffd\ufffd😀"]),
    ],
)
def test_what_a_whole_text_says(text: str, value: object) -> None:
    assert partial_json(text) == (value, True)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "-", "t", "hello", "nul1", "NaN", "[NaN", "[Infinity", "[1e999", "[01", "[+1", "[.5", "[--1"),
        *("[,", "[1,,", "[1 2", "{,", "{a", "{1", '{"a" 1', '{"a":1 "b"', "[1}", '{"a":1]', '["\\uXY00'),
        *("{} x", "[1]]", "[" * 1_000, "[" + "9" * 5_000),
    ],
)
def test_what_is_no_beginning_of_a_value_says_nothing(text: str) -> None:
    assert partial_json(text) is None


def test_a_broken_text_keeps_what_was_known_and_says_where_it_broke() -> None:
    reading = PartialJson()
    assert reading.feed('{"a":[1,') == 8
    assert reading.feed("2] oops") == 3
    assert (reading.status, reading.value()) == ("broken", {"a": [1, 2]})
    assert reading.feed("more") == 0


def test_the_text_behind_a_value_is_left_alone() -> None:
    reading = PartialJson()
    text = 'See {"a":1} there'
    assert text[reading.feed(text, 4) :] == " there"
    assert (reading.status, reading.length) == ("complete", 7)


def test_finished_parts_are_shared_and_not_copied() -> None:
    reading = PartialJson()
    reading.feed('[{"a":1},')
    first = reading.value()
    reading.feed('{"b":2')
    assert reading.value()[0] is first[0]


def test_a_reading_that_is_dropped_halfway_leaves_nothing_for_the_collector() -> None:
    gc.disable()
    try:
        reading = PartialJson()
        reading.feed('{"a":["' + "x" * 1_000)
        grammar = weakref.ref(reading._grammar)
        del reading
        assert grammar() is None
    finally:
        gc.enable()


def reported(shared: Path, name: str) -> dict[str, Any]:
    lines = (shared / "bugs.jsonl").read_text("utf-8").splitlines()
    (report,) = [report for line in lines if (report := json.loads(line))["id"] == name]
    assert isinstance(report, dict)
    return report


def test_assistant_ui_6355_every_beginning_is_read_and_nothing_goes_backwards(shared: Path) -> None:
    report = reported(shared, "assistant-ui/assistant-ui#6355")
    text = report["minimal_input"]["text"]
    seen = [partial_json(text[:end]) for end in range(1, len(text) + 1)]
    assert None not in seen
    known = [value for value, _ in filter(None, seen)]
    assert all(grows(*pair) for pair in itertools.pairwise(known))
    assert {json.dumps(value.get("a")) for value in known} == {"null", '""', json.dumps("😀"), json.dumps("😀x")}
    assert seen[-1] == (report["expect"]["final"], True)


def test_onyx_9161_no_value_ever_holds_half_a_surrogate_pair(shared: Path) -> None:
    report = reported(shared, "onyx-dot-app/onyx#9161")
    reading = PartialJson()
    for delta in report["minimal_input"]["deltas"]:
        reading.feed(delta)
        json.dumps(reading.value(), ensure_ascii=False).encode()
    assert reading.value() == report["expect"]["final"]


def test_vercel_ai_1508_the_values_come_in_order_and_are_never_missing(shared: Path) -> None:
    report = reported(shared, "vercel/ai#1508")
    reading = PartialJson()
    partials: list[Any] = []
    for delta in report["minimal_input"]["deltas"]:
        reading.feed(delta)
        if reading.value() not in partials[-1:]:
            partials.append(reading.value())
    assert partials == report["expect"]["partials"]
