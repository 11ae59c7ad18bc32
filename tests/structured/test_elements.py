"""Each element of an array comes once, when it is complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.chunks import (
    ChunkType,
    ObjectChunk,
    ObjectResultChunk,
    StepStartChunk,
    StepStartPayload,
    decode,
    encode,
)
from riverrun.structured import Elements, ObjectReader, StructuredOutput
from tests.structured.material import cut, recorded

NEXT_STEP = StepStartChunk(StepStartPayload())


def elements_of(chunks: list[ChunkType]) -> list[Any]:
    elements = Elements()
    return [element for chunk in chunks for element in elements.add(chunk)]


def chunks_of(settings_: StructuredOutput[Any], deltas: list[str], reason: str = "stop") -> list[ChunkType]:
    reader = ObjectReader(settings_, run_id="run-1")
    told = [chunk for delta in deltas for chunk in reader.feed(delta)]
    return [*told, *reader.finish(reason).chunks]


def test_recorded_elements_come_once_and_complete(shared: Path) -> None:
    """object_array, where we deliberately do better."""
    (case,) = [case for case in recorded(shared) if case.name == "object_array"]
    chunks = chunks_of(case.settings, case.deltas)
    assert elements_of(chunks) == [{"name": "A", "age": 1}, {"name": "B", "age": 2}]


@given(
    st.lists(st.integers() | st.text(max_size=5) | st.dictionaries(st.text(max_size=3), st.integers())),
    st.integers(1, 9),
)
@settings(max_examples=60, deadline=None)
def test_the_elements_are_those_of_the_array(array: list[Any], size: int) -> None:
    chunks = chunks_of(StructuredOutput(list[Any]), cut(json.dumps({"elements": array}), size))
    assert elements_of(chunks) == array
    assert elements_of([decode(encode(chunk)) for chunk in chunks]) == array


def test_an_element_comes_when_the_next_one_begins() -> None:
    elements = Elements()
    assert elements.add(ObjectChunk([])) == []
    assert elements.add(ObjectChunk([{"a": 1}])) == []
    assert elements.add(ObjectChunk([{"a": 12}, {"b": 1}])) == [{"a": 12}]
    assert elements.add(ObjectResultChunk([{"a": 12}, {"b": 1}])) == [{"b": 1}]
    assert elements.add(ObjectResultChunk([{"a": 12}, {"b": 1}])) == []


def test_the_last_element_of_an_answer_that_was_cut_off_does_not_come() -> None:
    chunks = chunks_of(StructuredOutput(list[Any]), ['[{"a":1},{"b":2'], "length")
    assert elements_of(chunks) == [{"a": 1}]


def test_another_step_writes_another_array() -> None:
    assert elements_of([ObjectResultChunk([1]), NEXT_STEP, ObjectChunk([1, 2]), ObjectResultChunk([1, 2])]) == [1, 1, 2]


def test_an_array_that_is_begun_anew_is_read_anew() -> None:
    deltas = ['["a","b"', '] no: <|message|>["c', '","d"', "]"]
    assert elements_of(chunks_of(StructuredOutput(list[str]), deltas)) == ["a", "c", "d"]


def test_elements_of_a_fallback_are_not_the_models() -> None:
    settings_ = StructuredOutput(list[int], error_strategy="fallback", fallback_value=[7, 8, 9])
    assert elements_of(chunks_of(settings_, ['["x","y"]'])) == ["x"]


def test_what_is_no_array_has_no_elements() -> None:
    assert elements_of([ObjectChunk({"a": [1, 2]}), ObjectResultChunk("abc")]) == []
