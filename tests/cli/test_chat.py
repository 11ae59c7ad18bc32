"""`riverrun chat`: in this process with a scripted model, and as a process with a server."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

import riverrun
from riverrun.chunks import (
    AbortChunk,
    ChunkType,
    FinishChunk,
    TextDeltaChunk,
    TextDeltaPayload,
    TextPart,
    decode,
    encode,
)
from riverrun.cli.chat import JsonLines, Options, chat
from riverrun.cli.main import main
from riverrun.errors import ConfigError
from riverrun.models import ScriptedModel
from riverrun.types import ModelRequest
from tests.cli.conftest import Server

Captured = pytest.CaptureFixture[str]
Start = Callable[..., "subprocess.Popen[bytes]"]

USAGE = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
needs_signals = pytest.mark.skipif(os.name == "nt", reason="a process cannot be sent Ctrl-C here")


def says(*pieces: str) -> list[dict[str, Any]]:
    return [
        {"type": "text-start", "id": "0"},
        *[{"type": "text-delta", "id": "0", "delta": piece} for piece in pieces],
        {"type": "text-end", "id": "0"},
        {"type": "finish", "finishReason": "stop", "usage": USAGE},
    ]


def calls(name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [
        {"type": "tool-call", "toolCallId": "1", "toolName": name, "input": json.dumps(arguments)},
        {"type": "finish", "finishReason": "tool-calls", "usage": USAGE},
    ]


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RIVERRUN_MODEL", "RIVERRUN_DEBUG", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


class Terminal(io.StringIO):
    """Lines that a person types."""

    def isatty(self) -> bool:
        return True


class TerminalBytes(io.BytesIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True


# -- one prompt


def test_an_answer_with_a_tool_is_shown(capsys: Captured) -> None:
    model = ScriptedModel([calls("calculate", expression="17 * 23"), says("It is ", "391.")])
    assert chat(Options(prompt="17 times 23?"), model) == 0
    shown, _, usage = capsys.readouterr().out.rstrip("\n").rpartition("\n")
    assert shown == '● calculate(expression="17 * 23")\n  → calculate: 391\n\nIt is 391.\n'
    assert usage.startswith("scripted · tokens: 20 in, 10 out · 2 steps · ")
    assert usage.endswith(" s · stop")


def test_json_lines_are_chunks_and_nothing_else(capsys: Captured) -> None:
    assert chat(Options(prompt="hi", json=True), ScriptedModel([says("héllo")])) == 0
    chunks = [decode(line) for line in capsys.readouterr().out.splitlines()]
    assert [chunk.payload.text for chunk in chunks if isinstance(chunk, TextDeltaChunk)] == ["héllo"]
    assert isinstance(chunks[-1], FinishChunk)


def test_json_lines_do_not_command_a_terminal() -> None:
    chunk = TextDeltaChunk(TextDeltaPayload("0", "\x9b31m\x7f\u202ehéllo"), run_id="r", from_="AGENT")
    piped, terminal = io.BytesIO(), TerminalBytes()
    for out in (piped, terminal):
        JsonLines(out).feed(chunk)
    assert piped.getvalue() == encode(chunk) + b"\n"
    assert rb'"\u009b31m\u007f\u202eh' + "éllo".encode() in terminal.getvalue()
    assert decode(terminal.getvalue()) == chunk


def test_the_tools_are_offered_unless_they_are_switched_off() -> None:
    model = ScriptedModel([says("a"), says("b")])
    chat(Options(prompt="hi"), model)
    chat(Options(prompt="hi", tools=False), model)
    assert [[tool.name for tool in request.tools] for request in model.requests] == [["current_time", "calculate"], []]


def test_instructions_and_steps_reach_the_run(capsys: Captured) -> None:
    model = ScriptedModel([calls("calculate", expression="1"), calls("calculate", expression="2")])
    assert chat(Options(prompt="hi", instructions="Be brief.", max_steps=2), model) == 0
    assert model.requests[0].messages[0].role == "system"
    assert "2 steps" in capsys.readouterr().out


def test_a_run_that_fails_is_1_and_told_on_both_streams(capsys: Captured) -> None:
    assert chat(Options(prompt="hi"), ScriptedModel([RuntimeError("out of\norder")])) == 1
    captured = capsys.readouterr()
    assert "error: RuntimeError: out of\norder\n" in captured.out
    assert captured.err == "riverrun: RuntimeError: out of order\n"


def test_a_fault_of_configuration_in_the_run_is_one_line() -> None:
    with pytest.raises(ConfigError, match="riverrun pull"):
        chat(Options(prompt="hi"), ScriptedModel([ConfigError("no weights: run riverrun pull")]))


def test_the_prompt_comes_from_stdin_for_a_dash_and_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for prompt in ("-", None):
        model = ScriptedModel([says("ok")])
        monkeypatch.setattr("sys.stdin", io.StringIO("from the pipe\n"))
        assert chat(Options(prompt=prompt), model) == 0
        assert model.requests[0].messages[0].content[0].text == "from the pipe\n"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["chat", "--model", "nobody/x", "hi"], "unknown model 'nobody/x'"),
        (["chat", "--model", "plain", "hi"], "unknown model 'plain'"),
        (["chat", "--base-url", "http://localhost:1", "hi"], "--base-url needs --model"),
        (["chat", "--base-url", "localhost:1", "--model", "m", "hi"], "begins with http"),
        (["chat", "--model", "openai-chat/x", "hi"], "OPENAI_API_KEY"),
        (["chat", "   "], "the prompt is empty"),
        (["chat"], "the prompt is empty"),
    ],
)
def test_a_mistake_is_one_line_and_2(
    argv: list[str], says: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("riverrun: ")
    assert captured.err.count("\n") == 1
    assert says in captured.err


@pytest.mark.parametrize("prompt", [["hi"], []])
def test_weights_that_are_not_there_are_one_line_and_2(
    prompt: list[str], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("riverrun.models.local.model.require_engine", lambda: None)
    monkeypatch.setattr("sys.stdin", Terminal("hi\n"))
    assert main(["chat", "--model", "local:/nope.gguf", *prompt]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(r"riverrun: no weights '/nope\.gguf': [^\n]+\n", captured.err)


def test_a_model_that_cannot_be_made_is_one_line_and_2(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise ConfigError("the model\nwill not")

    monkeypatch.setattr("riverrun.cli.chat.resolve_model", refuse)
    assert main(["chat", "hi"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "riverrun: the model will not\n")


def test_stdin_that_is_no_text_is_2(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\xff"), encoding="utf-8"))
    assert main(["chat", "-"]) == 2
    assert capsys.readouterr().err.startswith("riverrun: the prompt on stdin is not utf-8 text")


def test_the_model_is_the_environments_when_none_is_given(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIVERRUN_MODEL", "nobody/y")
    assert main(["chat", "hi"]) == 2
    assert "nobody/y" in capsys.readouterr().err


# -- a conversation


def test_a_conversation_remembers_what_was_said(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    model = ScriptedModel([says("Hello, Ada."), says("Ada.")])
    monkeypatch.setattr("sys.stdin", Terminal("I am Ada.\n\n   \nWho am I?\n/exit\nnever said\n"))
    assert chat(Options(), model) == 0
    assert [len(request.messages) for request in model.requests] == [1, 3]
    captured = capsys.readouterr()
    assert "Hello, Ada.\n" in captured.out
    assert captured.err.count("> ") == 5
    assert "/exit ends" in captured.err


def test_a_conversation_ends_with_the_input_and_outlives_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    model = ScriptedModel([RuntimeError("down"), says("up")])
    monkeypatch.setattr("sys.stdin", Terminal("one\ntwo\n"))
    assert chat(Options(), model) == 0
    assert [message.content[0].text for message in model.requests[1].messages] == ["two"]
    assert "up\n" in capsys.readouterr().out


class Interrupted(ScriptedModel):
    """Ctrl-C is hit when it says "two "."""

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        async for chunk in super().stream(request):
            yield chunk
            if isinstance(chunk, TextDeltaChunk) and chunk.payload.text == "two ":
                signal.raise_signal(signal.SIGINT)


CUT_OFF = [*says("one ", "two ")[:-2], {"type": "$await_abort"}]


@needs_signals
def test_a_conversation_remembers_an_answer_that_was_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Interrupted([CUT_OFF, says("three")])
    monkeypatch.setattr("sys.stdin", Terminal("count\ngo on\n"))
    assert chat(Options(), model) == 0
    assert said(model) == [("user", "count"), ("assistant", "one two "), ("user", "go on")]


@needs_signals
def test_an_answer_that_was_cut_off_behind_a_tool_is_remembered_last(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Interrupted([calls("calculate", expression="1"), CUT_OFF, says("three")])
    monkeypatch.setattr("sys.stdin", Terminal("count\ngo on\n"))
    assert chat(Options(), model) == 0
    roles = [("user", "count"), ("assistant", ""), ("tool", ""), ("assistant", "one two "), ("user", "go on")]
    assert said(model) == roles


@needs_signals
def test_an_answer_that_was_kept_with_its_tools_is_not_remembered_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    async def calculate(expression: str) -> None:
        """Reckon until somebody hits Ctrl-C."""
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()

    monkeypatch.setattr("riverrun.cli.chat.calculate", calculate)
    monkeypatch.setattr("sys.stdin", Terminal("when?\ngo on\n"))
    now = {"type": "tool-call", "toolCallId": "0", "toolName": "current_time", "input": "{}"}
    model = ScriptedModel([[*says("Let me see.")[:-1], now, *calls("calculate", expression="1")], says("Noon.")])
    assert chat(Options(), model) == 0
    assert said(model) == [("user", "when?"), ("assistant", "Let me see."), ("tool", ""), ("user", "go on")]


def said(model: ScriptedModel) -> list[tuple[str, str]]:
    """Who said what, as the model was told in its last call."""
    return [
        (message.role, "".join(part.text for part in message.content if isinstance(part, TextPart)))
        for message in model.requests[-1].messages
    ]


# -- with a server


def test_a_server_of_ones_own_is_asked_without_a_key(server: Server, capsys: Captured) -> None:
    assert main(["chat", "--base-url", server.url, "--model", "qwen/qwen3", "sum"]) == 0
    shown = capsys.readouterr().out
    assert '● calculate(expression="17 * 23")\n  → calculate: 391\n\nIt is 391.\n\n' in shown
    assert [request["model"] for request in server.requests] == ["qwen/qwen3"] * 2


def test_the_key_goes_to_the_server_where_there_is_one(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert main(["chat", "--base-url", server.url, "--model", "openai-chat/m", "hi"]) == 0
    assert server.keys == ["Bearer sk-test"]
    assert server.requests[0]["model"] == "m"


def test_a_refusal_is_1(server: Server, capsys: Captured) -> None:
    assert main(["chat", "--base-url", server.url, "--model", "m", "fail"]) == 1
    assert "the prompt is refused" in capsys.readouterr().err


@needs_signals
def test_ctrl_c_cancels_the_run_and_shows_what_came(start: Start, server: Server) -> None:
    process = start("hang")
    shown = _read_until(process.stdout, b"two ")
    process.send_signal(signal.SIGINT)
    rest, complaint = process.communicate(timeout=20)
    assert re.fullmatch(
        r"one two \n\ncancelled\n\nloop · 1 step · [\d.]+ s · cancelled\n", (shown + rest).decode("utf-8")
    )
    assert complaint == b""
    assert process.returncode == 130
    assert server.hung_up.wait(10)


@needs_signals
def test_ctrl_c_ends_json_lines_with_abort_and_finish(start: Start) -> None:
    process = start("--json", "hang")
    shown = _read_until(process.stdout, b"two ")
    process.send_signal(signal.SIGINT)
    rest, complaint = process.communicate(timeout=20)
    chunks = [decode(line) for line in (shown + rest).splitlines()]
    assert [type(chunk) for chunk in chunks[-2:]] == [AbortChunk, FinishChunk]
    assert complaint == b"riverrun: cancelled\n"
    assert process.returncode == 130


STUBBORN = """
import asyncio, sys
from riverrun.cli.chat import Options, chat
from riverrun.chunks import StepStartChunk, StepStartPayload

class Model:
    provider = model_id = "stubborn"
    async def stream(self, request):
        yield StepStartChunk(StepStartPayload(), run_id=request.run_id, from_="AGENT")
        while True:
            print("waiting", file=sys.stderr, flush=True)
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass

chat(Options(prompt="hi"), Model())
"""


@needs_signals
def test_a_second_ctrl_c_ends_at_once() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(riverrun.__file__).parents[1])}
    argv = [sys.executable, "-c", STUBBORN]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for _ in range(2):
            _read_until(process.stderr, b"waiting\n")
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    assert process.returncode == 130


@needs_signals
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_reader_that_goes_away_ends_the_run_in_silence(start: Start, server: Server, options: tuple[str]) -> None:
    process = start(*options, "long")
    assert process.stdout is not None
    assert process.stdout.read(20)
    process.stdout.close()
    process.stdout = None
    _, complaint = process.communicate(timeout=30)
    assert complaint == b""
    assert process.returncode == 141
    assert server.hung_up.wait(10)


@needs_signals
def test_a_conversation_on_a_terminal(start: Start) -> None:
    """Typed on a pseudo terminal: an answer, a cancelled one, and the end."""
    import pty

    ours, theirs = pty.openpty()
    process = start(stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        _read_until(terminal, b"/exit ends\r\n\r\n> ")
        terminal.write(b"hello\n")
        _read_until(terminal, b"Hello!\r\n")
        _read_until(terminal, b"stop\r\n\r\n> ")
        terminal.write(b"hang\n")
        _read_until(terminal, b"two ")
        process.send_signal(signal.SIGINT)
        _read_until(terminal, b"cancelled\r\n\r\n> ")
        process.send_signal(signal.SIGINT)
        while not select.select([terminal], [], [], 0.5)[0]:  # lost when it comes just before the line is waited for
            process.send_signal(signal.SIGINT)
        _read_until(terminal, b"> ")
        terminal.write(b"count\n")
        _read_until(terminal, b"5 messages")  # with the one that was cut off
        _read_until(terminal, b"> ")
        terminal.write(b"\x04")
        assert process.wait(20) == 0


def _read_until(stream: Any, end: bytes) -> bytes:
    """What the stream gives up to `end`; fails when it is over before."""
    got = b""
    while not got.endswith(end) and end not in got:
        piece = os.read(stream.fileno(), 1)
        assert piece, f"the output ended before {end!r}: {got!r}"
        got += piece
    return got
