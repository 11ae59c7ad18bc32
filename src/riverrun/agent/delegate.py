"""An agent as another one's tool: its stream goes through the outer run, and it waits and goes on with it."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from riverrun.agent.saved import SavedRun
from riverrun.chunks import Result, ToolOutput
from riverrun.errors import RunError, RunNotSuspendedError, error_message
from riverrun.store import AnyStore, Snapshot
from riverrun.tools import NestedWait, Tool, ToolContext

if TYPE_CHECKING:
    from riverrun.agent.agent import Agent
    from riverrun.agent.run import Run

INPUT = {
    "type": "object",
    "properties": {"prompt": {"type": "string", "description": "What the agent is to do"}},
    "required": ["prompt"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """A task that is handed to another agent, before it starts (`result` None) or when it is done."""

    agent_name: str
    prompt: str
    run_id: str
    tool_call_id: str
    deps: Any = None
    result: Result | None = None


OnDelegation: TypeAlias = Callable[[Delegation], str | Awaitable[str | None] | None]


def delegate(
    agent: Agent,
    *,
    name: str | None = None,
    description: str | None = None,
    on_start: OnDelegation | None = None,
    on_end: OnDelegation | None = None,
) -> Tool:
    """A tool that hands its `prompt` to an agent and gives what it answers; the model is told the answer's text.

    Each chunk of the agent's run comes as `tool-output` of the outer one. What the inner run waits for, the outer one
    waits for, and cancelling the outer one cancels it. `name` is "agent-" and the agent's name if not given.
    `on_start` may give another prompt, `on_end` another text for the model (what is no text, it is told as JSON).
    """
    return Tool(
        name=name or f"agent-{agent.name}",
        description=description or agent.description or f"Hands a task to the agent {agent.name}.",
        input_schema=INPUT,
        execute=Delegate(agent, on_start, on_end),
        to_model_output=text_of,
    )


@dataclass(frozen=True, slots=True)
class Delegate:
    """What such a tool executes."""

    agent: Agent
    on_start: OnDelegation | None
    on_end: OnDelegation | None

    async def __call__(self, arguments: Mapping[str, Any], ctx: ToolContext[Any]) -> dict[str, Any]:
        """Run the agent. Raises RunError when it fails or a processor stops it."""
        task = Delegation(
            agent_name=self.agent.name,
            prompt=str(arguments["prompt"]),
            run_id=inner_id(ctx),
            tool_call_id=ctx.tool_call_id,
            deps=ctx.deps,
        )
        run = await self._started(task, ctx)
        async with run:
            try:
                async for chunk in run:
                    await ctx.write(chunk)
            except asyncio.CancelledError:
                if not ctx.cancelled:  # the program ends: both runs wait on
                    await run.leave()
                raise
            result = run.partial
        if run.status == "suspended":
            ctx.suspend_with(_first_wait(run.run_id, await self.agent.store.get_snapshot(run.run_id)))
        raise_for(result, run.run_id)
        return {**await _told(task, result, self.on_end), **_thread(ctx, self.agent.name, task.run_id)}

    async def _started(self, task: Delegation, ctx: ToolContext[Any]) -> Run:
        """The inner run: from where it waits on, or from its beginning when it is new or nothing is left of it."""
        store = self.agent.store
        found = await store.get_snapshot(task.run_id) if ctx.resumed else None
        if found is None:
            prompt = await _answer(self.on_start, task)
            return self.agent.stream(task.prompt if prompt is None else prompt, run_id=task.run_id, deps=ctx.deps)
        if found.status == "running":  # for a process that has lost the outer run to this one
            await store.suspend(found)
        elif (wait := _first_wait(task.run_id, found)).attempt != ctx.resumed_attempt:  # it asks for another answer now
            ctx.suspend_with(wait)
        call_id = found.calls[0].tool_call_id
        return await self.agent.resume_stream(ctx.resumed[-1], run_id=task.run_id, tool_call_id=call_id, deps=ctx.deps)


def raise_for(result: Result, run_id: str) -> None:
    """Raises RunError for a run inside a tool that failed or was cancelled, or that a processor stopped: what that one
    refused is not for the outer model either.
    """
    if result.status == "failed":
        raise RunError(error_message(result.error), run_id=run_id, partial=result)
    if result.tripwire is not None:
        raise RunError(f"stopped: {result.tripwire.reason}", run_id=run_id, partial=result)
    if result.status == "canceled":
        raise RunError("it was cancelled", run_id=run_id, partial=result)


def inside(tool: Tool, run_id: str, store: AnyStore) -> Tool:
    """The tool as a run has it: the run of an agent that it hands tasks to is part of this one, and kept with it."""
    if not isinstance(tool.execute, Delegate):
        return tool
    return tool.with_execute(replace(tool.execute, agent=tool.execute.agent.inside(run_id, store)))


async def _told(task: Delegation, result: Result, on_end: OnDelegation | None) -> dict[str, Any]:
    done = Delegation(
        agent_name=task.agent_name,
        prompt=task.prompt,
        run_id=task.run_id,
        tool_call_id=task.tool_call_id,
        deps=task.deps,
        result=result,
    )
    text = await _answer(on_end, done)
    return {
        "text": result.text if text is None else text,
        "subAgentToolResults": [
            {
                "toolName": chunk.payload.tool_name,
                "toolCallId": chunk.payload.tool_call_id,
                "result": chunk.payload.result,
                "args": chunk.payload.args,
            }
            for chunk in result.tool_results
        ],
    }


def _thread(ctx: ToolContext[Any], name: str, run_id: str) -> dict[str, str]:
    """The inner run's own thread, by the outer one's."""
    thread, resource = _id(f"{run_id}/thread"), _id(f"{run_id}/resource")
    return {
        "subAgentThreadId": f"{ctx.thread_id}-{thread}" if ctx.thread_id else thread,
        "subAgentResourceId": f"{ctx.resource_id}-{name}" if ctx.resource_id else resource,
    }


async def _answer(hook: OnDelegation | None, task: Delegation) -> str | None:
    if hook is None:
        return None
    answer = hook(task)
    return await answer if inspect.isawaitable(answer) else answer


def _first_wait(run_id: str, snapshot: Snapshot | None) -> NestedWait:
    """What the inner run waits for first; what else it waits for comes when that is answered."""
    if snapshot is None:
        raise RunNotSuspendedError(run_id, "somebody else has gone on with it")
    saved = SavedRun.of(snapshot.state, snapshot.calls)
    waiting = saved.waiting[snapshot.calls[0].tool_call_id]
    assert waiting.chunk is not None
    return NestedWait(waiting.chunk, saved.waits)


def inner_id(ctx: ToolContext[Any]) -> str:
    """The inner run's id: the same when the tool runs again, so that the run that waits is found."""
    return _id(f"{ctx.run_id}/{ctx.tool_call_id}")


def _id(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


def text_of(result: Any) -> ToolOutput:
    told = result["text"]
    return ToolOutput("text" if isinstance(told, str) else "json", told)
