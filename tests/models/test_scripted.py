"""ScriptedModel: what it answers, what it remembers, and how strict it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from riverrun import ModelError, ModelRequest
from riverrun.chunks import (
    ChunkType,
    CustomChunk,
    ErrorChunk,
    FileChunk,
    FinishChunk,
    RawChunk,
    ReasoningDeltaChunk,
    ReasoningFileChunk,
    ResponseMetadataChunk,
    SourceChunk,
    StepStartChunk,
    TextDeltaChunk,
    TextDeltaPayload,
    TextPart,
    TextStartChunk,
    ToolCallChunk,
    ToolCallDeltaChunk,
    ToolCallInputStreamingStartChunk,
    ToolResultChunk,
    Usage,
    UserMessage,
)
from riverrun.chunks.grammar import problems
from riverrun.models import Call, ScriptedModel, text_call
from riverrun.models.parts import Part
from riverrun.streams import spawn
from tests.agent.scripts import call, finish, noted_sleeps, of, read, reasoning, says, text, turns, types


def request(**options: Any) -> ModelRequest:
    return ModelRequest(messages=[UserMessage([TextPart("hi")])], run_id="r", **options)


async def answer(*parts: Part, **options: Any) -> list[ChunkType]:
    """The chunks of one scripted answer, which keep the order that a model has to keep."""
    chunks = await read(ScriptedModel([parts]).stream(request(**options)))
    assert problems(chunks, model=True) == []
    return chunks


def usage_of(chunks: Sequence[ChunkType]) -> Usage:
    (end,) = of(FinishChunk, chunks)
    assert end.payload.output is not None
    assert end.payload.output.usage is not None
    return end.payload.output.usage


# -- the script


async def test_a_call_is_a_list_of_parts() -> None:
    chunks = await answer(*says("Hel", "lo"))
    assert types(chunks) == ["step-start", "text-start", "text-delta", "text-delta", "text-end", "finish"]
    assert {(chunk.run_id, chunk.from_) for chunk in chunks} == {("r", "AGENT")}


async def test_a_call_may_be_a_text() -> None:
    chunks = await read(ScriptedModel(["Hello"]).stream(request()))
    assert [chunk.payload.text for chunk in of(TextDeltaChunk, chunks)] == ["Hello"]
    assert types(chunks) == types(await read(ScriptedModel([text_call("Hello")]).stream(request())))


async def test_a_call_may_hold_chunks() -> None:
    made = TextDeltaChunk(TextDeltaPayload("t", "made"), run_id="r", from_="AGENT")
    chunks = await answer(text()[0], made, text()[1], finish())
    assert chunks[2] is made


async def test_a_call_may_be_an_exception() -> None:
    error = ModelError("no")
    with pytest.raises(ModelError) as raised:
        await read(ScriptedModel([error]).stream(request()))
    assert raised.value is error


async def test_a_call_may_throw_with_its_other_members() -> None:
    with pytest.raises(ModelError, match="no"):
        await read(ScriptedModel([Call(throws=ModelError("no"))]).stream(request()))


async def test_calls_are_answered_one_after_the_other() -> None:
    model = ScriptedModel(["a", "b"])
    answers = [await read(model.stream(request())) for _ in range(2)]
    assert [of(TextDeltaChunk, chunks)[0].payload.text for chunks in answers] == ["a", "b"]


async def test_calls_side_by_side_do_not_mix() -> None:
    model = ScriptedModel([says("a", "b", "c"), says("d", "e", "f")])
    one, other = await asyncio.gather(read(model.stream(request())), read(model.stream(request())))
    assert ["".join(chunk.payload.text for chunk in of(TextDeltaChunk, chunks)) for chunks in (one, other)] == [
        "abc",
        "def",
    ]


async def test_what_was_asked_is_remembered() -> None:
    model = ScriptedModel(["a"], model_id="m", provider="p")
    asked = request()
    await read(model.stream(asked))
    assert model.requests == [asked]
    assert (model.model_id, model.provider) == ("m", "p")


async def test_what_was_sent_and_the_headers_are_passed_on() -> None:
    meta: Part = {"type": "response-metadata", "id": "x", "modelId": "m", "timestamp": None}
    spoken = Call(parts=[meta, *says("a")], request={"body": 1}, headers={"x-id": "7"})
    chunks = await read(ScriptedModel([spoken]).stream(request()))
    assert of(StepStartChunk, chunks)[0].payload.request == {"body": 1}
    assert of(ResponseMetadataChunk, chunks)[0].payload.headers == {"x-id": "7"}


async def test_the_time_between_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    naps = noted_sleeps(monkeypatch)
    await read(ScriptedModel([Call(parts=says("a"), pace=0.5)]).stream(request()))
    assert naps == [0.5] * 4


async def test_a_part_may_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    naps = noted_sleeps(monkeypatch)
    await read(ScriptedModel([[{"type": "$sleep", "ms": 250}, *says("a")]]).stream(request()))
    assert naps == [0.25]


async def test_a_part_may_break_the_stream() -> None:
    model = ScriptedModel([[*text("a")[:2], {"type": "$stream_error", "error": ModelError("cut")}]])
    chunks = model.stream(request())
    assert [(await anext(chunks)).type for _ in range(3)] == ["step-start", "text-start", "text-delta"]
    with pytest.raises(ModelError, match="cut"):
        await anext(chunks)


async def test_a_part_may_hang_until_it_is_cancelled() -> None:
    hanging = spawn(read(ScriptedModel([[{"type": "$await_abort"}]]).stream(request())))
    await turns()
    assert not hanging.done()
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging


# -- strictness


async def test_one_call_more_than_scripted_is_an_error() -> None:
    model = ScriptedModel(["a"], model_id="m")
    await read(model.stream(request()))
    with pytest.raises(ModelError, match="script exhausted: model m call 1"):
        await read(model.stream(request()))
    assert len(model.requests) == 2


async def test_calls_that_were_not_made_are_found() -> None:
    model = ScriptedModel(["a", "b"])
    await read(model.stream(request()))
    with pytest.raises(AssertionError, match=r"1 scripted call\(s\) of model scripted were not made"):
        model.assert_done()
    await read(model.stream(request()))
    model.assert_done()


def test_leaving_a_block_finds_calls_that_were_not_made() -> None:
    with pytest.raises(AssertionError, match="were not made"), ScriptedModel(["a"]):
        pass


def test_leaving_a_block_with_an_exception_keeps_the_exception() -> None:
    with pytest.raises(ValueError, match="mine"), ScriptedModel(["a"]):
        raise ValueError("mine")


# -- parts


async def test_a_step_begins_even_when_nothing_is_said() -> None:
    assert types(await read(ScriptedModel([[]]).stream(request()))) == ["step-start"]


async def test_warnings_are_passed_on() -> None:
    chunks = await answer({"type": "stream-start", "warnings": [{"type": "other"}]}, *says("a"))
    (begin,) = of(StepStartChunk, chunks)
    assert begin.payload.warnings == [{"type": "other"}]


async def test_empty_text_is_left_out_unless_something_is_said_with_it() -> None:
    metadata = {"p": {"x": 1}}
    quiet: Part = {"type": "text-delta", "id": "t", "delta": "", "providerMetadata": metadata}
    chunks = await answer(text()[0], *text("")[1:2], quiet, text()[1], finish())
    (delta,) = of(TextDeltaChunk, chunks)
    assert (delta.payload.text, delta.payload.provider_metadata) == ("", metadata)


async def test_empty_reasoning_is_kept() -> None:
    chunks = await answer(*reasoning("", "a"), finish())
    assert [chunk.payload.text for chunk in of(ReasoningDeltaChunk, chunks)] == ["", "a"]


async def test_numbers_as_ids_of_text_become_ids_that_are_unique() -> None:
    model = ScriptedModel([[*text("a", id="0"), finish()], [*text("b", id="0"), finish()]])
    ids = [of(TextStartChunk, await read(model.stream(request())))[0].payload.id for _ in range(2)]
    assert ids[0] != ids[1]
    assert "0" not in ids


async def test_a_numbered_block_keeps_its_id() -> None:
    chunks = await answer(*text("a", "b", id="0"), finish())
    assert len({chunk.payload.id for chunk in chunks if chunk.type.startswith("text-")}) == 1  # type: ignore[union-attr]


async def test_sources_files_and_custom_content() -> None:
    chunks = await answer(
        {"type": "source", "id": "s1", "sourceType": "url", "url": "https://a.example"},
        {"type": "source", "id": "s2", "sourceType": "document", "title": "D", "mediaType": "application/pdf"},
        {"type": "file", "data": "aGk=", "mediaType": "text/plain"},
        {"type": "file", "data": "https://a.example/x.png", "mediaType": "image/png"},
        {"type": "reasoning-file", "data": b"hi", "mediaType": "image/png"},
        {"type": "custom", "kind": "p.thing"},
        finish(),
    )
    web, document = of(SourceChunk, chunks)
    assert (web.payload.title, web.payload.url, web.payload.mime_type) == ("", "https://a.example", None)
    assert (document.payload.title, document.payload.url, document.payload.mime_type) == ("D", None, "application/pdf")
    text_file, picture = of(FileChunk, chunks)
    assert (text_file.payload.base64, picture.payload.base64) == ("aGk=", None)
    assert of(ReasoningFileChunk, chunks)[0].payload.data == b"hi"
    assert of(CustomChunk, chunks)[0].payload.kind == "p.thing"


async def test_raw_parts_and_parts_that_nobody_knows_are_given_when_asked_for() -> None:
    parts: list[Part] = [{"type": "raw", "rawValue": 7}, {"type": "telepathy", "mood": "good"}, *says("a")]
    assert of(RawChunk, await answer(*parts)) == []
    raw = of(RawChunk, await answer(*parts, include_raw=True))
    assert [chunk.payload for chunk in raw] == [7, {"type": "telepathy", "mood": "good"}]


async def test_an_error_part_is_an_error_chunk() -> None:
    chunks = await read(ScriptedModel([[{"type": "error", "error": "plain words"}]]).stream(request()))
    (error,) = of(ErrorChunk, chunks)
    assert (error.payload.error, error.payload.type) == ("plain words", "error")


@pytest.mark.parametrize(
    ("given", "reason", "raw"),
    [
        ("stop", "stop", None),
        ("unknown", "other", None),
        (None, "other", None),
        ({"unified": "length", "raw": "max_tokens"}, "length", "max_tokens"),
        ({"unified": "unknown"}, "other", None),
    ],
)
async def test_reasons_to_finish_in_both_forms(given: Any, reason: str, raw: str | None) -> None:
    (end,) = of(FinishChunk, await answer(*text("a"), {"type": "finish", "finishReason": given}))
    assert end.payload.step_result is not None
    assert (end.payload.step_result.reason, end.payload.step_result.raw_reason) == (reason, raw)


async def test_flat_usage() -> None:
    given = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 9, "reasoningTokens": 1, "cachedInputTokens": 2}
    assert usage_of(await answer(*text("a"), finish(usage=given))) == Usage(
        input_tokens=3, output_tokens=2, total_tokens=9, reasoning_tokens=1, cached_input_tokens=2, raw=given
    )


async def test_nested_usage() -> None:
    given = {
        "inputTokens": {"total": 10, "cacheRead": 4, "cacheWrite": 1},
        "outputTokens": {"total": 5, "reasoning": 2},
    }
    assert usage_of(await answer(*text("a"), finish(usage=given))) == Usage(
        input_tokens=10,
        output_tokens=5,
        total_tokens=15,
        reasoning_tokens=2,
        cached_input_tokens=4,
        cache_creation_input_tokens=1,
        raw=given,
    )


async def test_usage_is_summed_up_when_the_provider_gives_no_total() -> None:
    assert usage_of(await answer(*text("a"), finish(usage={"inputTokens": 3}))).total_tokens == 3
    assert usage_of(await answer(*text("a"), finish(usage={}))).total_tokens is None


async def test_cache_creation_is_split_by_lifetime() -> None:
    creation = {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}
    metadata = {"anthropic": {"cacheCreation": creation}}
    usage = usage_of(await answer(*text("a"), {**finish(), "providerMetadata": metadata}))
    assert (usage.cache_creation_input_tokens5m, usage.cache_creation_input_tokens1h) == (3, 4)


# -- calls of tools


def begin(id: str = "c1", **more: Any) -> Part:
    return {"type": "tool-input-start", "id": id, "toolName": "look", **more}


def piece(delta: str, id: str = "c1") -> Part:
    return {"type": "tool-input-delta", "id": id, "delta": delta}


def end(id: str = "c1") -> Part:
    return {"type": "tool-input-end", "id": id}


def made(chunks: Sequence[ChunkType]) -> list[tuple[str, Any]]:
    return [(chunk.payload.tool_call_id, chunk.payload.args) for chunk in of(ToolCallChunk, chunks)]


async def test_a_whole_call() -> None:
    chunks = await answer(call("look", args='{"at": 1}', title="Look"), finish("tool-calls"))
    assert made(chunks) == [("c1", {"at": 1})]
    assert of(ToolCallChunk, chunks)[0].payload.title == "Look"


async def test_arguments_that_are_no_text_are_taken_as_they_are() -> None:
    assert made(await answer(call("look", args={"at": 1}), finish("tool-calls"))) == [("c1", {"at": 1})]


async def test_arguments_that_are_no_json_are_none() -> None:
    assert made(await answer(call("look", args='{"at": '), finish("tool-calls"))) == [("c1", None)]


async def test_a_streamed_call_stands_right_behind_the_end_of_its_input() -> None:
    chunks = await answer(begin(), piece('{"at"'), piece(": 1}"), end(), *says("a", reason="tool-calls"))
    assert types(chunks)[1:6] == [
        "tool-call-input-streaming-start",
        "tool-call-delta",
        "tool-call-delta",
        "tool-call-input-streaming-end",
        "tool-call",
    ]
    assert made(chunks) == [("c1", {"at": 1})]
    assert {chunk.payload.tool_name for chunk in of(ToolCallDeltaChunk, chunks)} == {"look"}


async def test_a_streamed_call_at_the_very_end_is_not_lost() -> None:
    chunks = await read(ScriptedModel([[begin(), piece("{}"), end()]]).stream(request()))
    assert made(chunks) == [("c1", {})]


async def test_the_final_call_has_the_last_word() -> None:
    chunks = await answer(begin(), piece('{"at": 1}'), end(), call("look", args='{"at": 2}'), finish("tool-calls"))
    assert made(chunks) == [("c1", {"at": 2})]


async def test_a_final_call_without_arguments_leaves_the_streamed_ones() -> None:
    chunks = await answer(begin(), piece('{"at": 1}'), end(), call("look", args=""), finish("tool-calls"))
    assert made(chunks) == [("c1", {"at": 1})]


async def test_a_final_call_that_comes_late_is_not_given_twice() -> None:
    parts = [begin("a"), begin("b"), piece("{}", "a"), end("a"), piece("{}", "b"), end("b")]
    chunks = await answer(*parts, call("look", "a"), call("look", "b"), finish("tool-calls"))
    assert made(chunks) == [("a", {}), ("b", {})]


async def test_input_without_an_end_is_given_by_its_final_call() -> None:
    chunks = await read(
        ScriptedModel([[begin(), piece('{"at": 1}'), call("look"), finish("tool-calls")]]).stream(request())
    )
    assert made(chunks) == [("c1", {})]


async def test_input_without_an_end_and_without_a_call_is_no_call() -> None:
    chunks = await read(ScriptedModel([[begin(), piece('{"at": 1}'), finish("tool-calls")]]).stream(request()))
    assert made(chunks) == []


async def test_what_was_said_at_the_begin_of_a_streamed_call_is_kept() -> None:
    more = {"providerExecuted": True, "dynamic": True, "providerMetadata": {"p": 1}}
    result: Part = {
        "type": "tool-result",
        "toolCallId": "c1",
        "toolName": "look",
        "result": 1,
        "providerExecuted": True,
    }
    chunks = await answer(begin(title="Look", **more), end(), result, finish())
    (streaming,) = of(ToolCallInputStreamingStartChunk, chunks)
    (called,) = of(ToolCallChunk, chunks)
    for payload in (streaming.payload, called.payload):
        assert (payload.provider_executed, payload.dynamic, payload.provider_metadata) == (True, True, {"p": 1})
    assert of(ToolResultChunk, chunks)[0].payload.result == 1


async def test_empty_pieces_of_arguments_are_left_out() -> None:
    chunks = await answer(begin(), piece(""), piece("{}"), piece(""), end(), finish("tool-calls"))
    assert len(of(ToolCallDeltaChunk, chunks)) == 1


async def test_one_id_may_be_used_in_two_answers() -> None:
    model = ScriptedModel([[begin(), piece("{}"), end(), finish("tool-calls")] for _ in range(2)])
    answers = [made(await read(model.stream(request()))) for _ in range(2)]
    assert answers == [[("c1", {})], [("c1", {})]]
