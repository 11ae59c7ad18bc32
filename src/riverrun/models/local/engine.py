"""llama.cpp in a process of its own: request body in, events out, for any number of event loops and threads.

A process, because the binding holds the interpreter's lock while it loads (seconds in which no event loop would turn),
because its threads may not outlive the interpreter, and because a crash of native code must not take the program along.
One process for each set of options is shared by all that use it.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib.util
import itertools
import os
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import AsyncGenerator
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import msgspec

from riverrun.errors import ConfigError, MissingExtraError, ModelError

Event: TypeAlias = dict[str, Any]
"""One event of llama.cpp, as in the stream of a chat completion."""

_WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What an engine is loaded with. `context` is in tokens for each of the `slots`, which answer side by side."""

    path: str
    context: int
    slots: int
    threads: int
    template: str | None


class _Ask:
    """A running request: where its events go."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event | ModelError | None] = asyncio.Queue()

    def put(self, event: Event | ModelError | None) -> None:
        """Called from the reading thread. None: the end."""
        with contextlib.suppress(RuntimeError):  # the loop was closed under the request
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)

    async def next(self) -> Event | None:
        event = await self._events.get()
        if isinstance(event, ModelError):
            raise event
        return event


class Engine:
    """A worker process. Make it with `shared_engine`."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._numbers = itertools.count(1)
        self._asks: dict[int, _Ask] = {}
        self._lock = threading.Lock()
        self._ready: Future[None] = Future()
        self._ready.set_running_or_notify_cancel()  # so that one who stops waiting does not cancel it for the others
        self.dead = False
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,  # Ctrl-C in a terminal is for the program
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders: IO[bytes] = self._process.stdin
        self._answers: IO[bytes] = self._process.stdout
        self._reader = threading.Thread(target=self._read, daemon=True, name="llama.cpp")
        self._reader.start()
        self._send(asdict(options))

    async def load(self) -> None:
        """Wait until the weights are loaded. Raises ModelError when they cannot be."""
        await asyncio.wrap_future(self._ready)

    async def events(self, body: dict[str, Any]) -> AsyncGenerator[Event, None]:
        """The events of one chat completion. Leaving it frees the slot. Raises ModelError when the request fails."""
        await self.load()
        number, ask = next(self._numbers), _Ask()
        with self._lock:
            if self.dead:
                raise self._death()
            self._asks[number] = ask
        ended = False
        try:
            self._send({"ask": number, "body": body})
            while (event := await ask.next()) is not None:
                yield event
            ended = True
        finally:
            with self._lock:
                self._asks.pop(number, None)
            if not ended:
                self._send({"stop": number})

    def close(self) -> None:
        """End the process. Requests that still run fail."""
        with self._lock:
            self.dead = True
        self._process.kill()
        self._process.wait()
        self._reader.join()
        with contextlib.suppress(OSError):
            self._orders.close()
        self._answers.close()
        self._said.close()

    # -- the process

    def _send(self, order: dict[str, Any]) -> None:
        line = msgspec.json.encode(order) + b"\n"
        with self._lock, contextlib.suppress(OSError, ValueError):  # it died, or was closed: the reader tells
            self._orders.write(line)
            self._orders.flush()

    def _read(self) -> None:
        """The reading thread: give each answer to whom it is for, until the process ends."""
        for line in self._answers:
            answer: Event = msgspec.json.decode(line)
            if "id" in answer:
                self._give(answer)
            elif "failed" in answer:
                self._ready.set_exception(_load_error(self._options.path, answer["failed"]))
            else:
                self._ready.set_result(None)
        with self._lock:
            self.dead = True
            asks, self._asks = self._asks, {}
        error = self._death()
        if not self._ready.done():
            self._ready.set_exception(error)
        for ask in asks.values():
            ask.put(error)

    def _give(self, answer: Event) -> None:
        ask = self._asks.get(answer["id"])
        if ask is None:
            return
        if "event" in answer:
            ask.put(answer["event"])
        else:
            ask.put(None if answer["end"] is None else ModelError(answer["end"], code="engine"))

    def _death(self) -> ModelError:
        """Why nothing comes any more, with the last line that the process wrote."""
        try:
            self._said.seek(0)
            lines = self._said.read()[-2000:].decode(errors="replace").strip().splitlines()
        except ValueError:  # closed
            lines = []
        reason = f": {lines[-1]}" if lines else ""
        return ModelError(f"the local engine ended{reason}", code="engine-ended", retryable=True)


def _load_error(path: str, reason: str) -> ModelError:
    try:
        with Path(path).open("rb") as file:
            is_gguf = file.read(4) == b"GGUF"
    except OSError as error:
        return ModelError(f"the weights {path} cannot be read: {error}", code="load")
    hint = "is the file whole, and is there memory enough?" if is_gguf else "it is no GGUF file"
    return ModelError(f"the weights {path} cannot be loaded: {hint} ({reason})", code="load")


# -- sharing


class _Shared:
    """The engines of this process. An engine lives until all who use it have released it, or the program ends.

    One who is forgotten without releasing is not counted, but does not end the engine either: the next may want it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closes_at_exit = False
        self._engines: dict[tuple[int, EngineOptions], tuple[Engine, weakref.WeakSet[object]]] = {}

    def use(self, options: EngineOptions, user: object) -> Engine:
        key = (os.getpid(), options)  # a forked process must not talk on its parent's pipes
        with self._lock:
            engine, users = self._engines.get(key, (None, weakref.WeakSet[object]()))
            if engine is None or engine.dead:
                if engine is not None:
                    engine.close()
                if not self._closes_at_exit:
                    self._closes_at_exit = True
                    atexit.register(self.close)
                engine = Engine(options)
                self._engines[key] = engine, users
            users.add(user)
            return engine

    def release(self, options: EngineOptions, user: object) -> None:
        key = (os.getpid(), options)
        with self._lock:
            engine, users = self._engines.get(key, (None, weakref.WeakSet[object]()))
            users.discard(user)
            if engine is None or users:
                return
            del self._engines[key]
        engine.close()

    def close(self) -> None:
        with self._lock:
            engines = [engine for (pid, _), (engine, _) in self._engines.items() if pid == os.getpid()]
            self._engines.clear()
        for engine in engines:
            engine.close()


_shared = _Shared()


def require_engine() -> None:
    """Raises MissingExtraError when the package with llama.cpp is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtraError("local", needed_by="a local model")


def shared_engine(options: EngineOptions, user: object) -> Engine:
    """The engine with these options, started if need be; gives it at once, and it loads meanwhile."""
    return _shared.use(options, user)


def release_engine(options: EngineOptions, user: object) -> None:
    """`user` is done with the engine: the last one ends it."""
    _shared.release(options, user)


def usable_threads(threads: int | None) -> int:
    """The threads to compute with: as many as there are cores for this process unless told."""
    if threads is not None and threads < 1:
        raise ConfigError("threads must be 1 or more")
    if threads is None and hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return threads or os.cpu_count() or 1
