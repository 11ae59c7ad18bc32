"""The examples run on the embedded model, as a newcomer runs them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from riverrun.chunks import FinishChunk, decode

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

pytestmark = [pytest.mark.usefixtures("local_weights"), pytest.mark.timeout(240)]


def run_example(name: str) -> str:
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_chat_with_tools_calls_the_tool_and_answers_twice() -> None:
    printed = run_example("chat_with_tools.py")
    assert "[calls get_weather with {'city': 'Paris'}]" in printed
    assert printed.count("(stop;") == 2


def test_record_and_replay_gives_the_same_text() -> None:
    live, replay, *_ = run_example("record_and_replay.py").strip().split("\n")
    assert live.removeprefix("live:").split() == replay.removeprefix("replay:").split()


@pytest.fixture
def sse_server() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "sse_by_hand.py"), str(port)], stdout=subprocess.PIPE, env=environment
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline().startswith(b"http://127.0.0.1")
        yield f"http://127.0.0.1:{port}/?q=Say+hello."
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()


def test_sse_by_hand_streams_chunks_until_done(sse_server: str) -> None:
    with urllib.request.urlopen(sse_server, timeout=200) as response:
        assert response.headers["content-type"] == "text/event-stream"
        events = response.read().split(b"\n\n")
    assert events[-2:] == [b"data: [DONE]", b""]
    assert isinstance(decode(events[-3].removeprefix(b"data: ")), FinishChunk)


def test_sse_by_hand_lives_on_when_a_browser_leaves(sse_server: str) -> None:
    with urllib.request.urlopen(sse_server, timeout=200) as response:
        response.read(10)
    time.sleep(0.05)
    with urllib.request.urlopen(sse_server, timeout=200) as response:
        assert b"[DONE]" in response.read()
