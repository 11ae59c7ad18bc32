"""`riverrun decode`: what a provider sent → the chunks that a live run would have given, one JSON chunk a line."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

from riverrun.agent import Agent
from riverrun.chunks import ToolCallChunk
from riverrun.cli.chat import JsonLines
from riverrun.errors import ConfigError, ModelError
from riverrun.models.recorded import RecordedModel
from riverrun.tools import Tool, client_tool
from riverrun.tools.tool import is_tool_name
from riverrun.types import ModelRequest

_OK, _FAILED = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says. `pieces` is the seed of the cuts; None: the stream comes whole."""

    api: str
    file: str
    pieces: int | None = None
    raw: bool = False


def decode(options: Options) -> int:
    """Print the chunks and give the exit code: 1 when the stream holds an error.

    Raises ConfigError for an API or a file that cannot be decoded, OSError when the file cannot be read.
    """
    stream = sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes()
    if not stream.strip():
        raise ConfigError(f"{options.file} is empty: give what the provider sent, or a JSON event a line")
    return asyncio.run(_decode(stream, options))


async def _decode(stream: bytes, options: Options) -> int:
    lines = JsonLines(sys.stdout.buffer)
    agent = Agent(
        "decode",
        model=RecordedModel(options.api, [stream], pieces=options.pieces),
        tools=await _called(stream, options.api),
        max_steps=1,
        max_retries=0,
    )
    async with agent.stream([], include_raw=options.raw) as run:
        async for chunk in run:
            lines.feed(chunk)
    return _OK if run.status == "success" else _FAILED


async def _called(stream: bytes, api: str) -> list[Tool]:
    """The tools that the stream calls. They are the client's: a recording's tools cannot be run."""
    names: set[str] = set()
    try:
        async for chunk in RecordedModel(api, [stream]).stream(ModelRequest(messages=[], run_id="")):
            if isinstance(chunk, ToolCallChunk) and not chunk.payload.provider_executed:
                names.add(chunk.payload.tool_name)
    except ModelError:  # is shown when the stream is decoded for its reader
        pass
    return [client_tool(name) for name in sorted(names) if is_tool_name(name)]
