"""Tools of scenarios: a list of operations, run one after the other, becomes the body of a riverrun tool."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from riverrun import Agent, Tool, ToolContext
from riverrun.chunks import from_value
from tests.conformance.values import UNDEFINED, dump, load, tool_error


@dataclass(kw_only=True)
class Scope:
    """What the templates of one execution may name, and the agents that it may call.

    `resume` is the answer to what the tool has asked for; `execution` counts the tool's executions from 1.
    """

    input: Any
    resume: Any = UNDEFINED
    state: Any = UNDEFINED
    execution: int = 1
    agents: Mapping[str, Agent] = field(default_factory=dict)


def resolve(template: Any, scope: Scope) -> Any:
    """Fill `$input`, `$resume`, `$state` and `$add` in; what they name and is not there is undefined."""
    if isinstance(template, list):
        return [None if item is UNDEFINED else item for item in (resolve(item, scope) for item in template)]
    if not isinstance(template, dict):
        return template
    match template:
        case {"$input": path}:
            return _pick(scope.input, path)
        case {"$resume": path}:
            return _pick(scope.resume, path)
        case {"$state": path}:
            return _pick(scope.state, path)
        case {"$add": terms}:
            return _add([resolve(term, scope) for term in terms])
        case {"$date": _} | {"$bytes": _} | {"$error": _} | {"$undefined": _}:
            return load(template)
    members = {name: resolve(member, scope) for name, member in template.items()}
    return {name: member for name, member in members.items() if member is not UNDEFINED}


def _pick(value: Any, path: str | bool) -> Any:
    if path is True:
        return value
    return value.get(path, UNDEFINED) if isinstance(value, Mapping) else UNDEFINED


def _add(terms: Sequence[Any]) -> Any:
    """JavaScript's +: texts are joined, numbers are added."""
    total = terms[0]
    for term in terms[1:]:
        total = f"{total}{term}" if isinstance(total, str) or isinstance(term, str) else total + term
    return total


class GoOn:
    """An operation did its part; the next one follows."""


GO_ON = GoOn()
Op = Callable[[Mapping[str, Any], Scope, ToolContext], Awaitable[Any]]


async def _returns(op: Mapping[str, Any], scope: Scope, _: ToolContext) -> Any:
    return _result(op["returns"], scope)


async def _raises(op: Mapping[str, Any], _: Scope, __: ToolContext) -> Any:
    raise tool_error(op["raises"])


async def _raises_first(op: Mapping[str, Any], scope: Scope, _: ToolContext) -> Any:
    if scope.execution <= op["raises_first"]:
        raise tool_error(op.get("message", "failed"))
    return GO_ON


async def _sleeps(op: Mapping[str, Any], _: Scope, __: ToolContext) -> Any:
    await asyncio.sleep(op["sleep_ms"] / 1000)
    return GO_ON


async def _writes(op: Mapping[str, Any], scope: Scope, ctx: ToolContext) -> Any:
    await ctx.write(_result(op["writes"], scope))
    return GO_ON


async def _custom(op: Mapping[str, Any], scope: Scope, ctx: ToolContext) -> Any:
    chunk = resolve(op["custom"], scope)
    if chunk["type"].startswith("data-") and chunk.keys() <= {"type", "data", "id", "transient"}:
        await ctx.emit(chunk["type"], **{name: member for name, member in chunk.items() if name != "type"})
    else:  # a chunk of a form that `emit` does not make
        ctx.emit_chunk(from_value(chunk))
    return GO_ON


async def _waits_for_abort(_: Mapping[str, Any], __: Scope, ctx: ToolContext) -> Any:
    await ctx.wait_cancelled()
    raise tool_error({"name": "AbortError", "message": "aborted"})


async def _waits_for_abort_then_returns(op: Mapping[str, Any], scope: Scope, ctx: ToolContext) -> Any:
    await ctx.wait_cancelled()
    return _result(op["wait_abort_then_return"], scope)


async def _suspends(op: Mapping[str, Any], scope: Scope, ctx: ToolContext) -> Any:
    if scope.resume is UNDEFINED:
        scope.resume = await ctx.suspend(resolve(op["suspends"], scope))
    return GO_ON


async def _calls_agent(op: Mapping[str, Any], scope: Scope, ctx: ToolContext) -> Any:
    called = op["calls_agent"]
    async with scope.agents[called["agent"]].stream(_result(called["input"], scope)) as run:
        async for chunk in run:
            await ctx.write(chunk)
        return {"text": await run.text}


def _result(template: Any, scope: Scope) -> Any:
    value = resolve(template, scope)
    return None if value is UNDEFINED else value


OPS: dict[str, Op] = {
    "returns": _returns,
    "raises": _raises,
    "raises_first": _raises_first,
    "sleep_ms": _sleeps,
    "writes": _writes,
    "custom": _custom,
    "wait_abort": _waits_for_abort,
    "wait_abort_then_return": _waits_for_abort_then_returns,
    "suspends": _suspends,
    "calls_agent": _calls_agent,
}


def op_name(op: Mapping[str, Any]) -> str:
    """Which operation it is: the first member that is one, else its first member."""
    return next((name for name in op if name in OPS), next(iter(op), ""))


async def run_ops(ops: Sequence[Mapping[str, Any]], scope: Scope, ctx: ToolContext) -> Any:
    """Run the operations; give what the first `returns` says, None when there is none."""
    for op in ops:
        outcome = await OPS[op_name(op)](op, scope, ctx)
        if outcome is not GO_ON:
            return outcome
    return None


def build_tool(
    key: str, spec: Mapping[str, Any], executions: list[dict[str, Any]], agents: Mapping[str, Agent]
) -> Tool:
    """The scenario's tool `key`; each execution is noted in `executions`. It may call `agents`."""
    return Tool(
        name=key,
        id=spec.get("id"),
        description=spec.get("description", ""),
        input_schema=spec.get("inputSchema"),
        output_schema=spec.get("outputSchema"),
        suspend_schema=spec.get("suspendSchema"),
        resume_schema=spec.get("resumeSchema"),
        requires_approval=spec.get("requires_approval"),
        execute=None if spec.get("client") else _body(key, spec.get("execute", []), executions, agents),
        to_model_output=_to_model_output(spec.get("to_model_output")),
    )


def _body(
    key: str, ops: Sequence[Mapping[str, Any]], executions: list[dict[str, Any]], agents: Mapping[str, Agent]
) -> Callable[[dict[str, Any], ToolContext], Awaitable[Any]]:
    count = 0

    async def execute(args: dict[str, Any], ctx: ToolContext) -> Any:
        nonlocal count
        count += 1
        executions.append({"tool": key, "input": dump(args), "toolCallId": ctx.tool_call_id, **_resumed(ctx)})
        return await run_ops(ops, Scope(input=args, execution=count, agents=agents), ctx)

    return execute


def _resumed(ctx: ToolContext) -> dict[str, Any]:
    return {"resumeData": dump(ctx.resumed[-1])} if ctx.resumed else {}


def _to_model_output(template: Any) -> Callable[[Any], Any] | None:
    if template is None:
        return None
    return lambda output: _result(template, Scope(input=output))
