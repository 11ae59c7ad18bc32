"""Chunks as a person sees them. The expected pages are written as they look on the terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from itertools import chain, repeat
from typing import Any

import msgspec
import pytest

from riverrun.chunks import (
    CHUNK_CLASSES,
    ChunkType,
    FileChunk,
    FilePayload,
    ToolErrorChunk,
    ToolErrorPayload,
    ToolResultChunk,
    ToolResultPayload,
    from_value,
)
from riverrun.cli.render import Renderer
from riverrun.errors import ModelError


def chunk(kind: str, /, **payload: Any) -> ChunkType:
    """A chunk of that type, its payload as on the wire."""
    return from_value({"type": kind, "runId": "r", "from": "AGENT", "payload": payload})


def text(text: str, id: str = "t") -> ChunkType:
    return chunk("text-delta", id=id, text=text)


def call(id: str, name: str, args: Any) -> ChunkType:
    return chunk("tool-call", toolCallId=id, toolName=name, args=args)


def output(id: str, name: str, value: Any) -> ChunkType:
    return chunk("tool-output", toolCallId=id, toolName=name, output=value)


def result(id: str, name: str, value: Any) -> ChunkType:
    return chunk("tool-result", toolCallId=id, toolName=name, result=value)


def finish(reason: str = "stop", **output: Any) -> ChunkType:
    return chunk("finish", stepResult={"reason": reason}, metadata={"modelId": "m"}, output=output)


def page(chunks: Iterable[ChunkType], *, color: bool = False, width: int = 60) -> str:
    """What the terminal shows after these chunks; the run takes 1.5 seconds."""
    out = io.StringIO()
    times = chain([10.0], repeat(11.5))
    renderer = Renderer(out.write, color, width, clock=lambda: next(times))
    for each in chunks:
        renderer.feed(each)
    renderer.close()
    return out.getvalue()


def test_a_run_with_a_tool_reads_from_top_to_bottom() -> None:
    shown = page(
        [
            chunk("start", id="chat"),
            chunk("step-start"),
            chunk("reasoning-start", id="r"),
            chunk("reasoning-delta", id="r", text="I need"),
            chunk("reasoning-delta", id="r", text=" the tool."),
            chunk("reasoning-end", id="r"),
            chunk("tool-call-input-streaming-start", toolCallId="1", toolName="get_weather"),
            chunk("tool-call-delta", toolCallId="1", argsTextDelta='{"city"'),
            chunk("tool-call-input-streaming-end", toolCallId="1"),
            call("1", "get_weather", {"city": "Paris", "days": 2}),
            output("1", "get_weather", "asking the station\n  3 readings"),
            output("1", "get_weather", {"percent": 40}),
            result("1", "get_weather", {"sky": "clear"}),
            chunk("step-finish", stepResult={"reason": "tool-calls", "isContinued": True}),
            chunk("step-start"),
            chunk("text-start", id="t"),
            text("\n\nIt is "),
            text("clear.\n"),
            chunk("text-end", id="t"),
            chunk("source", id="s", sourceType="url", title="Météo", url="https://example.com"),
            chunk("step-finish", stepResult={"reason": "stop"}),
            finish(usage={"inputTokens": 1234, "outputTokens": 56}),
        ]
    )
    assert shown == (
        "thinking: I need the tool.\n"
        "\n"
        '● get_weather(city="Paris", days=2)\n'
        "  ┆ asking the station\n"
        "  ┆   3 readings\n"
        '  ┆ {"percent": 40}\n'
        '  → get_weather: {"sky": "clear"}\n'
        "\n"
        "It is clear.\n"
        "\n"
        "source: Météo · https://example.com\n"
        "\n"
        "m · tokens: 1,234 in, 56 out · 2 steps · 1.5 s · stop\n"
    )


def test_text_comes_out_as_it_comes_in() -> None:
    written: list[str] = []
    renderer = Renderer(written.append)
    for piece in ("one ", "two"):
        renderer.feed(text(piece))
    assert written == ["one ", "two"]


def test_text_blocks_are_paragraphs_even_under_one_id() -> None:
    shown = page([chunk("text-start", id="t"), text("one"), chunk("text-start", id="t"), text("two"), text("3", "u")])
    assert shown == "one\n\ntwo\n\n3\n"


def test_reasoning_is_dim_and_errors_are_red_where_there_is_colour() -> None:
    shown = page(
        [chunk("reasoning-delta", id="r", text="hm\nwell"), chunk("error", error={"message": "no\nluck"})], color=True
    )
    assert shown == "\x1b[2mhm\x1b[0m\n\x1b[2mwell\x1b[0m\n\n\x1b[31merror: no\x1b[0m\n\x1b[31mluck\x1b[0m\n"


def test_an_error_is_told_in_full() -> None:
    shown = page([text("Let me"), chunk("error", error={"name": "ModelError", "message": "x" * 200, "status": 429})])
    assert shown == f"Let me\n\nerror: ModelError: {'x' * 200} (HTTP 429)\n"


def test_exceptions_in_process_are_told_like_their_json() -> None:
    failed = ToolErrorChunk(ToolErrorPayload(tool_call_id="1", tool_name="f", error=ValueError("bad city")))
    assert page([failed]) == "  ✗ f: ValueError: bad city\n"
    failed = ToolErrorChunk(ToolErrorPayload(tool_call_id="1", tool_name="f", error=ModelError("slow", status=503)))
    assert page([failed]) == "  ✗ f: ModelError: slow (HTTP 503)\n"
    failed = ToolErrorChunk(ToolErrorPayload(tool_call_id="1", tool_name="f", error=KeyError()))
    assert page([failed]) == "  ✗ f: KeyError\n"


def test_a_cancelled_run_says_so() -> None:
    shown = page([chunk("step-start"), text("one two "), chunk("abort"), finish("tripwire", usage={})])
    assert shown == "one two \n\ncancelled\n\nm · 1 step · 1.5 s · cancelled\n"


def test_a_tripwire_says_who_and_why() -> None:
    shown = page([text("one"), chunk("tripwire", reason="not allowed", processorId="guard")])
    assert shown == "one\n\nstopped (guard): not allowed\n"


def test_usage_tells_what_is_cached_and_what_was_reasoning() -> None:
    usage = {"inputTokens": 2000, "outputTokens": 90, "cachedInputTokens": 1500, "reasoningTokens": 64}
    assert "tokens: 2,000 in (1,500 cached), 90 out (64 reasoning)" in page([finish(usage=usage)])
    assert "tokens: ? in, 3 out" in page([finish(usage={"outputTokens": 3})])


def test_warnings_of_the_provider_are_shown() -> None:
    warnings = [{"type": "unsupported-setting", "setting": "top_k"}, {"type": "other", "message": "careful"}, "odd"]
    shown = page([chunk("step-start", warnings=warnings)])
    assert shown == "warning: unsupported-setting: top_k\nwarning: careful\nwarning: odd\n"


def test_long_arguments_and_results_take_one_line() -> None:
    shown = page([call("1", "f", {"x": "日本" * 50}), result("1", "f", "line\n\n  line " * 50)], width=40)
    first, second = shown.splitlines()
    assert first.startswith('● f(x="日本')
    assert first.endswith("…")
    assert second.startswith("  → f: line line line")
    assert len(second) <= 40


def test_calls_that_run_at_once_are_told_apart() -> None:
    shown = page(
        [
            call("1", "f", {"x": 1}),
            call("2", "f", {"x": 2}),
            output("2", "f", "working"),
            chunk("tool-error", toolCallId="1", toolName="f", error={"name": "Error", "message": "no"}),
            result("2", "f", None),
        ]
    )
    assert shown == "● f(x=1)\n● f(x=2)\n  ┆ f(x=2): working\n  ✗ f(x=1): no\n  → f: null\n"


def test_a_run_inside_a_tool_is_set_in_lines_that_fit() -> None:
    def inner(kind: str, **payload: Any) -> ChunkType:
        return output("1", "agent-helper", {"type": kind, "runId": "in", "from": "AGENT", "payload": payload})

    sentence = "A sentence that goes on until it has to be broken somewhere"
    shown = page(
        [
            call("1", "agent-helper", {"prompt": "go"}),
            *[inner("text-delta", id="t", text=word + " ") for word in sentence.split()],
            inner("tool-call", toolCallId="9", toolName="dig", args={"deep": True}),
            inner("tool-result", toolCallId="9", toolName="dig", result=7),
            inner("finish", output={"usage": {"inputTokens": 5}}),
            result("1", "agent-helper", {"text": "done"}),
        ],
        width=40,
    )
    assert shown == (
        '● agent-helper(prompt="go")\n'
        "  ┆ A sentence that goes on until it has\n"
        "  ┆ to be broken somewhere\n"
        "  ┆ ● dig(deep=true)\n"
        "  ┆   → dig: 7\n"
        '  → agent-helper: {"text": "done"}\n'
    )


def test_runs_inside_runs_end_somewhere() -> None:
    value: dict[str, Any] = {"type": "text-delta", "payload": {"id": "t", "text": "deep"}}
    for _ in range(20):
        value = {"type": "tool-output", "payload": {"toolCallId": "1", "toolName": "f", "output": value}}
    shown = page([from_value(value)])
    assert shown.startswith("  ┆   ┆   ┆   ┆   ┆ {")


def test_files_have_a_name_a_kind_and_a_size() -> None:
    chunks = [
        chunk("file", data="iVBORw0KGgo=", mimeType="image/png", filename="a.png"),
        chunk("file", data="data:text/plain;base64,AAAA", mimeType="text/plain"),
        chunk("file", data="https://example.com/x.png", mimeType="image/png"),
        FileChunk(FilePayload(data=b"x" * 12_345, mime_type="audio/wav")),
        FileChunk(FilePayload(data=b"x" * 3_200_000, mime_type="video/mp4")),
    ]
    assert page(chunks).splitlines() == [
        "file: a.png · image/png · 8 bytes",
        "file: text/plain · 3 bytes",
        "file: image/png · https://example.com/x.png",
        "file: audio/wav · 12.3 kB",
        "file: video/mp4 · 3.2 MB",
    ]


def test_a_structured_answer_is_shown_once_and_whole() -> None:
    chunks = [
        from_value({"type": "object", "object": {"a": 1}}),
        from_value({"type": "object-result", "object": {"a": [1]}}),
    ]
    assert page(chunks) == '{\n  "a": [\n    1\n  ]\n}\n'


def test_chunks_of_the_program_and_unknown_ones_take_a_line() -> None:
    chunks = [
        from_value({"type": "data-progress", "data": {"done": 3}}),
        from_value({"type": "from-the-future", "payload": [1, 2]}),
        from_value({"type": "bare"}),
    ]
    assert page(chunks) == 'data-progress: {"done": 3}\nfrom-the-future: [1, 2]\nbare: {}\n'


def test_background_work_is_told_in_lines() -> None:
    task = {"taskId": "t", "toolName": "dig", "toolCallId": "1"}
    written = {"type": "tool-output", "payload": {"toolCallId": "1", "toolName": "dig", "output": "half way"}}
    chunks = [
        chunk("background-task-started", **task),
        chunk("background-task-running", **task),
        chunk("background-task-output", **task, payload=written),
        chunk("background-task-progress", taskIds=["t"], runningCount=1, elapsedMs=2500),
        chunk("background-task-completed", **task, result={"depth": 4}),
        chunk("background-task-failed", **task, error={"message": "rock"}),
        chunk("background-task-suspended", **task, suspendPayload="which way?"),
        chunk("background-task-cancelled", **task),
    ]
    assert page(chunks).splitlines() == [
        "background: dig queued",
        "background: dig running",
        "  ┆ half way",
        "background: 1 running, 2.5 s",
        'background: dig done: {"depth": 4}',
        "background: dig failed: rock",
        "background: dig waits: which way?",
        "background: dig cancelled",
    ]


def test_calls_that_wait_say_for_what() -> None:
    chunks = [
        chunk("tool-call-approval", toolCallId="1", toolName="rm", args={"path": "x"}),
        chunk("tool-call-suspended", toolCallId="1", toolName="rm", suspendPayload={"sure": None}),
        chunk("tool-output-denied", toolCallId="1", toolName="rm"),
    ]
    assert page(chunks).splitlines() == [
        '? rm(path="x") waits for approval',
        '? rm waits: {"sure": null}',
        "  ✗ rm: not approved",
    ]


def test_workflow_steps_are_told_in_lines() -> None:
    chunks = [
        chunk("workflow-start", workflowId="w"),
        chunk("workflow-step-start", id="a", stepName="a", status="running"),
        chunk("workflow-step-output", stepName="a", output="written"),
        chunk("workflow-step-result", id="a", status="success", output=5),
        chunk("workflow-step-result", id="b", status="failed", error={"message": "no"}),
        chunk("workflow-finish", workflowStatus="failed"),
    ]
    assert page(chunks).splitlines() == [
        "workflow w",
        "step a: running",
        "  ┆ written",
        "step a: success: 5",
        "step b: no",
        "workflow failed",
    ]


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08evil\x00\u202elive\u2066\u200f"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize(
    "made",
    [
        text(HOSTILE),
        chunk("reasoning-delta", id="r", text=HOSTILE),
        call("1", HOSTILE, {HOSTILE: HOSTILE}),
        call("1", "f", HOSTILE),
        result("1", HOSTILE, HOSTILE),
        result("1", "f", {HOSTILE: [HOSTILE]}),
        ToolResultChunk(ToolResultPayload(tool_call_id="1", tool_name="f", result=object)),
        output("1", "f", HOSTILE),
        output("1", "f", {"type": "text-delta", "payload": {"id": "t", "text": HOSTILE}}),
        output("1", "f", {"type": "tool-call", "payload": {"toolCallId": "1", "toolName": HOSTILE, "args": HOSTILE}}),
        chunk("tool-error", toolCallId="1", toolName=HOSTILE, error={"name": HOSTILE, "message": HOSTILE}),
        chunk("source", id=HOSTILE, sourceType="url", title=HOSTILE, url=HOSTILE),
        chunk("file", data="https://" + HOSTILE, mimeType=HOSTILE, filename=HOSTILE),
        chunk("custom", kind=HOSTILE),
        chunk("error", error={"name": HOSTILE, "message": HOSTILE}),
        chunk("error", error=HOSTILE),
        chunk("tripwire", reason=HOSTILE, processorId=HOSTILE),
        chunk("step-start", warnings=[{"type": "other", "message": HOSTILE}, HOSTILE]),
        chunk("finish", stepResult={"reason": HOSTILE}, metadata={"modelId": HOSTILE}),
        from_value({"type": "data-" + HOSTILE, "data": HOSTILE}),
        from_value({"type": HOSTILE, "payload": HOSTILE}),
        from_value({"type": "object-result", "object": HOSTILE}),
        chunk("goal", reason=HOSTILE, objective=HOSTILE),
        chunk("workflow-step-result", id=HOSTILE, output=HOSTILE),
    ],
    ids=lambda made: made.type if made.type.isprintable() else "unknown",
)
def test_nothing_that_a_terminal_obeys_gets_through(made: ChunkType) -> None:
    shown = page([call("1", "f", {"x": HOSTILE}), call("2", "f", HOSTILE), made, output("1", "f", HOSTILE)])
    assert not OBEYED.search(shown)
    colored = re.sub(r"\x1b\[[0-9;]*m", "", page([made], color=True))
    assert not OBEYED.search(colored)


@pytest.mark.parametrize("name", sorted(CHUNK_CLASSES))
def test_every_chunk_can_be_shown(name: str) -> None:
    """With the least that its class asks for, alone and inside a tool."""
    cls = CHUNK_CLASSES[name]
    value: dict[str, Any] = {"type": name, "object": {}, "payload": _least(cls)}
    made = from_value(value)
    assert type(made) is cls
    assert page([made]).count("\n\n\n") == 0
    page([output("1", "f", value)])


def _least(cls: type[msgspec.Struct]) -> dict[str, Any]:
    payload = next((f.type for f in msgspec.structs.fields(cls) if f.name == "payload"), None)
    if not (isinstance(payload, type) and issubclass(payload, msgspec.Struct)):
        return {}
    samples: dict[str, Any] = {"sourceType": "url", "taskIds": [], "runningCount": 1, "elapsedMs": 1, "iteration": 1}
    return {
        field.encode_name: samples.get(field.encode_name, "x")
        for field in msgspec.structs.fields(payload)
        if field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT
    }
