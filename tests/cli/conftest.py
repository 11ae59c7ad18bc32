"""A tiny OpenAI-compatible server, and the command as a process of its own."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import riverrun


class Server(ThreadingHTTPServer):
    """Answers by what the last user message says: "hang" never ends, "sum" calls calculate, "fail" is refused, "long"
    is long, "count" tells how many messages came; anything else is greeted."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.hung_up = threading.Event()  # a client went away while its answer was under way

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests."""
        self.hung_up.set()


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.keys.append(self.headers["authorization"])
        said = [message["content"] for message in body["messages"] if message["role"] == "user"][-1]
        said = said if isinstance(said, str) else "".join(part["text"] for part in said)
        if said == "fail":
            self._refuse()
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self._answer(said, body["messages"])
        self.close_connection = True

    def _answer(self, said: str, messages: list[dict[str, Any]]) -> None:
        if said == "hang":
            self._text("one ", "two ")
            select.select([self.connection], [], [], 60)
            self.server.hung_up.set()
            return
        if said == "sum" and messages[-1]["role"] == "user":
            self._delta(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": SUM}])
            self._end("tool_calls")
            return
        answers = {"sum": ["It is ", "391."], "long": ["word "] * 20_000, "count": [f"{len(messages)} messages"]}
        self._text(*answers.get(said, ["Hel", "lo!"]))
        self._end("stop")

    def _text(self, *pieces: str) -> None:
        for piece in pieces:
            self._delta(content=piece)

    def _delta(self, finish_reason: str | None = None, **delta: Any) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        self._event({"id": "x", "object": "chat.completion.chunk", "model": "loop", "choices": [choice]})

    def _end(self, reason: str) -> None:
        self._delta(finish_reason=reason)
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        self._event({"id": "x", "object": "chat.completion.chunk", "model": "loop", "choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, value: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())

    def _refuse(self) -> None:
        body = json.dumps({"error": {"message": "the prompt is refused", "type": "invalid", "code": "bad"}}).encode()
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


SUM = {"name": "calculate", "arguments": '{"expression": "17 * 23"}'}


@pytest.fixture
def server() -> Iterator[Server]:
    """The server, listening on a port of its own."""
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def start(server: Server) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start `riverrun chat` on the server in a process; it is ended with the test."""
    source = str(Path(riverrun.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "TERM": "dumb", "COLUMNS": "80"}
    started: list[subprocess.Popen[bytes]] = []

    def chat(*arguments: str, **streams: Any) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "riverrun.cli.main", "chat", "--model", "loop", "--base-url", server.url]
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([*argv, *arguments], env=environment, **{**pipes, **streams})
        started.append(process)
        return process

    yield chat
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
