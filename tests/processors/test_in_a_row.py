"""Processors that hold text back, one behind the other: nothing is lost, said twice or moved."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.chunks import ChunkType
from riverrun.processors import BatchParts, Moderation, Preset, RegexFilter, Rule, SmoothStream
from tests.processors.streams import (
    AnsweringJudge,
    Running,
    data,
    delta,
    reasoning_delta,
    reasoning_end,
    said,
    text_end,
    thought,
)

CHUNKS: list[ChunkType] = [
    delta("One "),
    delta("two, "),
    delta("ann@"),
    delta("example.org "),
    delta("b", "t2"),
    text_end(),
    text_end("t2"),
    reasoning_delta("Hm. "),
    reasoning_end(),
    data("x"),
    data("y"),
]


def filter_of(rule: Preset | Rule) -> RegexFilter:
    return RegexFilter([rule], window=12)


def row(first: RegexFilter) -> Running:
    fine = AnsweringJudge(lambda shown: '{"scores": {}, "reason": ""}')
    return Running(first, Moderation(fine, window=6), SmoothStream(), BatchParts(size=3))


def marked(chunks: list[ChunkType]) -> str:
    """What a stream says, with a mark for each chunk of another kind."""
    return "".join(said([chunk]) + thought([chunk]) or f"<{chunk.type}>" for chunk in chunks)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(CHUNKS), max_size=30))
def test_any_stream_comes_out_whole_and_in_order(chunks: list[ChunkType]) -> None:
    nothing = filter_of(Rule("never", "never said"))
    assert marked(asyncio.run(row(nothing).stream(chunks))) == marked(chunks)
    filtered = asyncio.run(Running(filter_of("email")).stream(chunks))
    assert marked(asyncio.run(row(filter_of("email")).stream(chunks))) == marked(filtered)
