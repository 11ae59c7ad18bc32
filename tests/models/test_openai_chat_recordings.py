"""Recorded streams of real servers: what they come to agrees with what was found in them by a plain fold."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.models.decoding import Decoded, cut, joined
from tests.models.openai_chat import DONE, data, decode

REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool-calls",
    None: "stop",  # Snowflake gives none
}

GROQ = "openai-chat/groq-model-thinking-part-iter-step0.sse"
"""Where the plain fold falls short: it leaves reasoning in tags in the text, and does not see the usage in x_groq."""


def recordings(shared: Path) -> dict[str, bytes]:
    """Name → the bytes of the response."""
    folder = shared / "streams"
    return {f"openai-chat/{path.name}": _bytes(path) for path in sorted((folder / "openai-chat").iterdir())}


def _bytes(path: Path) -> bytes:
    if path.suffix == ".sse":
        return path.read_bytes()
    return b"".join(data(json.loads(line)) for line in path.read_text("utf-8").split("\n") if line) + DONE


def expectations(shared: Path) -> dict[str, dict[str, Any]]:
    lines = (shared / "streams" / "EXPECT.jsonl").read_text("utf-8").split("\n")
    found = [json.loads(line) for line in lines if line]
    return {item["file"]: item for item in found if item["file"].startswith("openai-chat/")}


def test_every_recording_comes_to_what_is_in_it(shared: Path):
    expected = expectations(shared)
    streams = recordings(shared)
    assert streams.keys() == expected.keys()
    for name, stream in streams.items():
        check(name, decode(stream), expected[name])


def check(name: str, decoded: Decoded, expect: dict[str, Any]) -> None:
    text, reasoning = expect["text"], expect["reasoning"]
    usage = expect["usage"] or {}
    if name == GROQ:
        reasoning, _, text = text.removeprefix("<think>").partition("</think>")
        usage = {"prompt_tokens": 21, "completion_tokens": 988, "total_tokens": 1009}
    assert decoded.text == text, name
    assert decoded.reasoning == reasoning, name
    calls = [(call.tool_call_id, call.tool_name, call.args) for call in decoded.calls]
    assert calls == [(tool["id"], tool["name"], json.loads(tool["args"])) for tool in expect["tools"]], name
    assert len(decoded.sources) >= min(1, expect["annotations"]), name
    if expect["error"] is not None:
        assert decoded.error is not None, name
        assert str(decoded.error) == expect["error"]["message"], name
        assert decoded.error.code == expect["error"]["code"], name
        return
    assert decoded.error is None, name
    result = decoded.finish.step_result
    assert result is not None
    assert (result.reason, result.raw_reason) == (REASONS[expect["finish"]], expect["finish"]), name
    assert decoded.usage.input_tokens == usage.get("prompt_tokens"), name
    assert decoded.usage.output_tokens == usage.get("completion_tokens"), name
    assert decoded.usage.total_tokens == usage.get("total_tokens"), name
    if name != GROQ:
        assert decoded.usage.raw == expect["usage"], name


def test_the_tags_stay_in_the_text_when_the_caller_wants_it(shared: Path):
    expect = expectations(shared)[GROQ]
    assert decode(recordings(shared)[GROQ], think_tags=False).text == expect["text"]


def test_sources_of_recordings_come_once_each(shared: Path):
    streams = recordings(shared)
    cited = decode(streams["openai-chat/perplexity-citations.jsonl"])
    assert len(cited.sources) == 7
    annotated = decode(streams["openai-chat/openrouter-web-search-annotations-stream.sse"])
    urls = [source.url for source in annotated.sources]
    assert len(urls) == len(set(urls))
    assert "https://github.com/pydantic/pydantic-ai" in urls


def test_recordings_give_the_same_chunks_in_random_pieces(shared: Path):
    for name, stream in recordings(shared).items():
        whole = decode(stream)
        chance = random.Random(name)
        for size in (1, 40, 4000):
            pieces = cut(stream[:20_000], chance, size)
            assert joined(decode(*pieces, stream[20_000:]).chunks) == joined(whole.chunks), name
        other = (
            stream.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n").replace(b"\r\n\r\ndata", b"\r\n\r\n: x\r\n\r\ndata")
        )
        assert joined(decode(*cut(other, chance, 4000)).chunks) == joined(whole.chunks), name
