"""One call of a tool: from the model's tool-call to its one outcome, and to what the model is told of it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from msgspec import UNSET, to_builtins
from msgspec.structs import replace

from riverrun.chunks import (
    ToolCallApprovalChunk,
    ToolCallPayload,
    ToolCallSuspendedChunk,
    ToolCallSuspendedPayload,
    ToolErrorChunk,
    ToolErrorPayload,
    ToolOutput,
    ToolResultChunk,
    ToolResultPayload,
)
from riverrun.chunks.codec import json_text, json_value
from riverrun.errors import ToolArgumentsError, ToolError, ToolNotFoundError
from riverrun.schema import Mismatch
from riverrun.streams import in_thread, is_cancelled, is_coroutine_function
from riverrun.tools.context import ToolContext
from riverrun.tools.function import Function
from riverrun.tools.suspension import CallSuspended
from riverrun.tools.tool import Execute, Tool
from riverrun.tools.validation import check_json, failure, is_failure, snapshot, validated


async def run_call(
    tool: Tool | None,
    call: ToolCallPayload,
    ctx: ToolContext[Any],
    *,
    available: list[str],
) -> ToolResultChunk | ToolErrorChunk | ToolCallSuspendedChunk | ToolCallApprovalChunk | None:
    """Run one call to its end, or until it suspends itself. None: a client tool, whose result comes from elsewhere.

    `tool` is None when the model was not offered one of this name, but only the `available` ones.
    Whatever goes wrong in the tool is a tool-error, and arguments, answers or results that do not fit are a tool-result
    that says so. Raises CancelledError when cancelled, and ToolError when the tool's `to_model_output` fails, which is
    the program's fault and not the model's.
    """
    try:
        if tool is None:
            raise ToolNotFoundError(call.tool_name, available)
        if call.args is None:
            raise ToolArgumentsError(call.tool_name)
        if tool.execute is None:
            return None
        result = await _result(tool, tool.execute, call, ctx)
    except (CallSuspended, BaseExceptionGroup, Exception) as error:  # a group, when it suspended in a task group
        if ctx.is_suspended:
            return _suspended_chunk(tool, call, ctx)
        if not isinstance(error, Exception):
            raise
        return _error_chunk(call, error, ctx)
    finally:
        ctx.end()
    return _suspended_chunk(tool, call, ctx) if ctx.is_suspended else _result_chunk(tool, call, result, ctx)


async def _result(tool: Tool, execute: Execute, call: ToolCallPayload, ctx: ToolContext[Any]) -> object:
    name = call.tool_name
    try:
        arguments = validated(tool.arguments, to_builtins(call.args))  # a copy: the tool may change it
    except Mismatch as mismatch:
        return failure("input", name, mismatch, call.args)
    if tool.answers is not None and ctx.resumed:
        try:
            tool.answers.validate(ctx.resumed[-1])
        except Mismatch as mismatch:
            return failure("input", name, mismatch, ctx.resumed[-1])
    result = await _executed(name, execute, arguments, ctx)
    try:
        result = snapshot(result, what=f'The result of tool "{name}"')
    except TypeError as error:
        raise ToolError(str(error)) from error
    if tool.results is not None:
        value = json_value(result)
        try:
            tool.results.validate(value)
        except Mismatch as mismatch:
            return failure("output", name, mismatch, value)
    return result


async def _executed(name: str, execute: Execute, arguments: object, ctx: ToolContext[Any]) -> object:
    """Call, in a thread when the function is a plain one, and await what comes."""
    try:
        result = (
            execute(arguments, ctx) if _is_coroutine_function(execute) else await in_thread(execute, arguments, ctx)
        )
        return await result if inspect.isawaitable(result) else result
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        raise ToolError(f'Tool "{name}" waited for something that was cancelled') from error
    except SystemExit as error:  # what a model can call must not end the program
        raise ToolError(f'Tool "{name}" tried to end the program') from error


def _is_coroutine_function(execute: Execute) -> bool:
    if isinstance(execute, Function):
        return execute.is_coroutine_function
    return is_coroutine_function(execute)


# -- the outcome as a chunk


def _result_chunk(tool: Tool, call: ToolCallPayload, result: object, ctx: ToolContext[Any]) -> ToolResultChunk:
    metadata = call.provider_metadata
    if tool.to_model_output is not None and not is_failure(result):
        told = _own_output(tool, tool.to_model_output, result)
        metadata = _with_model_output(metadata or {}, told)
    payload = ToolResultPayload(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        result=result,
        args=call.args,
        provider_metadata=metadata,
    )
    return ToolResultChunk(payload, run_id=ctx.run_id, from_="AGENT")


def _suspended_chunk(
    tool: Tool | None, call: ToolCallPayload, ctx: ToolContext[Any]
) -> ToolCallSuspendedChunk | ToolCallApprovalChunk:
    if (nested := ctx.nested_wait) is not None:  # under the id of this call, by which it is answered
        named = replace(nested.chunk.payload, tool_call_id=call.tool_call_id)
        return replace(nested.chunk, payload=named, run_id=ctx.run_id)
    answers = tool.answers if tool is not None else None
    payload = ToolCallSuspendedPayload(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        suspend_payload=ctx.question,
        args=call.args,
        resume_schema=None if answers is None else json_text(answers.json_schema),
    )
    return ToolCallSuspendedChunk(payload, run_id=ctx.run_id, from_="AGENT")


def _error_chunk(call: ToolCallPayload, error: Exception, ctx: ToolContext[Any]) -> ToolErrorChunk:
    payload = ToolErrorPayload(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        error=_writable(error),
        args=call.args,
        provider_metadata=call.provider_metadata,
    )
    return ToolErrorChunk(payload, run_id=ctx.run_id, from_="AGENT")


def _writable(error: Exception) -> Exception:
    """The error, or one that stands for it when its text or its details cannot be written, or when it is a group, of
    which nobody would read what is in it.
    """
    if isinstance(error, BaseExceptionGroup):
        return _substitute(cast("Exception", error))
    try:
        check_json(error, what="The error")
    except TypeError:
        return _substitute(error)
    return error


def _substitute(error: Exception) -> ToolError:
    substitute = ToolError(_text(error))
    substitute.__cause__ = error
    return substitute


# -- what the model is told


def model_output(tool: Tool | None, chunk: ToolResultChunk | ToolErrorChunk) -> ToolOutput:
    """What the model is told of a call: what the tool's `to_model_output` makes of the result, or else a text as text,
    any other result as JSON, an error as its message. Raises ToolError when `to_model_output` fails.
    """
    if isinstance(chunk, ToolErrorChunk):
        return ToolOutput("error-text", _text(chunk.payload.error))
    result = None if chunk.payload.result is UNSET else chunk.payload.result
    recorded = _recorded(chunk.payload)
    if recorded is not None:
        return recorded
    if tool is not None and tool.to_model_output is not None and not is_failure(result):
        return _own_output(tool, tool.to_model_output, result)
    return ToolOutput("text", result) if isinstance(result, str) else ToolOutput("json", json_value(result))


_FORMS = ("text", "json", "content")


def _own_output(tool: Tool, to_model_output: Callable[[Any], object], result: object) -> ToolOutput:
    try:
        told = to_model_output(result)
        if isinstance(told, str):
            return ToolOutput("text", told)
        is_form = isinstance(told, ToolOutput) or isinstance(cast("Any", told), Mapping)
        form = cast("dict[str, Any]", json_value(told)) if is_form else {}
        if form.get("type") in _FORMS and "value" in form:
            return ToolOutput(form["type"], form["value"])
        raise TypeError(f"it must give a text or {{type: text | json | content, value}}, not {told!r:.200}")
    except Exception as error:
        raise ToolError(f'to_model_output of tool "{tool.name}" failed: {_text(error)}') from error


def _with_model_output(metadata: Mapping[str, Any], told: ToolOutput) -> dict[str, Any]:
    """The call's metadata, and the output where readers of the format look for it."""
    own: Mapping[str, Any] = metadata.get("mastra") or {}
    return {**metadata, "mastra": {**own, "modelOutput": {"type": told.type, "value": told.value}}}


def _recorded(payload: ToolResultPayload) -> ToolOutput | None:
    own: Mapping[str, Any] = (payload.provider_metadata or {}).get("mastra") or {}
    told: Mapping[str, Any] | None = own.get("modelOutput")
    return None if told is None else ToolOutput(told["type"], told["value"])


def _text(error: object) -> str:
    """What an error says to the model. An exception without words goes by its name, a group by what is in it."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(map(_text, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    if isinstance(error, Mapping):
        members = cast("Mapping[str, object]", error)
        return str(members.get("message") or members.get("name") or "Error")
    try:
        said = str(error)
    except Exception:
        said = ""
    name = type(error).__name__
    return f"{name}: {said}" if isinstance(error, KeyError) else said or name
