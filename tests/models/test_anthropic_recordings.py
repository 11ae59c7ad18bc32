"""Recorded streams of Anthropic: what they come to agrees with what was found in them by a plain fold, and what goes
back in the next request is what came.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from riverrun.chunks import AssistantMessage, StepFold
from riverrun.models.anthropic.frames import FrameReader
from riverrun.models.anthropic.messages import MessageWriter
from riverrun.models.anthropic.names import ToolNames
from riverrun.models.sse import SseReader
from tests.models.anthropic_messages import data, decode
from tests.models.decoding import Decoded, cut, joined

REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "refusal": "content-filter",
    "pause_turn": "other",
}
CODE = "anthropic-messages/anthropic-programmatic-tool-calling.1.jsonl"
"""Fifteen messages in one stream; the tools of the first were called, so it does not just stop."""


def recordings(shared: Path) -> dict[str, bytes]:
    """Name → the bytes of the response."""
    folder = shared / "streams"
    found = [path for name in ("anthropic-messages", "bedrock-invoke-anthropic") for path in (folder / name).iterdir()]
    return {f"{path.parent.name}/{path.name}": _bytes(path) for path in sorted(found)}


def _bytes(path: Path) -> bytes:
    if path.suffix == ".jsonl":
        return b"".join(data(json.loads(line)) for line in path.read_text("utf-8").split("\n") if line)
    stream = path.read_bytes()
    return FrameReader().feed(stream) if path.suffix == ".eventstream" else stream


def expectations(shared: Path) -> dict[str, dict[str, Any]]:
    lines = (shared / "streams" / "EXPECT.jsonl").read_text("utf-8").split("\n")
    found = [json.loads(line) for line in lines if line]
    return {item["file"]: item for item in found}


def test_every_recording_comes_to_what_is_in_it(shared: Path):
    expected = expectations(shared)
    streams = recordings(shared)
    assert len(streams) >= 12
    for name, stream in streams.items():
        check(name, decode(stream), expected[name.replace(".eventstream", ".jsonl")])


def check(name: str, decoded: Decoded, expect: dict[str, Any]) -> None:
    assert decoded.error is None, name
    assert decoded.text == expect["text"], name
    assert decoded.reasoning == expect["reasoning"], name
    calls = [(call.tool_call_id, call.tool_name, call.args, bool(call.provider_executed)) for call in decoded.calls]
    assert calls == [(tool["id"], tool["name"], _json(tool["args"]), tool["server"]) for tool in expect["tools"]], name
    signed = [chunk for chunk in decoded.chunks if chunk.type == "reasoning-signature"]
    assert len(signed) == expect["signatures"], name
    assert len(decoded.sources) >= min(1, expect["citations"]), name
    result = decoded.finish.step_result
    assert result is not None
    reason = "tool-calls" if name == CODE else REASONS[expect["finish"]]
    assert (result.reason, result.raw_reason) == (reason, expect["finish"]), name
    usage = expect["usage"]
    cached = (usage.get("cache_creation_input_tokens") or 0) + (usage.get("cache_read_input_tokens") or 0)
    assert decoded.usage.input_tokens == usage["input_tokens"] + cached, name
    assert decoded.usage.output_tokens == usage["output_tokens"], name
    assert decoded.usage.raw == usage, name


def _json(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return None


def test_recordings_give_the_same_chunks_in_random_pieces(shared: Path):
    for name, stream in recordings(shared).items():
        whole = joined(decode(stream).chunks)
        chance = random.Random(name)
        for size in (1, 40, 4000):
            pieces = cut(stream[:20_000], chance, size)
            assert joined(decode(*pieces, stream[20_000:]).chunks) == whole, name
        assert joined(decode(stream.replace(b"\n", b"\r\n")).chunks) == whole, name


def test_frames_of_recordings_may_be_cut_anywhere(shared: Path):
    for path in (shared / "streams" / "bedrock-invoke-anthropic").glob("*.eventstream"):
        stream, reader = path.read_bytes(), FrameReader()
        pieces = cut(stream, random.Random(path.name), 200)
        assert b"".join(map(reader.feed, pieces)) == _bytes(path)


def test_every_block_of_a_recording_goes_back_word_for_word(shared: Path):
    for name, stream in recordings(shared).items():
        fold = StepFold()
        for chunk in decode(stream).chunks:
            fold.add(chunk)
        writer = MessageWriter("anthropic", ToolNames([]), system_messages=False, fallbacks=True)
        written = writer.write([AssistantMessage(fold.content())])
        blocks = assembled(stream)
        assert [block for message in written for block in message["content"]] == blocks, name


def assembled(stream: bytes) -> list[dict[str, Any]]:
    """The blocks that a stream makes up, as they may be sent back: without texts that are empty."""
    blocks: list[dict[str, Any]] = []
    for event in SseReader().feed(stream + b"\n\n"):
        members = json.loads(event.data)
        if members["type"] == "content_block_start":
            blocks.append({**members["content_block"], "partial_json": ""})
        elif members["type"] == "content_block_delta":
            grow(blocks[-1], members["delta"])
    said = [finished(block) for block in blocks if block["type"] != "text" or block["text"].strip()]
    if said and said[-1]["type"] == "text":
        said[-1]["text"] = said[-1]["text"].rstrip()
    return said


def grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    for name in ("text", "thinking", "signature", "partial_json"):
        block[name] = block.get(name, "") + delta[name] if name in delta else block.get(name)
    if "citation" in delta:
        block["citations"].append(delta["citation"])


def finished(block: dict[str, Any]) -> dict[str, Any]:
    """The block without what it does not have, and its arguments read; those that are no JSON are none."""
    arguments = block.pop("partial_json")
    if arguments:
        block["input"] = _json(arguments) or {}
    return {name: value for name, value in block.items() if value is not None and (name, value) != ("citations", [])}
