"""Recorded streams of Google's servers: what they come to agrees with what was found in them by a plain fold."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from riverrun.chunks import AssistantMessage, StepFold, TextPart, UserMessage
from riverrun.models.google.request import google_request
from riverrun.types import ModelRequest
from tests.models.decoding import RUN, Decoded, cut, joined
from tests.models.google_content import data, decode

API = "google-generate-content"
REASONS = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content-filter", "RECITATION": "content-filter"}
ERRORS = {
    f"{API}/google-streaming-failure-image-rejected.sse": "INVALID_ARGUMENT",
    f"{API}/google-vertex-streaming-failure-invalid-json.sse": "truncated",
}
"""The plain fold does not look for failures."""

STREAMED = f"{API}/google-stream-no-args-tool-call.jsonl"
"""The plain fold leaves arguments that come value by value as they are."""


def recordings(shared: Path) -> dict[str, bytes]:
    """Name → the bytes of the response."""
    return {f"{API}/{path.name}": _bytes(path) for path in sorted((shared / "streams" / API).iterdir())}


def _bytes(path: Path) -> bytes:
    if path.suffix != ".jsonl":
        return path.read_bytes()
    return b"".join(data(json.loads(line)) for line in path.read_text("utf-8").split("\n") if line)


def expectations(shared: Path) -> dict[str, dict[str, Any]]:
    lines = (shared / "streams" / "EXPECT.jsonl").read_text("utf-8").split("\n")
    found = [json.loads(line) for line in lines if line]
    return {item["file"]: item for item in found if item["file"].startswith(f"{API}/")}


def test_every_recording_comes_to_what_is_in_it(shared: Path):
    expected = expectations(shared)
    streams = recordings(shared)
    assert streams.keys() == expected.keys()
    for name, stream in streams.items():
        check(name, decode(stream), expected[name])


def check(name: str, decoded: Decoded, expect: dict[str, Any]) -> None:
    assert decoded.text == expect["text"], name
    assert decoded.reasoning == expect["reasoning"], name
    assert len(decoded.files) == expect["files"], name
    assert (None if decoded.error is None else decoded.error.code) == ERRORS.get(name), name
    if decoded.error is not None:
        return
    own = [call for call in decoded.calls if not call.provider_executed]
    if name != STREAMED:
        wanted = [(tool["name"], json.loads(tool["args"])) for tool in expect["tools"]]
        assert [(call.tool_name, call.args) for call in own] == wanted, name
    server = [call for call in decoded.calls if call.provider_executed]
    assert len(server) + len(decoded.results) == len(expect["other_parts"]), name
    result = decoded.finish.step_result
    assert result is not None
    reason = "tool-calls" if own else REASONS.get(expect["finish"], "other")
    assert (result.reason, result.raw_reason) == (reason, expect["finish"]), name
    check_usage(name, decoded, expect["usage"])


def check_usage(name: str, decoded: Decoded, raw: dict[str, Any] | None) -> None:
    usage = decoded.usage
    assert usage.raw == raw, name
    if raw is not None:
        assert usage.input_tokens == raw["promptTokenCount"] + raw.get("toolUsePromptTokenCount", 0), name
        assert usage.output_tokens == raw["candidatesTokenCount"] + raw.get("thoughtsTokenCount", 0), name
        assert usage.total_tokens == raw["totalTokenCount"], name


def test_arguments_that_come_value_by_value(shared: Path):
    calls = decode(recordings(shared)[STREAMED]).calls
    assert [(call.tool_name, call.args) for call in calls] == [
        ("read_theme", {}),
        ("read_screen", {"id": "A"}),
        ("read_screen", {"id": "B"}),
        ("read_screen", {"id": "C"}),
    ]


def test_every_signature_of_a_recording_goes_back_as_it_came(shared: Path):
    expected = expectations(shared)
    for name, stream in recordings(shared).items():
        fold = StepFold()
        for chunk in decode(stream).chunks:
            fold.add(chunk)
        messages = [UserMessage([TextPart("hi")]), AssistantMessage(fold.content())]
        request = google_request(ModelRequest(messages=messages, run_id=RUN), model_id="m", provider="google")
        sent = [part for content in request.body["contents"] for part in content["parts"]]
        signatures = [part["thoughtSignature"] for part in sent if "thoughtSignature" in part]
        assert len(signatures) == expected[name]["signatures"], name
        assert all(signature.encode() in stream for signature in signatures), name


def test_recordings_give_the_same_chunks_in_random_pieces(shared: Path):
    for name, stream in recordings(shared).items():
        whole = decode(stream)
        chance = random.Random(name)
        for size in (1, 40, 4000):
            assert joined(decode(*cut(stream, chance, size)).chunks) == joined(whole.chunks), name
        other = stream.replace(b"\r\n", b"\n").replace(b"\n\ndata", b"\n\n: x\n\ndata")
        assert joined(decode(*cut(other, chance, 4000)).chunks) == joined(whole.chunks), name
