"""Streams of responses → chunks: every quirk and every bug report in fixtures/openai_responses.

A fixture says what the server sends and what has to come of it; texts, reasoning, tools, results, sources, files and
content of the provider's own kind that it does not name have to be missing.
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
    TextEndChunk,
    TextStartChunk,
    Timestamp,
    ToolCallDeltaChunk,
    ToolCallPayload,
    encode,
)
from riverrun.errors import ModelError
from riverrun.models.openai_responses import StreamDecoder
from tests.models.decoding import RUN, Decoded, joined
from tests.models.openai_responses import Case, cases, decode, event, frame, offered, wire

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
    decoded = decode(case.whole, **case.options)
    expect = case.expect
    assert decoded.text == expect.get("text", "")
    assert decoded.reasoning == expect.get("reasoning", "")
    check_calls(decoded, expect)
    if "error" in expect:
        check_error(decoded.error, expect["error"])
    else:
        assert decoded.error is None
        check_finish(decoded, expect)
    check_blocks(decoded, expect)
    check_content(decoded, expect)
    for chunk in decoded.chunks:
        encode(chunk)


def check_calls(decoded: Decoded, expect: dict[str, Any]) -> None:
    tools = expect.get("tools", [])
    found = [(call.tool_call_id, call.tool_name, call.args, bool(call.provider_executed)) for call in decoded.calls]
    assert found == [(tool["id"], tool["name"], tool["args"], tool.get("server", False)) for tool in tools]
    results = [[result.tool_call_id, result.result, result.is_error] for result in decoded.results]
    assert results == expect.get("results", results if "results" not in expect and any_server(tools) else [])
    for call in decoded.calls:
        check_pieces(decoded, call)
    if "streamed" in expect:
        assert [pieces for call in decoded.calls if (pieces := streamed(decoded, call))] == expect["streamed"]
    for name, payloads in (("call_metadata", decoded.calls), ("result_metadata", decoded.results)):
        if name in expect:
            assert [payload.provider_metadata for payload in payloads] == expect[name]
    if "dynamic" in expect:
        assert [call.dynamic for call in decoded.calls] == expect["dynamic"]


def any_server(tools: list[dict[str, Any]]) -> bool:
    return any(tool.get("server") for tool in tools)


def check_pieces(decoded: Decoded, call: ToolCallPayload) -> None:
    """A call stands right behind the end of its arguments, whose pieces are the JSON of them."""
    position = next(i for i, chunk in enumerate(decoded.chunks) if getattr(chunk, "payload", None) is call)
    before: Any = decoded.chunks[position - 1]
    assert before.type == "tool-call-input-streaming-end"
    assert before.payload.tool_call_id == call.tool_call_id
    pieces = streamed(decoded, call)
    if pieces and call.args is not None:
        assert json.loads(pieces) == call.args


def streamed(decoded: Decoded, call: ToolCallPayload) -> str:
    """The pieces of a call's arguments, joined."""
    deltas = (chunk.payload for chunk in decoded.chunks if isinstance(chunk, ToolCallDeltaChunk))
    return "".join(delta.args_text_delta for delta in deltas if delta.tool_call_id == call.tool_call_id)


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
    kinds = {"start_metadata": TextStartChunk, "text_metadata": TextEndChunk, "reasoning_metadata": ReasoningEndChunk}
    for name, kind in kinds.items():
        if name in expect:
            found = [chunk.payload.provider_metadata for chunk in decoded.chunks if isinstance(chunk, kind)]
            assert found == expect[name]


def check_content(decoded: Decoded, expect: dict[str, Any]) -> None:
    if "metadata" in expect:
        wanted = expect["metadata"]
        assert decoded.metadata is not None
        found = decoded.metadata.payload
        created = wanted.get("created")
        moment = None if created is None else Timestamp.fromtimestamp(created, Timestamp.current().tzinfo)
        assert (found.id, found.model_id, found.timestamp) == (wanted["id"], wanted["model"], moment)
    found_sources = [[source.source_type, source.url, source.title] for source in decoded.sources]
    assert found_sources == expect.get("sources", [])
    if "source_details" in expect:
        details = [[source.mime_type, source.provider_metadata] for source in decoded.sources]
        assert details == expect["source_details"]
    assert [[file.mime_type, file.data, file.base64] for file in decoded.files] == expect.get("files", [])
    if "file_metadata" in expect:
        assert [file.provider_metadata for file in decoded.files] == expect["file_metadata"]
    custom = [chunk.payload for chunk in decoded.chunks if isinstance(chunk, CustomChunk)]
    wanted_custom = expect.get("custom", [])
    assert [payload.kind for payload in custom] == [
        item if isinstance(item, str) else item[0] for item in wanted_custom
    ]
    for payload, item in zip(custom, wanted_custom, strict=True):
        assert isinstance(item, str) or payload.provider_metadata == item[1]


@by_case
def test_the_chunks_are_the_same_wherever_the_bytes_are_cut(case: Case):
    whole = case.whole
    wanted = decode(whole, **case.options)
    positions = range(len(whole)) if len(whole) < 300 else random.Random(7).sample(range(len(whole)), 150)
    for position in positions:
        assert same(decode(whole[:position], whole[position:], **case.options), wanted), position
    assert same(decode(*(whole[i : i + 1] for i in range(len(whole))), **case.options), wanted)


@by_case
def test_the_chunks_are_the_same_without_names_of_events_and_with_other_line_ends(case: Case):
    wanted = decode(case.whole, **case.options)
    assert same(decode(case.whole.replace(b"\n", b"\r\n"), **case.options), wanted)
    if not any(isinstance(item, str) for item in case.events):
        unnamed = b"".join(b"data: " + json.dumps(event(item)).encode() + b"\n\n" for item in case.events)
        assert same(decode(unnamed, **case.options), wanted)


@by_case
def test_the_usual_way_gives_the_same_as_the_short_way(case: Case):
    """With raw chunks every event takes the usual way."""
    usual = decode(case.whole, include_raw=True, **case.options)
    rest = Decoded([chunk for chunk in usual.chunks if not isinstance(chunk, RawChunk)], usual.error)
    assert same(rest, decode(case.whole, **case.options))


def same(one: Decoded, other: Decoded) -> bool:
    errors = [(str(decoded.error), getattr(decoded.error, "code", None)) for decoded in (one, other)]
    return joined(one.chunks) == joined(other.chunks) and errors[0] == errors[1]


# -- one answer in all the forms that servers give it in

ITEMS: list[dict[str, Any]] = [
    {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}],
        "encrypted_content": "eA==",
    },
    {
        "id": "ci_1",
        "type": "code_interpreter_call",
        "status": "completed",
        "container_id": "cntr_1",
        "code": 'print("é")',
        "outputs": [{"type": "logs", "logs": "é"}],
    },
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "phase": "commentary",
        "content": [
            {
                "type": "output_text",
                "text": "Let me see.",
                "annotations": [{"type": "url_citation", "url": "https://a.example", "title": "A"}],
            },
            {"type": "refusal", "refusal": "No."},
        ],
    },
    {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"a": 1}'},
]
CREATED: dict[str, Any] = {"created": {}}
PIECES: list[list[dict[str, Any]]] = [
    [
        {"reasoning_summary_text": "Fir"},
        {"reasoning_summary_text": "st."},
        {"type": "reasoning_summary_text.done", "output_index": 0, "summary_index": 0, "text": "First."},
        {"reasoning_summary_text": "Then.", "part": 1},
    ],
    [
        {"code_interpreter_call_code": "print(", "on": 1},
        {"code_interpreter_call_code": '"é")', "on": 1},
        {"type": "code_interpreter_call_code.done", "output_index": 1, "code": 'print("é")'},
    ],
    [
        {"output_text": "Let me", "on": 2},
        {"output_text": " see.", "on": 2},
        {"type": "output_text.done", "output_index": 2, "content_index": 0, "text": "Let me see."},
        {
            "type": "output_text.annotation.added",
            "output_index": 2,
            "content_index": 0,
            "annotation": {"type": "url_citation", "url": "https://a.example", "title": "A"},
        },
        {"refusal": "No.", "on": 2, "part": 1},
    ],
    [{"function_call_arguments": '{"a":', "on": 3}, {"function_call_arguments": " 1}", "on": 3}],
]


def begun(item: dict[str, Any]) -> dict[str, Any]:
    """An item as it is told to begin."""
    grown = ("content", "arguments", "code", "outputs", "encrypted_content", "summary")
    return {name: value for name, value in item.items() if name not in grown}


def forms() -> dict[str, list[Any]]:
    """The same answer: in all its events, without deltas, in whole items, as one response."""
    streamed_items: list[Any] = []
    for place, (item, pieces) in enumerate(zip(ITEMS, PIECES, strict=True)):
        streamed_items += [{"added": begun(item), "on": place}, *pieces, {"done": item, "on": place}]
    end = {"completed": {"output": ITEMS}}
    whole = [{"done": item, "on": place} for place, item in enumerate(ITEMS)]
    added = [{"added": begun(item), "on": place} for place, item in enumerate(ITEMS)]
    no_deltas = [item for item in streamed_items if "type" in item or "added" in item or "done" in item]
    pieces_only = [piece for pieces in PIECES for piece in pieces]
    return {
        "all events": [CREATED, *streamed_items, end],
        "all events, with a response that has no output": [CREATED, *streamed_items, {"completed": {}}],
        "no deltas": [CREATED, *no_deltas, end],
        "whole items": [CREATED, *whole, end],
        "beginnings and the final response": [CREATED, added[0], end],
        "only the final response": [end],
        "pieces and the final response": [CREATED, *(added[1:2]), *pieces_only, end],
    }


def content(decoded: Decoded) -> list[Any]:
    """What an answer says, block by block, without when it said it."""
    ends = (TextEndChunk, ReasoningEndChunk)
    blocks = [(chunk.type, chunk.payload.provider_metadata) for chunk in decoded.chunks if isinstance(chunk, ends)]
    calls = [(call.tool_call_id, call.tool_name, call.args, call.provider_metadata) for call in decoded.calls]
    results = [(result.result, result.provider_metadata) for result in decoded.results]
    sources = [source.url for source in decoded.sources]
    return [decoded.text, decoded.reasoning, blocks, calls, results, sources, decoded.finish]


@pytest.mark.parametrize("form", forms())
def test_an_answer_comes_to_the_same_in_whatever_form_it_comes(form: str):
    decoded = decode(wire(forms()[form]))
    wanted = decode(wire(forms()["all events"]))
    assert wanted.text == "Let me see.No."
    if form == "pieces and the final response":  # what nothing said the beginning of is named at its end
        assert (decoded.text, decoded.reasoning) == (wanted.text, wanted.reasoning)
        assert [call.args for call in decoded.calls] == [call.args for call in wanted.calls]
    else:
        assert content(decoded) == content(wanted)


# -- robustness

ODD: list[Any] = [None, True, 0, -1, 1.5, "", "x", [], [None], {}, {"a": 1}, [[]], {"id": "x", "type": "message"}]


def test_no_shape_of_an_event_stops_the_decoder():
    """Events of the fixtures with random members replaced: whatever comes of them is in order and has a JSON form."""
    chance = random.Random(11)
    events = [event(item) for case in CASES for item in case.events if not isinstance(item, str)]
    tools = offered(
        "openai.shell", "openai.apply_patch", "openai.custom=write_sql", "openai.computer", "openai.tool_search"
    )
    for _ in range(2500):
        picked = [copy.deepcopy(chance.choice(events)) for _ in range(chance.randint(1, 6))]
        for _ in range(chance.randint(1, 4)):
            spoil(chance.choice(picked), chance)
        for chunk in decode(b"".join(map(frame, picked)), tools=chance.choice(([], tools))).chunks:
            encode(chunk)


def test_streams_with_events_missing_or_out_of_order_stay_in_order():
    chance = random.Random(12)
    for case in CASES:
        for _ in range(20):
            events = [item for item in case.events if chance.random() < 0.8]
            if chance.random() < 0.5:
                chance.shuffle(events)
            for chunk in decode(wire(events), **case.options).chunks:
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


# -- what the caller says


def test_raw_chunks_hold_each_event_and_stand_before_what_came_of_it():
    events = [event(item) for item in ({"created": {}}, {"output_text": "a"}, {"completed": {}})]
    decoded = decode(b"".join(map(frame, events)), include_raw=True)
    assert [chunk.payload for chunk in decoded.chunks if isinstance(chunk, RawChunk)] == events
    assert decoded.types == ["raw", "response-metadata", "raw", "text-start", "text-delta", "raw", "text-end", "finish"]


def test_the_provider_names_metadata_and_content():
    items = [{"done": {"id": "cmp_1", "type": "compaction"}}, {"done": ITEMS[0], "on": 1}, {"completed": {}}]
    decoded = decode(wire(items), provider="acme")
    assert decoded.only(CustomChunk).kind == "acme.compaction"
    assert [chunk.payload.provider_metadata for chunk in decoded.chunks if isinstance(chunk, ReasoningEndChunk)] == [
        {"acme": {"itemId": "rs_1"}},
        {"acme": {"itemId": "rs_1", "reasoningEncryptedContent": "eA=="}},
    ]


def test_headers_are_told_with_the_response_metadata():
    decoded = decode(wire([{"created": {}}, {"completed": {}}]), headers={"x-request-id": "7"})
    assert decoded.metadata is not None
    assert decoded.metadata.payload.headers == {"x-request-id": "7"}


def test_headers_are_told_even_when_the_response_says_nothing_of_itself():
    decoded = decode(b'data: {"type":"response.completed"}\n\n', headers={"x-request-id": "7"})
    assert decoded.types == ["response-metadata", "finish"]


def test_an_outcome_that_is_owed_from_an_earlier_answer_is_a_result():
    item = {"id": "cmo_1", "type": "program_output", "call_id": "call_1", "result": "7", "status": "completed"}
    decoder = StreamDecoder(RUN, owed={"call_1"})
    (result,) = decoder.feed(json.dumps(event({"done": item})).encode())
    assert (result.type, result.payload.tool_call_id) == ("tool-result", "call_1")
    assert result.payload.tool_name == "programmatic_tool_calling"
    assert (result.payload.result, result.payload.provider_executed) == ({"status": "completed", "result": "7"}, True)


def test_a_call_is_announced_before_its_arguments_come():
    decoder = StreamDecoder(RUN)
    item = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "now"}
    chunks = decoder.feed(json.dumps(event({"added": item})).encode(), "response.output_item.added")
    assert [chunk.type for chunk in chunks] == ["tool-call-input-streaming-start"]


@pytest.mark.parametrize(
    ("item", "piece", "given"),
    [
        ({"type": "function_call", "name": "f"}, "function_call_arguments", '{"a'),
        ({"type": "mcp_call", "name": "f"}, "mcp_call_arguments", '{"a'),
        ({"type": "code_interpreter_call"}, "code_interpreter_call_code", '{"code":"{\\"a'),
        ({"type": "custom_tool_call", "name": "write_sql"}, "custom_tool_call_input", '"{\\"a'),
    ],
    ids=["function", "MCP", "code", "custom"],
)
def test_pieces_of_arguments_are_told_as_they_come(item: dict[str, Any], piece: str, given: str):
    decoder = StreamDecoder(RUN, tools=offered("openai.custom=write_sql"))
    decoder.feed(json.dumps(event({"added": item})).encode())
    (chunk,) = decoder.feed(json.dumps(event({piece: '{"a'})).encode())
    assert isinstance(chunk, ToolCallDeltaChunk)
    assert chunk.payload.args_text_delta == given


def test_ids_differ_from_stream_to_stream():
    ids = set()
    for _ in range(2):
        for chunk in StreamDecoder(RUN).feed(json.dumps(event({"output_text": "a"})).encode()):
            ids.add(getattr(chunk.payload, "id", None))
    assert len(ids) == 2


# -- the end


def test_a_broken_connection_closes_what_is_open():
    decoder = StreamDecoder(RUN)
    decoder.feed(json.dumps(event({"output_text": "a"})).encode())
    broken = ModelError("gone", retryable=True)
    assert [chunk.type for chunk in decoder.fail(broken)] == ["text-end"]
    assert decoder.error is broken
    assert decoder.feed(json.dumps(event({"output_text": "a"})).encode()) == []
    assert decoder.close() == []


def test_a_connection_that_breaks_after_the_final_response_is_no_failure():
    decoder = StreamDecoder(RUN)
    decoder.feed(json.dumps(event({"completed": {}})).encode())
    assert decoder.fail(ModelError("gone")) == []
    assert decoder.error is None
    assert [chunk.type for chunk in decoder.close()] == ["finish"]


def test_a_long_stream_takes_time_in_proportion():
    """Text and arguments in 20,000 pieces, with the whole of it told again three times."""
    text = "x" * 50
    pieces = [{"output_text": text}] * 20_000
    whole = {"type": "output_text", "text": text * 20_000}
    end = [
        {"type": "output_text.done", "output_index": 0, "content_index": 0, **whole},
        {"done": {"id": "msg_1", "type": "message", "content": [whole]}},
        {"completed": {"output": [{"id": "msg_1", "type": "message", "content": [whole]}]}},
    ]
    decoded = decode(wire([*pieces, *end]))
    assert len(decoded.text) == 1_000_000
    assert sum(chunk.type == "text-delta" for chunk in decoded.chunks) == 20_000
