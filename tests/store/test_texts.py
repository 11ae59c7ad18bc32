"""Messages as the texts that are kept: nothing is lost on the way, whatever a message holds."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from riverrun.chunks import FilePart, Message, ToolOutput, ToolResultPart, UserMessage
from riverrun.chunks.codec import json_value
from riverrun.chunks.message import KnownMessage
from riverrun.store import StoreError
from riverrun.store.texts import binary_parts, read, read_message, written
from tests.chunks.strategies import same_json, values

checked = settings(
    max_examples=150, deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def kept(message: Message) -> Message:
    return read_message(written(message, "the message"), binary_parts(message))


@checked
@given(values(KnownMessage))
def test_any_message_comes_back_as_the_same_json(message: Message) -> None:
    assert same_json(json_value(kept(message)), json_value(message))


@checked
@given(st.lists(st.binary(max_size=9) | st.text(st.characters(exclude_categories=["Cs"]), max_size=9), max_size=4))
def test_files_of_bytes_and_of_text_come_back_as_they_were(files: list[str | bytes]) -> None:
    message = UserMessage([FilePart(data=data, media_type="x/y") for data in files])
    assert kept(message) == message


def test_bytes_in_a_result_become_base64_as_they_do_for_clients() -> None:
    part = ToolResultPart(tool_call_id="c", tool_name="x", output=ToolOutput("json", {"raw": b"hi"}))
    message = kept(UserMessage([part]))
    assert isinstance(message, UserMessage)
    (back,) = message.content
    assert isinstance(back, ToolResultPart)
    assert back.output.value == {"raw": "aGk="}


@pytest.mark.parametrize("text", ["", "{", '{"role"', "1", "null", "[]", '{"no": "role"}'])
def test_a_text_that_is_no_message_is_damaged(text: str) -> None:
    with pytest.raises(StoreError, match="damaged"):
        read_message(text, None)


def test_a_text_that_is_not_of_its_type_is_damaged() -> None:
    assert read("[1]", list[int]) == [1]
    with pytest.raises(StoreError, match="a record was damaged"):
        read('["x"]', list[int])
