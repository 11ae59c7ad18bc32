"""Any Source as a tool: a workflow, a remote agent, a recorded log. (An Agent knows more: see `delegate`.)"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Any, TypeGuard, cast

from riverrun.agent.delegate import INPUT, inner_id, raise_for, text_of
from riverrun.chunks import ChunkType, ToolCallApprovalChunk, ToolCallSuspendedChunk, fold
from riverrun.errors import ConfigError, RunError
from riverrun.streams import reading
from riverrun.tools import NestedWait, Tool, ToolContext
from riverrun.types import Source

_WAITS = (ToolCallApprovalChunk, ToolCallSuspendedChunk)


def source_tool(source: Source, *, name: str | None = None, description: str | None = None) -> Tool:
    """A tool that hands its `prompt` to a Source and gives what it answers; the model is told the answer's text.

    Each chunk of the Source comes as `tool-output` of the outer run, and cancelling that run ends it. What it waits
    for, the outer run waits for, if its `stream` takes a `run_id` and `resume_stream(answer, run_id=…)` goes on with
    that run; both may take `deps` too. `name` and `description` are the Source's own if not given. Raises ConfigError
    for what is no Source, or has no name.
    """
    if not is_source(source):
        raise ConfigError(f"a Source has a method `stream(input)`, which {source!r:.80} has not")
    name = name or getattr(source, "name", None)
    if not isinstance(name, str):
        raise ConfigError(f"a tool needs a name: source_tool({type(source).__name__}(…), name=…)")
    told = description or getattr(source, "description", None)
    return Tool(
        name=name,
        description=told if isinstance(told, str) else f"Hands a task to {name}.",
        input_schema=INPUT,
        execute=SourceCall(source),
        to_model_output=text_of,
    )


def is_source(value: object) -> TypeGuard[Source]:
    """Whether a value makes streams."""
    return not isinstance(value, type) and callable(getattr(value, "stream", None))


@dataclass(frozen=True, slots=True)
class SourceCall:
    """What such a tool executes."""

    source: Any

    async def __call__(self, arguments: Mapping[str, Any], ctx: ToolContext[Any]) -> dict[str, Any]:
        """Read the Source's stream. Raises RunError when it fails, is stopped, or waits and cannot go on."""
        run_id = inner_id(ctx)
        chunks: list[ChunkType] = []
        async with reading(await self._stream(str(arguments["prompt"]), run_id, ctx)) as stream:
            async for chunk in stream:
                chunks.append(chunk)
                await ctx.write(chunk)
        result = fold(chunks)
        if result.status == "suspended":
            if not self._resumes:
                raise RunError("it waits for an answer, and cannot be resumed", run_id=run_id, partial=result)
            ctx.suspend_with(NestedWait(_first_wait(chunks), attempt=len(ctx.resumed)))
        raise_for(result, run_id)
        return {"text": result.text}

    async def _stream(self, prompt: str, run_id: str, ctx: ToolContext[Any]) -> AsyncIterable[ChunkType]:
        verb = self.source.resume_stream if ctx.resumed else self.source.stream
        options = {"run_id": run_id, "deps": ctx.deps}
        taken = {name: value for name, value in options.items() if _takes(verb, name)}
        made: Any = verb(ctx.resumed[-1] if ctx.resumed else prompt, **taken)
        return cast("AsyncIterable[ChunkType]", made if hasattr(made, "__aiter__") else await made)

    @property
    def _resumes(self) -> bool:
        again = getattr(self.source, "resume_stream", None)
        return callable(again) and _takes(again, "run_id") and _takes(self.source.stream, "run_id")


def _takes(function: Any, name: str) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(parameter.name == name or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _first_wait(chunks: Sequence[ChunkType]) -> ToolCallApprovalChunk | ToolCallSuspendedChunk:
    """What the stream waits for at its end; of several, the first."""
    from_last = dropwhile(lambda chunk: not isinstance(chunk, _WAITS), reversed(chunks))
    *_, first = takewhile(lambda chunk: isinstance(chunk, _WAITS), from_last)
    assert isinstance(first, _WAITS)
    return first
