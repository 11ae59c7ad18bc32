"""Stopping a run, in every phase: the log ends with one abort and finish, and nothing goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from riverrun import Agent, Iteration, ModelError, ModelRequest, Run, StepChanges, StepInfo, Timeout, ToolContext
from riverrun.chunks import (
    AbortChunk,
    ChunkType,
    FinishChunk,
    StepStartChunk,
    StepStartPayload,
    ToolResultChunk,
)
from riverrun.models import ScriptedModel
from riverrun.streams import LOOK_AHEAD, spawn
from tests.agent.scripts import (
    HANG,
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


async def assert_aborted(run: Run) -> list[ChunkType]:
    """The run ended with one abort and one finish; gives its chunks."""
    chunks = await read(run)
    kinds = types(chunks)
    assert kinds[-2:] == ["abort", "finish"]
    assert (kinds.count("abort"), kinds.count("finish"), kinds.count("error")) == (1, 1, 0)
    assert_well_formed(chunks)
    result = await run.result()
    assert (run.status, result.finish_reason) == ("canceled", "aborted")
    (end,) = of(FinishChunk, chunks)
    assert end.payload.step_result is not None
    assert (end.payload.step_result.reason, end.payload.step_result.is_continued) == ("tripwire", False)
    return chunks


# -- during a model call


async def test_cancelled_at_once_no_model_is_asked() -> None:
    model = ScriptedModel([says("a")])
    run = Agent("a", model=model).stream("hi")
    run.cancel()
    assert types(await assert_aborted(run)) == ["start", "abort", "finish"]
    assert model.requests == []


async def test_cancelled_before_the_model_says_anything() -> None:
    model = WatchedModel([[HANG]])
    run = Agent("a", model=model).stream("hi")
    await turns()
    run.cancel()
    await assert_aborted(run)
    assert (model.opened, model.closed) == (1, 1)


async def test_cancelled_in_the_middle_of_text() -> None:
    model = WatchedModel([[*text("Hel", "lo")[:3], HANG]])
    run = Agent("a", model=model).stream("hi")
    await read_until(run, "text-delta", 2)
    run.cancel()
    chunks = await assert_aborted(run)
    assert types(chunks) == ["start", "step-start", "text-start", "text-delta", "text-delta", "abort", "finish"]
    assert model.closed == 1
    assert await run.text == "Hello"
    (end,) = of(FinishChunk, chunks)
    assert end.payload.output is not None
    assert end.payload.output.text == "Hello"


async def test_cancelled_in_the_middle_of_reasoning() -> None:
    model = WatchedModel([[*reasoning("be", "cause")[:3], HANG]])
    run = Agent("a", model=model).stream("hi")
    await read_until(run, "reasoning-delta", 2)
    run.cancel()
    await assert_aborted(run)
    assert await run.reasoning_text == "because"
    assert model.closed == 1


async def test_cancelled_in_the_middle_of_the_arguments_of_a_call() -> None:
    begun: list[Any] = [
        {"type": "tool-input-start", "id": "c1", "toolName": "t"},
        {"type": "tool-input-delta", "id": "c1", "delta": '{"a"'},
        HANG,
    ]
    run = agent_of(begun, tools=[nap]).stream("hi")
    await read_until(run, "tool-call-delta")
    run.cancel()
    chunks = await assert_aborted(run)
    assert "tool-call" not in types(chunks)


async def test_cancelled_while_the_run_waits_for_its_readers() -> None:
    model = WatchedModel([deltas(LOOK_AHEAD * 2)])
    run = Agent("a", model=model).stream("hi")
    await turns(LOOK_AHEAD * 3)
    run.cancel()
    await assert_aborted(run)
    assert model.closed == 1


async def test_cancelled_while_a_failed_call_waits_to_be_tried_again() -> None:
    model = ScriptedModel([ModelError("busy", retryable=True, retry_after=60), says("a")])
    run = Agent("a", model=model).stream("hi")
    await turns()
    run.cancel()
    await assert_aborted(run)
    assert len(model.requests) == 1


class Stubborn:
    """Keeps cancellations to itself and goes on, or answers them with an error of its own."""

    provider = "stubborn"
    model_id = "m"

    def __init__(self, *after: Any, raises: Exception | None = None) -> None:
        self.after = after
        self.raises = raises
        self.closed = 0
        self.calls = 0

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        self.calls += 1
        try:
            async for chunk in ScriptedModel([[*text("a")[:2]]]).stream(request):
                yield chunk
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                if self.raises is not None:
                    raise self.raises from None
            async for chunk in ScriptedModel([[*self.after]]).stream(request):
                if not isinstance(chunk, StepStartChunk):
                    yield chunk
        finally:
            self.closed += 1


@pytest.mark.parametrize("after", [[*text("b", id="u"), finish()], [text("b")[2], finish()], [finish()]])
async def test_a_model_that_goes_on_after_a_cancellation_is_closed(after: list[Any]) -> None:
    model = Stubborn(*after)
    run = Agent("a", model=model).stream("hi")
    await read_until(run, "text-delta")
    run.cancel()
    await assert_aborted(run)
    assert (await run.text, model.closed) == ("a", 1)


@pytest.mark.parametrize("error", [ModelError("cut", retryable=True), ConnectionError("closed"), ValueError("odd")])
async def test_an_error_that_a_cancellation_causes_is_no_error_of_the_run(error: Exception) -> None:
    model = Stubborn(raises=error)
    run = Agent("a", model=model).stream("hi")
    await read_until(run, "text-delta")
    run.cancel()
    await assert_aborted(run)
    assert (model.calls, model.closed) == (1, 1)


# -- during tools


async def quick() -> str:
    return "done"


async def nap() -> str:
    await asyncio.get_running_loop().create_future()
    return "woken"


async def test_cancelled_while_a_tool_runs() -> None:
    model = ScriptedModel([calls("nap"), says("never")])
    run = Agent("a", model=model, tools=[nap]).stream("hi")
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    chunks = await assert_aborted(run)
    assert "tool-result" not in types(chunks)
    assert "tool-error" not in types(chunks)
    assert len(model.requests) == 1


async def test_cancelled_while_several_tools_run_those_that_had_ended_are_kept() -> None:
    run = agent_of(calls("nap", "quick", "nap"), tools=[nap, quick]).stream("hi")
    await read_until(run, "tool-call", 3)
    await turns()
    run.cancel()
    chunks = await assert_aborted(run)
    (result,) = of(ToolResultChunk, chunks)
    assert (result.payload.tool_call_id, result.payload.result) == ("c2", "done")
    user, said, told = await run.messages
    assert (user.role, said.role, told.role) == ("user", "assistant", "tool")
    assert [part.tool_call_id for part in said.content] == ["c2"]
    assert [part.tool_call_id for part in told.content] == ["c2"]


async def test_a_tool_that_takes_the_cancellation_and_returns_does_not_lead_to_another_step() -> None:
    async def takes_it() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return "cleaned up"
        return "never"

    model = ScriptedModel([calls("takes_it"), says("never")])
    run = Agent("a", model=model, tools=[takes_it]).stream("hi")
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    chunks = await assert_aborted(run)
    assert [chunk.payload.result for chunk in of(ToolResultChunk, chunks)] == ["cleaned up"]
    assert len(model.requests) == 1


async def test_a_tool_that_waits_for_the_cancellation_may_end_in_its_own_way() -> None:
    cleaned: list[str] = []

    async def waits(ctx: ToolContext) -> str:
        await ctx.wait_cancelled()
        await turns()
        cleaned.append(ctx.tool_call_id)
        return "saved"

    run = agent_of(calls("waits"), tools=[waits]).stream("hi")
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    chunks = await assert_aborted(run)
    assert cleaned == ["c1"]
    assert [chunk.payload.result for chunk in of(ToolResultChunk, chunks)] == ["saved"]


async def test_a_tool_that_waits_for_the_cancellation_and_never_ends_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("riverrun.agent.cancellation.GRACE", 0.01)

    async def waits(ctx: ToolContext) -> str:
        await ctx.wait_cancelled()
        return await nap()

    run = agent_of(calls("waits"), tools=[waits]).stream("hi")
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    await assert_aborted(run)


async def test_a_tool_that_waits_for_the_cancellation_in_a_task_of_its_own_may_end_in_its_own_way() -> None:
    async def waits(ctx: ToolContext) -> str:
        work, stop = asyncio.create_task(nap()), asyncio.create_task(ctx.wait_cancelled())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        work.cancel()
        await turns()
        return "saved"

    run = agent_of(calls("waits"), tools=[waits]).stream("hi")
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    chunks = await assert_aborted(run)
    assert [chunk.payload.result for chunk in of(ToolResultChunk, chunks)] == ["saved"]


async def test_a_tool_that_waits_for_the_cancellation_does_not_keep_others_running() -> None:
    """No time is given to those that did not ask for it: the run ends long before the grace does."""
    ended: list[str] = []

    async def waits(ctx: ToolContext) -> str:
        await ctx.wait_cancelled()
        await turns()
        return "saved"

    async def sleeps(ctx: ToolContext) -> str:
        try:
            return await nap()
        finally:
            ended.append(ctx.tool_call_id)

    run = agent_of(calls("sleeps", "waits", "sleeps"), tools=[waits, sleeps]).stream("hi")
    await read_until(run, "tool-call", 3)
    await turns()
    run.cancel()
    await turns(3)
    assert ended == ["c1", "c3"]
    chunks = await assert_aborted(run)
    assert [chunk.payload.result for chunk in of(ToolResultChunk, chunks)] == ["saved"]


async def test_a_wait_that_a_tool_left_behind_does_not_keep_the_model_talking() -> None:
    left: list[asyncio.Task[None]] = []

    async def forgets(ctx: ToolContext) -> None:
        left.append(asyncio.create_task(ctx.wait_cancelled()))

    model = WatchedModel([calls("forgets"), [HANG]])
    run = Agent("a", model=model, tools=[forgets]).stream("hi")
    await read_until(run, "step-finish")
    await turns()
    run.cancel()
    await turns(5)
    assert model.closed == 2
    await assert_aborted(run)


async def test_a_tool_sees_that_it_is_cancelled() -> None:
    seen: list[bool] = []

    async def looks(ctx: ToolContext) -> None:
        seen.append(ctx.cancelled)
        try:
            await nap()
        finally:
            seen.append(ctx.cancelled)

    run = agent_of(calls("looks"), tools=[looks]).stream("hi")
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    await assert_aborted(run)
    assert seen == [False, True]


async def test_a_tool_in_a_thread_sees_that_it_is_cancelled() -> None:
    loop = asyncio.get_running_loop()
    began, ended = asyncio.Event(), asyncio.Event()

    def busy(ctx: ToolContext) -> None:
        loop.call_soon_threadsafe(began.set)
        while not ctx.cancelled:
            pass
        loop.call_soon_threadsafe(ended.set)

    run = agent_of(calls("busy"), tools=[busy]).stream("hi")
    await began.wait()
    run.cancel()
    await assert_aborted(run)
    await ended.wait()


async def test_a_tool_in_a_thread_that_waits_for_readers_is_freed() -> None:
    loop = asyncio.get_running_loop()
    nearly_full, ended = asyncio.Event(), asyncio.Event()
    raised: list[str] = []

    def chatty(ctx: ToolContext) -> None:
        try:
            for number in range(LOOK_AHEAD * 2):
                if number == LOOK_AHEAD - 5:
                    loop.call_soon_threadsafe(nearly_full.set)
                ctx.write_sync(number)
        except RuntimeError as error:
            raised.append(str(error))
        loop.call_soon_threadsafe(ended.set)

    run = agent_of(calls("chatty"), tools=[chatty]).stream("hi")
    await nearly_full.wait()
    await asyncio.sleep(0.01)
    run.cancel()
    await assert_aborted(run)
    await ended.wait()
    assert "can write no more" in raised[0]
    await turns()


async def test_cancelled_by_a_tool_of_its_own() -> None:
    runs: list[Run] = []

    async def stop() -> str:
        runs[0].cancel()
        return "stopped"

    model = ScriptedModel([calls("stop"), says("never")])
    runs.append(Agent("a", model=model, tools=[stop]).stream("hi"))
    await assert_aborted(runs[0])
    assert len(model.requests) == 1


@pytest.mark.parametrize("waits", [False, True])
async def test_tools_that_wait_for_their_turn_never_begin(waits: bool) -> None:
    began: list[str] = []

    async def first(ctx: ToolContext) -> None:
        began.append(ctx.tool_call_id)
        await (ctx.wait_cancelled() if waits else nap())

    run = agent_of(calls("first", "first", "first"), tools=[first], tool_concurrency=1).stream("hi")
    await read_until(run, "tool-call", 3)
    await turns()
    run.cancel()
    await assert_aborted(run)
    assert began == ["c1"]


# -- between steps and in hooks


async def test_cancelled_between_two_steps() -> None:
    model = ScriptedModel([calls("quick"), says("never")])

    run = Agent("a", model=model, tools=[quick]).stream("hi")
    await read_until(run, "step-finish")
    run.cancel()
    chunks = await assert_aborted(run)
    assert types(chunks).count("step-finish") == 1
    assert len(model.requests) == 1
    assert len(await run.steps) == 1


def stops(where: str, runs: list[Run]) -> dict[str, Any]:
    """Options with a hook that cancels the run."""

    def hook(_: Any) -> None:
        runs[0].cancel()

    return {where: hook}


@pytest.mark.parametrize("where", ["prepare_step", "on_iteration"])
async def test_cancelled_by_a_hook_the_run_asks_no_model_any_more(where: str) -> None:
    model = ScriptedModel([calls("quick"), says("never")])

    runs: list[Run] = []
    runs.append(Agent("a", model=model, tools=[quick]).stream("hi", **stops(where, runs)))
    await assert_aborted(runs[0])
    assert len(model.requests) == (0 if where == "prepare_step" else 1)


@pytest.mark.parametrize(
    "hook", [lambda wait: {"prepare_step": wait}, lambda wait: {"on_iteration": wait}, lambda wait: {"stop_when": wait}]
)
async def test_cancelled_while_a_hook_waits(hook: Callable[[Any], dict[str, Any]]) -> None:
    async def wait(_: StepInfo | Iteration | Any) -> StepChanges | None:
        await nap()
        return None

    run = agent_of(calls("quick"), tools=[quick]).stream("hi", **hook(wait))
    await turns(20)
    run.cancel()
    await assert_aborted(run)


# -- after the step


async def test_after_the_step_lets_the_step_under_way_end() -> None:
    model = ScriptedModel([[*text("a"), call("quick"), finish("tool-calls")], says("never")])

    run = Agent("a", model=model, tools=[quick]).stream("hi")
    await read_until(run, "text-delta")
    run.cancel("after_step")
    chunks = await assert_aborted(run)
    assert types(chunks)[-5:] == ["tool-call", "tool-result", "step-finish", "abort", "finish"]
    assert len(model.requests) == 1
    assert [message.role for message in await run.messages] == ["user", "assistant", "tool"]


async def test_after_the_step_changes_nothing_when_it_is_the_last() -> None:
    run = agent_of(says("a", "b")).stream("hi")
    await read_until(run, "text-delta")
    run.cancel("after_step")
    assert types(await read(run))[-1] == "finish"
    assert (run.status, await run.text) == ("success", "ab")


async def test_after_the_step_before_the_first_one_stops_at_once() -> None:
    model = ScriptedModel([says("a")])
    run = Agent("a", model=model).stream("hi")
    run.cancel("after_step")
    await assert_aborted(run)
    assert model.requests == []


async def test_after_the_step_does_not_tell_tools_to_stop() -> None:
    seen: list[bool] = []
    go = asyncio.Event()

    async def looks(ctx: ToolContext) -> None:
        await go.wait()
        seen.append(ctx.cancelled)

    run = agent_of(calls("looks"), tools=[looks]).stream("hi")
    await read_until(run, "tool-call")
    run.cancel("after_step")
    await turns()
    go.set()
    await assert_aborted(run)
    assert seen == [False]


async def test_now_after_after_step_makes_it_sooner() -> None:
    run = agent_of(calls("nap"), tools=[nap]).stream("hi")
    await read_until(run, "tool-call")
    run.cancel("after_step")
    await turns()
    run.cancel("now")
    await assert_aborted(run)


async def test_after_step_after_now_does_not_make_it_later() -> None:
    model = WatchedModel([[*text("a")[:2], HANG]])
    run = Agent("a", model=model).stream("hi")
    await read_until(run, "text-delta")
    run.cancel("now")
    run.cancel("after_step")
    await assert_aborted(run)


# -- twice, late, and from elsewhere


async def test_cancelling_twice_is_as_good_as_once() -> None:
    run = agent_of([*text("a")[:2], HANG]).stream("hi")
    await read_until(run, "text-delta")
    run.cancel()
    run.cancel()
    await turns(1)
    run.cancel()
    await assert_aborted(run)
    run.cancel()
    await assert_aborted(run)


async def test_cancelling_again_does_not_cut_short_what_a_tool_does_at_the_end() -> None:
    cleaned: list[str] = []

    async def slow_to_end() -> None:
        try:
            await nap()
        finally:
            await turns()
            cleaned.append("done")

    run = agent_of(calls("slow_to_end"), tools=[slow_to_end]).stream("hi")
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    await turns(2)
    run.cancel()
    await assert_aborted(run)
    assert cleaned == ["done"]


@pytest.mark.parametrize("mode", ["now", "after_step"])
async def test_a_run_that_is_over_is_not_cancelled(mode: Any) -> None:
    run = agent_of(says("a")).stream("hi")
    await read(run)
    run.cancel(mode)
    assert run.status == "success"
    assert of(AbortChunk, await read(run)) == []


async def test_cancelled_from_another_task_every_reader_ends() -> None:
    run = agent_of([*text("a")[:2], HANG]).stream("hi")
    readers = [spawn(read(run)) for _ in range(3)]
    waiting: list[Awaitable[Any]] = [spawn(run.result()), spawn(read(run.text_stream))]

    async def cancels() -> None:
        await read_until(run, "text-delta")
        run.cancel()

    await spawn(cancels())
    ends = await asyncio.gather(*readers)
    assert [types(end)[-2:] for end in ends] == [["abort", "finish"]] * 3
    result, pieces = await asyncio.gather(*waiting)
    assert (result.status, pieces) == ("canceled", ["a"])


async def test_awaiting_a_cancelled_run_gives_what_there_is_and_does_not_raise() -> None:
    run = agent_of(calls("quick"), [*text("par")[:2], HANG], tools=[quick]).stream("hi")
    await read_until(run, "text-delta")
    run.cancel()
    result = await run.result()
    assert (result.status, result.text, len(result.steps)) == ("canceled", "par", 1)
    assert result.usage.total_tokens == 15
    assert (await run.usage).total_tokens == 15


async def test_the_usage_of_a_step_that_was_cut_off_by_a_cancellation_counts() -> None:
    """The model had its say and was paid; only its tool did not end."""
    run = agent_of(calls("nap"), tools=[nap]).stream("hi")
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    await assert_aborted(run)
    assert (await run.usage).total_tokens == 15


# -- every ending closes the model's stream


class Dies:
    """Raises in the middle, at the place that is asked for."""

    provider = "dies"
    model_id = "m"

    def __init__(self) -> None:
        self.closed = 0

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        try:
            yield StepStartChunk(StepStartPayload(), run_id=request.run_id, from_="AGENT")
            raise TypeError("a bug in the adapter")
        finally:
            await asyncio.sleep(0)
            self.closed += 1


async def test_a_finished_run_has_closed_the_models_stream() -> None:
    model = WatchedModel([calls("quick"), says("a")])
    await Agent("a", model=model, tools=[quick]).generate("hi")
    assert (model.opened, model.closed) == (2, 2)


async def test_a_failed_run_has_closed_the_models_stream() -> None:
    model = Dies()
    assert types(await read(Agent("a", model=model).stream("hi")))[-1] == "finish"
    assert model.closed == 1


async def test_an_error_reported_in_the_stream_closes_it() -> None:
    model = WatchedModel([[*text("a"), {"type": "error", "error": ModelError("said so")}, *text("b"), finish()]])
    await read(Agent("a", model=model).stream("hi"))
    assert (model.opened, model.closed) == (1, 1)


@pytest.mark.parametrize("limits", [{"step": 0.01}, {"total": 0.01}, {"first_chunk": 0.01}])
async def test_a_run_that_took_too_long_has_closed_the_models_stream(limits: dict[str, float]) -> None:
    model = WatchedModel([[HANG]])
    await read(Agent("a", model=model, timeout=Timeout(**limits)).stream("hi"))
    assert (model.opened, model.closed) == (1, 1)


async def test_the_models_stream_is_closed_before_the_log_ends() -> None:
    """A model that takes a while to close its connection is waited for."""

    class SlowToClose(Dies):
        async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
            try:
                async for chunk in ScriptedModel([[*text("a")[:2], HANG]]).stream(request):
                    yield chunk
            finally:
                await turns(5)
                self.closed += 1

    model = SlowToClose()
    run = Agent("a", model=model).stream("hi")
    await read_until(run, "text-delta")
    run.cancel()
    async for chunk in run:
        if isinstance(chunk, AbortChunk):
            assert model.closed == 1
