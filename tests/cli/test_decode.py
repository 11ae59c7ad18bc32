"""`riverrun decode`: what a provider sent → chunks, one a line."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from riverrun.chunks import decode as chunk_of
from riverrun.chunks.grammar import problems
from riverrun.cli import decode as decoder
from riverrun.cli.main import main
from tests.models.small_streams import STREAMS, json_array, json_lines, sse

Captured = pytest.CaptureFixture[str]
File = Callable[[bytes], str]


@pytest.fixture
def file(tmp_path: Path) -> File:
    def write(stream: bytes) -> str:
        path = tmp_path / "stream"
        path.write_bytes(stream)
        return str(path)

    return write


def chunks(captured: Captured) -> list[dict[str, Any]]:
    """What was printed, checked to be one whole stream in order."""
    lines = captured.readouterr().out.splitlines()
    assert [str(problem) for problem in problems(map(chunk_of, lines))] == []
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("api", STREAMS)
@pytest.mark.parametrize("form", [sse, json_lines])
def test_a_recorded_stream_is_shown_as_one_whole_run(api: str, form: Any, file: File, capsys: Captured) -> None:
    assert main(["decode", "--api", api, file(form(api))]) == 0
    found = chunks(capsys)
    assert [found[0]["type"], found[1]["type"]] == ["start", "step-start"]
    assert [found[-2]["type"], found[-1]["type"]] == ["step-finish", "finish"]
    assert len({chunk["runId"] for chunk in found}) == 1
    call = next(chunk["payload"] for chunk in found if chunk["type"] == "tool-call")
    assert (call["toolCallId"], call["toolName"], call["args"]) == ("c1", "look", {"at": "é"})
    assert found[-1]["payload"]["stepResult"]["reason"] == "tool-calls"
    assert found[-1]["payload"]["output"]["usage"]["outputTokens"] == 7


@pytest.mark.parametrize("api", STREAMS)
def test_the_cuts_of_a_seed_change_nothing(api: str, file: File, capsys: Captured) -> None:
    path = file(sse(api))
    assert main(["decode", "--api", api, path]) == 0
    whole = [chunk["type"] for chunk in chunks(capsys)]
    for seed in ("0", "1", "-7"):
        assert main(["decode", "--api", api, f"--pieces={seed}", path]) == 0
        assert [chunk["type"] for chunk in chunks(capsys)] == whole


def test_a_json_array_is_a_stream_too(file: File, capsys: Captured) -> None:
    assert main(["decode", "--api", "google-generate-content", file(json_array("google-generate-content"))]) == 0
    assert "tool-call" in [chunk["type"] for chunk in chunks(capsys)]


def test_an_error_in_the_stream_is_shown_and_is_1(file: File, capsys: Captured) -> None:
    failing = sse("openai-chat").split(b"data: ")[1]
    stream = b"data: " + failing + b'event: error\ndata: {"error": {"message": "Too busy.", "code": "overloaded"}}\n\n'
    assert main(["decode", "--api", "openai-chat", file(stream)]) == 1
    found = chunks(capsys)
    (error,) = (chunk for chunk in found if chunk["type"] == "error")
    assert error["payload"]["error"]["message"] == "Too busy."
    assert found[-1]["payload"]["stepResult"]["reason"] == "error"


def test_what_is_no_stream_at_all_is_an_error_of_the_stream(file: File, capsys: Captured) -> None:
    for api in STREAMS:
        assert main(["decode", "--api", api, file(b"<html>502 Bad Gateway</html>\n")]) == 1
        assert "error" in [chunk["type"] for chunk in chunks(capsys)]


def test_the_providers_own_events_are_shown_on_request(file: File, capsys: Captured) -> None:
    api = "openai-chat"
    assert main(["decode", "--api", api, "--raw", file(json_lines(api))]) == 0
    assert [chunk["payload"] for chunk in chunks(capsys) if chunk["type"] == "raw"] == STREAMS[api]


def test_a_stream_can_come_from_stdin(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(sse("openai-chat")))
    monkeypatch.setattr(decoder.sys, "stdin", stdin)
    assert main(["decode", "--api", "openai-chat", "-"]) == 0
    assert chunks(capsys)[-1]["type"] == "finish"


def test_a_call_of_a_tool_with_an_impossible_name_is_shown(file: File, capsys: Captured) -> None:
    stream = json_lines("openai-chat").replace(b'"look"', b'"look at: this!"')
    assert main(["decode", "--api", "openai-chat", file(stream)]) == 0
    names = [chunk["payload"]["toolName"] for chunk in chunks(capsys) if chunk["type"] == "tool-call"]
    assert names == ["look at: this!"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["decode", "{file}"], "--api"),
        (["decode", "--api", "openai", "{file}"], "openai-responses"),
        (["decode", "--api", "openai-chat"], "FILE"),
        (["decode", "--api", "openai-chat", "--pieces", "x", "{file}"], "--pieces"),
        (["decode", "--api", "openai-chat", "nowhere.sse"], "nowhere.sse"),
        (["decode", "--api", "openai-chat", "{empty}"], "is empty"),
    ],
)
def test_wrong_usage_says_what_is_wrong(
    arguments: list[str], told: str, file: File, tmp_path: Path, capsys: Captured
) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"\n")
    places = {"{file}": file(sse("openai-chat")), "{empty}": str(empty)}
    assert main([places.get(argument, argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert len(captured.err.splitlines()) == 1
