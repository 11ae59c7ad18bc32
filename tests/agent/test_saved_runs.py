"""What is kept of a run that waits: small, and enough."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from riverrun import NamedTool, Settings, Timeout
from riverrun.agent.saved_options import restored_options, saved_options
from riverrun.agent.sharing import shared, unshared
from riverrun.agent.shortening import shortened
from riverrun.chunks import (
    ChunkType,
    RawChunk,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    StepFinishChunk,
    StepFinishPayload,
    StepStartChunk,
    StepStartPayload,
    TextDeltaChunk,
    TextDeltaPayload,
    ToolCallDeltaChunk,
    ToolCallDeltaPayload,
    fold,
    from_value,
    to_value,
)

LARGE = ["x" * 600, "y" * 700, ["z" * 300] * 2]
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text("$ab", max_size=3) | st.sampled_from(LARGE)


def nests(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.text("$a", max_size=3)
    return (
        st.lists(inner, max_size=3)
        | st.dictionaries(keys, inner, max_size=3)
        | st.builds(lambda value: [value, value, {"$": value}], inner)
    )


VALUES = st.recursive(LEAVES, nests, max_leaves=10)


@given(VALUES)
def test_what_is_shared_is_the_same_when_it_is_read(value: Any) -> None:
    assert unshared(json.loads(json.dumps(shared(value)))) == value


def test_what_is_large_stands_once() -> None:
    rows = [{"name": f"row {number}", "text": "t" * 100} for number in range(100)]
    value = {"chunk": {"result": rows}, "step": [rows], "told": {"value": rows, "first": rows[0]}}
    assert len(json.dumps(shared(value))) < 1.1 * len(json.dumps(rows))


def test_what_is_small_stays_where_it_is() -> None:
    value = {"a": ["small"] * 3, "b": {"c": "small"}}
    assert shared(value) == {"value": value, "items": []}


def test_what_has_no_json_form_is_not_shared() -> None:
    with pytest.raises(TypeError, match="no JSON form"):
        shared({"a": object()})


# -- the log


def piece(text: str, id: str = "t") -> ChunkType:
    return TextDeltaChunk(TextDeltaPayload(id=id, text=text), run_id="r")


def thought(text: str) -> ChunkType:
    return ReasoningDeltaChunk(ReasoningDeltaPayload(id="t", text=text), run_id="r")


def signed(text: str) -> ChunkType:
    return TextDeltaChunk(TextDeltaPayload(id="t", text=text, provider_metadata={"p": {"s": text}}), run_id="r")


UNTOLD: list[ChunkType] = [
    RawChunk({"event": 1}, run_id="r"),
    ToolCallDeltaChunk(ToolCallDeltaPayload(args_text_delta="{", tool_call_id="c"), run_id="r"),
]
STEP: list[ChunkType] = [
    StepStartChunk(StepStartPayload(request={"body": "sent"}), run_id="r"),
    StepFinishChunk(StepFinishPayload(), run_id="r"),
]
CHUNKS = st.one_of(
    st.builds(piece, st.text("abc", max_size=2), st.sampled_from("tu")),
    st.builds(thought, st.text("abc", max_size=2)),
    st.builds(signed, st.text("abc", max_size=2)),
    st.sampled_from([*UNTOLD, *STEP]),
)


@given(st.lists(CHUNKS, max_size=12))
def test_a_log_that_is_made_short_says_the_same(log: list[ChunkType]) -> None:
    whole, short = fold(log), fold(shortened(log))
    assert (short.text, short.reasoning, short.steps) == (whole.text, whole.reasoning, whole.steps)
    assert shortened(shortened(log)) == shortened(log)


def test_many_deltas_become_one() -> None:
    assert shortened([piece("a"), *UNTOLD, piece("b"), piece("c"), piece("d", "u"), thought("e"), piece("f")]) == [
        piece("abc"),
        piece("d", "u"),
        thought("e"),
        piece("f"),
    ]


def test_what_was_sent_to_the_model_is_left_out() -> None:
    step = {"content": [], "usage": {"totalTokens": 3}, "request": {"body": "sent"}}
    payload = {"output": {"steps": [step]}, "metadata": {"id": "m", "request": {"body": "sent"}}}
    finish = from_value({"type": "step-finish", "runId": "r", "payload": payload})
    kept = shortened([STEP[0], finish])
    assert "sent" not in json.dumps([to_value(chunk) for chunk in kept])
    assert [step.usage.total_tokens for step in fold(kept).steps] == [3]


# -- the options


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"settings": Settings(seed=1, headers={"a": "b"})}, None),
        ({"timeout": Timeout(step=3)}, None),
        ({"tool_choice": "required"}, None),
        ({"tool_choice": NamedTool("look")}, None),
        ({"max_steps": 3, "instructions": ["a"], "system": "b", "active_tools": []}, None),
        ({"output": {"type": "object"}}, None),
        ({"output": ["yes", "no"]}, None),
        ({"output": ("yes", "no")}, {"output": ["yes", "no"]}),
        ({"output": deque(["yes", "no"])}, {"output": ["yes", "no"]}),
        ({"output": int}, {}),
        ({"require_tool_approval": False}, None),
        ({"require_tool_approval": True}, None),
        ({"require_tool_approval": lambda arguments, ctx: False}, {"require_tool_approval": True}),
        ({"deps": 1, "stop_when": print, "thread_id": "t"}, {}),
    ],
)
def test_options_are_kept_as_json_but_for_what_is_code(given: dict[str, Any], kept: dict[str, Any] | None) -> None:
    saved = json.loads(json.dumps(saved_options(given)))
    assert restored_options(saved) == (given if kept is None else kept)
