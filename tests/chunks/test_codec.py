"""Chunks ↔ JSON: what goes in comes out, and nothing else."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from riverrun.chunks import (
    BackgroundTaskRunningChunk,
    DataChunk,
    Extra,
    FinishChunk,
    RawChunk,
    StepStartChunk,
    StepStartPayload,
    TextDeltaChunk,
    TextDeltaPayload,
    TextPart,
    Timestamp,
    ToolCallChunk,
    ToolCallPayload,
    ToolOutputChunk,
    ToolResultChunk,
    ToolResultPayload,
    UnknownChunk,
    UnknownMessage,
    UnknownPart,
    Usage,
    decode,
    encode,
    from_value,
    json_schema,
    to_value,
)
from riverrun.errors import DecodeError, ModelError
from tests.chunks.goldens import golden_streams
from tests.chunks.strategies import CLASSES, TIMES, chunks, records, same_json, wire_chunks

checked = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

SCHEMA = jsonschema_rs.validator_for(json_schema())


def result(value: object, **extra: Any) -> ToolResultChunk:
    """A chunk that carries any value."""
    payload = ToolResultPayload(tool_call_id="c", tool_name="t", result=value)
    return ToolResultChunk(payload, extra=Extra(extra) if extra else None)


def written(chunk: ToolResultChunk) -> Any:
    return json.loads(encode(chunk))["payload"]["result"]


def raw(payload: str, more: str = "") -> str:
    return f'{{"type":"raw",{more}"payload":{payload}}}'


# -- properties


@checked
@given(chunks())
def test_a_chunk_is_the_same_after_encode_and_decode(chunk):
    assert decode(encode(chunk)) == chunk


@checked
@given(chunks())
def test_values_and_bytes_say_the_same(chunk):
    value = to_value(chunk)
    assert same_json(json.loads(encode(chunk)), value)
    assert from_value(value) == decode(encode(chunk))


@checked
@given(wire_chunks())
def test_json_is_the_same_value_after_decode_and_encode(value):
    line = encode(decode(json.dumps(value)))
    assert same_json(json.loads(line), value)
    assert b"\n" not in line
    assert same_json(to_value(from_value(value)), value)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@settings(checked, max_examples=4)
@given(data=st.data())
def test_every_class_comes_back_as_itself(cls, data):
    chunk = data.draw(records(cls))
    decoded = decode(encode(chunk))
    assert type(decoded) is cls
    assert decoded == chunk


@checked
@given(chunks())
def test_the_schema_accepts_every_chunk(chunk):
    assert SCHEMA.is_valid(to_value(chunk))


@checked
@given(st.binary(max_size=40) | st.text(max_size=40))
def test_any_bytes_or_text_are_decoded_or_refused(data):
    with contextlib.suppress(DecodeError):
        decode(data)


@checked
@given(chunks(), st.data())
def test_damaged_bytes_are_decoded_or_refused(chunk, data):
    line = bytearray(encode(chunk))
    place = data.draw(st.integers(0, len(line) - 1))
    line[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with contextlib.suppress(DecodeError):
        decode(bytes(line))


@checked
@given(st.datetimes(timezones=st.timezones() | st.just(UTC)))
def test_a_timestamp_is_the_moment_it_was_made_of(moment):
    try:
        moment.astimezone(UTC)
    except OverflowError:  # before the year 1 or after 9999 in UTC
        return
    stamp = Timestamp.of(moment)
    assert stamp == moment.astimezone(UTC)
    assert Timestamp.parse(stamp.wire()) == stamp


# -- the recordings


def test_every_recorded_chunk_comes_back(shared: Path):
    count = 0
    for stream in golden_streams(shared):
        for position, value in enumerate(stream.chunks):
            chunk = decode(json.dumps(value))
            assert not isinstance(chunk, UnknownChunk) or chunk.type == "my-own", f"{stream} {position}"
            assert same_json(to_value(chunk), value), f"{stream} {position}"
            assert from_value(value) == chunk, f"{stream} {position}"
            count += 1
    assert count > 2000


def test_the_schema_accepts_every_recorded_chunk(shared: Path):
    for stream in golden_streams(shared):
        if not stream.deviating:
            for position, value in enumerate(stream.chunks):
                assert SCHEMA.is_valid(value), f"{stream} {position}"


# -- unknown things


def test_unknown_members_are_kept_beside_the_known_ones_at_every_level():
    text = (
        '{"type":"finish","new":1,"payload":{"new":2,"output":{"new":3,"steps":[{"content":[{"type":"text","text":"a",'
        '"new":4}],"usage":{"new":5}}]}}}'
    )
    chunk = decode(text)
    assert isinstance(chunk, FinishChunk)
    assert chunk.extra == {"new": 1}
    assert chunk.payload.extra == {"new": 2}
    assert chunk.payload.output is not None
    assert chunk.payload.output.steps is not None
    step = chunk.payload.output.steps[0]
    assert step.content == [TextPart("a", extra=Extra({"new": 4}))]
    assert step.usage == Usage(extra=Extra({"new": 5}))
    assert same_json(to_value(chunk), json.loads(text))


@pytest.mark.parametrize("name", ["runId", "from", "metadata"])
def test_null_for_a_known_member_is_kept(name: str):
    value = {"type": "step-start", "payload": {}, name: None}
    chunk = from_value(value)
    assert type(chunk) is StepStartChunk
    assert chunk.extra == {name: None}
    assert to_value(chunk) == value


@pytest.mark.parametrize("name", ["*", "extra", "extra_", "run_id", "from_"])
def test_a_member_named_like_something_inside_is_only_a_member(name: str):
    value = {"type": "step-start", name: {"a": 1}, "payload": {name: None}}
    chunk = from_value(value)
    assert type(chunk) is StepStartChunk
    assert (chunk.run_id, chunk.from_) == (None, None)
    assert to_value(chunk) == value
    assert to_value(decode(json.dumps(value))) == value


def test_a_known_member_that_is_set_wins_over_what_was_read_for_it():
    read = decode('{"type":"step-start","runId":null,"payload":{}}')
    stamped = msgspec.structs.replace(read, run_id="r1")
    assert to_value(stamped) == {"type": "step-start", "runId": "r1", "payload": {}}


def test_an_unknown_type_keeps_its_payload_and_members():
    chunk = decode('{"type":"routing-agent-start","runId":"r","payload":{"a":null},"n":1}')
    assert chunk == UnknownChunk(type="routing-agent-start", run_id="r", payload={"a": None}, extra=Extra({"n": 1}))


def test_a_known_type_with_other_content_is_an_unknown_chunk():
    assert decode('{"type":"text-delta","payload":{"id":"a"}}') == UnknownChunk(type="text-delta", payload={"id": "a"})


def test_data_chunks_tell_null_from_nothing():
    nothing, null = decode('{"type":"data-x"}'), decode('{"type":"data-x","data":null,"transient":false}')
    assert (nothing, null) == (DataChunk(type="data-x"), DataChunk(type="data-x", data=None, transient=False))
    assert [to_value(nothing), to_value(null)] == [
        {"type": "data-x"},
        {"type": "data-x", "data": None, "transient": False},
    ]


def test_unknown_parts_and_messages_are_kept():
    messages = {
        "all": [
            {"role": "user", "content": [{"type": "image-url", "url": "u"}, {"type": "file", "file": {}}]},
            {"role": "user", "content": "a text"},
            {"role": "developer"},
        ],
        "user": [],
        "nonUser": [],
    }
    value = {"type": "finish", "payload": {"messages": messages}}
    chunk = from_value(value)
    assert isinstance(chunk, FinishChunk)
    assert chunk.payload.messages is not None
    first, second, third = chunk.payload.messages.all
    assert getattr(first, "content") == [  # noqa: B009 - a message of another kind has none
        UnknownPart(type="image-url", extra=Extra({"url": "u"})),
        UnknownPart(type="file", extra=Extra({"file": {}})),
    ]
    assert second == UnknownMessage(role="user", extra=Extra({"content": "a text"}))
    assert third == UnknownMessage(role="developer")
    assert to_value(chunk) == value


def test_members_that_are_set_to_false_zero_or_nothing_are_written_also_beside_unknown_ones():
    def payload(extra: Extra | None) -> StepStartPayload:
        return StepStartPayload(message_id="", request={}, warnings=[], started_at=0, extra=extra)

    expected = {"messageId": "", "request": {}, "warnings": [], "startedAt": 0}
    assert to_value(StepStartChunk(payload(None)))["payload"] == expected
    assert to_value(StepStartChunk(payload(Extra({"x": 0}))))["payload"] == {**expected, "x": 0}
    call = ToolCallPayload(tool_call_id="c", tool_name="t", args={}, provider_executed=False, extra=Extra({"x": False}))
    assert to_value(ToolCallChunk(call))["payload"]["providerExecuted"] is False


# -- chunks inside chunks


def test_a_chunk_inside_a_chunk_is_a_chunk_however_deep():
    delta = TextDeltaChunk(TextDeltaPayload("t", "x", extra=Extra({"n": None})), run_id="inner")
    value: Any = to_value(delta)
    for _ in range(3):
        value = {"type": "tool-output", "payload": {"output": value, "toolCallId": "c"}}
    chunk: Any = decode(json.dumps(value))
    for _ in range(3):
        assert isinstance(chunk, ToolOutputChunk)
        chunk = chunk.payload.output
    assert chunk == delta
    assert to_value(decode(json.dumps(value))) == value


def test_what_only_looks_like_a_chunk_stays_what_a_tool_wrote():
    for output in ({"type": "progress", "n": 1}, {"type": 5, "payload": {}}, "text-delta", ["type", "payload"]):
        chunk = from_value({"type": "tool-output", "payload": {"output": output}})
        assert isinstance(chunk, ToolOutputChunk)
        assert chunk.payload.output == output


# -- numbers, texts, times


@pytest.mark.parametrize("number", ["0", "-0.0", "1.0", "1e2", str(2**53 + 1), str(2**64), str(-(2**63) - 1), "1e308"])
def test_numbers_keep_their_kind_and_size(number: str):
    chunk = decode(raw(number))
    assert isinstance(chunk, RawChunk)
    assert same_json(chunk.payload, json.loads(number))
    assert same_json(to_value(chunk)["payload"], json.loads(number))
    assert same_json(to_value(decode(raw(number, '"new":1,')))["payload"], json.loads(number))


@pytest.mark.parametrize("started", [1.0, 1.5, True, "5", 2**70, None])
def test_a_member_of_another_kind_is_kept_as_it_came(started: object):
    value = {"type": "step-start", "payload": {"startedAt": started}}
    assert same_json(to_value(from_value(value)), value)
    assert same_json(to_value(decode(json.dumps(value))), value)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_what_json_has_no_number_for_is_refused(text: str):
    with pytest.raises(DecodeError):
        decode(raw(text))


def test_infinite_and_undefined_numbers_are_written_as_null():
    assert written(result([float("nan"), float("inf")])) == [None, None]


@pytest.mark.parametrize("escaped", [r"\ud800", r"a\udc00b", r"\ude00\ud83d"])
def test_a_lone_surrogate_becomes_a_replacement_character(escaped: str):
    text = json.loads(f'"{escaped}"')
    expected = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    line = f'{{"type":"text-delta","payload":{{"id":"a","text":"{escaped}"}},"{escaped}":1}}'
    for chunk in (decode(line), decode(line.encode()), decode(json.dumps(json.loads(line), ensure_ascii=False))):
        assert chunk == TextDeltaChunk(TextDeltaPayload("a", expected), extra=Extra({expected: 1}))
    assert decode(encode(TextDeltaChunk(TextDeltaPayload("a", text)))) == TextDeltaChunk(
        TextDeltaPayload("a", expected)
    )
    assert written(result({text: [text]}, more=text)) == {expected: [expected]}


def test_a_pair_of_surrogates_is_one_character():
    assert decode(r'{"type":"text-delta","payload":{"id":"a","text":"\ud83d\ude00"}}') == TextDeltaChunk(
        TextDeltaPayload("a", "😀")
    )


@pytest.mark.parametrize("text", [*TIMES, "now", "2024-01-02", "2024-01-02T03:04:05", 5, None])
def test_a_time_is_written_as_it_was_read(text: object):
    payload = {"taskId": "t", "toolName": "n", "toolCallId": "c", "startedAt": text}
    value = {"type": "background-task-running", "payload": payload}
    for chunk in (from_value(value), decode(json.dumps(value))):
        assert isinstance(chunk, BackgroundTaskRunningChunk)
        assert to_value(chunk) == value


def test_a_time_with_an_offset_is_a_moment():
    payload = {"taskId": "t", "toolName": "n", "toolCallId": "c", "startedAt": "2024-01-02T05:04:05+02:00"}
    chunk = from_value({"type": "background-task-running", "payload": payload})
    assert isinstance(chunk, BackgroundTaskRunningChunk)
    assert chunk.payload.started_at == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


# -- what is refused


@pytest.mark.parametrize(
    "data",
    ["", " ", "{", "nul", "[]", "5", '"a"', "null", "{}", '{"type":5}', '{"type":null}', "{'type':'a'}", "\ufeff{}"],
)
def test_what_is_no_object_with_a_type_is_refused(data: str):
    for form in (data, data.encode()):
        with pytest.raises(DecodeError):
            decode(form)


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_nesting_without_end_is_refused(depth: int):
    with pytest.raises(DecodeError):
        decode('{"type":"raw","payload":' + "[" * depth + "]" * depth + "}")
    with pytest.raises(DecodeError):
        decode('{"type":"raw","a":"\\ud800","payload":' + '{"a":' * depth + "1" + "}" * depth + "}")


def test_chunks_nested_without_end_are_refused():
    with pytest.raises(DecodeError):
        decode('{"type":"tool-output","payload":{"output":' * 3000 + "1" + "}}" * 3000)


# -- what a program puts into a chunk


class Weather(BaseModel):
    city: str
    at: datetime


@dataclass
class Report:
    weather: Weather
    usage: Usage
    errors: list[Exception] = field(default_factory=list)


def test_python_values_are_written_as_what_they_hold():
    weather = Weather(city="Oslo", at=datetime(2024, 1, 1, tzinfo=UTC))
    report = Report(weather, Usage(input_tokens=1, extra=Extra({"n": None})), [ValueError("no")])
    expected = {
        "weather": {"city": "Oslo", "at": "2024-01-01T00:00:00Z"},
        "usage": {"inputTokens": 1, "n": None},
        "errors": [{"name": "ValueError", "message": "no"}],
    }
    for extra in ({}, {"x": 1}):
        assert written(result(report, **extra)) == expected
        assert written(result({"a": report}, **extra)) == {"a": expected}
        assert written(result((b"ab", {1}, {1: 2}), **extra)) == ["YWI=", [1], {"1": 2}]


def test_an_exception_is_written_without_its_stack():
    error = ModelError("busy", status=529, code="overloaded", retryable=True)
    assert written(result(error)) == {
        "name": "ModelError",
        "message": "busy",
        "status": 529,
        "code": "overloaded",
        "isRetryable": True,
    }


def test_a_value_without_a_json_form_is_a_type_error():
    itself: list[Any] = []
    itself.append(itself)
    for value in (len, object(), 1j, itself, {"a": itself}):
        for extra in ({}, {"x": 1}):
            with pytest.raises(TypeError):
                encode(result(value, **extra))


# -- the schema


@pytest.mark.parametrize(
    "value",
    [
        {"type": "text-delta"},
        {"type": "text-delta", "runId": "r", "from": "AGENT"},
        {"type": "text-delta", "payload": {"id": "a"}},
        {"type": "text-delta", "payload": {"id": "a", "text": 5}},
        {"type": "text-delta", "payload": {"id": "a", "text": "b"}, "from": "NOBODY"},
        {"type": "tool-call", "payload": {"toolCallId": "c"}},
        {"type": "object"},
        {"type": "finish", "payload": {"output": {"usage": {"inputTokens": "1"}}}},
        {"type": "finish", "payload": {"messages": {"all": [{"content": []}], "user": [], "nonUser": []}}},
        {"type": "data-x", "transient": "yes"},
        {"type": 5},
        {},
        [],
    ],
)
def test_the_schema_refuses_what_is_no_chunk(value: object):
    assert not SCHEMA.is_valid(value)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "my-own", "payload": 5, "more": True},
        {"type": "data-x"},
        {"type": "raw", "payload": None},
        {"type": "text-delta", "payload": {"id": "a", "text": "b", "new": 1}, "new": 2},
    ],
)
def test_the_schema_accepts_what_is_open(value: object):
    assert SCHEMA.is_valid(value)


def test_the_schema_is_json():
    assert json.loads(json.dumps(json_schema())) == json_schema()
