"""UnicodeNormalizer: one form for texts that look alike, and nothing that nobody sees."""

from __future__ import annotations

from typing import Any, cast

import pytest

from riverrun.chunks import FilePart, SystemMessage, TextPart, UnknownMessage, UserMessage
from riverrun.errors import ConfigError
from riverrun.processors import UnicodeNormalizer
from tests.processors.streams import Running, user, words


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("e\u0301", "é"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("a\u200bb\ufeffc\u2060d\xade", "abcde"),
        ("a\x00b\x07c\x1bd\x9fe", "abcde"),
        ("a\u202eb\u2066c", "abc"),
        ("hi\U000e0041\U000e0042", "hi"),
        ("a\ud800b", "ab"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("👩\u200d🚀 می\u200cخواهم", "👩\u200d🚀 می\u200cخواهم"),
        ("  if x:\n\n\n      y", "  if x:\n\n\n      y"),
    ],
)
def test_by_default_texts_are_composed_and_stripped_of_what_is_unseen(text: str, normalized: str) -> None:
    assert UnicodeNormalizer().normalized(text) == normalized


def test_form_stripping_and_collapsing_can_be_chosen() -> None:
    assert UnicodeNormalizer(form="NFC").normalized("x² e\u0301") == "x² é"
    assert UnicodeNormalizer(strip=False).normalized("a\u200bb") == "a\u200bb"
    assert UnicodeNormalizer(collapse=True).normalized("  a \t b\n\n\n\nc ") == "a b\n\nc"


async def test_all_texts_of_the_input_are_normalized_and_other_parts_left_alone() -> None:
    file = FilePart(data="aGk=", media_type="text/plain")
    other = UnknownMessage(role="other")
    given = [SystemMessage(content="e\u0301"), UserMessage(content=[TextPart("ａ"), file]), other]
    system, asked, left = await Running(UnicodeNormalizer()).pipeline.process_input(given)
    assert cast("SystemMessage", system).content == "é"
    assert cast("UserMessage", asked).content == [TextPart("a"), file]
    assert left is other


async def test_a_message_of_nothing_but_unseen_characters_goes() -> None:
    messages = await Running(UnicodeNormalizer()).pipeline.process_input([user("\u200b"), user("a")])
    assert words(messages) == ["a"]


def test_a_form_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="form is NFC, NFD, NFKC or NFKD, not 'utf-8'"):
        UnicodeNormalizer(form=cast("Any", "utf-8"))
