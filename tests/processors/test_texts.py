"""The texts in messages and values."""

from __future__ import annotations

from riverrun.chunks import FilePart, SystemMessage, TextPart, UnknownMessage, UserMessage
from riverrun.processors.texts import change_message, change_strings, texts_of, with_texts
from tests.processors.streams import user

FILE = FilePart(data="aGk=", media_type="text/plain")


def test_texts_are_read_and_put_back_in_their_places() -> None:
    message = UserMessage(content=[TextPart("a"), FILE, TextPart("b")], id="m1")
    assert list(texts_of(message)) == ["a", "b"]
    assert with_texts(message, ["A", "B"]) == UserMessage(content=[TextPart("A"), FILE, TextPart("B")], id="m1")
    assert with_texts(message, ["", "B"]) == UserMessage(content=[FILE, TextPart("B")], id="m1")
    assert with_texts(message, ["", ""]) == UserMessage(content=[FILE], id="m1")
    assert with_texts(user("a"), [""]) is None


def test_system_messages_have_one_text_and_unknown_ones_none() -> None:
    system, other = SystemMessage(content="a"), UnknownMessage(role="other")
    assert (list(texts_of(system)), list(texts_of(other))) == (["a"], [])
    assert with_texts(system, ["b"]) == SystemMessage(content="b")
    assert with_texts(other, []) is other


def test_strings_are_changed_at_any_depth_and_names_are_not() -> None:
    value = {"a": ["a", {"a": "a", "n": 1}], "none": None}
    assert change_strings(value, str.upper) == {"a": ["A", {"a": "A", "n": 1}], "none": None}
    assert value == {"a": ["a", {"a": "a", "n": 1}], "none": None}


def test_a_value_in_which_nothing_changes_is_the_very_same() -> None:
    value = {"a": ["a", {"b": 1.5}], "c": True}
    assert change_strings(value, lambda text: text) is value


def test_a_file_in_a_message_is_left_alone() -> None:
    assert change_message(UserMessage(content=[FILE]), str.upper) == UserMessage(content=[FILE])
