"""The operations of scripted tools."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.tool_ops import Scope, resolve, run_ops
from tests.conformance.values import UNDEFINED


class Context:
    """What the operations ask of a tool's context; notes what they wrote."""

    tool_call_id = "c1"

    def __init__(self) -> None:
        self.written: list[Any] = []
        self.waited = False

    async def write(self, value: Any) -> None:
        self.written.append(value)

    async def emit(self, name: str, data: Any = None, **members: Any) -> None:
        self.written.append({"type": name, "data": data, **members})

    async def suspend(self, payload: Any) -> Any:
        self.written.append(payload)
        return {"answer": "yes"}

    async def wait_cancelled(self) -> None:
        self.waited = True


async def run(*ops: dict[str, Any], execution: int = 1) -> tuple[Any, Context]:
    """Run operations on the input {city: "Oslo"}."""
    context = Context()
    return await run_ops(ops, Scope(input={"city": "Oslo"}, execution=execution), context), context  # type: ignore[arg-type]


def test_templates_name_the_input_and_its_members() -> None:
    scope = Scope(input={"n": 2, "city": "A"})
    assert resolve({"got": {"$input": "city"}, "all": {"$input": True}}, scope) == {
        "got": "A",
        "all": {"n": 2, "city": "A"},
    }
    assert resolve({"$add": [{"$input": "n"}, 3]}, scope) == 5
    assert resolve({"$add": ["n=", {"$input": "n"}]}, scope) == "n=2"


def test_what_a_template_names_and_is_not_there_is_undefined() -> None:
    scope = Scope(input={})
    assert resolve({"$input": "x"}, scope) is UNDEFINED
    assert resolve({"a": {"$resume": True}, "b": [{"$state": "k"}]}, scope) == {"b": [None]}


def test_values_in_templates_become_python_values() -> None:
    assert resolve({"b": {"$bytes": "AQID"}}, Scope(input={})) == {"b": b"\x01\x02\x03"}


async def test_operations_run_in_order_until_one_returns() -> None:
    result, context = await run({"writes": "a"}, {"writes": {"$input": "city"}}, {"returns": 1}, {"writes": "never"})
    assert (result, context.written) == (1, ["a", "Oslo"])


async def test_operations_without_returns_give_none() -> None:
    assert (await run({"sleep_ms": 0}))[0] is None


async def test_raises_raises_with_name_and_members() -> None:
    with pytest.raises(Exception, match="boom") as caught:
        await run({"raises": {"message": "boom", "name": "MyError", "code": 7}})
    assert type(caught.value).__name__ == "MyError"


async def test_raises_first_raises_only_in_the_first_executions() -> None:
    ops = ({"raises_first": 2, "message": "flaky"}, {"returns": "ok"})
    with pytest.raises(Exception, match="flaky"):
        await run(*ops, execution=2)
    assert (await run(*ops, execution=3))[0] == "ok"


async def test_custom_emits_a_chunk_of_the_tools_own() -> None:
    _, context = await run({"custom": {"type": "data-p", "data": {"x": 1}, "transient": True}})
    assert context.written == [{"type": "data-p", "data": {"x": 1}, "transient": True}]


async def test_suspends_asks_once_and_goes_on_with_the_answer() -> None:
    result, context = await run(
        {"suspends": {"of": {"$input": "city"}}}, {"suspends": 2}, {"returns": {"$resume": "answer"}}
    )
    assert (result, context.written) == ("yes", [{"of": "Oslo"}])


async def test_waiting_for_the_abort_raises_or_returns() -> None:
    with pytest.raises(Exception, match="aborted"):
        await run({"wait_abort": True})
    result, context = await run({"wait_abort_then_return": "partial"})
    assert (result, context.waited) == ("partial", True)
