"""What type checkers know of runs. Only checked, never run."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, assert_type

from riverrun import Agent, Model, Result, Run, RunError, Source, ToolContext, tool
from riverrun.chunks import (
    ChunkType,
    FileChunk,
    Message,
    Response,
    SourceChunk,
    Status,
    Step,
    ToolCallChunk,
    ToolResultChunk,
    TripwirePayload,
    Usage,
)
from riverrun.models import ScriptedModel, resolve_model
from riverrun.tools import Tool

agent = Agent("typed", model=ScriptedModel(["a"]))


async def streams() -> None:
    run = agent.stream("hi")
    assert_type(run, Run)
    assert_type(run.full_stream, Run)
    assert_type(run.text_stream, AsyncIterator[str])
    async for chunk in run:
        assert_type(chunk, ChunkType)
    async for chunk in run.full_stream:
        assert_type(chunk, ChunkType)
    async for piece in run.text_stream:
        assert_type(piece, str)
    async with agent.stream("hi") as entered:
        assert_type(entered, Run)


async def values(run: Run) -> None:
    assert_type(await run.text, str)
    assert_type(await run.reasoning_text, str | None)
    assert_type(await run.object, Any)
    assert_type(await run.tool_calls, list[ToolCallChunk])
    assert_type(await run.tool_results, list[ToolResultChunk])
    assert_type(await run.sources, list[SourceChunk])
    assert_type(await run.files, list[FileChunk])
    assert_type(await run.usage, Usage)
    assert_type(await run.total_usage, Usage)
    assert_type(await run.finish_reason, str | None)
    assert_type(await run.steps, list[Step])
    assert_type(await run.response, Response | None)
    assert_type(await run.warnings, list[Any])
    assert_type(await run.messages, list[Message])
    assert_type(await run.suspend_payload, Any)
    assert_type(await run.result(), Result)
    assert_type(await agent.generate("hi"), Result)


def state(run: Run) -> None:
    assert_type(run.partial, Result)
    assert_type(run.status, Status)
    assert_type(run.run_id, str)
    assert_type(run.tripwire, TripwirePayload | None)
    run.cancel()
    run.cancel("now")
    run.cancel("after_step")
    run.cancel("later")  # type: ignore[arg-type]


async def the_error(run: Run) -> None:
    try:
        await run.text
    except RunError as error:
        assert_type(error.run_id, str)
        assert_type(error.partial, Any)


def protocols() -> None:
    source: Source = agent
    model: Model = ScriptedModel([])
    assert_type(resolve_model("openai/gpt-5-mini"), Model)
    _ = (source, model)


def tools() -> None:
    @tool
    async def plain(city: str) -> str:
        return city

    @tool(name="other")
    def named(city: str, ctx: ToolContext[int]) -> str:
        assert_type(ctx.deps, int)
        return city

    assert_type(plain, Tool)
    assert_type(named, Tool)
    Agent("a", model="openai/gpt-5-mini", tools=[plain, named, len])
