"""The embedded model itself. What it says differs between machines, so only the structure of answers is asserted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from riverrun.chunks import (
    AssistantMessage,
    ChunkType,
    FinishChunk,
    Message,
    TextDeltaChunk,
    TextPart,
    ToolCallChunk,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)
from riverrun.errors import ModelError
from riverrun.models.local import LocalModel
from riverrun.testing import assert_well_formed
from riverrun.types import ModelRequest, NamedTool, Settings, ToolChoice, ToolSpec

pytestmark = pytest.mark.timeout(300)

WEATHER = ToolSpec(
    name="get_weather",
    description="Current weather for a city.",
    input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
ADD = ToolSpec(
    name="add",
    description="Add two numbers.",
    input_schema={
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
)


@pytest.fixture(scope="module")
def model(local_weights: None) -> Iterator[LocalModel]:
    """One model for all tests here: loading takes a second or two."""
    model = LocalModel()
    yield model
    asyncio.run(model.aclose())


def user(text: str) -> UserMessage:
    return UserMessage(content=[TextPart(text=text)])


def ask(
    *messages: Message | str,
    tools: tuple[ToolSpec, ...] = (),
    tool_choice: ToolChoice = "auto",
    tokens: int = 60,
    response_format: dict[str, object] | None = None,
) -> ModelRequest:
    return ModelRequest(
        messages=[user(message) if isinstance(message, str) else message for message in messages],
        run_id="r",
        tools=tools,
        tool_choice=tool_choice,
        settings=Settings(max_output_tokens=tokens),
        response_format=response_format,
    )


async def answer(model: LocalModel, request: ModelRequest) -> list[ChunkType]:
    async with aclosing(model.stream(request)) as stream:
        chunks = [chunk async for chunk in stream]
    assert_well_formed(chunks, model=True, strict=True)
    return chunks


async def begin_and_leave(model: LocalModel, request: ModelRequest) -> None:
    """Read the stream up to its first text, then leave it."""
    async with aclosing(model.stream(request)) as stream:
        async for chunk in stream:
            if isinstance(chunk, TextDeltaChunk):
                return


def text_of(chunks: list[ChunkType]) -> str:
    return "".join(chunk.payload.text for chunk in chunks if isinstance(chunk, TextDeltaChunk))


def calls_of(chunks: list[ChunkType]) -> list[tuple[str, object]]:
    return [(chunk.payload.tool_name, chunk.payload.args) for chunk in chunks if isinstance(chunk, ToolCallChunk)]


def reason_of(chunks: list[ChunkType]) -> str | None:
    assert isinstance(chunks[-1], FinishChunk)
    result = chunks[-1].payload.step_result
    return result.reason if result else None


async def test_it_streams_text_and_counts_tokens(model: LocalModel) -> None:
    chunks = await answer(model, ask("Count from one to twenty, in words.", tokens=12))
    assert sum(isinstance(chunk, TextDeltaChunk) for chunk in chunks) > 3
    assert reason_of(chunks) == "length"
    finish = chunks[-1]
    assert isinstance(finish, FinishChunk)
    assert finish.payload.output is not None
    usage = finish.payload.output.usage
    assert usage is not None
    assert usage.output_tokens == 12
    assert usage.input_tokens


async def test_it_calls_a_tool_and_answers_with_its_result(model: LocalModel) -> None:
    question = user("What is the weather in Oslo?")
    chunks = await answer(model, ask(question, tools=(WEATHER, ADD)))
    assert calls_of(chunks) == [("get_weather", {"city": "Oslo"})]
    assert reason_of(chunks) == "tool-calls"
    assert sum(chunk.type == "tool-call-delta" for chunk in chunks) > 1
    call = ToolCallPart(tool_call_id="c", tool_name="get_weather", input={"city": "Oslo"})
    output = ToolOutput("json", {"temperature": 7, "sky": "rain"})
    result = ToolResultPart(tool_call_id="c", tool_name="get_weather", output=output)
    messages = [question, AssistantMessage(content=[call]), ToolMessage(content=[result])]
    chunks = await answer(model, ask(*messages, tools=(WEATHER, ADD)))
    assert calls_of(chunks) == []
    assert reason_of(chunks) == "stop"
    assert "{" not in text_of(chunks)
    assert len(text_of(chunks)) > 5


async def test_a_named_tool_is_called_whatever_is_asked(model: LocalModel) -> None:
    chunks = await answer(model, ask("Hello!", tools=(WEATHER, ADD), tool_choice=NamedTool("add")))
    assert [name for name, _ in calls_of(chunks)] == ["add"]


async def test_a_response_format_holds(model: LocalModel) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
        "required": ["city", "degrees"],
        "additionalProperties": False,
    }
    chunks = await answer(model, ask("Oslo has 7 degrees.", response_format=schema))
    value = json.loads(text_of(chunks))
    assert isinstance(value["city"], str)
    assert isinstance(value["degrees"], int)


async def test_three_streams_share_two_slots(model: LocalModel) -> None:
    requests = [ask(f"Say something about the number {number}.", tokens=8) for number in range(3)]
    for chunks in await asyncio.gather(*(answer(model, request) for request in requests)):
        assert text_of(chunks)


async def test_streams_that_were_left_free_their_slots(model: LocalModel) -> None:
    endless = ask("Write a very long story about a river.", tokens=2000)
    await asyncio.gather(*(begin_and_leave(model, endless) for _ in range(4)))
    chunks = await asyncio.wait_for(answer(model, ask("Say hello.", tokens=8)), 60)
    assert text_of(chunks)


async def test_a_stream_left_while_it_reads_its_prompt_frees_its_slot(model: LocalModel) -> None:
    long = ask("This is a long text. " * 600)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(begin_and_leave(model, long), 0.05)
    chunks = await asyncio.wait_for(answer(model, ask("Say hello.", tokens=4)), 60)
    assert text_of(chunks)


async def test_a_conversation_longer_than_the_context_is_refused(model: LocalModel) -> None:
    with pytest.raises(ModelError, match="larger context=") as caught:
        await answer(model, ask("word " * 5000))
    assert caught.value.code == "context-length"


def test_it_serves_one_event_loop_after_the_other(model: LocalModel) -> None:
    for _ in range(2):
        assert text_of(asyncio.run(answer(model, ask("Say hello.", tokens=4))))


def test_it_can_be_closed_and_used_again(model: LocalModel) -> None:
    asyncio.run(model.aclose())
    assert text_of(asyncio.run(answer(model, ask("Say hello.", tokens=4))))
