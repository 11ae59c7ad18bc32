"""BatchParts: which deltas become one, and when."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from riverrun.chunks import TextDeltaChunk
from riverrun.errors import ConfigError
from riverrun.processors import BatchParts
from tests.processors.streams import Running, data, delta, reasoning_delta, said, streamed, text, thought, types


def pieces(chunks: list[Any]) -> list[str]:
    return [chunk.payload.text for chunk in chunks if hasattr(getattr(chunk, "payload", None), "text")]


async def test_so_many_deltas_become_one() -> None:
    chunks = await streamed(BatchParts(size=2), text("a", "b", "c", "d", "e"))
    assert pieces(chunks) == ["ab", "cd", "e"]
    assert (types(chunks)[0], types(chunks)[-1]) == ("text-start", "text-end")


async def test_a_chunk_of_another_kind_sends_the_batch_off_before_it() -> None:
    chunks = await streamed(BatchParts(size=9), [delta("a"), delta("b"), data("x"), delta("c")])
    assert [(chunk.type, said([chunk])) for chunk in chunks] == [
        ("text-delta", "ab"),
        ("data-x", ""),
        ("text-delta", "c"),
    ]


async def test_a_chunk_of_another_kind_may_wait_in_its_place() -> None:
    running = Running(BatchParts(size=3, emit_on_non_text=False))
    assert await running.stream([data("first"), delta("a"), data("x"), delta("b")], end=False) == [data("first")]
    chunks = await running.stream([delta("c")], end=False)
    assert [(chunk.type, said([chunk])) for chunk in chunks[1:]] == [
        ("text-delta", "a"),
        ("data-x", ""),
        ("text-delta", "bc"),
    ]


async def test_deltas_of_different_blocks_do_not_become_one() -> None:
    given = [delta("a", "t1"), delta("b", "t2"), reasoning_delta("c", "t2"), reasoning_delta("d", "t2")]
    chunks = await streamed(BatchParts(size=9), given)
    assert pieces(chunks) == ["a", "b", "cd"]
    assert thought(chunks) == "cd"


async def test_a_batch_that_has_waited_long_goes_with_the_next_chunk() -> None:
    now = 0.0
    running = Running(BatchParts(size=9, max_wait=0.5, clock=lambda: now))
    assert await running.stream([delta("a")], end=False) == []
    now = 0.4
    assert await running.stream([delta("b")], end=False) == []
    now = 0.5
    assert pieces(await running.stream([delta("c")], end=False)) == ["abc"]
    now = 0.9  # the next batch's time begins with its first delta
    assert pieces(await running.stream([delta("d")], end=False)) == ["abc"]


async def test_what_is_left_goes_at_the_end_of_the_step() -> None:
    running = Running(BatchParts(size=9))
    assert await running.stream([delta("a")], end=False) == []
    assert pieces(await running.stream([])) == ["a"]
    assert pieces(await running.stream([])) == ["a"]


async def test_the_last_metadata_of_a_batch_is_kept() -> None:
    def signed(words: str, signature: str) -> TextDeltaChunk:
        chunk = delta(words)
        return replace(chunk, payload=replace(chunk.payload, provider_metadata={"p": signature}))

    chunks = await streamed(BatchParts(size=4), [signed("a", "1"), signed("b", "2"), delta("c"), delta("d")])
    assert isinstance(chunks[0], TextDeltaChunk)
    assert (chunks[0].payload.text, chunks[0].payload.provider_metadata) == ("abcd", {"p": "2"})


@pytest.mark.parametrize("options", [{"size": 0}, {"size": "5"}, {"max_wait": -1}, {"max_wait": "x"}])
def test_sizes_and_waits_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="size is a number from 1 on, max_wait a number of seconds from 0 on"):
        BatchParts(**options)
