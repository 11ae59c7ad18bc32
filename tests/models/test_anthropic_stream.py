"""Streams of messages → chunks: every quirk and every bug report in fixtures/anthropic_messages.

A fixture says what the server sends and what has to come of it; texts, reasoning, tools, results, sources and the like
that it does not name have to be empty.
"""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from riverrun.chunks import (
    CustomChunk,
    RawChunk,
    ReasoningEndChunk,
    ReasoningSignatureChunk,
    RedactedReasoningChunk,
    TextEndChunk,
    encode,
)
from riverrun.errors import ModelError
from riverrun.models.anthropic import StreamDecoder
from riverrun.types import ToolSpec
from tests.models.anthropic_messages import Case, begin, block, cases, data, decode, delta, end, start, stop, text
from tests.models.decoding import RUN, Decoded, decoded, joined

CASES = cases()
by_case = pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])

USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "total": "total_tokens",
    "reasoning": "reasoning_tokens",
    "cached": "cached_input_tokens",
    "cache_creation": "cache_creation_input_tokens",
    "cache_5m": "cache_creation_input_tokens5m",
    "cache_1h": "cache_creation_input_tokens1h",
}


@by_case
def test_a_stream_comes_to_what_its_fixture_says(case: Case):
    decoded = decode(case.stream)
    expect = case.expect
    assert decoded.text == expect.get("text", "")
    assert decoded.reasoning == expect.get("reasoning", "")
    check_tools(decoded, expect)
    if "error" in expect:
        check_error(decoded.error, expect["error"])
    else:
        assert decoded.error is None
        check_finish(decoded, expect)
    check_blocks(decoded, expect)
    check_content(decoded, expect)
    for chunk in decoded.chunks:
        encode(chunk)


def check_tools(decoded: Decoded, expect: dict[str, Any]) -> None:
    found = [
        (call.tool_call_id, call.tool_name, call.args, call.provider_executed, call.dynamic) for call in decoded.calls
    ]
    wanted = [
        (tool["id"], tool["name"], tool["args"], tool.get("remote"), tool.get("dynamic"))
        for tool in expect.get("tools", [])
    ]
    assert found == wanted
    for call in decoded.calls:  # the call stands right behind the end of its arguments
        position = next(i for i, chunk in enumerate(decoded.chunks) if getattr(chunk, "payload", None) is call)
        before: Any = decoded.chunks[position - 1]
        assert before.type == "tool-call-input-streaming-end"
        assert before.payload.tool_call_id == call.tool_call_id
    if "call_metadata" in expect:
        assert [call.provider_metadata for call in decoded.calls] == expect["call_metadata"]
    results = [
        [
            result.tool_call_id,
            result.tool_name,
            result.result,
            result.is_error,
            (result.provider_metadata or {}).get("anthropic"),
        ]
        for result in decoded.results
    ]
    assert all(result.provider_executed for result in decoded.results)
    assert results == expect.get("results", [])


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
    if "raw" in expect:
        assert result.raw_reason == expect["raw"]
    if "usage" in expect:
        wanted = {name: expect["usage"].get(name) for name in USAGE}
        assert {name: getattr(decoded.usage, member) for name, member in USAGE.items()} == wanted
    if "provider_metadata" in expect:
        assert decoded.finish.metadata is not None
        assert decoded.finish.metadata.provider_metadata == expect["provider_metadata"]


def check_blocks(decoded: Decoded, expect: dict[str, Any]) -> None:
    if "types" in expect:
        assert decoded.types == expect["types"]
    texts = [chunk.payload for chunk in decoded.chunks if isinstance(chunk, TextEndChunk)]
    if "text_blocks" in expect:
        assert len(texts) == expect["text_blocks"]
    if "text_metadata" in expect:
        assert [end.provider_metadata for end in texts] == expect["text_metadata"]
    ends = [chunk.payload for chunk in decoded.chunks if isinstance(chunk, ReasoningEndChunk)]
    if "reasoning_metadata" in expect:
        assert [end.provider_metadata for end in ends] == expect["reasoning_metadata"]
    signatures = [chunk.payload.signature for chunk in decoded.chunks if isinstance(chunk, ReasoningSignatureChunk)]
    assert signatures == [end.signature for end in ends if end.signature is not None]
    assert signatures == expect.get("signatures", [])
    redacted = [chunk.payload for chunk in decoded.chunks if isinstance(chunk, RedactedReasoningChunk)]
    assert [[payload.data, payload.provider_metadata] for payload in redacted] == expect.get("redacted", [])


def check_content(decoded: Decoded, expect: dict[str, Any]) -> None:
    if "metadata" in expect:
        assert decoded.metadata is not None
        found = decoded.metadata.payload
        assert (found.id, found.model_id) == (expect["metadata"]["id"], expect["metadata"]["model"])
    sources = [[source.source_type, source.url, source.title] for source in decoded.sources]
    assert sources == expect.get("sources", [])
    if "source_metadata" in expect:
        told = [(source.provider_metadata or {}).get("anthropic") for source in decoded.sources]
        assert told == expect["source_metadata"]
    if "mime_types" in expect:
        assert [source.mime_type for source in decoded.sources] == expect["mime_types"]
    custom = [chunk.payload for chunk in decoded.chunks if isinstance(chunk, CustomChunk)]
    found_custom = [[payload.kind, (payload.provider_metadata or {}).get("anthropic")] for payload in custom]
    assert found_custom == expect.get("custom", [])


@by_case
def test_the_chunks_are_the_same_wherever_the_bytes_are_cut(case: Case):
    whole = case.stream
    wanted = decode(whole)
    positions = range(len(whole)) if len(whole) < 300 else random.Random(7).sample(range(len(whole)), 150)
    for position in positions:
        assert same(decode(whole[:position], whole[position:]), wanted), position
    assert same(decode(*(whole[i : i + 1] for i in range(len(whole)))), wanted)


@by_case
@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"], ids=["crlf", "cr"])
def test_the_chunks_are_the_same_with_other_line_ends(case: Case, line_end: bytes):
    wanted = decode(case.stream)
    other = case.stream.replace(b"\n", line_end)
    assert same(decode(other), wanted)
    assert same(decode(*(other[i : i + 3] for i in range(0, len(other), 3))), wanted)


@by_case
def test_comments_and_pings_between_the_events_change_nothing(case: Case):
    wanted = decode(case.stream)
    for between in (b"\n\n: ping\n\n", b'\n\nevent: ping\ndata: {"type": "ping"}\n\n'):
        assert same(decode(case.stream.replace(b"\n\nevent:", between + b"event:")), wanted)


@by_case
def test_the_usual_way_gives_the_same_as_the_short_way(case: Case):
    """With raw chunks every event takes the usual way."""
    usual = decode(case.stream, include_raw=True)
    rest = Decoded([chunk for chunk in usual.chunks if not isinstance(chunk, RawChunk)], usual.error)
    assert same(rest, decode(case.stream))


def same(one: Decoded, other: Decoded) -> bool:
    errors = [(str(decoded.error), getattr(decoded.error, "code", None)) for decoded in (one, other)]
    return joined(one.chunks) == joined(other.chunks) and errors[0] == errors[1]


ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], [None], {}, {"a": 1}, [[]], {"type": "text"}]


def test_no_shape_of_an_event_stops_the_decoder():
    """Events of the fixtures with random members replaced or dropped: whatever comes of them is in order and has a JSON
    form.
    """
    chance = random.Random(11)
    bodies = [line[6:] for case in CASES for line in case.stream.split(b"\n") if line.startswith(b"data: {")]
    events = [json.loads(body) for body in bodies]
    for _ in range(1500):
        picked = [copy.deepcopy(chance.choice(events)) for _ in range(chance.randint(1, 8))]
        for _ in range(chance.randint(1, 4)):
            spoil(chance.choice(picked), chance)
        for chunk in decode(b"".join(map(data, picked))).chunks:
            encode(chunk)


def spoil(value: Any, chance: random.Random) -> None:
    """Replace or drop a member somewhere in a JSON value."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = chance.choice(keys)
    if isinstance(value[key], dict | list) and value[key] and chance.random() < 0.8:
        spoil(value[key], chance)
    elif chance.random() < 0.2:
        del value[key]
    else:
        value[key] = copy.deepcopy(chance.choice(ODD))


def test_raw_chunks_hold_each_event_and_stand_before_what_came_of_it():
    events = [
        {"type": "odd"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
    ]
    decoded = decode(b"".join(map(data, events)) + data({"type": "message_stop"}), include_raw=True)
    raw = [chunk.payload for chunk in decoded.chunks if isinstance(chunk, RawChunk)]
    assert raw == [*events, {"type": "message_stop"}]
    assert decoded.types == ["raw", "text-start", "text-delta", "raw", "text-end", "finish"]


def test_the_provider_names_the_metadata():
    thinking = block(0, {"type": "thinking", "thinking": "hm"}, {"signature": "S"})
    decoded = decode(begin() + thinking + block(1, {"type": "hologram"}) + end(), provider="acme")
    assert decoded.only(ReasoningEndChunk).provider_metadata == {"acme": {"signature": "S"}}
    assert decoded.only(CustomChunk).kind == "acme.hologram"


def test_headers_are_told_with_the_response_metadata():
    decoded = decode(text(0, "a") + end(), headers={"request-id": "7"})
    assert decoded.metadata is not None
    assert decoded.metadata.payload.headers == {"request-id": "7"}
    assert decoded.types[0] == "response-metadata"


def test_the_tools_of_the_api_have_the_names_that_the_program_gave_them():
    tools = [
        ToolSpec(name="search", description="", input_schema={}, provider_id="anthropic.web_search_20250305"),
        ToolSpec(name="shell", description="", input_schema={}, provider_id="anthropic.bash_20250124"),
    ]
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    blocks = [
        block(0, {"type": "server_tool_use", "id": "s", "name": "web_search"}),
        block(1, result),
        block(2, {"type": "tool_use", "id": "b", "name": "bash"}),
    ]
    decoded = decode(begin() + b"".join(blocks) + end("tool_use"), tools=tools)
    assert [call.tool_name for call in decoded.calls] == ["search", "shell"]
    assert [result.tool_name for result in decoded.results] == ["search"]
    assert decoded.calls[0].provider_metadata == {"anthropic": {"type": "server_tool_use", "name": "web_search"}}


def test_a_call_is_announced_before_its_arguments_come():
    decoder = StreamDecoder(RUN)
    decoder.feed(begin().split(b"data: ")[1])
    (chunk,) = decoder.feed(start(0, type="tool_use", id="c", name="now", input={}).split(b"data: ")[1])
    assert chunk.type == "tool-call-input-streaming-start"


def test_ids_differ_from_stream_to_stream():
    ids = set()
    for _ in range(2):
        decoder = StreamDecoder(RUN)
        for chunk in decoder.feed(start(0, type="text", text="a").split(b"data: ")[1]):
            ids.add(chunk.payload.id)
    assert len(ids) == 2


def test_a_broken_connection_closes_what_is_open():
    decoder = StreamDecoder(RUN)
    decoder.feed(start(0, type="text", text="a").split(b"data: ")[1])
    broken = ModelError("gone", retryable=True)
    assert [chunk.type for chunk in decoder.fail(broken)] == ["text-end"]
    assert decoder.error is broken
    assert decoder.feed(delta(0, text="b").split(b"data: ")[1]) == []
    assert decoder.close() == []


def test_a_connection_that_breaks_after_the_reason_for_the_end_is_no_failure():
    decoder = StreamDecoder(RUN)
    decoder.feed(start(0, type="text", text="a").split(b"data: ")[1])
    decoder.feed(end().split(b"data: ")[1].partition(b"\n")[0])
    assert decoder.fail(ModelError("gone")) == []
    assert decoder.error is None
    assert [chunk.type for chunk in decoder.close()] == ["text-end", "finish"]


def test_a_long_stream_takes_time_in_proportion():
    """Texts, arguments and signatures in 10,000 pieces: each piece costs the same."""
    pieces = [start(0, type="text", text=""), *[delta(0, text="x" * 50)] * 10_000, stop(0)]
    pieces += [start(1, type="thinking", thinking=""), *[delta(1, signature="x" * 50)] * 10_000, stop(1)]
    pieces += [start(2, type="tool_use", id="c", name="f", input={})]
    pieces += [
        delta(2, partial_json='{"a":"'),
        *[delta(2, partial_json="x" * 50)] * 10_000,
        delta(2, partial_json='"}'),
    ]
    whole = decoded(StreamDecoder(RUN), begin() + b"".join(pieces) + stop(2) + end("tool_use"))
    assert len(whole.text) == 500_000
    assert len(whole.only(ReasoningSignatureChunk).signature) == 500_000
    assert len(whole.calls[0].args["a"]) == 500_000


@pytest.mark.parametrize("size", [20, 1])
def test_arguments_of_64_kib_come_whole_in_small_pieces(size: int):
    """openclaw/openclaw#113124, vercel/ai#17113: a file that an agent writes, escapes and all."""
    content = ('line "one"\n\\two\\\n' * 5000)[: 64 * 1024]
    written = json.dumps({"path": "a", "content": content})
    pieces = ({"partial_json": written[at : at + size]} for at in range(0, len(written), size))
    call = block(0, {"type": "tool_use", "id": "c", "name": "write", "input": {}}, *pieces)
    assert decode(begin() + call + end("tool_use")).calls[0].args == {"path": "a", "content": content}
