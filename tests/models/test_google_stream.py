"""Streams of generateContent → chunks: every quirk and every bug report in fixtures/google_content.

A fixture says what the server sends and what has to come of it; what it does not name has to be empty.
"""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from riverrun.chunks import (
    ChunkType,
    CustomChunk,
    RawChunk,
    ReasoningDeltaChunk,
    ReasoningEndChunk,
    ReasoningSignatureChunk,
    SourceChunk,
    TextDeltaChunk,
    TextEndChunk,
    ToolCallChunk,
    ToolCallDeltaChunk,
    ToolCallInputStreamingStartChunk,
    encode,
)
from riverrun.errors import ModelError
from riverrun.models.google import StreamDecoder
from riverrun.models.google.arguments import PartialArguments
from riverrun.types import ToolSpec
from tests.models.decoding import RUN, Decoded, joined
from tests.models.google_content import Case, cases, data, decode, event

CASES = cases()
by_case = pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])

USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "total": "total_tokens",
    "reasoning": "reasoning_tokens",
    "cached": "cached_input_tokens",
}


def options(case: Case) -> dict[str, Any]:
    """A fixture's options: tools are given as name and id."""
    specs = [
        ToolSpec(name=name, description="", input_schema={}, provider_id=id)
        for name, id in case.options.get("tools", ())
    ]
    return {"tools": specs} if specs else {}


def read(case: Case, *pieces: bytes, **more: Any) -> Decoded:
    return decode(*(pieces or (case.stream,)), **options(case), **more)


@by_case
def test_a_stream_comes_to_what_its_fixture_says(case: Case):
    decoded = read(case)
    expect = case.expect
    assert decoded.text == expect.get("text", "")
    assert decoded.reasoning == expect.get("reasoning", "")
    check_tools(decoded, expect.get("tools", []))
    check_results(decoded, expect.get("results"))
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
    found = [(call.tool_call_id, call.tool_name, call.args, bool(call.provider_executed)) for call in decoded.calls]
    assert found == [(tool["id"], tool["name"], tool["args"], tool.get("provider_executed", False)) for tool in tools]
    for call, tool in zip(decoded.calls, tools, strict=True):
        text = arguments_text(decoded.chunks, call.tool_call_id)
        if "text" in tool:
            assert text == tool["text"]
        elif tool["args"] is not None:
            assert json.loads(text) == tool["args"]
        if "metadata" in tool:
            assert call.provider_metadata == (None if tool["metadata"] is None else {"google": tool["metadata"]})
        position = next(i for i, chunk in enumerate(decoded.chunks) if getattr(chunk, "payload", None) is call)
        before: Any = decoded.chunks[position - 1]  # the call stands right behind the end of its arguments
        assert before.type == "tool-call-input-streaming-end"
        assert before.payload.tool_call_id == call.tool_call_id


def arguments_text(chunks: list[ChunkType], call_id: str) -> str:
    pieces = [chunk.payload for chunk in chunks if isinstance(chunk, ToolCallDeltaChunk)]
    return "".join(piece.args_text_delta for piece in pieces if piece.tool_call_id == call_id)


def check_results(decoded: Decoded, results: list[dict[str, Any]] | None) -> None:
    found = [(r.tool_call_id, r.tool_name, r.result, bool(r.is_error)) for r in decoded.results]
    assert found == [(r["id"], r["name"], r["result"], r.get("is_error", False)) for r in results or ()]
    for result, wanted in zip(decoded.results, results or (), strict=True):
        assert result.provider_executed
        if "metadata" in wanted:
            assert result.provider_metadata == {"google": wanted["metadata"]}


def check_error(error: ModelError | None, expect: dict[str, Any]) -> None:
    assert error is not None
    found = {"message": str(error), **{name: getattr(error, name) for name in ("code", "status", "retryable")}}
    found["retry_after"] = error.retry_after
    assert {name: found[name] for name in expect} == expect


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
        assert decoded.finish.metadata.provider_metadata == {"google": expect["provider_metadata"]}


def check_blocks(decoded: Decoded, expect: dict[str, Any]) -> None:
    if "types" in expect:
        assert decoded.types == expect["types"]
    if "blocks" in expect:
        assert blocks(decoded.chunks) == [tuple(block) for block in expect["blocks"]]
    ends = [chunk.payload for chunk in decoded.chunks if isinstance(chunk, ReasoningEndChunk)]
    signatures = [chunk.payload.signature for chunk in decoded.chunks if isinstance(chunk, ReasoningSignatureChunk)]
    assert signatures == [end.signature for end in ends if end.signature is not None]
    assert signatures == ([expect["signature"]] if "signature" in expect else [])


def blocks(chunks: list[ChunkType]) -> list[tuple[str, str, dict[str, Any] | None]]:
    """The text and reasoning blocks: kind, text, and what their ends say for the provider."""
    texts: dict[str, str] = {}
    found: list[tuple[str, str, dict[str, Any] | None]] = []
    for chunk in chunks:
        if isinstance(chunk, TextDeltaChunk | ReasoningDeltaChunk):
            texts[chunk.payload.id] = texts.get(chunk.payload.id, "") + chunk.payload.text
        elif isinstance(chunk, TextEndChunk | ReasoningEndChunk):
            metadata = (chunk.payload.provider_metadata or {}).get("google")
            found.append((chunk.type.removesuffix("-end"), texts.get(chunk.payload.id, ""), metadata))
    return found


def check_content(decoded: Decoded, expect: dict[str, Any]) -> None:
    if "metadata" in expect:
        wanted = expect["metadata"]
        assert decoded.metadata is not None
        found = decoded.metadata.payload
        assert (found.id, found.model_id) == (wanted.get("id"), wanted.get("model"))
        assert (found.timestamp and found.timestamp.wire()) == wanted.get("created")
    found_sources = [[source.source_type, source.url, source.title] for source in decoded.sources]
    assert found_sources == expect.get("sources", [])
    if "documents" in expect:
        documents = [source for source in decoded.sources if source.source_type == "document"]
        assert [[source.filename, source.mime_type] for source in documents] == expect["documents"]
    files = [[f.mime_type, f.data, f.base64, (f.provider_metadata or {}).get("google")] for f in decoded.files]
    assert files == expect.get("files", [])
    custom = [chunk.payload for chunk in decoded.chunks if isinstance(chunk, CustomChunk)]
    assert [[c.kind, (c.provider_metadata or {}).get("google")] for c in custom] == expect.get("custom", [])


@by_case
def test_the_chunks_are_the_same_wherever_the_bytes_are_cut(case: Case):
    whole = case.stream
    wanted = read(case)
    positions = range(len(whole)) if len(whole) < 200 else random.Random(7).sample(range(len(whole)), 200)
    for position in positions:
        assert same(read(case, whole[:position], whole[position:]), wanted), position
    assert same(read(case, *(whole[i : i + 1] for i in range(len(whole))), b""), wanted)


@by_case
@pytest.mark.parametrize("line_end", [b"\n", b"\r"], ids=["lf", "cr"])
def test_the_chunks_are_the_same_with_other_line_ends(case: Case, line_end: bytes):
    wanted = read(case)
    other = case.stream.replace(b"\r\n", b"\n").replace(b"\n", line_end)
    assert same(read(case, other, b""), wanted)
    assert same(read(case, *(other[i : i + 3] for i in range(0, len(other), 3)), b""), wanted)


@by_case
def test_comments_between_the_events_change_nothing(case: Case):
    spaced = case.stream.replace(b"\r\n\r\ndata:", b"\r\n\r\n: ping\r\n\r\ndata:")
    assert same(read(case, spaced, b""), read(case))


@by_case
def test_the_usual_way_gives_the_same_as_the_short_way(case: Case):
    """With raw chunks every event takes the usual way."""
    usual = read(case, include_raw=True)
    rest = Decoded([chunk for chunk in usual.chunks if not isinstance(chunk, RawChunk)], usual.error)
    assert same(rest, read(case))


def same(one: Decoded, other: Decoded) -> bool:
    errors = [(str(decoded.error), getattr(decoded.error, "code", None)) for decoded in (one, other)]
    return joined(one.chunks) == joined(other.chunks) and errors[0] == errors[1]


ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], [None], {}, {"a": 1}, [[]], {"willContinue": True}, "$.a[0]"]


def test_no_shape_of_an_event_stops_the_decoder():
    """Events of the fixtures with random members replaced: whatever comes of them is in order and has a JSON form."""
    chance = random.Random(11)
    bodies = [line[6:] for case in CASES for line in case.stream.splitlines() if line.startswith(b"data: {")]
    events = [json.loads(body) for body in bodies]
    for _ in range(2500):
        picked = [copy.deepcopy(chance.choice(events)) for _ in range(chance.randint(1, 6))]
        for _ in range(chance.randint(1, 4)):
            spoil(chance.choice(picked), chance)
        for chunk in decode(b"".join(map(data, picked)) + event(finish="STOP")).chunks:
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


@pytest.mark.parametrize("head", [b'{"a":', b'{"candidates":[{"content":', b"["])
def test_json_that_is_nested_too_deeply_is_a_failure(head: bytes):
    deep = head * 5000
    decoded = decode(event({"text": "a"}), b"data: " + deep + b"1\n\n")
    assert decoded.error is not None
    assert decoded.error.code == "invalid_json"


def test_raw_chunks_hold_each_event_and_stand_before_what_came_of_it():
    events = [{"odd": 1}, {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}]}]
    decoded = decode(b"".join(map(data, events)), include_raw=True)
    assert [chunk.payload for chunk in decoded.chunks if isinstance(chunk, RawChunk)] == events
    assert decoded.types == ["raw", "text-start", "text-delta", "text-end", "finish"]


def test_the_provider_names_the_metadata():
    call = {"functionCall": {"name": "f", "id": "c"}, "thoughtSignature": "S"}
    decoded = decode(event({"text": "a", "thoughtSignature": "T"}, call, {"x": {}}, finish="STOP"), provider="acme")
    assert decoded.calls[0].provider_metadata == {"acme": {"id": "c", "thoughtSignature": "S"}}
    assert decoded.only(TextEndChunk).provider_metadata == {"acme": {"thoughtSignature": "T"}}
    assert decoded.only(CustomChunk).kind == "acme.x"


def test_headers_are_told_with_the_response_metadata():
    decoded = decode(event({"text": "a"}, finish="STOP"), headers={"x-request-id": "7"})
    assert decoded.metadata is not None
    assert decoded.metadata.payload.headers == {"x-request-id": "7"}


def test_a_call_is_announced_before_its_arguments_come_and_they_are_told_as_they_come():
    decoder = StreamDecoder(RUN, prefix="p")

    def fed(call: dict[str, Any]) -> list[str]:
        chunks = decoder.feed(event({"functionCall": call}).removeprefix(b"data: "))
        return [
            chunk.payload.args_text_delta if isinstance(chunk, ToolCallDeltaChunk) else chunk.type for chunk in chunks
        ]

    def piece(path: str, text: str) -> list[str]:
        return fed(
            {"partialArgs": [{"jsonPath": path, "stringValue": text, "willContinue": True}], "willContinue": True}
        )

    assert fed({"name": "write", "willContinue": True}) == ["response-metadata", ToolCallInputStreamingStartChunk.type]
    assert piece("$.text", "Hel") == ['{"text":"Hel']
    assert piece("$.text", "lo") == ["lo"]
    assert piece("$.to.name", "An") == ['"']
    assert piece("$.to.name", "n") == []
    assert fed({}) == [',"to":{"name":"Ann"}}', "tool-call-input-streaming-end", ToolCallChunk.type]


def test_a_source_comes_with_the_event_that_names_it():
    decoder = StreamDecoder(RUN, prefix="p")
    grounding = {"groundingChunks": [{"web": {"uri": "https://a.example"}}]}
    candidate = {"content": {"parts": [{"text": "a"}]}, "groundingMetadata": grounding}
    chunks = decoder.feed(json.dumps({"candidates": [candidate]}).encode())
    assert isinstance(chunks[-1], SourceChunk)


def test_ids_differ_from_stream_to_stream():
    ids = set()
    for _ in range(2):
        decoder = StreamDecoder(RUN)
        for chunk in decoder.feed(event({"text": "a"}).removeprefix(b"data: ")):
            ids.add(getattr(chunk.payload, "id", None))
    assert len(ids - {"r-1"}) == 2


def test_a_broken_connection_closes_what_is_open():
    decoder = StreamDecoder(RUN)
    decoder.feed(event({"text": "a"}).removeprefix(b"data: "))
    broken = ModelError("gone", retryable=True)
    assert [chunk.type for chunk in decoder.fail(broken)] == ["text-end"]
    assert decoder.error is broken
    assert decoder.close() == []


def test_a_connection_that_breaks_after_the_finish_reason_is_no_failure():
    decoder = StreamDecoder(RUN)
    decoder.feed(event({"text": "a"}, finish="STOP").removeprefix(b"data: "))
    assert decoder.fail(ModelError("gone")) == []
    assert decoder.error is None
    assert [chunk.type for chunk in decoder.close()] == ["text-end", "finish"]


def test_arguments_of_any_order_come_to_the_same_as_their_text():
    """Random pieces at random places: the text that was told is JSON of the value. Of two members the last counts."""
    chance = random.Random(5)
    places = ["$.a", "$.b", "$.c.d", "$.c.e", "$.f[0]", "$.f[1]", "$.g[0].h", "$.g[1].h", "$['a b']", "$.a.x"]
    for _ in range(500):
        arguments = PartialArguments()
        text = ""
        for _ in range(chance.randint(0, 12)):
            piece: dict[str, Any] = {"jsonPath": chance.choice(places)}
            piece |= chance.choice([{"stringValue": 'é"\n'}, {"stringValue": ""}, {"numberValue": 1}, {"nullValue": 0}])
            text += arguments.add([piece])
        text += arguments.end()
        assert json.loads(text) == arguments.value


def test_a_long_stream_takes_time_in_proportion():
    """Text and arguments in 10,000 pieces: each piece costs the same."""
    arg = {"jsonPath": "$.text", "stringValue": "x" * 50, "willContinue": True}
    events = [event({"text": "x" * 50})] * 10_000
    events += [event({"functionCall": {"name": "f", "willContinue": True}})]
    events += [event({"functionCall": {"partialArgs": [arg], "willContinue": True}})] * 10_000
    decoded = decode(b"".join(events), event(finish="STOP"))
    assert len(decoded.text) == 500_000
    assert decoded.calls[0].args == {"text": "x" * 500_000}
