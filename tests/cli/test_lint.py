"""`riverrun lint`: files in, lines and exit codes out."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from riverrun.cli import lint as linter
from riverrun.cli.main import main

Captured = pytest.CaptureFixture[str]


def line(kind: str, /, **payload: Any) -> str:
    return json.dumps({"type": kind, "runId": "r", "from": "AGENT", "payload": payload})


CLEAN = [
    line("start", id="a"),
    line("step-start"),
    line("text-start", id="t"),
    line("text-delta", id="t", text="hi"),
    line("text-end", id="t"),
    line("step-finish", stepResult={"reason": "stop", "isContinued": False}),
    line("finish", stepResult={"reason": "stop"}),
]


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., str]:
    def write(lines: list[str], *, end: str = "\n") -> str:
        path = tmp_path / "run.jsonl"
        path.write_text("\n".join(lines) + end, encoding="utf-8")
        return str(path)

    return write


def test_a_clean_stream_is_0(recorded: Callable[..., str], capsys: Captured) -> None:
    file = recorded(CLEAN)
    assert main(["lint", file]) == 0
    assert capsys.readouterr().out == f"{file}: 7 chunks, no problems\n"


def test_an_error_is_named_with_its_line(recorded: Callable[..., str], capsys: Captured) -> None:
    file = recorded([*CLEAN[:2], "", CLEAN[3], line("text-end", id="other"), *CLEAN[5:]])
    assert main(["lint", file]) == 1
    warning, error, summary = capsys.readouterr().out.splitlines()
    assert warning.startswith(f"{file}:4: warning: text-delta")
    assert error.startswith(f"{file}:5: error: text-end")
    assert summary == f"{file}: 6 chunks, 1 error, 1 warning"


def test_warnings_alone_are_0(recorded: Callable[..., str], capsys: Captured) -> None:
    file = recorded([*CLEAN[:2], CLEAN[3], *CLEAN[5:]])
    assert main(["lint", file]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{file}: 5 chunks, 1 warning"


def test_what_is_missing_at_the_end_is_told_at_the_last_line(recorded: Callable[..., str], capsys: Captured) -> None:
    file = recorded(CLEAN[:5])
    assert main(["lint", file]) == 1
    assert capsys.readouterr().out.startswith(f"{file}:5: error: the stream ends")


def test_a_line_that_is_no_chunk_is_an_error_and_the_rest_is_checked(
    recorded: Callable[..., str], capsys: Captured
) -> None:
    file = recorded([CLEAN[0], '{"half', "[1]", *CLEAN[1:]])
    assert main(["lint", file]) == 1
    first, second, summary = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{file}:2: error: not JSON")
    assert second.startswith(f"{file}:3: error: a chunk is a JSON object")
    assert summary == f"{file}: 7 chunks, 2 errors"


def test_a_file_without_a_chunk_is_2(recorded: Callable[..., str], capsys: Captured) -> None:
    assert main(["lint", recorded(["hello", "world"])]) == 2
    assert "holds no chunk" in capsys.readouterr().err
    assert main(["lint", recorded([], end="")]) == 2
    assert "it is empty" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_2(tmp_path: Path, capsys: Captured) -> None:
    for path, why in ((tmp_path / "none.jsonl", "No such file"), (tmp_path, "directory")):
        assert main(["lint", str(path)]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith(f"riverrun: {path}: ")
        assert why in captured.err
        assert captured.err.count("\n") == 1


def test_bytes_that_are_no_text_are_2(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "picture"
    path.write_bytes(bytes(range(256)) * 10)
    assert main(["lint", str(path)]) == 2
    assert "\x1b" not in capsys.readouterr().out


def test_stdin_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    text = "\ufeff" + "\r\n".join(CLEAN)  # as Windows writes it
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert main(["lint", "-"]) == 0
    assert capsys.readouterr().out == "<stdin>: 7 chunks, no problems\n"


def test_a_line_without_end_is_not_read_whole(
    recorded: Callable[..., str], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linter, "_LONGEST_LINE", 1000)
    file = recorded([CLEAN[0], "x" * 2000, CLEAN[1]])
    assert main(["lint", file]) == 1
    assert f"{file}:2: error: the line is longer" in capsys.readouterr().out


def test_hostile_text_reaches_no_terminal(recorded: Callable[..., str], capsys: Captured) -> None:
    main(["lint", recorded([CLEAN[0], CLEAN[1], line("text-end", id="\x1b[2J"), line("\x1b]0;x\x07")])])
    assert "\x1b" not in capsys.readouterr().out
