"""`riverrun chat`: one prompt, or a conversation, shown live. Options in, exit code out.

prompt → Agent.stream → chunks → Renderer (or JSON lines) → stdout
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from types import FrameType, TracebackType
from typing import Any, BinaryIO, TextIO

from riverrun.agent import Agent, Run
from riverrun.chunks import AssistantMessage, ChunkType, ErrorChunk, Message, TextPart, UserMessage, encode
from riverrun.cli.phrases import error_text
from riverrun.cli.render import Renderer
from riverrun.cli.terminal import DIM, color_wanted, escape, one_line, paint, width_of, writer
from riverrun.cli.tools import calculate, current_time
from riverrun.errors import ConfigError
from riverrun.models import resolve_model
from riverrun.types import Model

DEFAULT_MODEL = "local/qwen2.5-coder-0.5b"

_OK, _FAILED, _CANCELLED = 0, 1, 130
_CODES = {"success": _OK, "canceled": _CANCELLED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says. `prompt` None: read stdin, or hold a conversation when that is a terminal."""

    prompt: str | None = None
    model: str | None = None
    instructions: str | None = None
    json: bool = False
    max_steps: int | None = None
    base_url: str | None = None
    tools: bool = True
    color: bool = True


def chat(options: Options, model: Model | None = None) -> int:
    """Run it and give the exit code; `model` stands in for the one that the options name.

    Raises ConfigError for options that cannot work, BrokenPipeError when nobody reads stdout any more.
    """
    prompt = _prompt(options)
    session = Session(options, model or _model(options))
    with asyncio.Runner() as runner:
        return _converse(session, runner) if prompt is None else session.say(runner, prompt)


class JsonLines:
    """Shows chunks as JSON, one a line, in UTF-8 whatever the locale; on a terminal, with nothing that it obeys."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._escapes = out.isatty()

    def feed(self, chunk: ChunkType) -> None:
        """Write the chunk at once."""
        line = encode(chunk)
        self._out.write((escape(line.decode()).encode() if self._escapes else line) + b"\n")
        self._out.flush()

    def close(self) -> None:
        """Nothing stays open between lines."""


class Session:
    """An agent and what was said so far."""

    def __init__(self, options: Options, model: Model) -> None:
        self.options = options
        self.model = model
        self._history: list[Message] = []
        self._agent = Agent(
            "chat",
            model=model,
            instructions=options.instructions or (),
            tools=[current_time, calculate] if options.tools else [],
            max_steps=options.max_steps,
        )

    def say(self, runner: asyncio.Runner, text: str) -> int:
        """Run one turn, show it, remember it; the turn's exit code."""
        with Interrupts() as interrupts:
            return runner.run(self._turn(text, interrupts))

    async def _turn(self, text: str, interrupts: Interrupts) -> int:
        view = self._view()
        fault: object = None
        async with self._agent.stream([*self._history, UserMessage([TextPart(text)])]) as run:
            interrupts.watch(run)
            async for chunk in run:
                if isinstance(chunk, ErrorChunk):
                    fault = chunk.payload.error
                if self.options.json or not isinstance(fault, ConfigError):
                    view.feed(chunk)
            view.close()
        self._remember(run)
        if isinstance(fault, ConfigError):
            raise fault
        self._tell(run, fault)
        return _CODES.get(run.status, _FAILED)

    def _view(self) -> Renderer | JsonLines:
        if self.options.json:
            return JsonLines(sys.stdout.buffer)
        return Renderer(
            writer(sys.stdout),
            color=color_wanted(sys.stdout, no_color=not self.options.color),
            width=width_of(sys.stdout),
            model=self.model.model_id,
        )

    def _tell(self, run: Run, fault: object) -> None:
        """Say on stderr how the run ended badly, where stdout does not show it to a person."""
        if fault is not None and not sys.stdout.isatty():
            writer(sys.stderr)(f"riverrun: {one_line(error_text(fault))}\n")
        elif run.status == "canceled" and self.options.json:
            writer(sys.stderr)("riverrun: cancelled\n")

    def _remember(self, run: Run) -> None:
        """Keep what was said, an answer that was cut off included: the next thing said may be "go on"."""
        if run.status not in ("success", "canceled"):
            return
        result = run.partial
        self._history = list(result.messages)
        if run.status == "canceled" and result.text.strip() and result.text != _last_answer(self._history):
            self._history.append(AssistantMessage([TextPart(result.text)]))


def _last_answer(messages: list[Message]) -> str:
    """The text of the last answer. When tools are cut off, the run itself has kept what the model said before them."""
    last = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
    return "".join(part.text for part in last.content if isinstance(part, TextPart)) if last else ""


class Interrupts:
    """Ctrl-C while a run goes on: the first cancels the run, the second ends the program at once."""

    def __init__(self) -> None:
        self._run: Run | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._cancelled = False
        self._before: Any = None

    def watch(self, run: Run) -> None:
        """From now on it is this run that Ctrl-C cancels. Called inside the event loop."""
        self._run, self._loop = run, asyncio.get_running_loop()

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._hit)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _hit(self, number: int, frame: FrameType | None) -> None:
        if self._run is None or self._loop is None:
            raise KeyboardInterrupt
        if self._cancelled:
            os._exit(_CANCELLED)  # everything shown was flushed; whatever hangs is not waited for
        self._cancelled = True
        self._loop.call_soon_threadsafe(self._run.cancel)


# -- what is said


def _prompt(options: Options) -> str | None:
    """The prompt; None: a conversation is wanted."""
    prompt = options.prompt
    stdin: TextIO | None = sys.stdin  # None: closed by whoever started the program
    if prompt is None and stdin is not None and stdin.isatty():
        return None
    if prompt is None or prompt == "-":
        try:
            prompt = stdin.read() if stdin is not None else ""
        except UnicodeDecodeError as error:
            raise ConfigError(f"the prompt on stdin is not {error.encoding} text: {error.reason}") from None
    if not prompt.strip():
        raise ConfigError("the prompt is empty")
    return prompt


def _converse(session: Session, runner: asyncio.Runner) -> int:
    """Take turns until the end of input."""
    aside = writer(sys.stderr if session.options.json or not sys.stdout.isatty() else sys.stdout)
    color = color_wanted(sys.stdout, no_color=not session.options.color)
    greeting = f"{session.model.provider}/{session.model.model_id} · Ctrl-D or /exit ends"
    aside((paint(greeting, DIM) if color else greeting) + "\n")
    while True:
        try:
            aside("\n")
            said = _ask(plain=session.options.json)
        except EOFError:
            aside("\n")
            return _OK
        except KeyboardInterrupt:
            continue
        if said.strip() in ("/exit", "/quit"):
            return _OK
        if said.strip():
            aside("\n")
            session.say(runner, said)


def _ask(*, plain: bool) -> str:
    """One line from the person; with editing and history where the system has them. Raises EOFError at the end."""
    if sys.stdout.isatty() and not plain:
        with suppress(ImportError):
            import_module("readline")  # input() uses it from then on
        return input("> ")
    writer(sys.stderr)("> ")
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


# -- who answers


def _model(options: Options) -> Model:
    name = options.model or os.environ.get("RIVERRUN_MODEL") or None
    if options.base_url is None:
        return resolve_model(name or DEFAULT_MODEL)
    if name is None:
        raise ConfigError("--base-url needs --model: the name that the server has for the model")
    if not options.base_url.startswith(("http://", "https://")):
        raise ConfigError(f"--base-url begins with http:// or https://, unlike {options.base_url!r}")
    from riverrun.models.openai_chat import OpenAIChatModel

    provider, slash, model_id = name.partition("/")
    own = slash and provider == "openai-chat"
    return OpenAIChatModel(model_id if own else name, base_url=options.base_url)
