"""The process that holds llama.cpp: options and requests come in on stdin, events go out on stdout, as JSON lines.

It runs as a script of its own, with nothing of riverrun but this file, and is the only file that knows xllamacpp.
In:  {"path", "context", "slots", "threads", "template"}, then {"ask": id, "body": {...}} and {"stop": id}.
Out: {"ready": true} or {"failed": reason}, then {"id", "event"}*, at last {"id", "end": null} or {"id", "end": error}.
It ends with its stdin, and so with the process that started it, however that ended.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import secrets
import sys
import threading
from typing import IO, Any

# Pieces in which a prompt is read: a request can be stopped between two of them.
_BATCH = 256


class Worker:
    """Serves the requests with one thread for each slot."""

    def __init__(self, options: dict[str, Any], out: IO[bytes]) -> None:
        self._out = out
        self._writing = threading.Lock()
        self._stopped: dict[int, threading.Event] = {}
        self._waiting: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
        self._server: Any = _load(options)
        for _ in range(options["slots"]):
            threading.Thread(target=self._serve, daemon=True).start()

    def take(self, order: dict[str, Any]) -> None:
        """Queue a request, or stop one, queued or running. One that ended already is no more known."""
        if "ask" in order:
            self._stopped[order["ask"]] = threading.Event()
            self._waiting.put((order["ask"], order["body"]))
        elif stopped := self._stopped.get(order["stop"]):
            stopped.set()

    def say(self, message: dict[str, Any]) -> None:
        """Write one line."""
        line = json.dumps(message).encode() + b"\n"
        with self._writing:
            self._out.write(line)
            self._out.flush()

    def _serve(self) -> None:
        while True:
            number, body = self._waiting.get()
            stopped = self._stopped[number]
            error = None if stopped.is_set() else self._answer(number, body, stopped)
            del self._stopped[number]
            self.say({"id": number, "end": error})

    def _answer(self, number: int, body: dict[str, Any], stopped: threading.Event) -> str | None:
        def on_event(event: dict[str, Any]) -> bool:
            """llama.cpp stops when this gives True."""
            if not stopped.is_set():
                self.say({"id": number, "event": event})
            return stopped.is_set()

        try:
            self._server.handle_chat_completions(body, on_event)
        except Exception as error:
            return str(error) or type(error).__name__
        return None


def _load(options: dict[str, Any]) -> Any:
    """Load the weights. This takes a second or more, in which no other thread of the process runs."""
    engine: Any = importlib.import_module("xllamacpp")
    params = engine.CommonParams()
    params.model.path = options["path"]
    params.n_parallel = options["slots"]
    params.n_ctx = options["context"] * options["slots"]  # the total
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options["threads"]
    params.n_batch = params.n_ubatch = _BATCH
    params.warmup = False
    params.verbosity = -1
    params.cache_ram_mib = 0
    params.ui = params.endpoint_slots = False
    params.api_keys = [secrets.token_urlsafe(24)]  # it opens a port on 127.0.0.1, which nobody is to use
    if options["template"] is not None:
        params.chat_template = options["template"]
    return engine.Server(params)


def main() -> None:
    """Load, then serve until stdin ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what llama.cpp prints must not come between the lines
    orders = sys.stdin.buffer
    try:
        worker = Worker(json.loads(orders.readline()), out)
    except Exception as error:
        out.write(json.dumps({"failed": str(error) or type(error).__name__}).encode() + b"\n")
        out.flush()
        os._exit(1)
    worker.say({"ready": True})
    for line in orders:
        worker.take(json.loads(line))
    os._exit(0)  # at once: llama.cpp's threads may be in the middle of a token


if __name__ == "__main__":
    main()
