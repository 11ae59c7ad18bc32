"""What the caller holds: readers, awaitables, how far a run goes by itself, and what is left when it is dropped."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from riverrun import Agent, ConfigError, ModelError, Run, RunError, ToolContext
from riverrun.chunks import (
    ErrorChunk,
    FinishChunk,
    ReasoningPart,
    Result,
    StepFinishChunk,
    TextDeltaChunk,
    ToolResultChunk,
    Usage,
    UserMessage,
    decode,
    encode,
    to_value,
)
from riverrun.models import Call, ScriptedModel
from riverrun.streams import LOOK_AHEAD, spawn
from tests.agent.scripts import (
    HANG,
    USAGE,
    WatchedModel,
    agent_of,
    assert_well_formed,
    call,
    calls,
    deltas,
    finish,
    of,
    read,
    read_until,
    reasoning,
    says,
    text,
    turns,
    types,
)

PLAIN = ["start", "step-start", "text-start", "text-delta", "text-delta", "text-end", "step-finish", "finish"]


# -- reading


async def test_a_run_is_one_stream_from_start_to_finish() -> None:
    chunks = await read(agent_of(says("Hel", "lo")).stream("hi"))
    assert types(chunks) == PLAIN
    assert_well_formed(chunks)


async def test_every_chunk_has_the_run_id_and_comes_from_the_agent() -> None:
    run = agent_of(says("Hello")).stream("hi", run_id="run-7")
    assert {(chunk.run_id, chunk.from_) for chunk in await read(run)} == {("run-7", "AGENT")}
    assert run.run_id == "run-7"


async def test_a_run_makes_up_an_id_of_its_own() -> None:
    agent = agent_of(says("a"), says("b"))
    one, other = agent.stream("hi"), agent.stream("hi")
    assert one.run_id != other.run_id
    assert (await read(one))[0].run_id == one.run_id
    await other.result()


async def test_every_reader_gets_the_whole_stream() -> None:
    run = agent_of(says("a", "b", "c")).stream("hi")
    streams = await asyncio.gather(*(read(run) for _ in range(5)))
    assert all(stream == streams[0] for stream in streams)
    assert types(streams[0])[-1] == "finish"


async def test_a_reader_that_comes_in_the_middle_begins_at_the_start() -> None:
    run = agent_of(says("a", "b", "c")).stream("hi")
    seen = await read_until(run, "text-delta", 2)
    late = await read(run)
    assert late[: len(seen)] == seen
    assert types(late)[-1] == "finish"


async def test_a_run_can_be_read_again_after_its_end() -> None:
    run = agent_of(says("a", "b")).stream("hi")
    assert await read(run) == await read(run) == await read(run.full_stream)


async def test_leaving_an_iteration_does_not_stop_the_run() -> None:
    run = agent_of(says("a", "b", "c")).stream("hi")
    await read_until(run, "text-delta")
    assert await run.text == "abc"


async def test_the_text_stream_gives_the_pieces_of_text_and_nothing_else() -> None:
    agent = agent_of([*reasoning("hm"), *text("a", "b"), call("look"), finish("tool-calls")], says("c"), tools=[look])
    run = agent.stream("hi")
    assert await read(run.text_stream) == ["a", "b", "c"]
    assert await read(run.text_stream) == ["a", "b", "c"]


async def test_a_piece_without_text_is_no_piece_of_the_text_stream() -> None:
    quiet = {"type": "text-delta", "id": "t", "delta": "", "providerMetadata": {"p": {"x": 1}}}
    run = agent_of([*text("a")[:2], quiet, text("a")[2], finish()]).stream("hi")
    assert await read(run.text_stream) == ["a"]
    assert types(await read(run)).count("text-delta") == 2


async def test_a_text_stream_and_a_full_stream_go_on_side_by_side() -> None:
    run = agent_of(says("a", "b")).stream("hi")
    pieces, chunks = await asyncio.gather(read(run.text_stream), read(run.full_stream))
    assert (pieces, types(chunks)) == (["a", "b"], PLAIN)


async def test_a_reader_keeps_its_run_alive() -> None:
    reader = aiter(agent_of(says("a", "b")).stream("hi"))
    gc.collect()
    assert [chunk.type async for chunk in reader] == PLAIN


async def test_a_text_reader_keeps_its_run_alive() -> None:
    pieces = agent_of(says("a", "b")).stream("hi").text_stream
    gc.collect()
    assert await read(pieces) == ["a", "b"]


async def test_a_cancelled_reader_does_not_disturb_the_run() -> None:
    run = agent_of([*text("a"), {"type": "$sleep", "ms": 20}, finish()]).stream("hi")
    reading = spawn(read(run))
    await turns()
    reading.cancel()
    await asyncio.wait([reading])
    assert await run.text == "a"


# -- awaitables


async def look(ctx: ToolContext) -> str:
    return "seen"


def everything() -> Agent:
    source = {"type": "source", "id": "s", "sourceType": "url", "url": "https://a.example", "title": "A"}
    file = {"type": "file", "data": "aGk=", "mediaType": "text/plain"}
    meta = {"type": "response-metadata", "id": "resp-1", "modelId": "m-1"}
    start = {"type": "stream-start", "warnings": [{"type": "other", "message": "careful"}]}
    first = [*reasoning("why"), call("look"), finish("tool-calls")]
    return agent_of(first, [start, meta, *text("Do", "ne"), source, file, finish()], tools=[look])


AWAITABLES: dict[str, Callable[[Any], Any]] = {
    "text": lambda value: value == "Done",
    "reasoning_text": lambda value: value == "why",
    "object": lambda value: value is None,
    "tool_calls": lambda value: [chunk.payload.tool_name for chunk in value] == ["look"],
    "tool_results": lambda value: [chunk.payload.result for chunk in value] == ["seen"],
    "sources": lambda value: [chunk.payload.url for chunk in value] == ["https://a.example"],
    "files": lambda value: [chunk.payload.data for chunk in value] == ["aGk="],
    "usage": lambda value: (value.input_tokens, value.output_tokens, value.total_tokens) == (20, 10, 30),
    "total_usage": lambda value: value.total_tokens == 30,
    "finish_reason": lambda value: value == "stop",
    "steps": lambda value: [step.text for step in value] == ["", "Done"],
    "response": lambda value: (value.id, value.model_id) == ("resp-1", "m-1"),
    "warnings": lambda value: value == [{"type": "other", "message": "careful"}],
    "messages": lambda value: [message.role for message in value] == ["user", "assistant", "tool", "assistant"],
    "suspend_payload": lambda value: value is None,
}


@pytest.mark.parametrize("name", AWAITABLES)
async def test_awaiting_a_value_alone_drives_the_run(name: str) -> None:
    run = everything().stream("hi")
    assert AWAITABLES[name](await getattr(run, name))
    assert run.status == "success"


@pytest.mark.parametrize("name", AWAITABLES)
async def test_a_value_may_be_awaited_after_the_end_and_more_than_once(name: str) -> None:
    run = everything().stream("hi")
    await read(run)
    pending = getattr(run, name)
    assert AWAITABLES[name](await pending)
    assert AWAITABLES[name](await pending)


async def test_values_taken_before_the_end_are_known_at_the_end() -> None:
    run = everything().stream("hi")
    early = [getattr(run, name) for name in AWAITABLES]
    await read(run)
    for pending, holds in zip(early, AWAITABLES.values(), strict=True):
        assert holds(await pending)


async def test_a_value_that_is_never_awaited_does_no_harm() -> None:
    run = agent_of(says("a")).stream("hi")
    _ = run.text
    await read(run)


async def test_a_pending_value_keeps_its_run_alive() -> None:
    pending = agent_of(says("a")).stream("hi").text
    gc.collect()
    assert await pending == "a"


async def test_the_result_has_all_values_together() -> None:
    result = await everything().stream("hi", run_id="r").result()
    assert (result.run_id, result.status, result.text, result.finish_reason) == ("r", "success", "Done", "stop")
    assert result.reasoning == [ReasoningPart("why")]
    assert len(result.steps) == 2
    assert result.messages[0] == UserMessage(result.messages[0].content)


async def test_generate_gives_what_a_stream_comes_to() -> None:
    assert (await agent_of(says("a")).generate("hi")).text == "a"


async def test_many_may_await_the_result_at_once() -> None:
    run = agent_of(says("a", "b")).stream("hi")
    results = await asyncio.gather(*(run.result() for _ in range(5)))
    assert all(result is results[0] for result in results)


async def test_a_run_shows_how_it_stands() -> None:
    run = agent_of(says("a", "b")).stream("hi")
    assert run.status == "running"
    chunks = await read_until(run, "text-delta")
    assert of(TextDeltaChunk, chunks)
    assert (run.status, run.error, run.tripwire) == ("running", None, None)
    assert repr(run) == f"<Run {run.run_id} running>"
    await run.result()
    assert run.status == "success"


async def test_the_partial_result_grows_and_never_raises() -> None:
    run = agent_of([*text("a", "b")[:3], HANG]).stream("hi")
    assert run.partial.text == ""
    await read_until(run, "text-delta", 2)
    assert (run.partial.text, run.partial.status, run.partial.run_id) == ("ab", "running", run.run_id)
    run.cancel()
    await run.result()
    assert run.partial.text == "ab"


# -- failure


def failing() -> Agent:
    return agent_of([*text("par"), {"type": "$stream_error", "error": ModelError("line cut", status=502)}])


async def test_the_stream_of_a_failed_run_ends_by_itself() -> None:
    chunks = await read(failing().stream("hi"))
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]
    assert_well_formed(chunks)


async def test_awaiting_a_failed_run_raises_with_what_there_is() -> None:
    run = failing().stream("hi", run_id="r")
    with pytest.raises(RunError, match="run r failed: line cut") as raised:
        await run.result()
    partial = raised.value.partial
    assert isinstance(partial, Result)
    assert (partial.text, partial.status, partial.finish_reason) == ("par", "failed", "error")
    assert raised.value.run_id == "r"
    assert isinstance(raised.value.__cause__, ModelError)


@pytest.mark.parametrize("name", AWAITABLES)
async def test_values_of_a_failed_run_raise_taken_early_or_late(name: str) -> None:
    run = failing().stream("hi")
    early = getattr(run, name)
    await read(run)
    for pending in (early, getattr(run, name)):
        with pytest.raises(RunError, match="line cut"):
            await pending


async def test_a_failed_run_says_what_failed() -> None:
    run = failing().stream("hi")
    await read(run)
    assert run.status == "failed"
    assert isinstance(run.error, ModelError)
    assert run.error.status == 502


async def test_two_runs_of_one_agent_do_not_touch_each_other() -> None:
    agent = Agent("a", model=SteppedModel())
    slow, quick = agent.stream("slow"), agent.stream("fail")
    with pytest.raises(RunError):
        await quick.result()
    assert await slow.text == "slow: fine"


class SteppedModel:
    """Answers slowly, or fails at once, as the user asks; keeps nothing between calls."""

    provider = "stepped"
    model_id = "m"

    async def stream(self, request, /):  # type: ignore[no-untyped-def]
        said = request.messages[-1].content[0].text
        if said == "fail":
            raise ModelError("asked to fail")
        async for chunk in ScriptedModel([Call(parts=says(f"{said}: ", "fine"), pace=0.002)]).stream(request):
            yield chunk


async def test_many_runs_side_by_side_get_their_own_answers() -> None:
    agent = Agent("a", model=SteppedModel())
    assert await asyncio.gather(*(agent.stream(f"q{number}").text for number in range(20))) == [
        f"q{number}: fine" for number in range(20)
    ]


# -- how far a run goes by itself


async def test_a_run_that_nobody_reads_goes_on_for_a_bounded_number_of_chunks() -> None:
    run = agent_of(deltas(LOOK_AHEAD * 4)).stream("hi")
    await turns(LOOK_AHEAD * 8)
    assert len(run._log.items) == LOOK_AHEAD
    assert run.status == "running"
    assert len(await read(run.text_stream)) == LOOK_AHEAD * 4


async def test_a_run_is_never_further_ahead_of_its_reader_than_the_bound() -> None:
    run = agent_of(deltas(LOOK_AHEAD * 3)).stream("hi")
    position, most = 0, 0
    pieces = []
    async for chunk in run:
        position += 1
        if position % 10 == 0:
            await turns(20)
        most = max(most, len(run._log.items) - position)
        if isinstance(chunk, TextDeltaChunk):
            pieces.append(int(chunk.payload.text))
    assert most <= LOOK_AHEAD
    assert pieces == list(range(LOOK_AHEAD * 3))


async def test_raw_chunks_count_as_chunks() -> None:
    """A provider may say much that is no content: it waits for readers like everything else."""
    raw = [{"type": "raw", "rawValue": number} for number in range(LOOK_AHEAD * 3)]
    run = agent_of([*raw, *says("a")]).stream("hi", include_raw=True)
    await turns(LOOK_AHEAD * 8)
    assert len(run._log.items) == LOOK_AHEAD
    assert types(await read(run)).count("raw") == LOOK_AHEAD * 3


async def test_what_tools_write_counts_as_chunks() -> None:
    async def chatty(ctx: ToolContext) -> None:
        for number in range(LOOK_AHEAD * 3):
            await ctx.write(number)

    run = agent_of(calls("chatty"), says("a"), tools=[chatty]).stream("hi")
    await turns(LOOK_AHEAD * 10)
    assert len(run._log.items) == LOOK_AHEAD
    written = [chunk.payload.output for chunk in await read(run) if chunk.type == "tool-output"]
    assert written == list(range(LOOK_AHEAD * 3))


async def test_what_tools_write_side_by_side_stays_within_the_bound() -> None:
    async def chatty(ctx: ToolContext) -> None:
        for number in range(LOOK_AHEAD):
            await ctx.write(number)

    run = agent_of(calls(*["chatty"] * 5), says("a"), tools=[chatty]).stream("hi")
    await turns(LOOK_AHEAD * 10)
    assert len(run._log.items) <= LOOK_AHEAD + 5
    assert types(await read(run)).count("tool-output") == LOOK_AHEAD * 5


async def test_an_awaited_run_needs_no_reader() -> None:
    run = agent_of(deltas(LOOK_AHEAD * 3)).stream("hi")
    await turns(LOOK_AHEAD * 4)
    assert len(await run.text) == len("".join(str(number) for number in range(LOOK_AHEAD * 3)))


async def test_a_detached_run_goes_on_without_readers() -> None:
    run = agent_of(deltas(LOOK_AHEAD * 3)).stream("hi", detached=True)
    while run.status == "running":
        await turns(10)
    assert run.status == "success"
    assert len(await read(run.text_stream)) == LOOK_AHEAD * 3


async def test_a_detached_run_goes_on_when_its_handle_is_dropped() -> None:
    done = asyncio.Event()

    async def note() -> str:
        done.set()
        return "noted"

    first = [*deltas(LOOK_AHEAD * 2)[:-1], call("note"), finish("tool-calls")]
    agent_of(first, says("a"), tools=[note]).stream("hi", detached=True)
    gc.collect()
    await done.wait()
    await turns(30)


async def test_a_detached_run_can_be_cancelled() -> None:
    model = WatchedModel([[*text("a")[:2], HANG]])
    run = Agent("a", model=model).stream("hi", detached=True)
    await read_until(run, "text-delta")
    run.cancel()
    assert (await run.result()).status == "canceled"
    assert model.closed == 1


# -- the handle


async def test_a_dropped_run_ends_and_closes_the_models_stream() -> None:
    model = WatchedModel([[*text("a")[:2], HANG]])
    run = Agent("a", model=model).stream("hi")
    await read_until(run, "text-delta")
    assert (model.opened, model.closed) == (1, 0)
    del run
    gc.collect()
    await turns()
    assert model.closed == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_dropped_run_that_waits_for_readers_ends() -> None:
    model = WatchedModel([deltas(LOOK_AHEAD * 2)])
    run = Agent("a", model=model).stream("hi")
    await turns(LOOK_AHEAD * 3)
    del run
    gc.collect()
    await turns()
    assert model.closed == 1


async def test_a_run_dropped_before_it_began_ends() -> None:
    model = WatchedModel([says("a")])
    Agent("a", model=model).stream("hi")
    gc.collect()
    await turns()
    assert model.opened == model.closed


async def test_a_dropped_run_tells_its_tools_in_threads() -> None:
    """Nothing else can stop a thread than its own look at `ctx.cancelled`."""
    loop = asyncio.get_running_loop()
    began, ended = asyncio.Event(), asyncio.Event()

    def busy(ctx: ToolContext) -> None:
        loop.call_soon_threadsafe(began.set)
        while not ctx.cancelled:
            pass
        loop.call_soon_threadsafe(ended.set)

    run = agent_of(calls("busy"), tools=[busy]).stream("hi")
    await began.wait()
    del run
    gc.collect()
    await asyncio.wait_for(ended.wait(), 5)


async def test_nothing_holds_a_run_that_is_over_and_dropped() -> None:
    run = agent_of(calls("look"), says("a"), tools=[look]).stream("hi")
    await read(run)
    gone = weakref.ref(run)
    del run
    assert gone() is None


async def test_async_with_cancels_an_unfinished_run_on_the_way_out() -> None:
    model = WatchedModel([[*text("a")[:2], HANG]])
    async with Agent("a", model=model).stream("hi") as run:
        await read_until(run, "text-delta")
    assert (run.status, model.closed) == ("canceled", 1)
    assert types(await read(run))[-2:] == ["abort", "finish"]


async def test_async_with_leaves_a_finished_run_as_it_is() -> None:
    async with agent_of(says("a")).stream("hi") as run:
        await read(run)
    assert run.status == "success"


async def test_async_with_cancels_when_its_body_raises() -> None:
    model = WatchedModel([[*text("a")[:2], HANG]])
    run = Agent("a", model=model).stream("hi")

    async def raises() -> None:
        async with run:
            await read_until(run, "text-delta")
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await raises()
    assert (run.status, model.closed) == ("canceled", 1)


async def test_async_with_does_not_wait_for_readers() -> None:
    async with agent_of(deltas(LOOK_AHEAD * 3)).stream("hi") as run:
        await turns(LOOK_AHEAD * 4)
    assert run.status == "canceled"


async def test_a_cancelled_caller_of_generate_leaves_nothing_behind() -> None:
    model = WatchedModel([[*text("a")[:2], HANG]])
    waiting = spawn(Agent("a", model=model).generate("hi"))
    await turns()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    del waiting
    gc.collect()
    await turns()
    assert model.closed == 1


async def test_a_cancelled_reader_inside_async_with_cancels_the_run() -> None:
    model = WatchedModel([[*text("a")[:2], HANG]])
    runs: list[Run] = []

    async def reads() -> None:
        async with Agent("a", model=model).stream("hi") as run:
            runs.append(run)
            await read(run)

    reading = spawn(reads())
    await turns()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert (runs[0].status, model.closed) == ("canceled", 1)


# -- event loops


def test_a_run_made_outside_a_loop_starts_when_it_is_read() -> None:
    model = ScriptedModel([says("a", "b")])
    run = Agent("a", model=model).stream("hi")
    assert (run.status, model.requests) == ("running", [])
    assert types(asyncio.run(read(run))) == PLAIN


def test_a_run_made_outside_a_loop_starts_when_it_is_awaited() -> None:
    run = agent_of(says("a", "b")).stream("hi")
    assert asyncio.run(run.result()).text == "ab"


def test_a_run_made_outside_a_loop_may_be_entered() -> None:
    run = agent_of([HANG]).stream("hi")

    async def enter() -> None:
        async with run:
            await turns()

    asyncio.run(enter())
    assert run.status == "canceled"


def test_a_run_made_outside_a_loop_and_never_used_does_no_harm() -> None:
    model = ScriptedModel([says("a")])
    run = Agent("a", model=model).stream("hi")
    del run
    gc.collect()
    assert model.requests == []


def test_a_run_cancelled_before_its_loop_began_asks_no_model() -> None:
    model = ScriptedModel([says("a")])
    run = Agent("a", model=model).stream("hi")
    run.cancel()
    assert types(asyncio.run(read(run))) == ["start", "abort", "finish"]
    assert model.requests == []


def test_a_finished_run_can_be_read_in_another_loop() -> None:
    run = agent_of(says("a")).stream("hi")
    first = asyncio.run(read(run))
    assert asyncio.run(read(run)) == first
    assert asyncio.run(run.result()).text == "a"


def test_a_run_under_way_when_its_loop_ends_is_cancelled_and_stays_readable() -> None:
    model = WatchedModel([[*text("a")[:2], HANG]])
    runs: list[Run] = []

    async def leaves() -> None:
        runs.append(Agent("a", model=model).stream("hi"))
        await read_until(runs[0], "text-delta")

    asyncio.run(leaves())
    (run,) = runs
    assert (run.status, run.partial.text, model.closed) == ("canceled", "a", 1)
    assert types(asyncio.run(read(run)))[-2:] == ["abort", "finish"]


def test_a_loop_that_ends_does_not_wait_for_a_tool_in_a_thread_that_looks_at_its_context() -> None:
    """asyncio.run waits for the threads: a tool that is never told would keep the program for ever."""
    model = ScriptedModel([calls("busy")])

    async def leaves() -> Run:
        began = asyncio.Event()
        loop = asyncio.get_running_loop()

        def busy(ctx: ToolContext) -> None:
            loop.call_soon_threadsafe(began.set)
            while not ctx.cancelled:
                pass

        run = Agent("a", model=model, tools=[busy]).stream("hi")
        await began.wait()
        return run

    assert asyncio.run(leaves()).status == "canceled"


def test_a_run_whose_loop_was_closed_under_it_is_dropped_in_silence() -> None:
    async def begin() -> Run:
        run = agent_of([HANG]).stream("hi")
        await turns()
        return run

    loop = asyncio.new_event_loop()
    run = loop.run_until_complete(begin())
    loop.close()
    assert run.status == "running"
    assert run._task is not None
    run._task._log_destroy_pending = False  # type: ignore[attr-defined]  # asyncio itself complains of such a task
    gone = weakref.ref(run)
    del run
    assert gone() is None


async def test_a_run_is_read_and_awaited_in_its_own_event_loop() -> None:
    run = Agent("a", model=ScriptedModel([[HANG]])).stream("hi")

    async def read_elsewhere() -> None:
        with pytest.raises(ConfigError, match="belongs to the event loop that it was started in"):
            await run.text
        with pytest.raises(ConfigError, match="belongs to the event loop that it was started in"):
            await read(run)

    await asyncio.to_thread(asyncio.run, read_elsewhere())
    run.cancel()
    assert (await run.result()).status == "canceled"


# -- what the end carries


async def test_finish_carries_steps_messages_and_the_sum_of_usage() -> None:
    chunks = await read(everything().stream("hi"))
    (end,) = of(FinishChunk, chunks)
    output = end.payload.output
    assert output is not None
    assert output.usage is not None
    assert (output.usage.input_tokens, output.usage.output_tokens, output.usage.total_tokens) == (20, 10, 30)
    assert output.steps is not None
    assert [step.finish_reason for step in output.steps] == ["tool-calls", "stop"]
    assert end.payload.messages is not None
    assert [message.role for message in end.payload.messages.all] == ["user", "assistant", "tool", "assistant"]
    assert [message.role for message in end.payload.messages.user] == ["user"]
    assert [message.role for message in end.payload.messages.non_user] == ["assistant", "tool", "assistant"]


async def test_a_step_finish_carries_its_own_step_only() -> None:
    first, second = of(StepFinishChunk, await read(everything().stream("hi")))
    for chunk, is_continued in ((first, True), (second, False)):
        assert chunk.payload.step_result is not None
        assert chunk.payload.step_result.is_continued is is_continued
        assert chunk.payload.output is not None
        assert chunk.payload.output.usage == Usage(input_tokens=10, output_tokens=5, total_tokens=15, raw=USAGE)
        assert chunk.payload.output.steps is not None
        assert len(chunk.payload.output.steps) == 1


async def test_results_of_tools_stand_between_their_call_and_the_end_of_the_step() -> None:
    chunks = await read(everything().stream("hi"))
    kinds = types(chunks)
    assert kinds.index("tool-call") < kinds.index("tool-result") < kinds.index("step-finish")
    assert of(ToolResultChunk, chunks)[0].payload.args == {}
    assert_well_formed(chunks)


async def test_no_error_chunk_is_in_a_run_that_went_well() -> None:
    assert of(ErrorChunk, await read(everything().stream("hi"))) == []


@pytest.mark.parametrize("make", [everything, failing])
async def test_every_chunk_of_a_run_goes_over_the_wire_and_comes_back(make: Callable[[], Agent]) -> None:
    for chunk in await read(make().stream("hi")):
        back = decode(encode(chunk))
        assert type(back) is type(chunk)
        assert to_value(back) == to_value(chunk)
