"""What the recorded system's processors did, done by ours: what a step's stream holds, and what tripped with what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from riverrun.chunks import (
    ChunkType,
    Step,
    StepFold,
    ToolCallChunk,
    ToolResultChunk,
    ToolResultPayload,
    Usage,
    to_value,
)
from riverrun.errors import ModelError
from riverrun.models import ScriptedModel
from riverrun.processors import StepInfo, TripwireError, retry_feedback, tripwire_chunk
from riverrun.types import ModelRequest
from tests.processors.oracle import ScenarioProcessor
from tests.processors.streams import Running, user, words

FRAME = {"start", "step-start", "response-metadata", "step-finish", "finish"}


class Scenario:
    """A scenario and what was recorded of its first action."""

    def __init__(self, shared: Path, name: str) -> None:
        oracle = shared / "oracle"
        told = json.loads((oracle / "scenarios" / f"{name}.json").read_text("utf-8"))
        golden = json.loads((oracle / "golden" / f"{name}.json").read_text("utf-8"))
        self.agent: dict[str, Any] = told["agents"]["main"]
        self.input: str = told["actions"][0]["input"]
        self.golden: dict[str, Any] = golden["actions"][0]
        self.prompts: list[Any] = [call["prompt"] for call in golden["modelCalls"]]
        lists = ("inputProcessors", "outputProcessors", "errorProcessors")
        told_processors = [item for name in lists for item in self.agent.get(name, ())]
        self.running = Running(*map(ScenarioProcessor, told_processors))
        self.pipeline = self.running.pipeline

    async def model_chunks(self, call: int = 0) -> list[ChunkType]:
        """The content that the model gave in a call."""
        parts = [part for part in self.agent["model"][call]["parts"] if part["type"] != "response-metadata"]
        stream = ScriptedModel([parts]).stream(ModelRequest(messages=[], run_id="run-1"))
        return [chunk async for chunk in stream if chunk.type not in FRAME]

    async def step(self, call: int = 0) -> Step:
        """What the model said in a call."""
        fold = StepFold()
        for chunk in await self.model_chunks(call):
            fold.add(chunk)
        return Step(content=fold.content(), usage=Usage())

    def recorded(self, kind: str) -> list[Any]:
        """The payloads of one type of chunk."""
        return [chunk["payload"] for chunk in self.golden["chunks"] if chunk["type"] == kind]

    def content(self) -> list[dict[str, Any]]:
        """The recorded chunks of the first step."""
        chunks = self.golden["chunks"]
        finish = next((at for at, chunk in enumerate(chunks) if chunk["type"] == "step-finish"), len(chunks))
        return [_bare(chunk) for chunk in chunks[:finish] if chunk["type"] not in FRAME]


def _bare(chunk: dict[str, Any]) -> dict[str, Any]:
    """Without the origin, which the recorded system leaves out of some chunks, and ends' type inside their payload."""
    bare = {name: member for name, member in chunk.items() if name not in ("runId", "from")}
    if "payload" in bare:
        bare["payload"] = {name: member for name, member in bare["payload"].items() if name != "type"}
    return bare


def _result(call: ToolCallChunk) -> ChunkType:
    """What the oracle's tool answers."""
    asked = call.payload
    payload = ToolResultPayload(
        args=asked.args,
        tool_call_id=asked.tool_call_id,
        tool_name=asked.tool_name,
        result={"city": "A", "temp": 21},
    )
    return ToolResultChunk(payload, run_id="run-1", from_="AGENT")


async def tripped(asked: Any) -> dict[str, Any]:
    """The payload of the tripwire that something ends in."""
    with pytest.raises(TripwireError) as caught:
        await asked
    payload: dict[str, Any] = to_value(tripwire_chunk(caught.value, run_id="run-1"))["payload"]
    return payload


@pytest.mark.parametrize(
    "name",
    [
        "tripwire_output_stream",
        "tripwire_output_stream_retry",
        "tripwire_early_await",
        "memory_tripwire",
        "output_stream_raises",
        "output_stream_custom",
        "output_stream_seen_types",
        "tripwire_output_stream_on_tool_result",
    ],
)
async def test_the_content_of_the_first_step_is_the_recorded_one(shared: Path, name: str) -> None:
    scenario = Scenario(shared, name)
    chunks = await scenario.model_chunks()
    chunks += [_result(chunk) for chunk in chunks if isinstance(chunk, ToolCallChunk)]
    given = scenario.running.chunks
    try:
        await scenario.running.stream(chunks)
    except TripwireError as tripwire:
        given.append(tripwire_chunk(tripwire, run_id="run-1"))
    assert [_bare(to_value(chunk)) for chunk in given] == scenario.content()
    assert all(chunk.run_id == "run-1" for chunk in given)


async def test_a_blocked_input_trips_as_recorded(shared: Path) -> None:
    scenario = Scenario(shared, "tripwire_input")
    asked = scenario.pipeline.process_input([user(scenario.input)])
    assert await tripped(asked) == scenario.recorded("tripwire")[0]


async def test_an_input_that_passes_is_rewritten_as_recorded(shared: Path) -> None:
    scenario = Scenario(shared, "tripwire_input_pass")
    assert words(await scenario.pipeline.process_input([user(scenario.input)])) == [
        scenario.prompts[0][-1]["content"][0]["text"]
    ]


async def test_a_processor_of_the_input_that_fails_fails_the_run_with_its_own_words(shared: Path) -> None:
    scenario = Scenario(shared, "input_processor_raises")
    with pytest.raises(ValueError, match="processor bug") as caught:
        await scenario.pipeline.process_input([user(scenario.input)])
    assert str(caught.value) == "processor bug"


async def test_a_blocked_step_trips_as_recorded(shared: Path) -> None:
    scenario = Scenario(shared, "tripwire_input_step_0")
    info = StepInfo(number=0, steps=(), messages=[], model=ScriptedModel([]), run_id="run-1")
    assert await tripped(scenario.pipeline.process_input_step(info)) == scenario.recorded("tripwire")[0]


@pytest.mark.parametrize("name", ["tripwire_output_step", "tripwire_output_step_retry", "tripwire_output_step_tool"])
async def test_a_refused_answer_trips_as_recorded(shared: Path, name: str) -> None:
    scenario = Scenario(shared, name)
    recorded = scenario.recorded("step-finish")[0]["output"]["steps"][0]["tripwire"]
    assert await tripped(scenario.pipeline.process_output_step(await scenario.step())) == recorded


async def test_the_model_is_told_of_a_refused_answer_as_recorded(shared: Path) -> None:
    scenario = Scenario(shared, "tripwire_output_step_retry")
    with pytest.raises(TripwireError) as caught:
        await scenario.pipeline.process_output_step(await scenario.step())
    assert retry_feedback(caught.value) == scenario.recorded("step-finish")[0]["processorRetryFeedback"]
    await scenario.pipeline.process_output_step(await scenario.step(1))


async def test_a_blocked_result_trips_as_recorded(shared: Path) -> None:
    scenario = Scenario(shared, "tripwire_output_result")
    asked = scenario.pipeline.process_output_result([user("whatever")])
    assert await tripped(asked) == scenario.golden["final"]["tripwire"]["value"]


async def test_a_result_is_rewritten_as_recorded(shared: Path) -> None:
    scenario = Scenario(shared, "output_result_replace")
    messages = await scenario.pipeline.process_output_result([user((await scenario.step()).text)])
    assert words(messages) == [scenario.golden["final"]["text"]["value"]]


async def test_an_error_is_worth_as_many_tries_as_recorded(shared: Path) -> None:
    scenario = Scenario(shared, "error_processor_retry")
    tries = []
    for count in range(2):
        scenario.pipeline.begin_step(0, retry_count=count)
        tries.append(await scenario.pipeline.process_api_error(ModelError("bad")))
    assert tries == [True, False]
    assert len(scenario.prompts) == 2
