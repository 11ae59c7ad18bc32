"""Recorded tool loops, served step by step: what a provider wants to see again is in the next request."""

from __future__ import annotations

import json
from pathlib import Path

from tests.models.recorded_loops import asked, loops, needed, texts


async def test_the_next_request_holds_what_the_recorded_one_took_from_the_answer(shared: Path):
    found = loops(shared / "streams")
    assert found
    for loop in found:
        sent = await asked(loop)
        for number, following in enumerate(loop.requests[1:]):
            wanted = needed(loop.responses[number], following) if following is not None else set()
            told = set(texts(sent[number + 1])) if len(sent) > number + 1 else set()
            assert wanted <= told, f"{loop.id}, step {number + 1}"


async def test_a_paused_turn_goes_back_as_it_came_and_goes_on(shared: Path):
    (paused,) = (loop for loop in loops(shared / "streams") if "pause_turn" in loop.id)
    first, second = await asked(paused)
    assert len(first["messages"]) == 1
    turn = second["messages"][-1]
    assert turn["role"] == "assistant"
    assert [block["type"] for block in turn["content"]][:2] == ["thinking", "text"]
    answer = paused.responses[0].decode("utf-8")
    opaque = [text for block in turn["content"] for text in texts(block) if len(text) > 200 and " " not in text]
    assert len(opaque) > 20
    assert all(json.dumps(text)[1:-1] in answer for text in opaque)
