"""Where riverrun deliberately behaves better than the recorded system in what steers a run: one test for each entry of
the oracle's `deviations.json`, under the entry's name; and where the format's own pages ask for more than was recorded.
"""

from __future__ import annotations

from typing import Any

import pytest

from riverrun import Agent, RunError, StructuredOutput, tool
from riverrun.chunks import ErrorChunk, FinishChunk, StepFinishChunk, TripwireChunk
from riverrun.models import ScriptedModel
from riverrun.processors import Processor, ProcessorContext
from tests.agent.scripts import call, finish, of, read, says, text, types


class Guard(Processor):
    """Stops the run at a hook."""

    def __init__(self, hook: str) -> None:
        super().__init__(id="guard")
        self._hook = hook

    @property
    def hooks(self) -> frozenset[str]:
        return frozenset({self._hook})

    def process_output_stream(self, chunk: Any, ctx: ProcessorContext) -> Any:
        if chunk.type == "tool-result":
            ctx.abort("no results")
        return chunk

    def process_tool_result(self, chunk: Any, ctx: ProcessorContext) -> Any:
        ctx.abort("no results")

    def process_output_step(self, step: Any, ctx: ProcessorContext) -> None:
        ctx.abort("not this")

    def process_output_result(self, messages: Any, ctx: ProcessorContext) -> Any:
        ctx.abort("not that")


class Broken(Processor):
    """Has a bug."""

    def process_input(self, messages: Any, ctx: ProcessorContext) -> Any:
        raise ValueError("bug")


class Looks:
    """A tool that counts how often it ran."""

    def __init__(self) -> None:
        self.count = 0

    async def look(self) -> str:
        """Look."""
        self.count += 1
        return "a river"


CALLS = [*text("I look."), call("look"), finish("tool-calls")]


async def guarded(hook: str) -> tuple[Looks, ScriptedModel, list[Any]]:
    looks = Looks()
    model = ScriptedModel([CALLS, says("done")])
    agent = Agent("a", model=model, tools=[tool(looks.look)], processors=[Guard(hook)])
    return looks, model, await read(agent.stream("hi"))


async def test_tripwire_output_stream_on_tool_result() -> None:
    looks, model, chunks = await guarded("process_output_stream")
    assert (looks.count, len(model.requests), types(chunks)[-1]) == (1, 1, "tripwire")
    assert "tool-result" not in types(chunks)


async def test_tool_result_processor_block() -> None:
    looks, model, chunks = await guarded("process_tool_result")
    assert (looks.count, len(model.requests), types(chunks)[-1]) == (1, 1, "tripwire")
    assert "tool-result" not in types(chunks)


async def test_tripwire_output_step_tool() -> None:
    looks, model, chunks = await guarded("process_output_step")
    assert (looks.count, len(model.requests)) == (0, 1)
    (step,) = of(StepFinishChunk, chunks)
    assert step.payload.step_result is not None
    assert step.payload.step_result.reason == "tripwire"


@pytest.mark.parametrize("hook", ["process_output_step", "process_output_result"])
async def test_a_tripwire_is_told_by_a_chunk_wherever_it_comes_from(hook: str) -> None:
    """The page: abort emits a tripwire chunk. The recorded system tells these two in the last step alone."""
    agent = Agent("a", model=ScriptedModel([says("hello")]), processors=[Guard(hook)])
    chunks = await read(agent.stream("hi", run_id="r1"))
    (tripwire,) = of(TripwireChunk, chunks)
    assert (chunks[-1], tripwire.run_id, tripwire.from_) == (tripwire, "r1", "AGENT")
    assert tripwire.payload.processor_id == "guard"
    assert of(FinishChunk, chunks) == []


async def test_input_processor_raises() -> None:
    """The recorded system's `stream()` rejects; here it gives the run at once, and the run tells."""
    model = ScriptedModel([says("never")])
    run = Agent("a", model=model, processors=[Broken()]).stream("hi")
    chunks = await read(run)
    assert (types(chunks), run.status, model.requests) == (["start", "error", "finish"], "failed", [])


async def test_object_array() -> None:
    pieces = ['{"elements": [{"n', '": 1}, {"n": 2', "}", ', {"n": 3}]}']
    model = ScriptedModel([[*text(*pieces), finish("stop")]])
    run = Agent("a", model=model, output=list[dict[str, int]]).stream("hi")
    assert [element async for element in run.element_stream] == [{"n": 1}, {"n": 2}, {"n": 3}]


async def test_object_array_bare() -> None:
    model = ScriptedModel([says("[1, 2, 3]")])
    assert (await Agent("a", model=model, output=list[int]).generate("hi")).object == [1, 2, 3]


async def test_object_structuring_model_invalid() -> None:
    second = ScriptedModel([says("nothing of the kind")])
    output = StructuredOutput(dict[str, int], model=second)
    run = Agent("a", model=ScriptedModel([says("one and two")]), output=output).stream("hi")
    chunks = await read(run)
    assert len(of(ErrorChunk, chunks)) == 1
    (end,) = of(FinishChunk, chunks)
    assert end.payload.step_result is not None
    assert end.payload.step_result.reason == "error"
    with pytest.raises(RunError):
        await run.object
