"""Faults that users of other libraries reported, on guardrails, structured output and the history of threads: none is
ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from riverrun import Agent, Memory, ModelRequest, client_tool
from riverrun.chunks import (
    AbortChunk,
    AssistantMessage,
    ChunkType,
    Message,
    Step,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from riverrun.models import ScriptedModel
from riverrun.processors import Processor, ProcessorContext
from riverrun.store import InMemoryStore, StoredMessage
from tests.agent.scripts import (
    HANG,
    agent_of,
    assert_well_formed,
    call,
    calls,
    finish,
    of,
    read,
    read_until,
    says,
    text,
    turns,
    types,
)

THREAD: dict[str, Any] = {"thread_id": "t1", "resource_id": "ada"}


async def hang() -> str:
    await asyncio.get_running_loop().create_future()
    return "never"


async def kept(agent: Agent) -> list[Message]:
    return [stored.message for stored in (await agent.store.messages("t1")).items]


def words(messages: Sequence[Message]) -> list[str]:
    said = (message for message in messages if isinstance(message, UserMessage | AssistantMessage))
    return [part.text for message in said for part in message.content if isinstance(part, TextPart)]


def results(messages: Sequence[Message]) -> list[ToolResultPart]:
    told = (message for message in messages if isinstance(message, ToolMessage))
    return [part for message in told for part in message.content if isinstance(part, ToolResultPart)]


def assert_calls_are_answered(request: ModelRequest) -> None:
    """Every call is followed at once by a message with its result, as providers demand."""
    messages = list(request.messages)
    for message, behind in zip(messages, [*messages[1:], None], strict=True):
        if isinstance(message, AssistantMessage):
            made = {part.tool_call_id for part in message.content if isinstance(part, ToolCallPart)}
            assert made == {part.tool_call_id for part in results([behind] if behind is not None else [])}


# -- guardrails


class Thinks(Processor):
    """A guardrail that takes a while to say no, in one hook or another."""

    async def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> None:
        if ctx.deps == "input":
            await self._say_no(ctx)

    async def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
        if ctx.deps == "step":
            await self._say_no(ctx)

    async def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
        if ctx.deps == "stream" and chunk.type == "tool-call":
            await self._say_no(ctx)
        return chunk

    async def _say_no(self, ctx: ProcessorContext) -> None:
        await turns(50)
        ctx.abort("no")


async def test_no_tool_runs_once_a_guardrail_has_tripped() -> None:
    """openai/openai-agents-python#991"""
    runs: list[str] = []

    async def delete_all() -> str:
        runs.append("deleted")
        return "gone"

    for place, asked in (("input", 0), ("step", 1), ("stream", 1)):
        model = ScriptedModel([calls("delete_all"), says("done")])
        agent = Agent("a", model=model, tools=[delete_all], processors=[Thinks()])
        chunks = await read(agent.stream("hi", deps=place))
        assert (types(chunks)[-1], runs, len(model.requests)) == ("tripwire", [], asked)
        assert_well_formed(chunks)


# -- the history


class SlowStore(InMemoryStore):
    """Takes its time to save."""

    async def save_messages(self, saved: Sequence[StoredMessage], /) -> None:
        await turns(200)
        await super().save_messages(saved)


async def test_the_messages_are_in_the_store_when_the_stream_ends() -> None:
    """openai/openai-agents-python#1745"""
    agent = agent_of(says("Hi"), memory=Memory(), store=SlowStore())
    async with agent.stream("hello", **THREAD) as run:
        async for _ in run:
            pass
        assert words(await kept(agent)) == ["hello", "Hi"]
    assert words(await kept(agent)) == ["hello", "Hi"]


async def test_an_aborted_run_leaves_its_partial_text_in_the_thread() -> None:
    """vercel/ai#7900"""
    agent = agent_of([*text("Hel", "lo")[:-1], HANG], memory=Memory())
    run = agent.stream("hi", **THREAD)
    await read_until(run, "text-delta", 2)
    run.cancel()
    chunks = await read(run)
    assert len(of(AbortChunk, chunks)) == 1
    assert (await run.text, await run.finish_reason) == ("Hello", "aborted")
    assert words(await kept(agent)) == words(await run.messages) == ["hi", "Hello"]


async def test_the_thread_has_the_whole_text_once() -> None:
    """google/adk-go#109"""
    model = ScriptedModel([says("Hi Andrew ", "how are you ", "doing?"), says("ok")])
    agent = Agent("a", model=model, memory=Memory())
    await agent.generate("hi", **THREAD)
    await agent.generate("fine", **THREAD)
    assert words(model.requests[1].messages) == ["hi", "Hi Andrew how are you doing?", "fine"]


async def test_an_interrupted_call_does_not_spoil_the_thread() -> None:
    """livekit/agents#5092: the new request says of the call that it was interrupted."""
    model = ScriptedModel([calls("hang"), says("ok"), says("ok")])
    agent = Agent("a", model=model, tools=[hang], memory=Memory())
    run = agent.stream("look it up", **THREAD)
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    await run.result()
    await agent.generate("never mind", **THREAD)
    await agent.generate("and now?", **THREAD)
    for request in model.requests:
        assert_calls_are_answered(request)
    for request in model.requests[1:]:
        (told,) = results(request.messages)
        assert (told.tool_call_id, told.output.type) == ("c1", "error-text")
        assert "interrupted" in told.output.value


async def test_a_half_done_operation_is_not_in_the_thread_as_done() -> None:
    """mastra-ai/mastra#18034"""
    model = ScriptedModel([[call("hang", "t1", '{"eur": 5}'), finish("tool-calls")], says("ok")])
    agent = Agent("a", model=model, tools=[client_tool("other"), hang], memory=Memory())
    run = agent.stream("charge it", **THREAD)
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    await run.result()
    assert results(await kept(agent)) == []
    await agent.generate("go on", **THREAD)
    assert_calls_are_answered(model.requests[1])
    assert [part.output.type for part in results(model.requests[1].messages)] == ["error-text"]


async def test_a_finished_server_tool_beside_a_client_tool_is_in_the_thread() -> None:
    """mastra-ai/mastra#21637"""

    async def echo() -> dict[str, int]:
        return {"ok": 1}

    model = ScriptedModel([[call("echo", "s1"), call("pick", "c1"), finish("tool-calls")], says("done")])
    agent = Agent("a", model=model, tools=[echo, client_tool("pick")], memory=Memory())
    await agent.generate("hi", **THREAD)
    assert [part.tool_call_id for part in results(await kept(agent))] == ["s1"]
    answered: Any = {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "result": "blue"}]}
    await agent.generate([answered], **THREAD)
    assert_calls_are_answered(model.requests[1])
    (told,) = (message for message in model.requests[1].messages if isinstance(message, ToolMessage))
    assert [part.tool_call_id for part in results([told])] == ["s1", "c1"]


# -- structured output


async def test_partial_objects_come_once_each_in_order() -> None:
    """vercel/ai#1508"""
    pieces = ["{", '"a"', ": [", "{", '"b": ', "true", "}", "]", "}"]
    run = agent_of(says(*pieces), output={"type": "object"}).stream("hi")
    assert await read(run.object_stream) == [{}, {"a": []}, {"a": [{}]}, {"a": [{"b": True}]}]


async def test_a_text_never_goes_backwards_inside_an_escape() -> None:
    """assistant-ui/assistant-ui#6355"""
    answer = r'{"a": "\ud83d\ude00x", "b": [1, {"c": -1.5e3}], "d": null}'
    run = agent_of(says(*answer), output={"type": "object"}).stream("hi")
    partials = await read(run.object_stream)
    said = [partial["a"] for partial in partials if "a" in partial]
    assert all(later.startswith(earlier) for earlier, later in pairwise(said))
    assert partials[-1] == await run.object == {"a": "😀x", "b": [1, {"c": -1500.0}], "d": None}


async def test_an_object_is_found_in_a_fence_and_a_fence_in_a_string_is_kept() -> None:
    """mastra-ai/mastra#7864"""
    answer = 'Sure:\n```json\n{"name": "A```B"}\n```\nAnything else?'
    run = agent_of(says(*answer), output={"type": "object"}).stream("hi")
    assert (await read(run.object_stream))[-1] == await run.object == {"name": "A```B"}
    assert await run.text == answer
