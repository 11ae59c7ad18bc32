"""One model call: what is tried again, who is asked next, what takes too long, and models that keep no rule."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import pytest

from riverrun import Agent, ModelError, ModelRequest, RunError, Timeout
from riverrun.agent.step import LONGEST_WAIT, wait_before
from riverrun.chunks import (
    ChunkType,
    ErrorChunk,
    ErrorPayload,
    FinishChunk,
    FinishPayload,
    StepFinishChunk,
    StepOutput,
    StepResult,
    StepStartChunk,
    StepStartPayload,
    TextDeltaChunk,
    TextDeltaPayload,
    ToolCallChunk,
    Usage,
)
from riverrun.errors import TimeoutExceeded
from riverrun.models import ScriptedModel
from riverrun.models.parts import Part
from tests.agent.scripts import (
    HANG,
    USAGE,
    agent_of,
    assert_well_formed,
    call,
    calls,
    finish,
    of,
    read,
    reasoning,
    says,
    text,
    types,
)

FAILED = ["start", "step-start", "error", "step-finish", "finish"]


def busy(retry_after: float | None = None) -> ModelError:
    return ModelError("busy", status=429, retryable=True, retry_after=retry_after)


def error_of(chunks: Sequence[ChunkType]) -> Any:
    """What the only error chunk carries."""
    (chunk,) = of(ErrorChunk, chunks)
    return chunk.payload.error


# -- trying again


async def test_a_call_that_may_succeed_later_is_tried_again(naps: list[float]) -> None:
    model = ScriptedModel([busy(), busy(), says("a")])
    chunks = await read(Agent("a", model=model).stream("hi"))
    assert len(model.requests) == 3
    assert naps == [1, 2]
    assert types(chunks) == [
        "start",
        "step-start",
        "text-start",
        "text-delta",
        "text-end",
        "step-finish",
        "finish",
    ]


@pytest.mark.parametrize("retries", [0, 1, 4])
async def test_a_call_is_tried_again_as_often_as_asked(retries: int, naps: list[float]) -> None:
    model = ScriptedModel([busy() for _ in range(9)])
    chunks = await read(Agent("a", model=model, max_retries=retries).stream("hi"))
    assert len(model.requests) == retries + 1
    assert naps == [1, 2, 4, 8][:retries]
    assert types(chunks) == FAILED


async def test_a_run_may_ask_for_other_retries_than_its_agent(naps: list[float]) -> None:
    model = ScriptedModel([busy(), says("a")])
    with pytest.raises(RunError, match="busy"):
        await Agent("a", model=model).generate("hi", max_retries=0)
    assert naps == []


async def test_what_the_provider_asks_to_wait_is_waited(naps: list[float]) -> None:
    await agent_of(busy(7), busy(0), says("a")).generate("hi")
    assert naps == [7]


@pytest.mark.parametrize(
    ("attempt", "error", "seconds"),
    [
        (0, busy(), 1),
        (1, busy(), 2),
        (3, busy(), 8),
        (10, busy(), LONGEST_WAIT),
        (0, busy(5), 5),
        (5, busy(0.5), 0.5),
        (0, busy(3600), 3600),
        (2, None, 4),
        (2, ValueError(), 4),
    ],
)
def test_the_wait_is_what_was_asked_for_or_doubles_and_has_a_bound(
    attempt: int, error: BaseException | None, seconds: float
) -> None:
    assert wait_before(attempt, error) == seconds


@pytest.mark.parametrize(
    "error", [ModelError("no such model", status=404), ValueError("odd"), TypeError("bug"), ConnectionError("gone")]
)
async def test_what_will_not_succeed_later_is_not_tried_again(error: Exception, naps: list[float]) -> None:
    model = ScriptedModel([error, says("never")])
    chunks = await read(Agent("a", model=model).stream("hi"))
    assert types(chunks) == FAILED
    assert error_of(chunks) is error
    assert (len(model.requests), naps) == (1, [])


@pytest.mark.parametrize(
    "begun", [text("a")[:1], text("a")[:2], reasoning("r")[:1], [call("t")], [*text("a"), *text("b", id="u")[:1]]]
)
async def test_nothing_is_tried_again_once_content_was_given(begun: list[Part], naps: list[float]) -> None:
    model = ScriptedModel([[*begun, {"type": "$stream_error", "error": busy()}], says("never")])
    other = ScriptedModel([says("never")])
    chunks = await read(Agent("a", model=[model, other]).stream("hi"))
    assert (len(model.requests), len(other.requests), naps) == (1, 0, [])
    assert isinstance(error_of(chunks), ModelError)
    assert types(chunks)[-2:] == ["step-finish", "finish"]


async def test_a_call_that_broke_after_its_preamble_is_tried_again(naps: list[float]) -> None:
    preamble: list[Part] = [{"type": "stream-start", "warnings": []}]
    model = ScriptedModel([[*preamble, {"type": "$stream_error", "error": busy()}], [*preamble, *says("a")]])
    chunks = await read(Agent("a", model=model).stream("hi"))
    assert types(chunks).count("step-start") == 1
    assert_well_formed(chunks)
    assert naps == [1]


async def test_the_second_try_sends_the_same_request(naps: list[float]) -> None:
    model = ScriptedModel([busy(), says("a")])
    await Agent("a", model=model, instructions="Be brief.").generate("hi")
    assert model.requests[0] is model.requests[1]


async def test_each_step_has_retries_of_its_own(naps: list[float]) -> None:
    async def look() -> str:
        return "seen"

    model = ScriptedModel([busy(), busy(), calls("look"), busy(), busy(), says("a")])
    assert (await Agent("a", model=model, tools=[look]).generate("hi")).text == "a"
    assert naps == [1, 2, 1, 2]


async def test_what_a_failed_try_said_of_itself_is_forgotten(naps: list[float]) -> None:
    """A try that announced itself, even finished, and then broke does not speak for the one that answered."""
    meta: Part = {"type": "response-metadata", "id": "broken", "modelId": "broken-model"}
    first = [meta, finish(usage={"inputTokens": 99}), {"type": "$stream_error", "error": busy()}]
    result = await agent_of(first, says("a")).generate("hi")
    assert result.text == "a"
    assert result.response is not None
    assert result.response.model_id == "scripted"
    assert result.response.id != "broken"
    assert result.usage.input_tokens == USAGE["inputTokens"]


async def test_a_try_that_finished_before_it_broke_does_not_make_the_next_one_whole(naps: list[float]) -> None:
    chunks = await read(agent_of([finish(), {"type": "$stream_error", "error": busy()}], []).stream("hi"))
    assert types(chunks) == FAILED
    assert error_of(chunks).code == "truncated"


# -- fallback models


def model_of(name: str, *answers: Any) -> ScriptedModel:
    return ScriptedModel(answers, model_id=name, provider=f"{name}-provider")


async def test_the_next_model_is_asked_at_once_when_one_fails(naps: list[float]) -> None:
    models = [model_of("one", busy()), model_of("two", ValueError("odd")), model_of("three", says("a"))]
    result = await Agent("a", model=models).generate("hi")
    assert result.text == "a"
    assert [len(model.requests) for model in models] == [1, 1, 1]
    assert naps == []


async def test_only_the_last_model_is_tried_again(naps: list[float]) -> None:
    models = [model_of("one", busy()), model_of("two", busy(), busy(), says("a"))]
    await Agent("a", model=models).generate("hi")
    assert [len(model.requests) for model in models] == [1, 3]
    assert naps == [1, 2]


async def test_when_all_models_fail_the_last_error_is_the_runs(naps: list[float]) -> None:
    models = [model_of("one", ModelError("first")), model_of("two", ModelError("second"))]
    chunks = await read(Agent("a", model=models).stream("hi"))
    assert types(chunks) == FAILED
    assert str(error_of(chunks)) == "second"


async def test_the_model_that_answered_is_named(naps: list[float]) -> None:
    models = [model_of("one", busy()), model_of("two", says("a"))]
    chunks = await read(Agent("a", model=models).stream("hi"))
    (step,) = of(StepFinishChunk, chunks)
    assert step.payload.metadata is not None
    assert step.payload.metadata.model_metadata is not None
    named = step.payload.metadata.model_metadata
    assert (named.model_id, named.model_provider) == ("two", "two-provider")
    assert step.payload.metadata.model_id == "two"


async def test_later_steps_go_straight_to_the_model_that_answered(naps: list[float]) -> None:
    async def look() -> str:
        return "seen"

    models = [model_of("one", busy()), model_of("two", calls("look"), calls("look"), says("a"))]
    assert (await Agent("a", model=models, tools=[look]).generate("hi")).text == "a"
    assert [len(model.requests) for model in models] == [1, 3]


async def test_the_next_run_begins_with_the_first_model_again(naps: list[float]) -> None:
    models = [model_of("one", busy(), says("one")), model_of("two", says("two"))]
    agent = Agent("a", model=models)
    assert [(await agent.generate("hi")).text for _ in range(2)] == ["two", "one"]


async def test_a_fallback_after_the_preamble_begins_no_second_step(naps: list[float]) -> None:
    preamble: list[Part] = [{"type": "stream-start", "warnings": []}]
    one = model_of("one", [*preamble, {"type": "$stream_error", "error": ModelError("stalled")}])
    chunks = await read(Agent("a", model=[one, model_of("two", says("a"))]).stream("hi"))
    assert types(chunks).count("step-start") == 1
    assert_well_formed(chunks)


# -- time limits


@pytest.mark.parametrize(
    ("limits", "limit", "message"),
    [
        (Timeout(step=0.01), "step", "Model call timed out after 10ms (modelSettings.timeout.stepMs)"),
        (
            Timeout(first_chunk=0.01),
            "first_chunk",
            "Model call timed out before first content after 10ms (modelSettings.timeout.firstChunkMs)",
        ),
        (Timeout(step=0.01, first_chunk=5), "step", "Model call timed out after 10ms (modelSettings.timeout.stepMs)"),
    ],
)
async def test_a_call_that_takes_too_long_fails_and_is_not_tried_again(
    limits: Timeout, limit: str, message: str, naps: list[float]
) -> None:
    model = ScriptedModel([[HANG], says("never")])
    chunks = await read(Agent("a", model=model, timeout=limits).stream("hi"))
    assert types(chunks) == FAILED
    error = error_of(chunks)
    assert isinstance(error, TimeoutExceeded)
    assert (error.limit, error.seconds, str(error)) == (limit, 0.01, message)
    assert (len(model.requests), naps) == (1, [])


async def test_a_call_that_takes_too_long_is_left_to_the_next_model() -> None:
    models = [model_of("one", [HANG]), model_of("two", says("a"))]
    assert (await Agent("a", model=models, timeout=Timeout(first_chunk=0.01)).generate("hi")).text == "a"


async def test_the_limit_of_the_first_chunk_ends_with_the_first_chunk() -> None:
    slow = [*text("a")[:2], {"type": "$sleep", "ms": 50}, text("a")[2], finish()]
    assert (await agent_of(slow, timeout=Timeout(first_chunk=0.04)).generate("hi")).text == "a"


async def test_a_preamble_is_no_first_chunk() -> None:
    preamble = [{"type": "stream-start", "warnings": []}, {"type": "response-metadata", "id": "r"}, HANG]
    chunks = await read(agent_of(preamble, timeout=Timeout(first_chunk=0.01)).stream("hi"))
    assert error_of(chunks).limit == "first_chunk"


async def test_a_step_that_takes_too_long_after_its_first_words_keeps_them() -> None:
    chunks = await read(agent_of([*text("par")[:2], HANG], timeout=Timeout(step=0.01)).stream("hi"))
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]
    (end,) = of(StepFinishChunk, chunks)
    assert end.payload.output is not None
    assert end.payload.output.text == "par"


async def test_each_call_has_the_whole_limit_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> str:
        return "seen"

    limits: list[float | None] = []
    timeout = asyncio.timeout

    def noted(seconds: float | None) -> asyncio.Timeout:
        limits.append(seconds)
        return timeout(seconds)

    monkeypatch.setattr(asyncio, "timeout", noted)
    await agent_of(calls("look"), calls("look"), says("a"), tools=[look], timeout=Timeout(step=60)).generate("hi")
    assert limits.count(60) == 3


async def test_a_run_lays_its_limits_over_those_of_its_agent() -> None:
    agent = agent_of([HANG], timeout=Timeout(step=0.01, first_chunk=9))
    chunks = await read(agent.stream("hi", timeout=Timeout(first_chunk=5)))
    assert error_of(chunks).limit == "step"


async def test_a_timeout_of_the_models_own_is_no_limit_of_the_run(naps: list[float]) -> None:
    error = TimeoutError("read timed out")
    chunks = await read(agent_of(error, timeout=Timeout(step=60, first_chunk=60)).stream("hi"))
    assert error_of(chunks) is error


async def test_the_total_limit_bounds_waits_between_tries() -> None:
    chunks = await read(agent_of(busy(30), says("never"), timeout=Timeout(total=0.01)).stream("hi"))
    assert types(chunks) == ["start", "error", "finish"]
    assert error_of(chunks).limit == "total"


class SwallowsCancellation:
    """Takes the cancellation of a time limit for its own and goes on."""

    provider = "p"
    model_id = "m"

    def __init__(self, raises: Exception | None = None) -> None:
        self.raises = raises

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            if self.raises is not None:
                raise self.raises from None
        async for chunk in ScriptedModel([says("late")]).stream(request):
            yield chunk


async def test_a_model_that_keeps_the_first_chunk_limit_to_itself_is_stopped_all_the_same() -> None:
    agent = Agent("a", model=SwallowsCancellation(), timeout=Timeout(first_chunk=0.01))
    chunks = await read(agent.stream("hi"))
    assert types(chunks) == FAILED
    assert isinstance(error_of(chunks), TimeoutExceeded)


@pytest.mark.parametrize("raises", [None, ModelError("cut", retryable=True), ValueError("odd")])
async def test_a_model_that_keeps_the_total_limit_to_itself_is_stopped_all_the_same(raises: Exception | None) -> None:
    agent = Agent("a", model=SwallowsCancellation(raises), timeout=Timeout(total=0.01))
    chunks = await read(agent.stream("hi"))
    assert types(chunks)[-2:] == ["error", "finish"]
    assert isinstance(error_of(chunks), TimeoutExceeded)


# -- models that keep no rule


Script = Callable[[ModelRequest], AsyncGenerator[ChunkType, None]]


class Malformed:
    """A model written by hand, with whatever stream."""

    provider = "malformed"
    model_id = "m"

    def __init__(self, script: Script) -> None:
        self.script = script

    def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        return self.script(request)


def delta(request: ModelRequest, piece: str) -> ChunkType:
    return TextDeltaChunk(TextDeltaPayload("t", piece), run_id=request.run_id, from_="AGENT")


def end(request: ModelRequest, reason: str | None = "stop", tokens: int | None = 3) -> ChunkType:
    payload = FinishPayload(
        step_result=StepResult(reason=reason), output=StepOutput(usage=Usage(input_tokens=tokens, output_tokens=1))
    )
    return FinishChunk(payload, run_id=request.run_id, from_="AGENT")


async def stream_of(script: Script) -> list[ChunkType]:
    return await read(Agent("a", model=Malformed(script)).stream("hi"))


async def test_a_model_that_yields_nothing_fails_the_run() -> None:
    async def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        return
        yield

    chunks = await stream_of(script)
    assert types(chunks) == FAILED
    assert "without a finish" in str(error_of(chunks))


async def test_a_model_that_raises_before_its_stream_fails_the_run() -> None:
    def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        raise TypeError("stream() takes no such thing")

    chunks = await stream_of(script)
    assert types(chunks) == FAILED
    assert isinstance(error_of(chunks), TypeError)


async def test_a_model_that_raises_in_the_middle_keeps_what_it_said() -> None:
    async def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        yield delta(request, "par")
        raise TypeError("unsupported operand")

    chunks = await stream_of(script)
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]
    assert isinstance(error_of(chunks), TypeError)


async def test_a_model_without_a_finish_is_cut_off() -> None:
    async def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        yield delta(request, "par")

    run = Agent("a", model=Malformed(script)).stream("hi")
    with pytest.raises(RunError) as raised:
        await run.text
    assert raised.value.partial.text == "par"  # type: ignore[attr-defined]


async def test_what_comes_after_the_finish_belongs_to_the_answer() -> None:
    async def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        yield delta(request, "a")
        yield end(request)
        yield delta(request, "b")

    run = Agent("a", model=Malformed(script)).stream("hi")
    assert (await run.text, await run.finish_reason) == ("ab", "stop")
    kinds = types(await read(run))
    assert (kinds.count("finish"), kinds[-2:]) == (1, ["step-finish", "finish"])


async def test_of_two_finishes_the_usage_of_the_first_counts() -> None:
    async def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        yield delta(request, "a")
        yield end(request, "length", 3)
        yield end(request, "stop", 100)

    run = Agent("a", model=Malformed(script)).stream("hi")
    assert ((await run.usage).input_tokens, await run.finish_reason) == (3, "stop")


async def test_a_model_that_begins_twice_begins_one_step() -> None:
    async def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        for _ in range(2):
            yield StepStartChunk(StepStartPayload(request={"body": {}}), run_id=request.run_id, from_="AGENT")
        yield delta(request, "a")
        yield end(request)

    assert types(await stream_of(script)).count("step-start") == 1


async def test_an_error_chunk_with_an_object_fails_the_run_with_its_message() -> None:
    async def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        yield delta(request, "par")
        yield ErrorChunk(
            ErrorPayload(error={"code": "overloaded", "message": "try later"}), run_id=request.run_id, from_="AGENT"
        )
        yield delta(request, "never")

    run = Agent("a", model=Malformed(script)).stream("hi")
    with pytest.raises(RunError, match="try later"):
        await run.text
    assert run.partial.text == "par"
    assert error_of(await read(run)) == {"code": "overloaded", "message": "try later"}


@pytest.mark.parametrize("error", ["plain words", {"odd": 1}, None, 500])
async def test_an_error_chunk_with_anything_fails_the_run(error: Any) -> None:
    async def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        yield ErrorChunk(ErrorPayload(error=error), run_id=request.run_id, from_="AGENT")

    chunks = await stream_of(script)
    assert types(chunks) == FAILED
    assert error_of(chunks) == error


async def test_an_error_that_the_provider_reports_is_not_tried_again(naps: list[float]) -> None:
    model = ScriptedModel([[{"type": "error", "error": busy()}], says("never")])
    chunks = await read(Agent("a", model=model).stream("hi"))
    assert types(chunks) == FAILED
    assert len(model.requests) == 1


async def test_a_finish_without_members_is_a_finish() -> None:
    async def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        yield delta(request, "a")
        yield FinishChunk(FinishPayload(), run_id=request.run_id, from_="AGENT")

    run = Agent("a", model=Malformed(script)).stream("hi")
    result = await run.result()
    assert (result.status, result.text, result.finish_reason) == ("success", "a", None)
    assert result.total_usage.total_tokens == 0


async def test_a_model_that_is_cancelled_from_within_fails_the_run() -> None:
    """A library below it cancelled one of its own tasks; nobody cancelled the run."""

    async def script(request: ModelRequest) -> AsyncGenerator[ChunkType, None]:
        yield delta(request, "par")
        raise asyncio.CancelledError

    chunks = await stream_of(script)
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]


async def test_a_coroutine_function_in_place_of_a_stream_fails_the_run() -> None:
    class Wrong:
        provider = "p"
        model_id = "m"

        def stream(self, request: ModelRequest, /) -> Any:
            return [says("a")]

    chunks = await read(Agent("a", model=Wrong()).stream("hi"))
    assert types(chunks) == FAILED


async def test_two_calls_with_one_id_get_ids_of_their_own() -> None:
    async def look() -> str:
        return "seen"

    twice = [call("look", "same"), call("look", "same"), call("look", "other"), finish("tool-calls")]
    chunks = await read(agent_of(twice, says("a"), tools=[look]).stream("hi"))
    ids = [chunk.payload.tool_call_id for chunk in of(ToolCallChunk, chunks)]
    assert (ids[0], ids[2]) == ("same", "other")
    assert len(set(ids)) == 3
    assert types(chunks).count("tool-result") == 3
    assert_well_formed(chunks)
