"""The arguments of a tool call: JSON is read as it is, near-JSON is repaired, half a call is never completed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.chunks.arguments import parse_arguments

ASCII = st.characters(codec="ascii")
texts = st.text(st.characters(codec="utf-8"), max_size=20)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)
objects = st.dictionaries(texts, values, min_size=1, max_size=4)


def holds_an_object(value: object) -> bool:
    return isinstance(value, str) and value.lstrip().startswith("{")


@given(values.filter(lambda value: value is not None and not holds_an_object(value)), st.booleans())
@settings(deadline=None)
def test_any_json_value_is_read_as_it_is(value: object, ascii_only: bool) -> None:
    assert parse_arguments(json.dumps(value, ensure_ascii=ascii_only)) == value


@given(st.text())
@settings(deadline=None)
def test_no_text_raises(text: str) -> None:
    parse_arguments(text)


@given(st.text(st.sampled_from("{}[]\"':,\\ab1-<|>`\n tTN"), max_size=40))
@settings(max_examples=200, deadline=None)
def test_no_text_that_looks_like_json_raises(text: str) -> None:
    parse_arguments(text)


@given(objects, st.data())
@settings(deadline=None)
def test_the_beginning_of_an_object_is_not_taken_for_one(value: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=False)
    cut = data.draw(st.integers(1, len(text) - 1))
    assert parse_arguments(text[:cut]) is None


@given(st.text(st.sampled_from("{}[]\"':,\\a1 "), max_size=12), st.text(st.sampled_from("{}[]\"':,\\a1 "), max_size=12))
@settings(max_examples=200, deadline=None)
def test_the_beginning_of_an_object_of_nasty_texts_is_not_taken_for_one(key: str, value: str) -> None:
    text = json.dumps({key: value, "last": [1, {"x": value}]})
    assert [cut for cut in range(1, len(text)) if parse_arguments(text[:cut]) is not None] == []


near_json = st.dictionaries(st.from_regex(r"[A-Za-z_]\w{0,5}", fullmatch=True, alphabet=ASCII), values, min_size=1)


@given(near_json, st.data())
@settings(deadline=None)
def test_the_beginning_of_near_json_is_not_taken_for_an_object(value: dict[str, object], data: st.DataObject) -> None:
    members = ", ".join(f"{key}: {json.dumps(member)}" for key, member in value.items())
    text = f"{{{members},}}"
    assert parse_arguments(text) == value
    assert parse_arguments(text[: data.draw(st.integers(1, len(text) - 1))]) is None


@pytest.mark.parametrize("text", ["", "  \n", "null", " null ", "None", "```json\nnull\n```", "null<|call|>"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert parse_arguments(text) == {}


@pytest.mark.parametrize("text", ["0", "false", '""', "[]", "{}"])
def test_falsy_values_stay_what_they_are(text: str) -> None:
    assert parse_arguments(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"city":"Oslo"}<|call|>', {"city": "Oslo"}),
        ('<|message|>{"city":"Oslo"}', {"city": "Oslo"}),
        ('{"city":<|x|>"Oslo"}', {"city": "Oslo"}),
        ('{"city":"<|call|> Oslo",}', {"city": "<|call|> Oslo"}),
        ('{"a":[1,2,],}', {"a": [1, 2]}),
        ('{city:"Oslo", $x_1-y: 1}', {"city": "Oslo", "$x_1-y": 1}),
        ('{"a":"b",city":"Oslo"}', {"a": "b", "city": "Oslo"}),
        ('{"a":"b","city: "Oslo"}', {"a": "b", "city": "Oslo"}),
        ("{'a': 'b \"c\" d', 'e': {'f': 'it\\'s'}}", {"a": 'b "c" d', "e": {"f": "it's"}}),
        ('{"city":"Cote d\'Ivoire",}', {"city": "Cote d'Ivoire"}),
        ('{"day":2024-01-02}', {"day": "2024-01-02"}),
        (
            '{"from":2024-01-02T03:04:05Z,"to":2024-01-02T03:04:05.678+01:00}',
            {"from": "2024-01-02T03:04:05Z", "to": "2024-01-02T03:04:05.678+01:00"},
        ),
        ("{'a': True, 'b': False, 'c': None}", {"a": True, "b": False, "c": None}),
        ('{"a":"one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}),
        ('```json\n{"a":1}\n```', {"a": 1}),
        ("```\n{a:1}\n```", {"a": 1}),
        (r'{"pattern":"\d+\.x"}', {"pattern": r"\d+\.x"}),
        ('{"n":-1.5e3,"i":12,}', {"n": -1500.0, "i": 12}),
        (r'{"e":"\ud83d\ude00 \u00e9 \n",}', {"e": "😀 é \n"}),
        ('{"e":"\\ud83d"}', {"e": "\ufffd"}),
        ("[1, 'two',]", [1, "two"]),
    ],
)
def test_what_can_be_read_in_one_way_is_repaired(text: str, value: object) -> None:
    assert parse_arguments(text) == value


def test_a_number_of_more_than_64_bits_keeps_its_digits() -> None:
    assert parse_arguments("{n:123456789012345678901234567890}") == {"n": 123456789012345678901234567890}


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        '{"city":',
        '{"city":"Oslo"',
        '{"city":"Os',
        '{"a":1}{"b":2}',
        '{"a":1}}',
        '{"a":1} and more',
        '{"a" 1}',
        '{"a":1 "b":2}',
        '{"a":Oslo}',
        '{"a":01}',
        '{"a":NaN}',
        '{"a":Infinity}',
        '{"a":1e999}',
        "{'it's': 1}",
        "{,}",
        "[,]",
        "9" * 5000,
        "{a:" * 1000,
    ],
)
def test_what_cannot_be_read_or_in_several_ways_is_refused(text: str) -> None:
    assert parse_arguments(text) is None


@pytest.mark.parametrize("text", ['{"a:1}', '{"a:1}"', '{"a:1}" ', "{'a:1}'", '{"a:"x"', '{"a:1}\\"'])
def test_a_key_whose_quote_may_still_come_is_not_closed(text: str) -> None:
    """`{"a:1}` may go on as `{"a:1}": 2}`."""
    assert parse_arguments(text) is None


def test_an_object_written_as_a_json_string_is_the_object() -> None:
    assert parse_arguments(json.dumps(json.dumps({"city": "Oslo"}))) == {"city": "Oslo"}


def test_half_an_object_written_as_a_json_string_stays_a_string() -> None:
    assert parse_arguments(json.dumps('{"city":')) == '{"city":'


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, "{'a':" * 100_000])
def test_nesting_without_end_is_refused(text: str) -> None:
    assert parse_arguments(text) is None


@pytest.mark.parametrize(
    "unit",
    ['"a:1,', "'a:'\\\"',", "<|", '"k\\"":1,', 'a:"x\\"y",', "\\u0041"],
)
def test_the_time_grows_with_the_length_and_not_faster(unit: str) -> None:
    def seconds(times: int) -> float:
        text = "{" + unit * times
        begin = time.perf_counter()
        parse_arguments(text)
        return time.perf_counter() - begin

    seconds(2_000)
    assert min(seconds(16_000) for _ in range(3)) < 40 * max(min(seconds(2_000) for _ in range(3)), 0.000_1)


def test_large_arguments_are_repaired_quickly() -> None:
    content = 'line "quoted" \\ and more\n' * 8_000
    text = json.dumps({"path": "a", "content": content})[:-1] + ",}"
    begin = time.perf_counter()
    assert parse_arguments(text) == {"path": "a", "content": content}
    assert time.perf_counter() - begin < 0.5


def test_recorded_arguments_are_read_as_recorded(shared: Path) -> None:
    """All arguments of the recorded scenarios, apart from those where we deliberately do better."""
    deviations = json.loads((shared / "oracle/deviations.json").read_text())
    seen = 0
    for path in sorted((shared / "oracle/scenarios").glob("tool_args_*.json")):
        if path.stem in deviations:
            continue
        scenario = json.loads(path.read_text())
        golden = json.loads((shared / "oracle/golden" / path.name).read_text())
        parts = [part for call in scenario["agents"]["main"]["model"] for part in call["parts"]]
        (text,) = [part["input"] for part in parts if part["type"] == "tool-call"]
        (call,) = [chunk for chunk in golden["actions"][0]["chunks"] if chunk["type"] == "tool-call"]
        assert parse_arguments(text) == call["payload"]["args"], path.stem
        seen += 1
    assert seen > 10
