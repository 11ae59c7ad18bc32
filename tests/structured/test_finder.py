"""The JSON of an answer is found wherever it stands, and what only looks like it is passed over."""

from __future__ import annotations

import time
from typing import Any

import pytest
from msgspec import UNSET

from riverrun.structured.finder import JsonFinder
from tests.structured.material import cut

ADA = {"name": "Ada"}


def found(text: str, size: int, begins: str = "{") -> JsonFinder:
    finder = JsonFinder(begins=begins)
    for piece in cut(text, size):
        finder.feed(piece)
    return finder


SIZES = pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])


@SIZES
@pytest.mark.parametrize(
    "text",
    [
        '{"name":"Ada"}',
        '  \n{"name":"Ada"} ',
        'Here: {"name":"Ada"} Is it good?',
        '```json\n{"name":"Ada"}\n```',
        'Sure!\n```\n{"name":"Ada"}```\nUse {it} well: {"a":1}',
        'Put it in {curly braces}: {"name":"Ada"}',
        '[1] says {"name":"Ada"}',
        '<|start|>{"name":"Ada"}',
        '<|channel|>analysis<|message|>I say {"name":"Eve"}<|end|><|channel|>final<|message|>{"name":"Ada"}<|return|>',
        '<|channel|>analysis<|message|>{"name":"Ev<|channel|>final <|message|>x"}<|message|>{"name":"Ada"}',
        '<think>{"name":"Eve"} or {</think>{"name":"Ada"}',
        '\n<think>\n{"name":"Eve"}\n</think>\n```json\n{"name":"Ada"}```',
        '<|start|> <think>{"name":"Eve"}</think>{"name":"Ada"}',
        'I think of {"name":"Eve"}</think>{"name":"Ada"}',
        'In tags like <think> there is none: {"name":"Ada"}',
        '1 < 2 <| 3 </thin {"name":"Ada"}',
        '{"name":"Ada",}',
        "{'name': 'Ada'}",
        '{name: "Ada"}',
    ],
)
def test_the_value_is_found(text: str, size: int) -> None:
    finder = found(text, size)
    assert finder.value() == ADA
    assert finder.text.startswith("{")


@SIZES
@pytest.mark.parametrize(
    "text",
    ["", "Ada", "[1, 2]", "{no}", "a } b", '<think>{"name":"Eve"}', '{"name":"Eve"}</think>Ada', "<|message|>"],
)
def test_a_text_without_a_value_has_none(text: str, size: int) -> None:
    finder = found(text, size)
    assert not finder.has_begun
    assert finder.value() is UNSET


@SIZES
@pytest.mark.parametrize("text", ["{", '{"name":"Ad', '{"name":"Ada"', '{"name":"Ada" oops {"name":"Eve"}', '{"a":[1}'])
def test_a_value_that_cannot_be_read_has_begun(text: str, size: int) -> None:
    finder = found(text, size)
    assert finder.has_begun
    assert finder.value() is UNSET
    assert finder.text == text


@SIZES
@pytest.mark.parametrize(
    ("text", "value"),
    [('So: ["a","b"] it is', ["a", "b"]), ('```\n{"elements":[1]}\n```', {"elements": [1]}), ("[a] [1]", [1])],
)
def test_a_value_may_begin_with_a_bracket_where_that_is_wanted(text: str, value: Any, size: int) -> None:
    assert found(text, size, "{[").value() == value


@SIZES
def test_marks_in_a_string_belong_to_the_string(size: int) -> None:
    text = '{"a":"<|message|></think>```{"}'
    assert found(text, size).value() == {"a": "<|message|></think>```{"}


def test_the_text_without_a_value_is_all_that_counts_of_the_answer() -> None:
    assert found("<think>so</think>sunny", 3).text == "sunny"


@pytest.mark.parametrize("unit", ["{x", "[", "<", "<|message|>", "</think>{", '{"a":1}', "{'a':", '{"a":<'])
def test_the_time_grows_with_the_length_and_not_faster(unit: str) -> None:
    def seconds(times: int) -> float:
        begin = time.perf_counter()
        found(unit * times, 1_000_000, "{[").value()
        return time.perf_counter() - begin

    seconds(1_000)
    assert min(seconds(16_000) for _ in range(3)) < 80 * max(min(seconds(1_000) for _ in range(3)), 0.000_1)
