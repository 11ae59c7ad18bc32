"""RecordedModel: what a provider sent once, read again by its adapter."""

from __future__ import annotations

import pytest

from riverrun import Agent, ConfigError, RunError, tool
from riverrun.chunks import ChunkType, FinishChunk
from riverrun.errors import ModelError
from riverrun.testing import RecordedModel, assert_well_formed
from riverrun.types import ModelRequest
from tests.models.decoding import joined
from tests.models.exchange import failure_of, text_of
from tests.models.small_streams import STREAMS, json_array, json_lines, sse

by_api = pytest.mark.parametrize("api", STREAMS)
REQUEST = ModelRequest(messages=[], run_id="run-1")


async def collect(model: RecordedModel) -> list[ChunkType]:
    return [chunk async for chunk in model.stream(REQUEST)]


def shape(chunks: list[ChunkType]) -> list[str]:
    """The types, pieces of one block once."""
    return [chunk.type for chunk in joined(chunks)]


@by_api
async def test_a_recording_comes_as_a_live_answer_would(api: str):
    chunks = await collect(RecordedModel(api, [sse(api)]))
    assert chunks[0].type == "step-start"
    assert shape(chunks)[-5:] == [
        "tool-call-input-streaming-start",
        "tool-call-delta",
        "tool-call-input-streaming-end",
        "tool-call",
        "finish",
    ]
    finish = chunks[-1]
    assert isinstance(finish, FinishChunk)
    assert finish.payload.step_result is not None
    assert finish.payload.step_result.reason == "tool-calls"


@by_api
async def test_every_form_of_a_recording_and_every_cut_give_the_same(api: str):
    whole = shape(await collect(RecordedModel(api, [sse(api)])))
    forms = [
        json_lines(api),
        b"\xef\xbb\xbf" + json_lines(api).replace(b"\n", b"\r\n"),
        sse(api).replace(b"\n", b"\r\n"),
    ]
    if api == "google-generate-content":
        forms.append(json_array(api))
    for form in forms:
        assert shape(await collect(RecordedModel(api, [form]))) == whole
        for seed in range(5):
            assert shape(await collect(RecordedModel(api, [form], pieces=seed))) == whole


@by_api
async def test_an_agent_runs_on_recordings(api: str):
    places: list[str] = []

    @tool
    def look(at: str) -> str:
        """Look."""
        places.append(at)
        return "a river"

    model = RecordedModel(api, [sse(api), sse(api)])
    async with Agent("a", model=model, tools=[look], max_steps=2).stream("hi") as run:
        assert_well_formed([chunk async for chunk in run])
        result = await run.result()
    assert places == ["é", "é"]
    assert result.text == "Let me look."
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "tool"]
    assert (result.total_usage.input_tokens, result.total_usage.output_tokens) == (10, 14)


@by_api
async def test_an_event_that_is_nested_without_end_is_no_crash(api: str):
    deep = b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    with pytest.raises(ModelError):
        await collect(RecordedModel(api, [sse(api).split(b"\n\n")[0] + b"\n\ndata: " + deep + b"\n\n"]))


async def test_a_call_more_than_recorded_fails_the_run():
    with pytest.raises(RunError, match="no recorded stream for call 0"):
        await Agent("a", model=RecordedModel("openai-chat", []), max_retries=0).generate("hi")


@by_api
async def test_a_recording_that_is_cut_off_is_a_failure(api: str):
    lines = json_lines(api).splitlines(keepends=True)
    half = b"".join(b"data: " + line + b"\n" for line in lines[:2])
    with pytest.raises(ModelError, match="truncated"):
        await collect(RecordedModel(api, [half]))


@by_api
async def test_a_line_that_is_no_json_is_named_and_what_came_before_it_is_kept(api: str):
    lines = json_lines(api).splitlines(keepends=True)
    model = RecordedModel(api, [b"".join([*lines[:-1], b"{oops\n", lines[-1]])])
    seen, error = await failure_of(model.stream(REQUEST))
    assert str(error) == "the stream holds an event that is not JSON: {oops"
    whole = shape(await collect(RecordedModel(api, [json_lines(api)])))
    assert shape(seen)[:5] == whole[:5]


@by_api
async def test_a_line_with_half_a_surrogate_pair_is_a_line_all_the_same(api: str):
    odd = json_lines(api).replace(b"Let me", rb"\ud83dLet me")
    chunks = await collect(RecordedModel(api, [odd]))
    assert text_of(chunks) == "\ufffdLet me look."
    assert shape(chunks) == shape(await collect(RecordedModel(api, [json_lines(api)])))


def test_an_api_that_is_none_is_refused_with_those_there_are():
    with pytest.raises(ConfigError, match=r"unknown API 'openai'.*openai-responses, anthropic-messages"):
        RecordedModel("openai", [])
