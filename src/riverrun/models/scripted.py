"""ScriptedModel: answers from a script, so that agents are tested without a provider.

A call is a list of stream parts (see parts.py) or of chunks, a text, or an exception to raise.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.chunks import ChunkType, Envelope
from riverrun.errors import ConfigError, ModelError
from riverrun.models.parts import Part, PartReader
from riverrun.types import ModelRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One scripted answer. `throws` is raised instead of answering; `pace` is the time between parts in seconds."""

    parts: Sequence[Part | ChunkType] = ()
    throws: Exception | None = None
    request: Mapping[str, Any] | None = None
    headers: Mapping[str, str] | None = None
    pace: float = 0.0


class ScriptedModel:
    """A model that answers call after call from its script and remembers what it was asked (`requests`).

    Readers get a turn after each part, as with a network. It is strict: a call more than scripted raises ModelError,
    and `assert_done()` (or leaving a `with` block) raises AssertionError while scripted calls are left.
    """

    def __init__(
        self,
        calls: Sequence[Call | Sequence[Part | ChunkType] | Exception | str],
        *,
        model_id: str = "scripted",
        provider: str = "scripted",
    ) -> None:
        self.model_id = model_id
        self.provider = provider
        self.requests: list[ModelRequest] = []
        if isinstance(calls, str):
            raise ConfigError("a script is a list of calls: ScriptedModel([…])")
        self._calls = [_call(call) for call in calls]

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        """Play the next call of the script."""
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self._calls):
            raise ModelError(f"script exhausted: model {self.model_id} call {number}")
        call = self._calls[number]
        if call.throws is not None:
            raise call.throws
        reader = PartReader(request, sent=call.request, headers=call.headers)
        for part in call.parts:
            await asyncio.sleep(call.pace)
            if isinstance(part, Envelope):
                yield part
                continue
            await _pause(part)
            for chunk in reader.read(part):
                yield chunk
        for chunk in reader.close():
            yield chunk

    def assert_done(self) -> None:
        """Raise AssertionError unless every scripted call was made."""
        left = len(self._calls) - len(self.requests)
        assert left <= 0, f"{left} scripted call(s) of model {self.model_id} were not made"

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.assert_done()


def text_call(text: str) -> Call:
    """A call that answers with `text`."""
    return Call(
        parts=[
            {"type": "text-start", "id": "t"},
            {"type": "text-delta", "id": "t", "delta": text},
            {"type": "text-end", "id": "t"},
            {"type": "finish", "finishReason": "stop", "usage": {}},
        ]
    )


def _call(call: Call | Sequence[Part | ChunkType] | Exception | str) -> Call:
    match call:
        case Call():
            return call
        case str():
            return text_call(call)
        case Exception():
            return Call(throws=call)
        case _:
            return Call(parts=call)


async def _pause(part: Part) -> None:
    """The parts that stand for what a connection may do."""
    match part["type"]:
        case "$sleep":
            await asyncio.sleep(part["ms"] / 1000)
        case "$await_abort":
            await asyncio.get_running_loop().create_future()
        case "$stream_error":
            raise part["error"]
        case _:
            pass
