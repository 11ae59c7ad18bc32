"""The command's face: help, version, usage, exit codes, and one line for whatever goes wrong."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import riverrun
from riverrun.cli import lint
from riverrun.cli.main import main

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("argv", [["--help"], ["chat", "-h"], ["pull", "-h"], ["lint", "-h"], ["schema", "-h"]])
def test_every_help_has_an_example_and_the_exit_codes(argv: list[str], capsys: Captured) -> None:
    assert main(argv) == 0
    shown = capsys.readouterr().out
    assert re.search(r"examples?:\n  riverrun ", shown)
    for code in ("0", "1", "2", "130"):
        assert re.search(rf"^  {code} +\w", shown, re.MULTILINE)


def test_the_version_is_shown(capsys: Captured) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"riverrun \S.*\n", capsys.readouterr().out)


def test_without_a_command_the_help_is_shown(capsys: Captured) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "commands:" in captured.err


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["sing"], "sing"),
        (["lint"], "FILE"),
        (["lint", "a", "b"], "b"),
        (["chat", "--max-steps", "0", "hi"], "from 1 up"),
        (["chat", "--max-steps", "many", "hi"], "from 1 up"),
        (["chat", "--loud", "hi"], "--loud"),
    ],
)
def test_wrong_usage_is_one_line_and_2(argv: list[str], says: str, capsys: Captured) -> None:
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(r"riverrun: .+ \(see riverrun( \w+)? --help\)\n", captured.err)
    assert says in captured.err


def test_the_schema_is_one_of_chunks(capsys: Captured) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["title"] == "ChunkType"
    assert "TextDeltaChunk" in schema["$defs"]


def test_a_fault_is_one_line_with_a_hint(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def broken(file: str, *, color: bool) -> int:
        raise KeyError("what\nnow")

    monkeypatch.setattr(lint, "lint", broken)
    monkeypatch.delenv("RIVERRUN_DEBUG", raising=False)
    assert main(["lint", "x"]) == 1
    assert capsys.readouterr().err == "riverrun: unexpected KeyError: 'what\\nnow' (RIVERRUN_DEBUG=1 shows where)\n"
    monkeypatch.setenv("RIVERRUN_DEBUG", "1")
    assert main(["lint", "x"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_anywhere_is_130(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def interrupted(file: str, *, color: bool) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(lint, "lint", interrupted)
    assert main(["lint", "x"]) == 130
    assert capsys.readouterr().err == "riverrun: cancelled\n"


ONLY_THE_COMMAND = """
import sys, types
riverrun = sys.modules["riverrun"] = types.ModuleType("riverrun")  # the library's face may cost what it costs
riverrun.__path__ = [sys.argv[1]]
import riverrun.cli.main
print(sorted(name for name in sys.modules if name.split(".")[0] in ("asyncio", "json", "msgspec", "pydantic")))
"""


def test_the_command_starts_without_what_only_its_commands_need() -> None:
    """Counted in modules, which do not depend on the machine as times do."""
    folder = str(Path(riverrun.__file__).parent)
    argv = [sys.executable, "-c", ONLY_THE_COMMAND, folder]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_reader_that_goes_away_is_met_with_silence() -> None:
    argv = [sys.executable, "-m", "riverrun.cli.main", "schema"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
    assert complaint == b""
    assert process.returncode == 141
