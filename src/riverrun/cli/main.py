"""The `riverrun` command: arguments in, exit code out. A command is imported when it runs, so that help is fast."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NoReturn

from riverrun.errors import ConfigError

OK, FAILED, USAGE, CANCELLED, PIPE_CLOSED = 0, 1, 2, 130, 141

_CODES = """\
exit codes:
  0    all is well
  1    the run failed, or problems were found
  2    wrong usage, configuration or input
  130  cancelled (Ctrl-C)
  141  whoever read the output went away, as after `| head -1`
"""
_ROOT = f"""\
examples:
  riverrun pull
  riverrun chat "What is 17 * 23?"
  riverrun chat --model openai/gpt-5-mini "Name three rivers."

{_CODES}
RIVERRUN_DEBUG=1 shows the traceback of a fault.
"""
_CHAT = f"""\
examples:
  riverrun chat "What time is it in Tokyo?"
  riverrun chat                                          a conversation; Ctrl-D or /exit ends it
  git diff | riverrun chat --instructions "Review this change."
  riverrun chat --base-url http://localhost:8000/v1 --model qwen3 "Hello"
  riverrun chat --json "Hello" > run.jsonl && riverrun lint run.jsonl

environment:
  RIVERRUN_MODEL   the model when --model is not given
  OPENAI_API_KEY   the key for openai/... and --base-url
  NO_COLOR         no colours

{_CODES}"""
_PULL = f"""\
examples:
  riverrun pull
  riverrun pull --list
  riverrun pull smollm2-135m && riverrun chat --model local/smollm2-135m "Hello"

What is cut off is kept: pull again to go on. The file is checked by its sha256. RIVERRUN_HOME says where it is kept
(default: ~/.cache/riverrun).

{_CODES}"""
_LINT = f"""\
examples:
  riverrun lint run.jsonl
  riverrun chat --json "Hello" | riverrun lint -

One JSON chunk a line. Problems come as FILE:LINE: error|warning: message; warnings alone leave the exit code 0.

{_CODES}"""
_DECODE = f"""\
examples:
  riverrun decode --api anthropic-messages response.sse
  riverrun decode --api openai-responses events.jsonl | riverrun lint -
  riverrun decode --api google-generate-content --pieces 7 response.json

FILE holds what the provider sent: server-sent events, an event of JSON a line, or a JSON array of events. The chunks
are those that a run would have given, from its start to its finish; the tools that it calls are not run.

{_CODES}"""
_SCHEMA = f"""\
example:
  riverrun schema > chunk.schema.json

{_CODES}"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the arguments (default: the program's own) and give its exit code."""
    try:
        code = _command(argv)
        sys.stdout.flush()
        return code
    except SystemExit as done:  # argparse ends the program itself after --help and for wrong usage
        return done.code if isinstance(done.code, int) else USAGE
    except KeyboardInterrupt:
        return _complain("cancelled", CANCELLED)
    except BrokenPipeError:
        _forget_output()
        return PIPE_CLOSED
    except ConfigError as error:
        return _complain(str(error), USAGE)
    except OSError as error:
        if error.filename is None:
            return _unexpected(error)
        return _complain(f"{error.filename}: {error.strerror}", USAGE)
    except Exception as error:
        return _unexpected(error)


def _command(argv: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse_args(argv)
    run: Callable[[argparse.Namespace], int] | None = getattr(options, "run", None)
    if run is None:
        parser.print_help(sys.stderr)
        return USAGE
    return run(options)


def _complain(message: str, code: int) -> int:
    """One line on stderr; the traceback too when RIVERRUN_DEBUG is set."""
    from riverrun.cli.terminal import one_line, writer

    if os.environ.get("RIVERRUN_DEBUG") and code not in (CANCELLED,):
        import traceback

        traceback.print_exc()
    writer(sys.stderr)(f"riverrun: {one_line(message)}\n")
    return code


def _unexpected(error: Exception) -> int:
    hint = "" if os.environ.get("RIVERRUN_DEBUG") else " (RIVERRUN_DEBUG=1 shows where)"
    return _complain(f"unexpected {type(error).__name__}: {error}{hint}", FAILED)


def _forget_output() -> None:
    """Nobody reads stdout any more: keep the interpreter from complaining of it when it flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- the arguments


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"riverrun: {message} (see {self.prog} --help)\n")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("riverrun")
        except PackageNotFoundError:
            found = "(not installed)"
        print(f"riverrun {found}")
        parser.exit(OK)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="riverrun",
        description="A streaming agent runtime: talk to a model and see everything that happens in a run.",
        epilog=_ROOT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    parser.add_argument("--no-color", action="store_true", help="no colours")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def command(name: str, epilog: str, run: Callable[[argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.add_argument("--no-color", action="store_true", default=argparse.SUPPRESS, help="no colours")
        made.set_defaults(run=run)
        return made

    _add_chat(command("chat", _CHAT, _chat, "run a prompt, or hold a conversation, and show what happens"))
    _add_pull(command("pull", _PULL, _pull, "fetch the weights of an embedded model"))
    _add_lint(command("lint", _LINT, _lint, "check a recorded stream of chunks against the format"))
    _add_decode(command("decode", _DECODE, _decode, "show a provider's recorded stream as chunks"))
    command("schema", _SCHEMA, _schema, "print the JSON Schema of a chunk")
    return parser


def _add_chat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="what to say; - or nothing: read from stdin")
    parser.add_argument("--model", help="provider/model-id (default: local/qwen2.5-coder-0.5b)")
    parser.add_argument("--instructions", metavar="TEXT", help="instructions for the model")
    parser.add_argument("--json", action="store_true", help="print the chunks as JSON lines, and nothing else")
    parser.add_argument("--max-steps", type=_positive, metavar="N", help="model calls at most")
    parser.add_argument("--base-url", metavar="URL", help="an OpenAI-compatible server that has MODEL")
    parser.add_argument("--no-tools", action="store_true", help="offer no tools (else: current_time, calculate)")


def _add_pull(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="which weights (default: those of riverrun chat)")
    parser.add_argument("--list", action="store_true", help="show which weights there are")


def _add_lint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file of JSON lines; - reads stdin")


def _add_decode(parser: argparse.ArgumentParser) -> None:
    apis = ("openai-chat", "openai-responses", "anthropic-messages", "google-generate-content")
    parser.add_argument("file", metavar="FILE", help="what the provider sent; - reads stdin")
    parser.add_argument("--api", required=True, choices=apis, metavar="API", help=", ".join(apis))
    parser.add_argument("--pieces", type=int, metavar="SEED", help="cut the bytes at random places, as networks do")
    parser.add_argument("--raw", action="store_true", help="show each event of the provider too, as a raw chunk")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 up, not {text!r}")
    return int(text)


# -- the commands


def _chat(options: argparse.Namespace) -> int:
    from riverrun.cli.chat import Options, chat

    return chat(
        Options(
            prompt=options.prompt,
            model=options.model,
            instructions=options.instructions,
            json=options.json,
            max_steps=options.max_steps,
            base_url=options.base_url,
            tools=not options.no_tools,
            color=not options.no_color,
        )
    )


def _pull(options: argparse.Namespace) -> int:
    from riverrun.cli.pull import list_weights, pull_weights

    return list_weights(color=not options.no_color) if options.list else pull_weights(options.name)


def _lint(options: argparse.Namespace) -> int:
    from riverrun.cli.lint import lint

    return lint(options.file, color=not options.no_color)


def _decode(options: argparse.Namespace) -> int:
    from riverrun.cli.decode import Options, decode

    return decode(Options(api=options.api, file=options.file, pieces=options.pieces, raw=options.raw))


def _schema(_: argparse.Namespace) -> int:
    import json

    from riverrun.chunks import json_schema

    print(json.dumps(json_schema(), indent=2))
    return OK


if __name__ == "__main__":
    sys.exit(main())
