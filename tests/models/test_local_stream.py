"""Hand-written events of llama.cpp → chunks."""

from __future__ import annotations

from typing import Any

from riverrun.chunks import (
    ChunkType,
    FinishChunk,
    RawChunk,
    ResponseMetadataChunk,
    StepStartChunk,
    StepStartPayload,
    TextDeltaChunk,
    ToolCallChunk,
)
from riverrun.models.local.stream import StreamDecoder
from riverrun.testing import assert_well_formed


def event(delta: dict[str, Any] | None = None, *, reason: str | None = None, **members: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": reason}
    return {"id": "chatcmpl-1", "model": "tiny.gguf", "created": 1796068884, "choices": [choice], **members}


def call(arguments: str, *, name: str | None = None, index: int = 0, **members: Any) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return event({"tool_calls": [{"index": index, "function": function, **members}]})


BEGIN = event({"role": "assistant", "content": None}, prompt_progress={"total": 9, "processed": 9})
USAGE = {
    "choices": [],
    "usage": {
        "prompt_tokens": 20,
        "completion_tokens": 5,
        "total_tokens": 25,
        "prompt_tokens_details": {"cached_tokens": 8},
    },
    "timings": {"predicted_per_second": 50.0},
}


def decoded(*events: dict[str, Any], include_raw: bool = False) -> list[ChunkType]:
    decoder = StreamDecoder("r", include_raw=include_raw)
    chunks = [chunk for one in events for chunk in decoder.feed(one)] + decoder.finish()
    start = StepStartChunk(StepStartPayload(), run_id="r", from_="AGENT")
    assert_well_formed([start, *chunks], model=True, strict=True)
    return chunks


def types(chunks: list[ChunkType]) -> list[str]:
    return [chunk.type for chunk in chunks]


def finish_of(chunks: list[ChunkType]) -> FinishChunk:
    assert isinstance(chunks[-1], FinishChunk)
    return chunks[-1]


def test_a_text_answer_has_metadata_text_and_usage() -> None:
    chunks = decoded(BEGIN, event({"content": "Hel"}), event({"content": "lo"}), event(reason="stop"), USAGE)
    assert types(chunks) == ["response-metadata", "text-start", "text-delta", "text-delta", "text-end", "finish"]
    assert "".join(chunk.payload.text for chunk in chunks if isinstance(chunk, TextDeltaChunk)) == "Hello"
    metadata = chunks[0]
    assert isinstance(metadata, ResponseMetadataChunk)
    assert metadata.payload.id == "chatcmpl-1"
    payload = finish_of(chunks).payload
    assert payload.step_result is not None
    assert (payload.step_result.reason, payload.step_result.raw_reason) == ("stop", "stop")
    assert payload.output is not None
    assert payload.output.usage is not None
    assert payload.output.usage.input_tokens == 20
    assert payload.output.usage.cached_input_tokens == 8
    assert payload.metadata is not None
    assert payload.metadata.provider_metadata == {"local": {"timings": {"predicted_per_second": 50.0}}}


def test_a_tool_call_is_streamed_and_then_given_whole() -> None:
    chunks = decoded(
        BEGIN,
        call("{", name="weather", id="c1"),
        call('"city":'),
        call(' "Oslo"}'),
        event(reason="tool_calls"),
    )
    assert types(chunks) == [
        "response-metadata",
        "tool-call-input-streaming-start",
        "tool-call-delta",
        "tool-call-delta",
        "tool-call-input-streaming-end",
        "tool-call",
        "finish",
    ]
    whole = chunks[-2]
    assert isinstance(whole, ToolCallChunk)
    assert (whole.payload.tool_call_id, whole.payload.args) == ("c1", {"city": "Oslo"})
    result = finish_of(chunks).payload.step_result
    assert result is not None
    assert result.reason == "tool-calls"


def test_two_calls_with_text_before_them_keep_their_order() -> None:
    chunks = decoded(
        event({"content": "Both."}),
        call('{"a":1}', name="f", id="c1"),
        call('{"b":2}', name="g", id="c2", index=1),
        event(reason="stop"),
    )
    calls = [chunk.payload for chunk in chunks if isinstance(chunk, ToolCallChunk)]
    assert [(one.tool_name, one.args) for one in calls] == [("f", {"a": 1}), ("g", {"b": 2})]
    result = finish_of(chunks).payload.step_result
    assert result is not None
    assert (result.reason, result.raw_reason) == ("tool-calls", "stop")


def test_a_call_without_arguments_and_without_id_is_given() -> None:
    chunks = decoded(call("{", name="now"), call("}"), event(reason="tool_calls"))
    whole = chunks[-2]
    assert isinstance(whole, ToolCallChunk)
    assert whole.payload.args == {}
    assert whole.payload.tool_call_id


def test_arguments_that_were_cut_off_are_none() -> None:
    chunks = decoded(call('{"city": "Os', name="weather", id="c1"), event(reason="length"))
    whole = chunks[-2]
    assert isinstance(whole, ToolCallChunk)
    assert whole.payload.args is None
    result = finish_of(chunks).payload.step_result
    assert result is not None
    assert result.reason == "length"


def test_a_call_that_was_only_announced_is_not_given() -> None:
    decoder = StreamDecoder("r")
    assert types(decoder.feed(call("{", name="weather", id="c1"))) == ["response-metadata"]
    assert not decoder.called


def test_reasoning_and_text_are_blocks_of_their_own() -> None:
    chunks = decoded(event({"reasoning_content": "Hm."}), event({"content": "Yes."}), event(reason="stop"))
    assert types(chunks)[1:-1] == [
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-end",
    ]


def test_an_open_block_is_closed_when_the_answer_fails() -> None:
    decoder = StreamDecoder("r")
    decoder.feed(event({"content": "Hel"}))
    assert types(decoder.close()) == ["text-end"]


def test_every_event_is_given_raw_when_asked_for() -> None:
    chunks = decoded(BEGIN, event({"content": "x"}), event(reason="stop"), USAGE, include_raw=True)
    assert [chunk.payload for chunk in chunks if isinstance(chunk, RawChunk)][-1] == USAGE


def test_an_answer_without_a_reason_ends_with_other() -> None:
    result = finish_of(decoded(event({"content": "x"}))).payload.step_result
    assert result is not None
    assert result.reason == "other"
