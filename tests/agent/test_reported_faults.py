"""Faults that users of other libraries reported, on the loop, cancellation, readers, memory and usage: none is ours.

Costs are counted (calls, bytes, objects), never timed.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
import weakref
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from riverrun import Agent, ModelError, ModelRequest, Run, RunError, client_tool
from riverrun.chunks import (
    AssistantMessage,
    ChunkType,
    FinishChunk,
    FinishPayload,
    StepResult,
    StepStartChunk,
    StepStartPayload,
    TextDeltaChunk,
    TextDeltaPayload,
    TextEndChunk,
    TextEndPayload,
    TextStartChunk,
    TextStartPayload,
    ToolCallChunk,
    ToolCallPart,
    ToolMessage,
    ToolResultChunk,
    ToolResultPart,
    codec,
)
from riverrun.models import ScriptedModel
from riverrun.streams import LOOK_AHEAD, Reader
from tests.agent.scripts import (
    HANG,
    WatchedModel,
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


async def echo() -> str:
    return "ok"


async def slow() -> str:
    await asyncio.get_running_loop().create_future()
    return "never"


def assert_calls_are_answered(request: ModelRequest) -> None:
    """Every call is followed at once by a message with its result, as providers demand."""
    messages = list(request.messages)
    for message, behind in zip(messages, [*messages[1:], None], strict=True):
        if isinstance(message, AssistantMessage):
            made = {part.tool_call_id for part in message.content if isinstance(part, ToolCallPart)}
            told = behind.content if isinstance(behind, ToolMessage) else []
            assert made == {part.tool_call_id for part in told if isinstance(part, ToolResultPart)}


def texts(chunks: list[ChunkType]) -> str:
    return "".join(chunk.payload.text for chunk in of(TextDeltaChunk, chunks))


# -- what a cancellation leaves in the history


async def test_an_interrupted_call_does_not_spoil_the_thread() -> None:
    """livekit/agents#5092"""
    model = ScriptedModel([calls("slow"), says("ok"), says("ok")])
    agent = Agent("a", model=model, tools=[slow])
    run = agent.stream("look it up")
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    second = agent.stream([*await run.messages, "never mind"])
    third = agent.stream([*await second.messages, "and now?"])
    assert await third.text == "ok"
    for request in model.requests:
        assert_calls_are_answered(request)


async def test_a_half_done_operation_does_not_read_as_done() -> None:
    """mastra-ai/mastra#18034"""
    model = ScriptedModel([[call("slow", "t1", '{"eur": 5}'), finish("tool-calls")], says("ok")])
    agent = Agent("a", model=model, tools=[slow])
    run = agent.stream("charge it")
    await read_until(run, "tool-call")
    run.cancel()
    result = await run.result()
    assert result.tool_results == []
    assert all(not isinstance(part, ToolResultPart) for message in result.messages for part in message.content)
    await agent.generate([*result.messages, "go on"])
    assert_calls_are_answered(model.requests[1])


async def test_a_finished_server_tool_beside_a_client_tool_is_given_and_kept() -> None:
    """mastra-ai/mastra#21637"""
    model = ScriptedModel([[call("echo", "s1"), call("pick", "c1"), finish("tool-calls")], says("done")])
    agent = Agent("a", model=model, tools=[echo, client_tool("pick")])
    run = agent.stream("hi")
    assert [chunk.payload.tool_call_id for chunk in of(ToolResultChunk, await read(run))] == ["s1"]
    assert (await run.finish_reason, run.status) == ("tool-calls", "success")
    answered: Any = {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "result": "blue"}]}
    await agent.generate([*await run.messages, answered])
    told = model.requests[1].messages[-1]
    assert isinstance(told, ToolMessage)
    assert [part.tool_call_id for part in told.content] == ["s1", "c1"]  # type: ignore[union-attr]


# -- readers that come back


async def test_a_reader_that_comes_back_twice_shows_nothing_twice() -> None:
    """cloudflare/agents#1742"""
    run = agent_of(says("Hello ", "world")).stream("hi")
    shown: dict[int, ChunkType] = {}
    first = Reader(run._log)
    while not of(TextDeltaChunk, list(shown.values())):
        position = first.position
        shown[position] = await anext(first)
    for again in (Reader(run._log, first.position), Reader(run._log, first.position)):
        position = again.position
        async for chunk in again:
            assert shown.setdefault(position, chunk) is chunk
            position = again.position
    assert sorted(shown) == list(range(len(shown)))
    assert texts([shown[at] for at in sorted(shown)]) == "Hello world"


async def test_a_reader_that_comes_back_after_the_end_gets_the_rest_and_ends() -> None:
    """langchain-ai/langgraphjs#2805"""
    run = agent_of(says("a")).stream("hi")
    seen = await read_until(run, "text-delta")
    await run.result()
    assert types(await read(Reader(run._log, len(seen)))) == ["text-end", "step-finish", "finish"]
    assert await read(Reader(run._log, len(run._log.items))) == []


async def test_a_reader_that_comes_back_inside_a_block_of_text_gets_its_next_piece() -> None:
    """TracecatHQ/tracecat#2771"""
    run = agent_of(says("a", "b", "c")).stream("hi")
    seen = await read_until(run, "text-delta", 2)
    assert texts(await read(Reader(run._log, len(seen)))) == "c"


async def test_all_ways_of_consuming_go_together() -> None:
    """vercel/ai#17501"""
    run = agent_of(says("a", "b")).stream("hi")

    async def usage() -> int | None:
        return (await run.usage).total_tokens

    chunks, pieces, tokens = await asyncio.gather(read(run.full_stream), read(run.text_stream), usage())
    assert (texts(chunks), pieces, tokens) == ("ab", ["a", "b"], 15)
    assert await read(run) == chunks
    assert await agent_of(says("a", "b")).stream("hi").text == "ab"


async def test_a_failure_of_one_run_is_not_taken_for_anothers() -> None:
    """livekit/agents-js#2477"""
    model = ScriptedModel([[*text("a")[:2], {"type": "$sleep", "ms": 10}, *text("b")[1:], finish()], ModelError("no")])
    agent = Agent("a", model=model)
    first = agent.stream("one")
    await read_until(first, "text-delta")
    with pytest.raises(RunError):
        await agent.generate("two")
    assert await first.text == "ab"
    assert len(model.requests) == 2


async def test_leaving_a_run_closes_the_providers_stream_and_nobody_complains() -> None:
    """pydantic/pydantic-ai#4204 (the test's event loop fails it when something complains)"""
    model = WatchedModel([[*text("a", "b", "c"), HANG]])
    async with Agent("a", model=model).stream("hi") as run:
        async for _ in run:
            break
    assert (model.opened, model.closed) == (1, 1)
    del run
    gc.collect()


# -- trying again


async def test_a_fallback_after_the_preamble_begins_nothing_twice() -> None:
    """zirkelc/ai-retry#51"""
    preamble: Any = {"type": "stream-start", "warnings": []}
    stalls = ScriptedModel([[preamble, {"type": "$stream_error", "error": ModelError("idle")}]], model_id="stalls")
    answers = ScriptedModel([[preamble, *says("ok")]], model_id="answers")
    run = Agent("a", model=[stalls, answers]).stream("hi")
    chunks = await read(run)
    kinds = Counter(types(chunks))
    assert (kinds["start"], kinds["step-start"], kinds["text-start"]) == (1, 1, 1)
    response = await run.response
    assert (await run.text, response and response.model_id) == ("ok", "answers")


async def test_text_that_was_shown_is_never_said_again() -> None:
    """HKUDS/nanobot#4038"""
    breaks = ModelError("read timed out", retryable=True, retry_after=0)
    model = ScriptedModel([[*text("Here is the ")[:2], {"type": "$stream_error", "error": breaks}], says("again")])
    run = Agent("a", model=model, max_retries=1).stream("hi")
    chunks = await read(run)
    assert (texts(chunks), run.status, len(model.requests)) == ("Here is the ", "failed", 1)


# -- order


async def test_blocks_of_text_and_calls_are_nested_well() -> None:
    """CopilotKit/CopilotKit#2684"""
    answer = [*text("Let me ", id="t1"), call("echo", "a"), call("echo", "b"), *text("look", id="t2")]
    chunks = await read(agent_of([*answer, finish("tool-calls")], says("done"), tools=[echo]).stream("hi"))
    assert_well_formed(chunks)
    kinds = types(chunks)
    assert kinds.index("text-end") < kinds.index("tool-call")
    assert len({chunk.payload.id for chunk in of(TextStartChunk, chunks)}) == 3


async def test_calls_side_by_side_keep_their_order() -> None:
    """agno-agi/agno#5244: streamed arguments may interleave; each call follows its own end at once."""

    def begin(id: str) -> dict[str, Any]:
        return {"type": "tool-input-start", "id": id, "toolName": "echo"}

    def end(id: str) -> dict[str, Any]:
        return {"type": "tool-input-end", "id": id}

    answer = [begin("a"), begin("b"), end("a"), end("b"), finish("tool-calls")]
    chunks = await read(agent_of(answer, says("done"), tools=[echo]).stream("hi"))
    assert_well_formed(chunks)
    assert types(chunks)[2:10] == [
        *["tool-call-input-streaming-start"] * 2,
        *["tool-call-input-streaming-end", "tool-call"] * 2,
        *["tool-result"] * 2,
    ]
    for kind in (ToolCallChunk, ToolResultChunk):
        assert [chunk.payload.tool_call_id for chunk in of(kind, chunks)] == ["a", "b"]


async def test_text_before_a_call_is_not_the_answer() -> None:
    """pydantic/pydantic-ai#3574"""
    runs: list[str] = []

    async def create_document(name: str) -> str:
        runs.append(name)
        return "ok"

    first = [*text("I'll create that. "), call("create_document", "t1", '{"name": "test.md"}'), finish("tool-calls")]
    run = agent_of(first, says("Done."), tools=[create_document]).stream("hi")
    assert texts(await read(run)) == "I'll create that. Done."
    assert (await run.text, len(await run.steps), runs) == ("Done.", 2, ["test.md"])


# -- one end


async def test_an_abort_from_another_handle_ends_every_reader() -> None:
    """mastra-ai/mastra#21522: whoever cancels, each reader gets the abort and the end."""
    run = agent_of([*text("a")[:-1], HANG]).stream("hi")
    first, second = asyncio.create_task(read(run)), asyncio.create_task(read(run))
    await read_until(run, "text-delta")

    async def other_handle() -> None:
        run.cancel()

    await asyncio.create_task(other_handle())
    assert types(await first)[-2:] == types(await second)[-2:] == ["abort", "finish"]
    assert run.status == "canceled"


async def test_a_run_aborted_in_its_second_step_has_one_end() -> None:
    """vercel/ai#20908"""
    run = agent_of(calls("echo"), [*text("par")[:2], HANG], tools=[echo]).stream("hi")
    await read_until(run, "text-delta")
    run.cancel()
    chunks = await read(run)
    kinds = Counter(types(chunks))
    assert (kinds["abort"], kinds["finish"], kinds["error"], kinds["step-finish"]) == (1, 1, 0, 1)
    (end,) = of(FinishChunk, chunks)
    assert end.payload.output is not None
    assert (end.payload.output.text, run.status) == ("par", "canceled")


async def test_an_aborted_run_gives_its_partial_text() -> None:
    """vercel/ai#7900"""
    run = agent_of([*text("Hel", "lo")[:3], HANG]).stream("hi")
    await read_until(run, "text-delta", 2)
    run.cancel()
    result = await run.result()
    assert (result.text, result.status, result.finish_reason) == ("Hello", "canceled", "aborted")
    (end,) = of(FinishChunk, await read(run))
    assert end.payload.output is not None
    assert end.payload.output.text == "Hello"


async def test_the_history_has_the_whole_text_once() -> None:
    """google/adk-go#109"""
    model = ScriptedModel([says("Hi Andrew ", "how are you ", "doing?"), says("ok")])
    agent = Agent("a", model=model)
    await agent.generate([*await agent.stream("hi").messages, "fine"])
    said = model.requests[1].messages[1]
    assert isinstance(said, AssistantMessage)
    assert [part.text for part in said.content] == ["Hi Andrew how are you doing?"]  # type: ignore[union-attr]


# -- usage


async def test_usage_that_comes_after_the_reason_is_not_lost() -> None:
    """strands-agents/harness-sdk#185, as far as the loop goes: the stream is read to its end, there is one finish."""
    late = [*text("Hi"), finish(usage={}), finish(usage={"inputTokens": 10, "outputTokens": 2, "totalTokens": 12})]
    run = agent_of(late).stream("hi")
    chunks = await read(run)
    usage = await run.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 2, 12)
    assert (types(chunks).count("finish"), await run.finish_reason) == (1, "stop")


# -- readers that are slow


class Talker:
    """Says as many pieces of text as it is asked for, each made when it is said; notes how far it is."""

    provider = "talker"
    model_id = "m"

    def __init__(self, count: int, *, size: int = 1) -> None:
        self.said = 0
        self.count = count
        self.size = size

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        base: Any = {"run_id": request.run_id, "from_": "AGENT"}
        yield StepStartChunk(StepStartPayload(), **base)
        yield TextStartChunk(TextStartPayload("t"), **base)
        for number in range(self.count):
            self.said += 1
            yield TextDeltaChunk(TextDeltaPayload("t", f"{number:>{self.size}}"), **base)
        yield TextEndChunk(TextEndPayload("t"), **base)
        yield FinishChunk(FinishPayload(step_result=StepResult(reason="stop")), **base)


async def test_a_sleeping_reader_holds_the_model_back() -> None:
    """flux0-ai/flux0#108"""
    model = Talker(100_000)
    run = Agent("a", model=model).stream("hi")
    await read_until(run, "text-delta")
    await turns(1000)
    assert model.said <= LOOK_AHEAD
    run.cancel()
    await run.result()


async def test_a_slow_reader_loses_nothing_and_fails_nobody() -> None:
    """agentuniverse-ai/agentUniverse#1004"""
    run = Agent("a", model=Talker(5000)).stream("hi")
    pieces: list[int] = []
    async for piece in run.text_stream:
        pieces.append(int(piece))
        if len(pieces) % 50 == 0:
            await turns(5)
    assert pieces == list(range(5000))
    assert run.status == "success"


# -- memory


@contextmanager
def traced() -> Iterator[list[int]]:
    """Bytes that are held at most in the block, and at its end, beyond those at its begin."""
    gc.collect()
    tracemalloc.start()
    found: list[int] = []
    try:
        begin = tracemalloc.get_traced_memory()[0]
        yield found
        gc.collect()
        now, most = tracemalloc.get_traced_memory()
        found += [most - begin, now - begin]
    finally:
        tracemalloc.stop()


def own_objects() -> Counter[str]:
    """How many objects of riverrun's classes are alive."""
    gc.collect()
    kinds = (type(item) for item in gc.get_objects())
    return Counter(kind.__qualname__ for kind in kinds if kind.__module__.startswith("riverrun."))


async def test_a_token_that_outlives_its_runs_holds_none_of_them() -> None:
    """vercel/ai#19367: `deps` stand for what a program keeps for its lifetime."""

    class Token:
        pass

    token = Token()
    agent = Agent("a", model=Talker(3))
    hanging = Agent("b", model=ScriptedModel([[*text("a")[:2], HANG] for _ in range(50)]))
    before = sys.getrefcount(token)
    runs: list[weakref.ref[Run]] = []
    for _ in range(50):
        finished, aborted = agent.stream("hi", deps=token), hanging.stream("hi", deps=token)
        runs += [weakref.ref(finished), weakref.ref(aborted)]
        await finished.result()
        await read_until(aborted, "text-delta")
        aborted.cancel()
        await aborted.result()
    del finished, aborted
    gc.collect()
    assert [run for run in runs if run() is not None] == []
    assert sys.getrefcount(token) == before


async def test_a_long_answer_is_kept_once_in_pieces_and_once_as_a_whole() -> None:
    """vercel/ai#16753: only the text stream is read; nothing is kept for streams that nobody reads."""
    size, count = 4096, 1000
    run = Agent("a", model=Talker(count, size=size)).stream("hi")
    with traced() as held:
        async for _ in run.text_stream:
            pass
    assert held[0] < 2.2 * size * count


async def test_nothing_is_kept_when_the_reader_is_gone() -> None:
    """mastra-ai/mastra#20668"""
    before = own_objects()
    agent = Agent("a", model=Talker(50))
    run = agent.stream("hi", detached=True)
    await asyncio.gather(*(read(run) for _ in range(3)))
    assert run._log._waiting == []
    del agent, run
    await turns(1)  # the event loop holds what was awaited last
    assert own_objects() == before


async def test_runs_one_after_the_other_do_not_pile_up() -> None:
    """mastra-ai/mastra#9086"""
    agent = Agent("a", model=Talker(400))
    await agent.generate("hi")
    before = own_objects()
    with traced() as held:
        for _ in range(20):
            await agent.generate("hi")
    assert own_objects() == before
    assert held[1] < 50_000


async def test_agents_of_one_request_each_do_not_pile_up() -> None:
    """mastra-ai/mastra#19404"""
    agents: list[weakref.ref[Agent]] = []
    for _ in range(50):
        agent = Agent("a", model=Talker(1), tools=[echo])
        agents.append(weakref.ref(agent))
        await agent.generate("hi")
    del agent
    gc.collect()
    assert [agent for agent in agents if agent() is not None] == []


# -- work


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """How many functions are called in the block."""
    found: Counter[str] = Counter()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            found[event] += 1

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(None)


async def cost_of(count: int) -> tuple[int, int]:
    """Calls for an answer of so many pieces that is read and folded, and bytes at most."""
    with counted_calls() as found:
        run = Agent("a", model=Talker(count)).stream("hi")
        assert len(await read(run)) == count + 6
        await run.text
    with traced() as held:
        run = Agent("a", model=Talker(count)).stream("hi")
        await read(run.text_stream)
        await run.text
    return found.total(), held[0]


async def test_twice_as_long_an_answer_costs_twice_as_much() -> None:
    """vercel/ai#13839"""
    (calls_once, bytes_once), (calls_twice, bytes_twice) = await cost_of(1500), await cost_of(3000)
    assert calls_twice / calls_once < 2.2
    assert bytes_twice / bytes_once < 2.2


async def test_a_delta_costs_the_same_in_every_step() -> None:
    """vercel/ai#13839, over steps: what happened before costs nothing per piece."""

    async def cost(steps: int) -> int:
        answers = [[*text(*"abcdefghij" * 5), call("echo", f"c{step}"), finish("tool-calls")] for step in range(steps)]
        run = agent_of(*answers, tools=[echo], max_steps=steps).stream("hi")
        with counted_calls() as found:
            await read(run)
        return found.total()

    assert await cost(20) / await cost(10) < 2.2


class Weighed:
    """An encoder that notes how much it writes between two turns of the event loop."""

    def __init__(self, encoder: Any, weights: list[int]) -> None:
        self.encoder = encoder
        self.weights = weights

    def encode(self, value: object) -> bytes:
        data: bytes = self.encoder.encode(value)
        self.weights[-1] += len(data)
        return data


async def test_large_results_are_written_as_json_a_constant_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """mastra-ai/mastra#19373: and never more than one of them between two turns of the event loop."""
    size, steps = 64 * 1024, 12
    weights = [0]
    for name in ("_fast_encoder", "_careful_encoder"):
        monkeypatch.setattr(codec, name, Weighed(getattr(codec, name), weights))

    async def blob() -> dict[str, str]:
        return {"blob": "x" * size}

    async def tick() -> None:
        while True:
            weights.append(0)
            await asyncio.sleep(0)

    answers = [[call("blob", f"t{step}"), finish("tool-calls")] for step in range(steps)]
    ticking = asyncio.create_task(tick())
    run = agent_of(*answers, says("done"), tools=[blob], max_steps=steps + 1).stream("hi")
    await read(run)
    ticking.cancel()
    assert len(await run.tool_results) == steps
    assert sum(weights) <= 4 * size * steps
    assert max(weights) <= 4 * size
