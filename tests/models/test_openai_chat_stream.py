"""Streams of chat completions → chunks: every quirk and every bug report in fixtures/openai_chat.

A fixture says what the server sends and what has to come of it; texts, reasoning and tools that it does not name have
to be empty.
"""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from riverrun.chunks import RawChunk, ReasoningEndChunk, ReasoningSignatureChunk, Timestamp, encode
from riverrun.errors import ModelError
from riverrun.models.openai_chat import StreamDecoder
from riverrun.types import ToolSpec
from tests.models.decoding import RUN, Decoded, joined
from tests.models.openai_chat import DONE, Case, cases, data, decode, event

CASES = cases()
by_case = pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])

USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "total": "total_tokens",
    "reasoning": "reasoning_tokens",
    "cached": "cached_input_tokens",
    "cache_creation": "cache_creation_input_tokens",
}


@by_case
def test_a_stream_comes_to_what_its_fixture_says(case: Case):
    decoded = decode(*case.pieces, **case.options)
    expect = case.expect
    assert decoded.text == expect.get("text", "")
    assert decoded.reasoning == expect.get("reasoning", "")
    check_tools(decoded, expect.get("tools", []))
    if "error" in expect:
        check_error(decoded.error, expect["error"])
    else:
        assert decoded.error is None
        check_finish(decoded, expect)
    check_blocks(decoded, expect)
    check_content(decoded, expect)
    for chunk in decoded.chunks:
        encode(chunk)


def check_tools(decoded: Decoded, tools: list[dict[str, Any]]) -> None:
    assert [call.tool_name for call in decoded.calls] == [tool["name"] for tool in tools]
    assert [call.args for call in decoded.calls] == [tool["args"] for tool in tools]
    given = [(call.tool_call_id, tool["id"]) for call, tool in zip(decoded.calls, tools, strict=True) if "id" in tool]
    assert [found for found, _ in given] == [wanted for _, wanted in given]
    for call in decoded.calls:  # the call stands right behind the end of its arguments
        position = next(i for i, chunk in enumerate(decoded.chunks) if getattr(chunk, "payload", None) is call)
        before: Any = decoded.chunks[position - 1]
        assert before.type == "tool-call-input-streaming-end"
        assert before.payload.tool_call_id == call.tool_call_id


def check_error(error: ModelError | None, expect: dict[str, Any]) -> None:
    assert error is not None
    if "message" in expect:
        assert str(error) == expect["message"]
    for name in ("code", "status", "retryable"):
        if name in expect:
            assert getattr(error, name) == expect[name], name


def check_finish(decoded: Decoded, expect: dict[str, Any]) -> None:
    result = decoded.finish.step_result
    assert result is not None
    assert result.reason == expect["finish"]
    assert result.is_continued is (False if result.reason == "other" else None)  # its word is final
    if "raw" in expect:
        assert result.raw_reason == expect["raw"]
    assert result.logprobs == expect.get("logprobs")
    if "usage" in expect:
        wanted = {name: expect["usage"].get(name) for name in USAGE}
        assert {name: getattr(decoded.usage, member) for name, member in USAGE.items()} == wanted
    if "provider_metadata" in expect:
        assert decoded.finish.metadata is not None
        assert decoded.finish.metadata.provider_metadata == expect["provider_metadata"]


def check_blocks(decoded: Decoded, expect: dict[str, Any]) -> None:
    if "types" in expect:
        assert decoded.types == expect["types"]
    if "text_blocks" in expect:
        assert sum(chunk.type == "text-start" for chunk in decoded.chunks) == expect["text_blocks"]
    ends = [chunk.payload for chunk in decoded.chunks if isinstance(chunk, ReasoningEndChunk)]
    if "reasoning_metadata" in expect:
        assert [end.provider_metadata for end in ends] == expect["reasoning_metadata"]
    signatures = [chunk.payload.signature for chunk in decoded.chunks if isinstance(chunk, ReasoningSignatureChunk)]
    assert signatures == [end.signature for end in ends if end.signature is not None]
    assert signatures == ([expect["signature"]] if "signature" in expect else [])


def check_content(decoded: Decoded, expect: dict[str, Any]) -> None:
    if "metadata" in expect:
        wanted = expect["metadata"]
        assert decoded.metadata is not None
        found = decoded.metadata.payload
        assert (found.id, found.model_id) == (wanted.get("id"), wanted.get("model"))
        created = wanted.get("created")
        assert found.timestamp == (
            None if created is None else Timestamp.fromtimestamp(created, Timestamp.current().tzinfo)
        )
    if "call_metadata" in expect:
        assert [call.provider_metadata for call in decoded.calls] == expect["call_metadata"]
    found_sources = [[source.source_type, source.url, source.title] for source in decoded.sources]
    assert found_sources == expect.get("sources", [])
    assert [[file.mime_type, file.data, file.base64] for file in decoded.files] == expect.get("files", [])


@by_case
def test_the_chunks_are_the_same_wherever_the_bytes_are_cut(case: Case):
    whole = b"".join(case.pieces)
    wanted = decode(whole, **case.options)
    positions = range(len(whole)) if len(whole) < 400 else random.Random(7).sample(range(len(whole)), 400)
    for position in positions:
        assert same(decode(whole[:position], whole[position:], **case.options), wanted), position
    assert same(decode(*(whole[i : i + 1] for i in range(len(whole))), **case.options), wanted)


@by_case
@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"], ids=["crlf", "cr"])
def test_the_chunks_are_the_same_with_other_line_ends(case: Case, line_end: bytes):
    whole = b"".join(case.pieces)
    wanted = decode(whole, **case.options)
    other = whole.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", line_end)
    assert same(decode(other, **case.options), wanted)
    assert same(decode(*(other[i : i + 3] for i in range(0, len(other), 3)), **case.options), wanted)


@by_case
def test_comments_between_the_events_change_nothing(case: Case):
    whole = b"".join(case.pieces)
    wanted = decode(whole, **case.options)
    assert same(decode(whole.replace(b"\n\ndata:", b"\n\n: ping\n\ndata:"), **case.options), wanted)


@by_case
def test_the_usual_way_gives_the_same_as_the_short_way(case: Case):
    """With raw chunks every event takes the usual way."""
    whole = b"".join(case.pieces)
    usual = decode(whole, include_raw=True, **case.options)
    rest = Decoded([chunk for chunk in usual.chunks if not isinstance(chunk, RawChunk)], usual.error)
    assert same(rest, decode(whole, **case.options))


def same(one: Decoded, other: Decoded) -> bool:
    errors = [(str(decoded.error), getattr(decoded.error, "code", None)) for decoded in (one, other)]
    return joined(one.chunks) == joined(other.chunks) and errors[0] == errors[1]


ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], [None], {}, {"a": 1}, [[]], {"index": 0}]


def test_no_shape_of_an_event_stops_the_decoder():
    """Events of the fixtures with random members replaced: whatever comes of them is in order and has a JSON form."""
    chance = random.Random(11)
    bodies = [line[6:] for case in CASES for line in b"".join(case.pieces).split(b"\n") if line.startswith(b"data: {")]
    events = [json.loads(body) for body in bodies if _is_json(body)]
    for _ in range(1500):
        picked = [copy.deepcopy(chance.choice(events)) for _ in range(chance.randint(1, 6))]
        for _ in range(chance.randint(1, 4)):
            spoil(chance.choice(picked), chance)
        for chunk in decode(b"".join(map(data, picked)) + DONE).chunks:
            encode(chunk)


def spoil(value: Any, chance: random.Random) -> None:
    """Replace a member somewhere in a JSON value."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = chance.choice(keys)
    if isinstance(value[key], dict | list) and value[key] and chance.random() < 0.8:
        spoil(value[key], chance)
    else:
        value[key] = copy.deepcopy(chance.choice(ODD))


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return b"\\ud" not in body  # halves of surrogate pairs cannot be written again


def test_raw_chunks_hold_each_event_and_stand_before_what_came_of_it():
    events = [{"odd": 1}, {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]}]
    decoded = decode(b"".join(map(data, events)) + DONE, include_raw=True)
    assert [chunk.payload for chunk in decoded.chunks if isinstance(chunk, RawChunk)] == events
    assert decoded.types == ["raw", "text-start", "text-delta", "text-end", "finish"]


def test_the_provider_names_the_metadata():
    whole = event({"reasoning_content": "a", "tool_calls": [{"id": "c", "x": 1, "function": {"name": "f"}}]}, "stop")
    decoded = decode(whole, provider="acme")
    assert decoded.calls[0].provider_metadata == {"acme": {"x": 1}}
    assert decoded.only(ReasoningEndChunk).provider_metadata == {"acme": {"field": "reasoning_content"}}


def test_headers_are_told_with_the_response_metadata():
    decoded = decode(event({"content": "a"}, "stop"), headers={"x-request-id": "7"})
    assert decoded.metadata is not None
    assert decoded.metadata.payload.headers == {"x-request-id": "7"}


def test_a_known_tool_is_announced_before_its_arguments_come():
    decoder = StreamDecoder(RUN, tools=[ToolSpec(name="now", description="", input_schema={})])
    fragment = {"index": 0, "id": "c", "function": {"name": "now", "arguments": ""}}
    chunks = decoder.feed(event({"tool_calls": [fragment]}).removeprefix(b"data: "))
    assert [chunk.type for chunk in chunks] == ["response-metadata", "tool-call-input-streaming-start"]


def test_ids_differ_from_stream_to_stream():
    ids = set()
    for _ in range(2):
        decoder = StreamDecoder(RUN)
        for chunk in decoder.feed(event({"content": "a"}).removeprefix(b"data: ")):
            ids.add(getattr(chunk.payload, "id", None))
    assert len(ids - {"chatcmpl-1"}) == 2


def test_a_broken_connection_closes_what_is_open():
    decoder = StreamDecoder(RUN)
    decoder.feed(event({"content": "<thi"}).removeprefix(b"data: "))
    broken = ModelError("gone", retryable=True)
    assert [chunk.type for chunk in decoder.fail(broken)][-3:] == ["text-start", "text-delta", "text-end"]
    assert decoder.error is broken
    assert decoder.close() == []


def test_a_connection_that_breaks_after_the_finish_reason_is_no_failure():
    decoder = StreamDecoder(RUN)
    decoder.feed(event({"content": "a"}, "stop").removeprefix(b"data: "))
    assert decoder.fail(ModelError("gone")) == []
    assert decoder.error is None
    assert [chunk.type for chunk in decoder.close()] == ["text-end", "finish"]


def test_a_long_stream_takes_time_in_proportion():
    """Details and arguments in 10,000 pieces: each piece costs the same."""
    detail = {"type": "reasoning.text", "text": "x" * 50, "index": 0}
    events = [event({"reasoning": "x" * 50, "reasoning_details": [detail]})] * 10_000
    fragment = {"index": 0, "function": {"name": "f", "arguments": "x" * 50}}
    events += [event({"tool_calls": [fragment]})] * 10_000
    decoded = decode(b"".join(events) + DONE)
    assert len(decoded.reasoning) == 500_000
    (whole,) = decoded.only(ReasoningEndChunk).provider_metadata["openai-chat"]["reasoning_details"]
    assert len(whole["text"]) == 500_000
