"""Models of scenarios: scripted calls behind a wrapper that notes what each call was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from riverrun import ModelRequest, NamedTool
from riverrun.chunks import ChunkType, DataChunk
from riverrun.models import Call, ScriptedModel
from riverrun.types import ToolChoice, ToolSpec
from tests.conformance.options import SETTINGS
from tests.conformance.values import dump, load, model_error

PROVIDER = "mock-provider"
T = TypeVar("T")


class RecordingModel:
    """Plays a scenario's calls in order, one per request, and notes every request in `log`."""

    def __init__(self, key: str, calls: Sequence[Mapping[str, Any]], log: list[dict[str, Any]]) -> None:
        self.provider = PROVIDER
        self.model_id = f"{key}-model"
        self._key = key
        self._calls = calls
        self._asked = 0
        self._log = log

    def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        """Note the request and play the next call; there is none left: the call fails."""
        number, self._asked = self._asked, self._asked + 1
        self._log.append({"model": self._key, "call": number, **described(request)})
        spec: Mapping[str, Any] = {"throws": f"script exhausted: model {self._key} call {number}"}
        if number < len(self._calls):
            spec = self._calls[number]
        answer = ScriptedModel([build_call(spec)], model_id=self.model_id, provider=self.provider).stream(request)
        return _deaf(answer) if spec.get("ignoreAbort") else answer


def build_models(key: str, agent: Mapping[str, Any], log: list[dict[str, Any]]) -> list[RecordingModel]:
    """The models of an agent: `model` with its calls, or `models`, of which each is the fallback of the one before."""
    if "models" not in agent:
        return [RecordingModel(key, agent.get("model", []), log)]
    entries = enumerate(agent["models"])
    return [RecordingModel(f"{key}-{number}", entry["calls"], log) for number, entry in entries]


def build_call(spec: Mapping[str, Any]) -> Call:
    """One scripted call: its parts, or the error that it fails with.

    The recorded system tries a call again when making it threw, whatever was thrown, and never once it has begun.
    """
    deaf = bool(spec.get("ignoreAbort"))
    return Call(
        parts=[_part(part, deaf=deaf) for part in spec.get("parts", [])],
        throws=model_error(spec["throws"], retryable=True) if "throws" in spec else None,
        request=load(spec.get("request")),
        headers=(spec.get("response") or {}).get("headers"),
        pace=spec.get("pace_ms", 0) / 1000,
    )


def _part(part: Mapping[str, Any], *, deaf: bool) -> dict[str, Any] | ChunkType:
    if deaf and part["type"] == "$await_abort":
        return _AWAIT_ABORT
    if part["type"] in ("error", "$stream_error"):
        return {**part, "error": model_error(part["error"], retryable=False)}
    loaded: dict[str, Any] = load(dict(part))
    return loaded


_AWAIT_ABORT = DataChunk(type="data-await-abort")
"""Stands in the answer of a deaf model where it waits for the abort that it then ignores."""


async def _deaf(answer: AsyncGenerator[ChunkType, None]) -> AsyncGenerator[ChunkType, None]:
    """The answer of a model that goes on when it is cancelled."""
    aborted = asyncio.Event()
    async with aclosing(answer):
        while (chunk := await _through(anext(answer, None), aborted)) is not None:
            if chunk is _AWAIT_ABORT:
                await _through(aborted.wait(), aborted)
            else:
                yield chunk


async def _through(work: Awaitable[T], aborted: asyncio.Event) -> T:
    """Wait for `work` to end, whoever cancels meanwhile."""
    task = asyncio.ensure_future(_awaited(work))
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            aborted.set()
    return task.result()


async def _awaited(work: Awaitable[T]) -> T:
    return await work


def described(request: ModelRequest) -> dict[str, Any]:
    """A request in the form of the recordings' `modelCalls`."""
    out: dict[str, Any] = {
        "prompt": [dump(message) for message in request.messages],
        "includeRawChunks": request.include_raw,
    }
    for name, ours in SETTINGS.items():
        if getattr(request.settings, ours) is not None:
            out[name] = dump(getattr(request.settings, ours))
    if request.tools:
        out["tools"] = [_tool(spec) for spec in request.tools]
    if request.tools or request.tool_choice != "auto":
        out["toolChoice"] = _tool_choice(request.tool_choice)
    if request.provider_options:
        out["providerOptions"] = dump(request.provider_options)
    if request.response_format is not None:
        out["responseFormat"] = {"type": "json", "schema": dump(request.response_format)}
    return out


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "inputSchema": dump(spec.input_schema),
    }


def _tool_choice(choice: ToolChoice) -> dict[str, Any]:
    if isinstance(choice, NamedTool):
        return {"type": "tool", "toolName": choice.tool_name}
    return {"type": choice}
