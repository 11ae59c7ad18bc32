"""One call, from what the model wrote to its one outcome and to what the model is told of it."""

from __future__ import annotations

import asyncio
import contextvars
import datetime
import functools
import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from riverrun.chunks import (
    ChunkType,
    ToolCallPayload,
    ToolErrorChunk,
    ToolErrorPayload,
    ToolOutput,
    ToolResultChunk,
    ToolResultPayload,
    encode,
    to_value,
)
from riverrun.chunks.arguments import parse_arguments
from riverrun.errors import ToolArgumentsError, ToolError, ToolNotFoundError
from riverrun.tools import Tool, ToolContext, client_tool, find_tool, model_output, run_call, tool

Contexts = Callable[..., ToolContext[Any]]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Weather(BaseModel):
    temp: int


def a_call(args: object, name: str = "w", **members: Any) -> ToolCallPayload:
    return ToolCallPayload(tool_call_id="c1", tool_name=name, args=args, **members)


def giving(value: object, **options: Any) -> Tool:
    """A tool that returns the value."""
    return Tool(name="w", execute=lambda arguments, ctx: value, **options)


def raising(error: BaseException) -> Tool:
    """A tool that raises the error."""

    async def execute(arguments: object, ctx: object) -> None:
        raise error

    return Tool(name="w", execute=execute)


async def result_of(made: Tool, ctx: ToolContext[Any], args: object = None) -> ToolResultPayload:
    chunk = await run_call(made, a_call({} if args is None else args), ctx, available=[])
    assert isinstance(chunk, ToolResultChunk), chunk
    return chunk.payload


async def error_of(made: Tool | None, ctx: ToolContext[Any], args: object = None) -> ToolErrorChunk:
    chunk = await run_call(made, a_call({} if args is None else args), ctx, available=["a", "b"])
    assert isinstance(chunk, ToolErrorChunk), chunk
    encode(chunk)
    return chunk


# -- what runs, and where


async def test_a_result_carries_the_call(context: Contexts) -> None:
    call = a_call({"city": "Oslo"}, provider_metadata={"p": {"sig": "s"}})
    chunk = await run_call(giving({"temp": 21}), call, context(), available=["w"])
    assert chunk is not None
    assert to_value(chunk) == {
        "type": "tool-result",
        "runId": "run-1",
        "from": "AGENT",
        "payload": {
            "toolCallId": "c1",
            "toolName": "w",
            "args": {"city": "Oslo"},
            "result": {"temp": 21},
            "providerMetadata": {"p": {"sig": "s"}},
        },
    }


async def test_a_coroutine_function_runs_in_the_loop(context: Contexts) -> None:
    @tool
    async def w(n: int) -> tuple[int, bool]:
        return n + 1, threading.current_thread() is threading.main_thread()

    assert (await result_of(w, context(), {"n": 1})).result == [2, True]


async def test_a_plain_function_runs_in_a_thread_with_the_context_variables(context: Contexts) -> None:
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(7)

    @tool
    def w() -> tuple[int, bool]:
        return variable.get(), threading.current_thread() is threading.main_thread()

    assert (await result_of(w, context())).result == [7, False]


async def test_a_plain_function_that_returns_an_awaitable_is_awaited(context: Contexts) -> None:
    async def later() -> int:
        return 3

    assert (await result_of(Tool(name="w", execute=lambda a, c: later()), context())).result == 3


async def test_a_callable_object_with_a_coroutine_method_runs_in_the_loop(context: Contexts) -> None:
    class Execute:
        async def __call__(self, arguments: dict[str, Any], ctx: ToolContext[Any]) -> bool:
            return threading.current_thread() is threading.main_thread()

    assert (await result_of(Tool(name="w", execute=Execute()), context())).result is True
    assert (await result_of(Tool(name="w", execute=functools.partial(Execute())), context())).result is True


async def test_a_thread_writes_before_the_result(context: Contexts, stream: list[ChunkType]) -> None:
    @tool
    def w(ctx: ToolContext) -> str:
        ctx.write_sync("half")
        return "done"

    assert (await result_of(w, context())).result == "done"
    assert [chunk.type for chunk in stream] == ["tool-output"]


async def test_a_tool_that_changes_its_arguments_does_not_change_the_call(context: Contexts) -> None:
    def execute(arguments: dict[str, Any], ctx: object) -> object:
        arguments["list"].append(1)
        return arguments.pop("list")

    payload = await result_of(Tool(name="w", execute=execute), context(), {"list": []})
    assert (payload.args, payload.result) == ({"list": []}, [1])


async def test_a_result_does_not_change_when_the_tool_goes_on_with_it(context: Contexts) -> None:
    todo = ["a"]
    payload = await result_of(giving(todo), context())
    todo.append("b")
    assert payload.result == ["a"]


async def test_a_client_tool_has_no_outcome(context: Contexts) -> None:
    assert await run_call(client_tool("ui", input_schema=CITY), a_call({}), context(), available=["ui"]) is None


async def test_after_a_call_its_context_writes_no_more(context: Contexts) -> None:
    ctx = context()
    await result_of(giving(1), ctx)
    with pytest.raises(RuntimeError, match="has ended"):
        await ctx.write(1)


# -- results


@pytest.mark.parametrize("value", [None, "", 0, False, [], {}, "ok", 1.5])
async def test_every_json_value_is_a_result(context: Contexts, value: object) -> None:
    chunk = await run_call(giving(value), a_call({}), context(), available=[])
    assert chunk is not None
    assert to_value(chunk)["payload"]["result"] == value


async def test_python_values_stay_in_the_process_and_have_their_json_form_on_the_wire(context: Contexts) -> None:
    value = {"d": datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC), "b": b"\1\2\3", "e": ValueError("inner")}
    chunk = await run_call(giving({**value, "m": Weather(temp=1)}), a_call({}), context(), available=[])
    assert chunk is not None
    assert chunk.payload.result["d"] is value["d"]  # type: ignore[union-attr]
    assert to_value(chunk)["payload"]["result"] == {
        "d": "2024-01-02T00:00:00Z",
        "b": "AQID",
        "e": {"name": "ValueError", "message": "inner"},
        "m": {"temp": 1},
    }


async def test_a_result_without_a_json_form_is_an_error_that_names_place_and_type(context: Contexts) -> None:
    chunk = await error_of(giving({"rows": [{"lock": threading.Lock()}]}), context())
    assert isinstance(chunk.payload.error, ToolError)
    assert str(chunk.payload.error) == (
        'The result of tool "w" has no JSON form: at rows.0.lock, a value of type _thread.lock'
    )


async def test_a_result_that_fits_its_schema_keeps_what_the_schema_does_not_name(context: Contexts) -> None:
    schema = {"type": "object", "properties": {"temp": {"type": "number"}}, "required": ["temp"]}
    assert (await result_of(giving({"temp": 1, "x": 2}, output_schema=schema), context())).result == {"temp": 1, "x": 2}
    assert (await result_of(giving(Weather(temp=1), output_schema=schema), context())).result == Weather(temp=1)


async def test_a_result_that_does_not_fit_its_schema_is_told_as_a_result(context: Contexts) -> None:
    schema = {"type": "object", "properties": {"temp": {"type": "number"}}}
    assert (await result_of(giving({"temp": "hot"}, output_schema=schema), context())).result == {
        "error": True,
        "message": "Tool output validation failed for w. The tool returned invalid output:\n"
        '- temp: must be number\n\nReturned output: {\n  "temp": "hot"\n}',
        "validationErrors": {"errors": [], "fields": {"temp": {"errors": ["must be number"], "fields": {}}}},
    }


async def test_large_results_do_not_hold_the_loop_up(context: Contexts) -> None:
    """Forty-nine results of 512 KiB."""
    made = giving({"text": "x" * 512 * 1024, "rows": [{"n": n} for n in range(1000)]})
    begin = time.perf_counter()
    for _ in range(49):
        chunk = await run_call(made, a_call({}), context(), available=[])
        assert chunk is not None
        model_output(made, chunk)
    assert (time.perf_counter() - begin) / 49 < 0.1


# -- failures


async def test_arguments_that_do_not_fit_are_told_as_a_result_and_the_tool_does_not_run(context: Contexts) -> None:
    made = Tool(name="w", input_schema=CITY, execute=lambda arguments, ctx: 1 / 0)
    assert (await result_of(made, context(), {})).result == {
        "error": True,
        "message": "Tool input validation failed for w. Please fix the following errors and try again:\n"
        "- root: must have required property 'city'\n\nProvided arguments: {}",
        "validationErrors": {"errors": ["must have required property 'city'"], "fields": {}},
    }


async def test_the_result_of_null_for_an_optional_member_still_carries_what_the_model_wrote(context: Contexts) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number"}}}
    made = Tool(name="w", input_schema=schema, execute=lambda arguments, ctx: arguments)
    payload = await result_of(made, context(), {"n": None})
    assert (payload.args, payload.result) == ({"n": None}, {})


async def test_an_unknown_tool_is_an_error_that_names_those_there_are(context: Contexts) -> None:
    chunk = await error_of(None, context())
    assert isinstance(chunk.payload.error, ToolNotFoundError)
    assert str(chunk.payload.error).startswith('Tool "w" not found. Available tools: a, b. ')
    assert (chunk.payload.args, chunk.run_id, chunk.from_) == ({}, "run-1", "AGENT")


async def test_arguments_that_are_no_json_are_an_error_and_the_tool_does_not_run(
    context: Contexts,
) -> None:
    made = Tool(name="w", execute=lambda arguments, ctx: 1 / 0)
    chunk = await run_call(made, a_call(None), context(), available=["w"])
    assert isinstance(chunk, ToolErrorChunk)
    assert isinstance(chunk.payload.error, ToolArgumentsError)
    assert "args" not in to_value(chunk)["payload"]


async def test_what_a_tool_raises_is_the_error(context: Contexts) -> None:
    boom = ValueError("boom")
    chunk = await error_of(raising(boom), context(), {"city": "A"})
    assert chunk.payload.error is boom
    assert to_value(chunk)["payload"] == {
        "toolCallId": "c1",
        "toolName": "w",
        "args": {"city": "A"},
        "error": {"name": "ValueError", "message": "boom"},
    }


async def test_stop_iteration_from_a_thread_is_an_error_and_no_endless_wait(context: Contexts) -> None:
    def execute(arguments: object, ctx: object) -> object:
        return next(iter(()))

    chunk = await asyncio.wait_for(error_of(Tool(name="w", execute=execute), context()), 1)
    assert str(chunk.payload.error) == "the function raised StopIteration"


class WithDetails(ToolError):
    @property
    def details(self) -> Mapping[str, object]:
        return {"lock": threading.Lock()}


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(("error", "message"), [(WithDetails("boom"), "boom"), (Mute(), "Mute")])
async def test_an_error_that_cannot_be_written_is_replaced_by_one_that_can(
    context: Contexts, error: Exception, message: str
) -> None:
    chunk = await error_of(raising(error), context())
    assert str(chunk.payload.error) == message
    assert chunk.payload.error.__cause__ is error


async def test_a_cancelled_call_is_cancelled_and_has_no_outcome(context: Contexts) -> None:
    ctx = context()
    begun = asyncio.Event()

    @tool
    async def w() -> None:
        begun.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(run_call(w, a_call({}), ctx, available=[]))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(RuntimeError, match="has ended"):
        await ctx.write(1)


async def test_a_cancelled_plain_function_can_see_it_and_write_no_more(context: Contexts) -> None:
    ctx = context()
    begun, ended = threading.Event(), threading.Event()
    said: list[object] = []

    @tool
    def w(ctx: ToolContext) -> None:
        begun.set()
        while not ctx.cancelled:
            time.sleep(0.001)
        time.sleep(0.01)
        try:
            ctx.write_sync("late")
        except RuntimeError as error:
            said.append(str(error))
        ended.set()

    running = asyncio.create_task(run_call(w, a_call({}), ctx, available=[]))
    await asyncio.to_thread(begun.wait)
    ctx.cancelled_event.set()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.to_thread(ended.wait)
    assert said == ['the call of tool "w" has ended: it can write no more']


async def test_something_cancelled_inside_a_tool_is_the_tools_error(context: Contexts) -> None:
    """The run was not cancelled, and must not look as if it was."""
    chunk = await error_of(raising(asyncio.CancelledError()), context())
    assert str(chunk.payload.error) == 'Tool "w" waited for something that was cancelled'


async def test_the_end_of_the_program_goes_through(context: Contexts) -> None:
    with pytest.raises(GeneratorExit):
        await run_call(raising(GeneratorExit()), a_call({}), context(), available=[])


# -- what the model is told


def a_result(result: object) -> ToolResultChunk:
    return ToolResultChunk(ToolResultPayload(tool_call_id="c1", tool_name="w", result=result))


def an_error(error: object) -> ToolErrorChunk:
    return ToolErrorChunk(ToolErrorPayload(tool_call_id="c1", tool_name="w", error=error))


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ("ok", ToolOutput("text", "ok")),
        ("", ToolOutput("text", "")),
        (None, ToolOutput("json", None)),
        (0, ToolOutput("json", 0)),
        ([], ToolOutput("json", [])),
        ({"d": datetime.date(2024, 1, 2)}, ToolOutput("json", {"d": "2024-01-02"})),
        (Weather(temp=1), ToolOutput("json", {"temp": 1})),
    ],
)
def test_the_model_is_told_a_text_as_text_and_other_results_as_json(result: object, told: ToolOutput) -> None:
    assert model_output(None, a_result(result)) == told


def test_a_result_that_a_foreign_sender_left_out_is_null() -> None:
    chunk = ToolResultChunk(ToolResultPayload(tool_call_id="c1", tool_name="w"))
    assert model_output(None, chunk) == ToolOutput("json", None)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("boom"), "boom"),
        (ValueError(), "ValueError"),
        (KeyError("x"), "KeyError: 'x'"),
        (ExceptionGroup("unhandled errors", [ValueError("a"), ExceptionGroup("more", [OSError("b")])]), "a; b"),
        (Mute(), "Mute"),
        ({"name": "E", "message": "from elsewhere"}, "from elsewhere"),
        ({"name": "E"}, "E"),
        ("plain", "plain"),
    ],
)
def test_the_model_is_told_an_error_in_its_own_words(error: object, told: str) -> None:
    assert model_output(None, an_error(error)) == ToolOutput("error-text", told)


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("short", ToolOutput("text", "short")),
        ({"type": "text", "value": "short"}, ToolOutput("text", "short")),
        (ToolOutput("json", {"a": Weather(temp=1)}), ToolOutput("json", {"a": {"temp": 1}})),
        (
            {"type": "content", "value": [{"type": "text", "text": "x"}]},
            ToolOutput("content", [{"type": "text", "text": "x"}]),
        ),
    ],
)
async def test_a_tool_may_tell_the_model_something_else(context: Contexts, form: object, told: ToolOutput) -> None:
    made = giving({"long": 1}, to_model_output=lambda result: form)
    call = a_call({}, provider_metadata={"p": 1, "mastra": {"x": 2}})
    chunk = await run_call(made, call, context(), available=[])
    assert isinstance(chunk, ToolResultChunk)
    assert chunk.payload.result == {"long": 1}
    assert to_value(chunk)["payload"]["providerMetadata"] == {
        "p": 1,
        "mastra": {"x": 2, "modelOutput": {"type": told.type, "value": told.value}},
    }
    assert model_output(made, chunk) == told
    assert model_output(None, chunk) == told


def test_a_result_from_elsewhere_goes_through_the_tools_own_form() -> None:
    made = Tool(name="w", to_model_output=lambda result: f"<{result}>")
    assert model_output(made, a_result(1)) == ToolOutput("text", "<1>")


async def test_a_failed_validation_does_not_go_through_the_tools_own_form(context: Contexts) -> None:
    made = giving(1, input_schema=CITY, to_model_output=lambda result: result["temp"])
    chunk = await run_call(made, a_call({}), context(), available=[])
    assert chunk is not None
    assert model_output(made, chunk).value["error"] is True


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (lambda result: result["temp"], "KeyError: 'temp'"),
        (lambda result: 5, "it must give a text or {type: text | json | content, value}, not 5"),
        (lambda result: {"type": "video", "value": 1}, "it must give a text"),
        (lambda result: {"type": "json", "value": threading.Lock()}, "lock"),
    ],
)
async def test_a_broken_form_is_the_programs_fault(context: Contexts, told: Any, reason: str) -> None:
    made = giving({}, to_model_output=told)
    with pytest.raises(ToolError, match='to_model_output of tool "w" failed: ') as caught:
        await run_call(made, a_call({}), context(), available=[])
    assert reason in str(caught.value)


# -- the recorded calls


def recorded_tool(name: str, form: dict[str, Any]) -> Tool:
    """A tool of a scenario, as far as these tests need it: it returns or raises."""

    def filled(template: Any, arguments: Any) -> Any:
        if isinstance(template, dict):
            if "$input" in template:
                return arguments if template["$input"] is True else arguments[template["$input"]]
            return {key: filled(member, arguments) for key, member in template.items()}
        return template

    def execute(arguments: Any, ctx: ToolContext[Any]) -> Any:
        (op,) = form["execute"]
        if "raises" in op:
            raise RuntimeError(op["raises"] if isinstance(op["raises"], str) else op["raises"]["message"])
        return filled(op["returns"], arguments)

    return Tool(
        name=name,
        description=form["description"],
        input_schema=form.get("inputSchema"),
        output_schema=form.get("outputSchema"),
        id=form.get("id"),
        execute=execute,
    )


RECORDED = [
    "tool_args_*",
    "tool_by_id",
    "tool_no_schema",
    "tool_output_schema_*",
    "tool_returns_falsy",
    "tool_single",
    "tool_throws*",
    "tool_unknown*",
]


async def test_recorded_calls_come_to_their_recorded_outcomes(shared: Path, context: Contexts) -> None:
    """Also what the model was told of them. Errors are compared by their message."""
    deviations = json.loads((shared / "oracle/deviations.json").read_text())
    paths = [path for pattern in RECORDED for path in sorted((shared / "oracle/scenarios").glob(f"{pattern}.json"))]
    compared = 0
    for path in paths:
        if path.stem in deviations:
            continue
        agent = json.loads(path.read_text())["agents"]["main"]
        tools = [recorded_tool(name, form) for name, form in agent["tools"].items()]
        golden = json.loads((shared / "oracle/golden" / path.name).read_text())["actions"][0]["chunks"]
        outcomes = {
            chunk["payload"]["toolCallId"]: chunk for chunk in golden if chunk["type"] in ("tool-result", "tool-error")
        }
        told = {
            part["toolCallId"]: part["output"]
            for message in golden[-1]["payload"]["messages"]["all"]
            if message["role"] == "tool"
            for part in message["content"]
        }
        for part in (part for call in agent["model"] for part in call["parts"] if part["type"] == "tool-call"):
            call = ToolCallPayload(
                tool_call_id=part["toolCallId"], tool_name=part["toolName"], args=parse_arguments(part["input"])
            )
            found = find_tool(tools, call.tool_name)
            ctx = context(tool_name=call.tool_name)
            chunk = await run_call(found, call, ctx, available=[made.name for made in tools])
            assert chunk is not None
            expected = outcomes[call.tool_call_id]
            if chunk.type == "tool-error":
                expected["payload"]["error"] = expected["payload"]["error"]["$error"]["message"]
            ours = to_value(chunk)
            if chunk.type == "tool-error":
                ours["payload"]["error"] = ours["payload"]["error"]["message"]
            assert ours == expected, path.stem
            output = model_output(found, chunk)
            assert {"type": output.type, "value": output.value} == told[call.tool_call_id], path.stem
            compared += 1
    assert compared > 20
