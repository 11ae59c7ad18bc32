"""SmoothStream: where the pieces end, and that it waits only when it is asked to."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from riverrun.chunks import ChunkType, ReasoningDeltaChunk, TextDeltaChunk
from riverrun.errors import ConfigError
from riverrun.processors import SmoothStream
from riverrun.processors.builtin.smooth_stream import LONGEST
from tests.agent.scripts import noted_sleeps
from tests.processors.streams import Running, data, delta, letters, reasoning_delta, said, streamed, text, types


def pieces(chunks: list[ChunkType]) -> list[str]:
    return [chunk.payload.text for chunk in chunks if isinstance(chunk, TextDeltaChunk | ReasoningDeltaChunk)]


async def test_letters_become_words_with_the_space_after_them() -> None:
    chunks = await streamed(SmoothStream(), letters("  Hello there,  you"))
    assert pieces(chunks) == ["  Hello ", "there, ", " you"]
    assert types(chunks)[-1] == "text-end"


async def test_a_long_delta_becomes_words() -> None:
    assert pieces(await streamed(SmoothStream(), text("Hello there, you ", "and me"))) == [
        "Hello ",
        "there, ",
        "you ",
        "and ",
        "me",
    ]


async def test_lines_end_with_their_breaks() -> None:
    assert pieces(await streamed(SmoothStream("lines"), letters("a b\n\nc\nd"))) == ["a b\n", "\n", "c\n", "d"]


async def test_pieces_may_end_with_what_a_pattern_finds() -> None:
    assert pieces(await streamed(SmoothStream(re.compile(r"[,.]")), letters("a, b. c"))) == ["a,", " b.", " c"]


async def test_a_pattern_that_finds_nothing_at_a_place_does_not_hang() -> None:
    assert said(await streamed(SmoothStream(re.compile(r"x*")), text("abc", "d"))) == "abcd"


async def test_text_without_an_end_of_a_piece_goes_when_it_is_long() -> None:
    running = Running(SmoothStream())
    assert said(await running.stream([delta("x" * LONGEST)], end=False)) == ""
    assert said(await running.stream([delta("x")], end=False)) == "x" * (LONGEST + 1)


async def test_what_is_left_goes_before_chunks_of_other_kinds_and_other_blocks() -> None:
    chunks = await streamed(
        SmoothStream(), [delta("a"), data("x"), delta("b"), reasoning_delta("c"), delta("d", "t2"), delta("e f", "t2")]
    )
    assert types(chunks) == ["text-delta", "data-x", "text-delta", "reasoning-delta", "text-delta", "text-delta"]
    assert pieces(chunks) == ["a", "b", "c", "de ", "f"]


async def test_it_never_waits_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    naps = noted_sleeps(monkeypatch)
    assert said(await streamed(SmoothStream(), letters("a b c"))) == "a b c"
    assert naps == []


async def test_it_takes_its_time_for_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    naps = noted_sleeps(monkeypatch)
    assert said(await streamed(SmoothStream(delay=0.5), text("a b c ", "d"))) == "a b c d"
    assert naps == [1.5, 0.5]


def test_options_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"pieces are 'words', 'lines' or re.compile\(…\), not 'letters'"):
        SmoothStream(cast("Any", "letters"))
    with pytest.raises(ConfigError, match="delay is a number of seconds from 0 on, not -1"):
        SmoothStream(delay=-1)
    with pytest.raises(ConfigError, match="delay is a number of seconds from 0 on, not 'x'"):
        SmoothStream(delay=cast("Any", "x"))
    with pytest.raises(ConfigError, match="pieces are 'words'"):
        SmoothStream(cast("Any", 5))
