"""Text that is held back: what goes when, in which order, and with which changes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from riverrun.chunks import ChunkType, TextDeltaChunk, to_value
from riverrun.processors import Block, HoldBack
from tests.processors.streams import (
    data,
    delta,
    reasoning_delta,
    reasoning_end,
    said,
    text,
    text_end,
    thought,
    types,
)


def hold(held: HoldBack, chunk: ChunkType) -> Block:
    """Hold a chunk that belongs to a block."""
    block = held.hold(chunk)
    assert block is not None
    return block


def test_a_delta_waits_until_all_of_its_text_is_settled() -> None:
    held = HoldBack()
    block = hold(held, delta("abc"))
    hold(held, delta("def"))
    assert (block.text, block.held, block.end) == ("abcdef", "abcdef", 6)
    block.settle(2)
    assert held.release() == []
    block.settle(5)
    assert said(held.release()) == "abc"
    block.settle(6)
    assert said(held.release()) == "def"


def test_a_delta_that_nobody_edits_is_the_very_same() -> None:
    held = HoldBack()
    chunk = delta("abc")
    hold(held, chunk).settle(3)
    assert held.release()[0] is chunk


def test_chunks_of_other_kinds_pass_when_nothing_waits() -> None:
    held = HoldBack()
    assert held.hold(data("a")) is None
    assert types(held.release()) == ["data-a"]


def test_chunks_of_other_kinds_never_overtake_held_text() -> None:
    held = HoldBack()
    block = hold(held, delta("abc"))
    held.hold(data("a"))
    hold(held, delta("def"))
    held.hold(data("b"))
    assert held.release() == []
    block.settle(4)
    assert types(held.release()) == ["text-delta", "data-a"]
    block.settle(6)
    assert types(held.release()) == ["text-delta", "data-b"]


def test_the_end_of_a_block_stays_behind_its_text_and_closes_it() -> None:
    held = HoldBack()
    block = hold(held, delta("abc"))
    assert not block.closed
    assert held.hold(text_end()) is block
    assert block.closed
    assert held.release() == []
    block.settle(block.end)
    assert types(held.release()) == ["text-delta", "text-end"]


def test_an_end_without_text_passes() -> None:
    held = HoldBack()
    assert held.hold(text_end()) is None
    assert types(held.release()) == ["text-end"]


def test_blocks_are_settled_apart_and_go_in_their_order() -> None:
    held = HoldBack()
    first = hold(held, delta("a", "t1"))
    second = hold(held, reasoning_delta("b", "t1"))
    third = hold(held, delta("c", "t2"))
    assert len({id(first), id(second), id(third)}) == 3
    second.settle(1)
    third.settle(1)
    assert held.release() == []
    first.settle(1)
    released = held.release()
    assert (said(released), thought(released), types(released)) == (
        "ac",
        "b",
        ["text-delta", "reasoning-delta", "text-delta"],
    )


def test_a_block_that_begins_again_under_the_same_id_is_another_one() -> None:
    held = HoldBack()
    first = hold(held, delta("a"))
    held.hold(text_end())
    second = hold(held, delta("b"))
    assert (second is first, second.text) == (False, "b")


def test_at_the_end_all_open_blocks_are_given_to_be_settled() -> None:
    held = HoldBack()
    first = hold(held, delta("a", "t1"))
    hold(held, delta("b", "t2"))
    hold(held, reasoning_delta("c"))
    held.hold(reasoning_end())
    blocks = held.close()
    assert [block.text for block in blocks] == ["a", "b"]
    assert blocks[0] is first
    assert all(block.closed for block in blocks)
    assert held.close() == []


def test_an_edit_stands_in_the_delta_in_which_it_begins() -> None:
    held = HoldBack()
    block = hold(held, delta("ab"))
    for piece in ("cd", "ef", "gh"):
        hold(held, delta(piece))
    block.edit(1, 7, "X")
    block.settle(8)
    released = held.release()
    assert [chunk.payload.text for chunk in released if isinstance(chunk, TextDeltaChunk)] == ["aX", "h"]


def test_several_edits_in_one_delta() -> None:
    held = HoldBack()
    block = hold(held, delta("one two three"))
    block.edit(0, 3, "1")
    block.edit(4, 7, "")
    block.edit(8, 13, "3")
    block.settle(13)
    assert said(held.release()) == "1  3"


def test_a_delta_that_says_more_than_text_stays_when_its_text_goes() -> None:
    held = HoldBack()
    signed = delta("abc")
    signed = replace(signed, payload=replace(signed.payload, provider_metadata={"p": {"signature": "s"}}))
    block = hold(held, signed)
    block.edit(0, 3, "")
    block.settle(3)
    assert to_value(held.release()[0])["payload"] == {
        "id": "t",
        "text": "",
        "providerMetadata": {"p": {"signature": "s"}},
    }


def test_a_block_remembers_a_little_of_what_went_and_no_more() -> None:
    held = HoldBack()
    block = hold(held, delta("x" * 10_000))
    block.settle(9_990)
    assert len(block.text) < 200
    assert block.held == "x" * 10
    assert block.end == 10_000
    assert block.text[: block.settled - block.begin] == "x" * (block.settled - block.begin)
    assert block.settled - block.begin >= 64


PIECES = st.lists(st.text(alphabet="ab", max_size=4), min_size=1, max_size=12)


@settings(max_examples=200, deadline=None)
@given(PIECES, st.data())
def test_edits_give_the_same_text_however_it_was_cut(pieces: list[str], drawn: st.DataObject) -> None:
    whole = "".join(pieces)
    places = sorted(drawn.draw(st.sets(st.integers(0, len(whole)), max_size=6)))
    edits = [(begin, end, "#") for begin, end in zip(places[::2], places[1::2], strict=False)]
    wanted, at = "", 0
    for begin, end, mark in edits:
        wanted += whole[at:begin] + mark
        at = end
    held = HoldBack()
    released: list[ChunkType] = []
    blocks = [held.hold(chunk) for chunk in text(*pieces)]
    block = next(block for block in blocks if block is not None)
    for edit in edits:
        block.edit(*edit)
        block.settle(edit[1])
        released += held.release()
    block.settle(block.end)
    released += held.release()
    assert said(released) == wanted + whole[at:]
    assert types(released)[0] == "text-start"
    assert types(released)[-1] == "text-end"
