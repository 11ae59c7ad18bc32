"""What a processor can do from inside a hook: stop the run, write into its stream, warn."""

from __future__ import annotations

import pytest

from riverrun.chunks import ChunkType, to_value
from riverrun.processors import ProcessorContext, TripwireError


def context(chunks: list[ChunkType]) -> ProcessorContext:
    return ProcessorContext(processor_id="guard", run_id="run-1", agent_name="tested", emit_chunk=chunks.append)


def test_abort_raises_a_tripwire_that_says_who_and_why() -> None:
    with pytest.raises(TripwireError) as caught:
        context([]).abort("too rude", retry=True, metadata={"score": 0.9})
    tripwire = caught.value
    assert (tripwire.reason, tripwire.retry, tripwire.metadata) == ("too rude", True, {"score": 0.9})
    assert (tripwire.processor_id, str(tripwire), tripwire.details) == ("guard", "too rude", {"processorId": "guard"})


def test_abort_without_a_reason_names_the_processor() -> None:
    with pytest.raises(TripwireError, match=r"^Tripwire triggered by guard$"):
        context([]).abort()


def test_abort_acts_even_when_its_metadata_has_no_json_form() -> None:
    with pytest.raises(TripwireError) as caught:
        context([]).abort("no", metadata=object)
    assert caught.value.metadata == "<class 'object'>"


def test_emit_writes_a_data_chunk_with_the_id_of_the_run() -> None:
    chunks: list[ChunkType] = []
    context(chunks).emit("score", {"ok": True}, id="s1", transient=True)
    context(chunks).emit("data-bare")
    assert [to_value(chunk) for chunk in chunks] == [
        {"type": "data-score", "runId": "run-1", "data": {"ok": True}, "id": "s1", "transient": True},
        {"type": "data-bare", "runId": "run-1"},
    ]


def test_what_was_emitted_does_not_change_any_more() -> None:
    chunks: list[ChunkType] = []
    value = {"words": ["a"]}
    context(chunks).emit("words", value)
    value["words"].append("b")
    assert to_value(chunks[0])["data"] == {"words": ["a"]}


def test_emit_refuses_what_has_no_json_form() -> None:
    with pytest.raises(TypeError, match="no JSON form"):
        context([]).emit("score", object())


def test_warn_tells_who_found_what_and_is_not_stored() -> None:
    chunks: list[ChunkType] = []
    context(chunks).warn("rude", metadata={"score": 0.6})
    context(chunks).warn("odd")
    assert [to_value(chunk)["data"] for chunk in chunks] == [
        {"processorId": "guard", "reason": "rude", "metadata": {"score": 0.6}},
        {"processorId": "guard", "reason": "odd"},
    ]
    assert to_value(chunks[0])["transient"] is True
