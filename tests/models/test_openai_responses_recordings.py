"""Recorded streams of real servers: what they come to agrees with what was found in them by a plain fold."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from riverrun.chunks import CustomChunk, encode
from riverrun.models.recorded import framed
from tests.models.decoding import Decoded, cut, joined
from tests.models.openai_responses import decode

SERVED = {
    "image_generation_call": "image_generation",
    "code_interpreter_call": "code_interpreter",
    "file_search_call": "file_search",
    "web_search_call": "web_search",
    "tool_search_call": "tool_search",
    "program": "programmatic_tool_calling",
}
"""Items that are calls which the provider runs, and the names of their tools."""
CUSTOM = ("apply_patch_call", "custom_tool_call", "mcp_list_tools", "program_output")
"""Items that nobody can make anything of when no tool was offered and no earlier answer is known."""


def recordings(shared: Path) -> dict[str, bytes]:
    """Name → the bytes of the response."""
    folder = shared / "streams" / "openai-responses"
    return {f"openai-responses/{path.name}": framed(path.read_bytes()) for path in sorted(folder.iterdir())}


def expectations(shared: Path) -> dict[str, dict[str, Any]]:
    lines = (shared / "streams" / "EXPECT.jsonl").read_text("utf-8").split("\n")
    found = [json.loads(line) for line in lines if line]
    return {item["file"]: item for item in found if item["file"].startswith("openai-responses/")}


def test_every_recording_comes_to_what_is_in_it(shared: Path):
    expected = expectations(shared)
    streams = recordings(shared)
    assert streams.keys() == expected.keys()
    for name, stream in streams.items():
        decoded = decode(stream)
        check(name, decoded, expected[name])
        for chunk in decoded.chunks:
            encode(chunk)


def check(name: str, decoded: Decoded, expect: dict[str, Any]) -> None:
    assert decoded.text == expect["text"], name
    assert decoded.reasoning == expect["reasoning"], name
    own = [(call.tool_call_id, call.tool_name, call.args) for call in decoded.calls if not call.provider_executed]
    assert own == [(tool["id"], tool["name"], json.loads(tool["args"])) for tool in expect["tools"]], name
    served = [call.tool_name for call in decoded.calls if call.provider_executed and not call.dynamic]
    assert served == [SERVED[item] for item in expect["items"] if item in SERVED], name
    custom = [chunk.payload.kind for chunk in decoded.chunks if isinstance(chunk, CustomChunk)]
    assert custom == [f"openai.{item}" for item in expect["items"] if item in CUSTOM], name
    if expect["error"] is not None:
        assert decoded.error is not None, name
        assert (str(decoded.error), decoded.error.code) == (expect["error"]["message"], expect["error"]["code"]), name
        return
    assert decoded.error is None, name
    result = decoded.finish.step_result
    assert result is not None
    assert (result.reason, result.raw_reason) == ("tool-calls" if own else "stop", expect["finish"]), name
    assert decoded.usage.raw == expect["usage"], name
    assert decoded.usage.input_tokens == expect["usage"]["input_tokens"], name
    assert decoded.usage.output_tokens == expect["usage"]["output_tokens"], name


def test_sources_and_files_of_recordings_come_once_each(shared: Path):
    streams = recordings(shared)
    cited = decode(streams["openai-responses/openai-include-raw-annotations-streaming-step1.sse"])
    assert [source.url for source in cited.sources] == [
        "https://www.britannica.com/place/Mount-Columbia?utm_source=openai"
    ]
    searched = decode(streams["openai-responses/openai-responses-model-file-search-tool-stream.sse"])
    assert [source.filename for source in searched.sources] == ["tmp8l5_2pzy.txt"]
    run = decode(streams["openai-responses/openai-code-interpreter-tool.1.jsonl"])
    assert [source.filename for source in run.sources] == ["roll2dice_sums_10000.csv"]
    drawn = decode(streams["openai-responses/azure-openai-azure-image-generation-tool.1.jsonl"])
    assert [file.mime_type for file in drawn.files] == ["image/png"]


def test_recordings_give_the_same_chunks_in_random_pieces(shared: Path):
    for name, stream in recordings(shared).items():
        whole = decode(stream)
        chance = random.Random(name)
        for size in (1, 40, 4000):
            pieces = cut(stream[:20_000], chance, size)
            assert joined(decode(*pieces, stream[20_000:]).chunks) == joined(whole.chunks), name
        other = stream.replace(b"\n", b"\r\n").replace(b"\r\n\r\nevent", b"\r\n\r\n: x\r\n\r\nevent")
        assert joined(decode(*cut(other, chance, 4000)).chunks) == joined(whole.chunks), name


def test_recordings_come_to_the_same_when_only_their_ends_are_there(shared: Path):
    """The final response tells everything again: text, reasoning, calls and results do not depend on the rest."""
    for name, stream in recordings(shared).items():
        whole = decode(stream)
        if whole.error is None:
            (end,) = [block for block in stream.split(b"\n\n") if b'"type":"response.completed"' in block[:200]]
            last = decode(end + b"\n\n")
            assert (last.text, last.reasoning) == (whole.text, whole.reasoning), name
            assert sorted(map(told, last.calls)) == sorted(map(told, whole.calls)), name
            assert len(last.results) == len(whole.results), name


def told(call: Any) -> str:
    return f"{call.tool_call_id} {call.tool_name} {call.args}"
