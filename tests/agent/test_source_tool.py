"""Any Source as a tool: its chunks inside the outer run, what it waits for, its failures and its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from riverrun import Agent, ConfigError, ModelError
from riverrun.agent import source_tool
from riverrun.chunks import (
    ChunkType,
    DataChunk,
    ErrorChunk,
    ErrorPayload,
    TextDeltaChunk,
    TextDeltaPayload,
    ToolCallSuspendedChunk,
    ToolCallSuspendedPayload,
    ToolMessage,
    ToolOutputChunk,
    ToolResultPart,
)
from riverrun.models import ScriptedModel
from riverrun.store import InMemoryStore
from tests.agent.scripts import call, finish, of, read, read_until, says, types

SAID: dict[str, Any] = {"run_id": "inner", "from_": "WORKFLOW"}


def says_delta(text: str) -> ChunkType:
    return TextDeltaChunk(TextDeltaPayload(id="1", text=text), **SAID)


class Pipeline:
    """A workflow in little: asks for a number, which it may be given in any process, and tells it."""

    name = "pipeline"
    description = "Adds up."

    def __init__(self, *, asks: bool = False, fails: bool = False, hangs: bool = False) -> None:
        self.asks, self.fails, self.hangs = asks, fails, hangs
        self.runs: list[tuple[Any, ...]] = []
        self.closed = 0

    async def stream(self, prompt: Any, *, run_id: str, deps: Any = None) -> AsyncGenerator[ChunkType, None]:
        self.runs.append((prompt, run_id, deps))
        try:
            yield says_delta("sum: ")
            if self.hangs:
                await asyncio.Event().wait()
            if self.fails:
                yield ErrorChunk(ErrorPayload(error=ModelError("step 2 broke")), **SAID)
            if self.asks:
                yield ToolCallSuspendedChunk(
                    ToolCallSuspendedPayload(tool_call_id="step", tool_name="ask", suspend_payload="how many?"), **SAID
                )
        finally:
            self.closed += 1

    async def resume_stream(self, answer: Any, *, run_id: str) -> AsyncGenerator[ChunkType, None]:
        async def more() -> AsyncGenerator[ChunkType, None]:
            self.runs.append((answer, run_id))
            yield says_delta(f"{answer}")

        return more()


class Plain:
    """Makes a stream and knows nothing else."""

    async def stream(self, input: Any, /) -> AsyncGenerator[ChunkType, None]:
        yield DataChunk(type="data-a", data=1, **SAID)
        yield says_delta("plain")


def agent(source: Any, store: InMemoryStore | None = None) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel([[call("pipeline", "c", {"prompt": "1 and 2"}), finish("tool-calls")], says("done")])
    return Agent("outer", model=model, tools=[source], **({"store": store} if store else {})), model


def told(model: ScriptedModel) -> Any:
    last = model.requests[-1].messages[-1]
    assert isinstance(last, ToolMessage)
    (part,) = last.content
    assert isinstance(part, ToolResultPart)
    return part.output.value


async def test_its_chunks_come_whole_and_the_model_is_told_its_text() -> None:
    pipeline = Pipeline()
    outer, model = agent(pipeline)
    run = outer.stream("hi", deps={"user": 7})
    chunks = await read(run)
    (inside,) = [chunk.payload.output for chunk in of(ToolOutputChunk, chunks)]
    assert inside == says_delta("sum: ")
    assert (told(model), run.status) == ("sum: ", "success")
    ((prompt, run_id, deps),) = pipeline.runs
    assert (prompt, deps) == ("1 and 2", {"user": 7})
    assert run_id != run.run_id
    (spec,) = model.requests[0].tools
    assert (spec.name, spec.description) == ("pipeline", "Adds up.")


async def test_what_it_waits_for_the_outer_run_waits_for_in_any_process() -> None:
    store = InMemoryStore()
    first = Pipeline(asks=True)
    outer, _ = agent(first, store)
    run = outer.stream("hi", run_id="r")
    (wait,) = of(ToolCallSuspendedChunk, await read(run))
    assert (wait.run_id, wait.payload.suspend_payload) == ("r", "how many?")
    second = Pipeline()
    elsewhere = Agent("outer", model=ScriptedModel([says("done")]), tools=[second], store=store)
    resumed = await elsewhere.resume_stream(3, run_id="r")
    assert await resumed.text == "done"
    assert second.runs == [(3, first.runs[0][1])]


async def test_a_source_that_cannot_be_resumed_is_an_error_of_the_tool() -> None:
    class Asks(Plain):
        async def stream(self, input: Any, /) -> AsyncGenerator[ChunkType, None]:
            async for chunk in Pipeline(asks=True).stream(input, run_id="x"):
                yield chunk

    outer, model = agent(source_tool(Asks(), name="pipeline"))
    run = outer.stream("hi")
    await read(run)
    assert (run.status, "cannot be resumed" in told(model)) == ("success", True)


async def test_its_failure_is_told_to_the_model() -> None:
    outer, model = agent(Pipeline(fails=True))
    assert "tool-error" in types(await read(outer.stream("hi")))
    assert "step 2 broke" in told(model)


async def test_cancelling_the_outer_run_ends_it() -> None:
    pipeline = Pipeline(hangs=True)
    run = agent(pipeline)[0].stream("hi")
    await read_until(run, "tool-output")
    run.cancel()
    assert types(await read(run))[-2:] == ["abort", "finish"]
    assert pipeline.closed == 1


async def test_a_source_that_knows_nothing_but_its_stream_will_do() -> None:
    outer, model = agent(source_tool(Plain(), name="pipeline"))
    await read(outer.stream("hi"))
    assert told(model) == "plain"


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"needs a name: source_tool\(Plain"):
        agent(Plain())
    with pytest.raises(ConfigError, match="method `stream"):
        source_tool(3)  # type: ignore[arg-type]
