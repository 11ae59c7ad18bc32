"""The values of scenarios, both ways."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from riverrun.chunks import Extra, TextDeltaChunk, TextDeltaPayload, ToolResultChunk, ToolResultPayload
from riverrun.errors import ModelError
from tests.conformance.values import UNDEFINED, dump, load, model_error, tool_error


def test_a_date_is_loaded_and_dumped_alike() -> None:
    loaded = load({"$date": "2024-01-02T03:04:05.000Z"})
    assert loaded == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert dump(loaded) == {"$date": "2024-01-02T03:04:05.000Z"}
    assert dump(datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)) == {"$date": "2024-01-02T03:04:05.000Z"}


def test_bytes_are_loaded_and_dumped_alike() -> None:
    assert load({"$bytes": "AQID"}) == b"\x01\x02\x03"
    assert dump(b"\x01\x02\x03") == {"$bytes": "AQID"}


def test_an_error_keeps_its_name_and_its_other_members() -> None:
    error = load({"$error": {"message": "boom", "name": "MyError", "code": "E1"}})
    assert isinstance(error, Exception)
    assert dump(error) == {"$error": {"name": "MyError", "message": "boom", "code": "E1"}}


def test_an_error_is_dumped_with_its_cause() -> None:
    error = tool_error("outer")
    error.__cause__ = tool_error("inner")
    assert dump(error)["$error"]["cause"] == {"$error": {"name": "Error", "message": "inner"}}


def test_a_model_error_carries_what_riverrun_decides_by() -> None:
    error = model_error(
        {"message": "slow down", "name": "ApiError", "statusCode": 429, "isRetryable": False}, retryable=True
    )
    assert isinstance(error, ModelError)
    assert (error.status, error.retryable, type(error).__name__) == (429, False, "ApiError")
    assert model_error("plain", retryable=True).retryable


def test_undefined_is_dropped_in_objects_and_null_in_lists() -> None:
    assert load({"a": {"$undefined": 1}, "b": [{"$undefined": 1}, 2]}) == {"b": [None, 2]}
    assert load({"$undefined": 1}) is UNDEFINED


def test_a_chunk_is_dumped_with_wire_names_and_unknown_members() -> None:
    chunk = TextDeltaChunk(TextDeltaPayload("t", "x", extra=Extra({"more": b"\x01"})), run_id="r", from_="AGENT")
    assert dump(chunk) == {
        "type": "text-delta",
        "runId": "r",
        "from": "AGENT",
        "payload": {"id": "t", "text": "x", "more": {"$bytes": "AQ=="}},
    }


def test_a_result_of_none_is_not_a_missing_result() -> None:
    with_none = ToolResultChunk(ToolResultPayload(tool_call_id="c", tool_name="t", result=None))
    without = ToolResultChunk(ToolResultPayload(tool_call_id="c", tool_name="t"))
    assert dump(with_none)["payload"] == {"toolCallId": "c", "toolName": "t", "result": None}
    assert dump(without)["payload"] == {"toolCallId": "c", "toolName": "t"}


def test_a_value_without_a_form_is_refused() -> None:
    with pytest.raises(TypeError, match="has no form"):
        dump(object())
