"""The pipeline: the order of processors, what they hand on, their state, and what happens when one fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from riverrun.chunks import (
    ChunkType,
    Message,
    Step,
    SystemMessage,
    TextDeltaChunk,
    ToolResultChunk,
    Usage,
)
from riverrun.errors import ConfigError, ModelError
from riverrun.models import ScriptedModel
from riverrun.processors import (
    CachedResponse,
    Pipeline,
    Processor,
    ProcessorContext,
    StepChanges,
    StepInfo,
    TripwireError,
)
from riverrun.types import ModelRequest, Settings
from tests.processors.streams import Running, data, delta, said, text, tool_result, types, user, words

MODEL = ScriptedModel([], provider="tests", model_id="m")
STEP = Step(content=[], usage=Usage())


def hooked(name: str, function: Callable[..., Any], id: str = "hooked") -> Processor:
    """A processor with one hook, which is called without the processor itself."""

    def hook(self: Processor, *arguments: Any) -> Any:
        return function(*arguments)

    return type("Hooked", (Processor,), {name: hook, "id": id})()


def adds(word: str) -> Processor:
    """Adds a message."""
    return hooked("process_input", lambda messages, ctx: [*messages, user(word)])


def maps(change: Callable[[str], Any]) -> Processor:
    """Makes of each delta's text other texts."""

    def hook(chunk: ChunkType, ctx: ProcessorContext) -> Any:
        if not isinstance(chunk, TextDeltaChunk):
            return chunk
        changed = change(chunk.payload.text)
        return [delta(piece) for piece in changed] if isinstance(changed, list) else delta(changed)

    return hooked("process_output_stream", hook)


def later(given: object) -> Callable[..., Awaitable[object]]:
    """A hook that takes a turn of the event loop."""

    async def hook(*_: object) -> object:
        await asyncio.sleep(0)
        return given

    return hook


# -- what it is made of


def test_a_class_in_place_of_an_object_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"processors are objects: Processor\(…\), not the class"):
        Running(Processor)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"a processor is a subclass of riverrun\.processors\.Processor, not 'guard'"):
        Running("guard")  # type: ignore[arg-type]


def test_it_knows_which_hooks_there_are() -> None:
    pipeline = Running(adds("a"), maps(str)).pipeline
    assert pipeline.has("process_input")
    assert pipeline.has("process_output_stream")
    assert not pipeline.has("process_llm_response")


def test_a_processor_can_leave_out_a_hook_of_its_class() -> None:
    class Quiet(Processor):
        @property
        def hooks(self) -> frozenset[str]:
            return super().hooks - {"process_output_stream"}

        def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> None:
            return None

    assert not Running(Quiet()).pipeline.has("process_output_stream")


async def test_hooks_know_their_run_and_step() -> None:
    seen: list[ProcessorContext] = []
    running = Running(hooked("process_output_step", lambda step, ctx: seen.append(ctx)), deps={"db": 1})
    running.pipeline.begin_step(2, retry_count=1)
    await running.pipeline.process_output_step(STEP)
    ctx = seen[0]
    assert (ctx.run_id, ctx.agent_name, ctx.deps, ctx.step_number, ctx.retry_count) == (
        "run-1",
        "tested",
        {"db": 1},
        2,
        1,
    )


async def test_state_is_one_for_all_hooks_of_a_processor_and_of_its_own() -> None:
    class Counter(Processor):
        def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> None:
            ctx.state["seen"] = ctx.state.get("seen", 0) + 1

        def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
            ctx.emit("seen", ctx.state["seen"])

    counter = Counter()
    for _ in range(2):  # two runs, with the same processor twice in each
        running = Running(counter, counter)
        await running.pipeline.process_input([])
        await running.pipeline.process_output_step(STEP)
        assert [getattr(chunk, "data", None) for chunk in running.chunks] == [1, 1]


# -- messages, steps and requests


async def test_input_goes_from_one_processor_to_the_next() -> None:
    leaves_alone = hooked("process_input", lambda messages, ctx: None)
    pipeline = Running(adds("b"), leaves_alone, hooked("process_input", later([user("c")])), adds("d")).pipeline
    assert words(await pipeline.process_input([user("a")])) == ["c", "d"]


async def test_the_result_goes_from_one_processor_to_the_next() -> None:
    doubles = hooked("process_output_result", lambda messages, ctx: [*messages, *messages])
    assert words(await Running(doubles, doubles).pipeline.process_output_result([user("a")])) == ["a"] * 4


async def test_messages_that_are_none_are_refused_with_the_name_of_the_processor() -> None:
    pipeline = Running(hooked("process_input", lambda messages, ctx: "Hi", id="in-bad")).pipeline
    with pytest.raises(ConfigError, match="process_input of processor 'in-bad' must give a list of messages"):
        await pipeline.process_input([])


def step_info() -> StepInfo:
    return StepInfo(number=0, steps=(), messages=[user("a")], model=MODEL, run_id="run-1", instructions=["Be kind."])


async def test_changes_of_a_step_are_laid_over_one_another_and_seen_by_the_next() -> None:
    seen: list[StepInfo] = []
    other = ScriptedModel([], model_id="other")
    first = StepChanges(
        messages=[user("b")],
        model=other,
        instructions="Be brief.",
        tool_choice="none",
        active_tools=["look"],
        settings=Settings(temperature=0.1, seed=1),
        provider_options={"openai": {"user": "u", "store": True}},
    )
    second = StepChanges(settings=Settings(seed=2), provider_options={"openai": {"store": False}}, model="openai/x")
    pipeline = Running(
        hooked("process_input_step", lambda step, ctx: first),
        hooked("process_input_step", lambda step, ctx: seen.append(step)),
        hooked("process_input_step", later(second)),
        hooked("process_input_step", lambda step, ctx: seen.append(step)),
    ).pipeline
    changes = await pipeline.process_input_step(step_info())
    assert seen[0].model is other
    assert (seen[0].instructions, seen[0].tool_choice, seen[0].active_tools) == (["Be brief."], "none", ["look"])
    assert words(seen[0].messages) == ["b"]
    assert seen[1].settings == Settings(temperature=0.1, seed=2)
    assert seen[1].model is other, "a model that is given by name is not known yet"
    assert changes.settings == Settings(temperature=0.1, seed=2)
    assert changes.provider_options == {"openai": {"user": "u", "store": False}}
    assert (changes.model, changes.instructions, changes.active_tools) == ("openai/x", "Be brief.", ["look"])


async def test_a_step_that_nobody_changes_has_no_changes() -> None:
    pipeline = Running(hooked("process_input_step", lambda step, ctx: None)).pipeline
    assert await pipeline.process_input_step(step_info()) == StepChanges()


async def test_changes_of_a_step_must_be_step_changes_with_messages() -> None:
    pipeline = Running(hooked("process_input_step", lambda step, ctx: {"model": "x"})).pipeline
    with pytest.raises(ConfigError, match="process_input_step of processor 'hooked' must give StepChanges or None"):
        await pipeline.process_input_step(step_info())
    pipeline = Running(hooked("process_input_step", lambda step, ctx: StepChanges(messages="Hi"))).pipeline
    with pytest.raises(ConfigError, match="must give a list of messages"):
        await pipeline.process_input_step(step_info())


REQUEST = ModelRequest(messages=[SystemMessage(content="Be kind."), user("a")], run_id="run-1")


async def test_a_request_goes_from_one_processor_to_the_next_which_know_the_model() -> None:
    def hot(request: ModelRequest, ctx: ProcessorContext) -> ModelRequest:
        assert ctx.model is MODEL
        return ModelRequest(messages=[*request.messages, user("b")], run_id="run-1")

    leaves_alone = hooked("process_llm_request", lambda request, ctx: None)
    pipeline = Running(hooked("process_llm_request", hot), leaves_alone, hooked("process_llm_request", hot)).pipeline
    request = await pipeline.process_llm_request(REQUEST, model=MODEL)
    assert isinstance(request, ModelRequest)
    assert words(request.messages) == ["a", "b", "b"]


async def test_an_answer_that_is_known_makes_the_other_processors_needless() -> None:
    def never(*_: object) -> None:
        raise AssertionError("asked although the answer is known")

    cached = CachedResponse([delta("known")])
    pipeline = Running(
        hooked("process_llm_request", lambda request, ctx: cached), hooked("process_llm_request", never)
    ).pipeline
    assert await pipeline.process_llm_request(REQUEST, model=MODEL) is cached


async def test_whole_answers_are_shown_to_all() -> None:
    shown: list[Sequence[ChunkType]] = []
    shows = hooked("process_llm_response", lambda chunks, ctx: shown.append(chunks))
    chunks = text("a")
    await Running(shows, shows).pipeline.process_llm_response(chunks)
    assert shown == [chunks, chunks]


async def test_a_tool_result_goes_from_one_processor_to_the_next() -> None:
    adds_one = hooked("process_tool_result", lambda chunk, ctx: tool_result(chunk.payload.result + 1))
    leaves_alone = hooked("process_tool_result", lambda chunk, ctx: None)
    result = await Running(adds_one, leaves_alone, adds_one).pipeline.process_tool_result(tool_result(1))
    assert isinstance(result, ToolResultChunk)
    assert result.payload.result == 3


async def test_the_first_processor_that_wants_another_try_decides() -> None:
    asked: list[str] = []

    def wants(name: str, again: bool) -> Processor:
        def hook(error: Exception, ctx: ProcessorContext) -> bool:
            asked.append(name)
            return again

        return hooked("process_api_error", hook)

    pipeline = Running(wants("a", False), wants("b", True), wants("c", True)).pipeline
    assert await pipeline.process_api_error(ModelError("bad")) is True
    assert asked == ["a", "b"]
    assert await Running(wants("a", False)).pipeline.process_api_error(ModelError("bad")) is False


# -- the stream


async def test_a_chunk_that_nobody_changes_passes_as_it_is() -> None:
    chunk = delta("a")
    leaves_alone = hooked("process_output_stream", lambda chunk, ctx: chunk)
    chunks = await Running(leaves_alone, leaves_alone).stream([chunk])
    assert len(chunks) == 1
    assert chunks[0] is chunk


async def test_several_chunks_in_place_of_one_each_pass_through_the_later_processors() -> None:
    running = Running(maps(list), maps(str.upper), maps(lambda letter: [letter, "!"]))
    assert said(await running.stream([delta("ab"), data("x"), delta("c")])) == "A!B!C!"
    assert types(running.chunks) == ["text-delta"] * 4 + ["data-x"] + ["text-delta"] * 2


@pytest.mark.parametrize("nothing", [None, [], ()])
async def test_a_chunk_that_is_dropped_does_not_reach_the_later_processors(nothing: object) -> None:
    seen: list[ChunkType] = []
    drops = hooked("process_output_stream", lambda chunk, ctx: nothing)
    watches = hooked("process_output_stream", lambda chunk, ctx: seen.append(chunk) or chunk)
    assert await Running(drops, watches).stream([delta("a")]) == []
    assert seen == []


async def test_coroutine_functions_stand_in_the_stream_like_plain_ones() -> None:
    running = Running(maps(str.upper), hooked("process_output_stream", later([delta("x"), delta("y")])), maps(list))
    assert said(await running.stream([delta("a")])) == "xy"


async def test_what_is_emitted_stands_before_the_chunk_in_hand() -> None:
    def emits(chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
        ctx.emit("seen", chunk.type)
        return chunk

    running = Running(maps(list), hooked("process_output_stream", emits))
    await running.stream([delta("ab")])
    assert types(running.chunks) == ["data-seen", "text-delta", "data-seen", "text-delta"]


async def test_what_was_given_before_a_tripwire_in_the_same_batch_is_not_lost() -> None:
    def trips(chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
        if said([chunk]) == "b":
            ctx.abort("b")
        return chunk

    running = Running(maps(list), hooked("process_output_stream", trips))
    with pytest.raises(TripwireError):
        await running.stream([delta("abc")])
    assert said(running.chunks) == "a"


class Holds(Processor):
    """Holds everything back until the end."""

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> None:
        ctx.state.setdefault("held", []).append(chunk)

    def process_output_stream_end(self, ctx: ProcessorContext) -> Sequence[ChunkType]:
        held: Sequence[ChunkType] = ctx.state.pop("held", [])
        return held


async def test_what_was_held_back_passes_through_the_later_processors_only() -> None:
    running = Running(maps(lambda letter: letter + "."), Holds(), maps(str.upper), Holds())
    await running.stream([delta("a"), delta("b")], end=False)
    assert running.chunks == []
    assert said(await running.stream([])) == "A.B."


async def test_a_processor_with_an_end_and_no_stream_stands_in_its_place() -> None:
    closes = hooked("process_output_stream_end", lambda ctx: [delta("z")])
    running = Running(maps(str.upper), closes, maps(lambda letter: letter + "."))
    assert said(await running.stream([delta("a")])) == "A.z."


async def test_ten_processors_that_look_on_make_no_task() -> None:
    looks_on = hooked("process_output_stream", lambda chunk, ctx: chunk)
    running = Running(*[looks_on] * 10)
    passing = running.pipeline.process_output_stream(delta("a"), running.chunks.append)
    with pytest.raises(StopIteration):  # done at once: nothing was waited for
        passing.send(None)
    assert said(running.chunks) == "a"


# -- failures


async def test_a_fault_in_the_stream_is_logged_once_and_the_chunks_pass(caplog: pytest.LogCaptureFixture) -> None:
    def fails(chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
        raise ValueError("bug")

    running = Running(hooked("process_output_stream", fails, id="g"), maps(str.upper))
    with caplog.at_level(logging.ERROR, logger="riverrun"):
        assert said(await running.stream([delta("a"), delta("b")])) == "AB"
    assert len(caplog.records) == 1
    assert "processor 'g' failed in process_output_stream" in caplog.text
    assert "ValueError: bug" in caplog.text


async def test_each_faulty_processor_is_reported_and_anew_in_each_run(caplog: pytest.LogCaptureFixture) -> None:
    gives_text = hooked("process_output_stream", lambda chunk, ctx: "text")
    gives_texts = hooked("process_output_stream", later([delta("x"), "text"]))
    with caplog.at_level(logging.ERROR, logger="riverrun"):
        for _ in range(2):
            assert said(await Running(gives_text, gives_texts).stream([delta("a"), delta("b")])) == "ab"
    assert len(caplog.records) == 4
    assert "must give chunks or None, not str" in caplog.text


@pytest.mark.parametrize(
    ("hook", "ask"),
    [
        ("process_input", lambda pipeline: pipeline.process_input([])),
        ("process_input_step", lambda pipeline: pipeline.process_input_step(step_info())),
        ("process_llm_request", lambda pipeline: pipeline.process_llm_request(REQUEST, model=MODEL)),
        ("process_llm_response", lambda pipeline: pipeline.process_llm_response([])),
        ("process_output_stream_end", lambda pipeline: pipeline.process_output_stream_end(print)),
        ("process_output_step", lambda pipeline: pipeline.process_output_step(STEP)),
        ("process_tool_result", lambda pipeline: pipeline.process_tool_result(tool_result(1))),
        ("process_output_result", lambda pipeline: pipeline.process_output_result([])),
        ("process_api_error", lambda pipeline: pipeline.process_api_error(ModelError("bad"))),
    ],
)
async def test_a_fault_in_any_other_hook_is_raised_with_a_note_of_where(
    hook: str, ask: Callable[[Pipeline], Awaitable[object]]
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("processor bug")

    with pytest.raises(ValueError, match="processor bug") as caught:
        await ask(Running(hooked(hook, fails, id="in-bad")).pipeline)
    assert caught.value.__notes__ == [f"raised in {hook} of processor 'in-bad'"]


async def test_a_tripwire_passes_through_every_hook_as_it_is() -> None:
    def trips(*arguments: Any) -> None:
        arguments[-1].abort("no")

    async def trips_later(*arguments: Any) -> None:
        await asyncio.sleep(0)
        arguments[-1].abort("later")

    for hook in ("process_input", "process_output_stream"):
        for function, reason in ((trips, "no"), (trips_later, "later")):
            pipeline = Running(hooked(hook, function)).pipeline
            asked = (
                pipeline.process_input([])
                if hook == "process_input"
                else pipeline.process_output_stream(delta("a"), print)
            )
            with pytest.raises(TripwireError, match=f"^{reason}$") as caught:
                await asked
            assert not hasattr(caught.value, "__notes__")


async def test_a_cancellation_in_the_stream_is_no_fault() -> None:
    def cancelled(*_: object) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await Running(hooked("process_output_stream", cancelled)).stream([delta("a")])


async def test_openai_agents_python_991_no_tool_starts_when_a_slow_input_guardrail_trips() -> None:
    """The input is through when every guardrail has spoken, however long it takes, and not before."""
    tool_runs = 0
    spoken = asyncio.Event()

    async def slow(messages: Sequence[Message], ctx: ProcessorContext) -> None:
        await spoken.wait()
        ctx.abort("forbidden")

    async def run() -> None:
        nonlocal tool_runs
        await Running(hooked("process_input", slow)).pipeline.process_input([user("delete everything")])
        tool_runs += 1

    running = asyncio.ensure_future(run())
    await asyncio.sleep(0)
    assert not running.done()
    spoken.set()
    with pytest.raises(TripwireError, match="forbidden"):
        await running
    assert tool_runs == 0


async def test_openai_agents_python_991_a_step_that_trips_before_its_tools_is_known_to_do_so() -> None:
    calls = Step(content=[], usage=Usage(), finish_reason="tool-calls")
    guard = hooked("process_output_step", lambda step, ctx: ctx.abort("no tools"))
    with pytest.raises(TripwireError, match="no tools"):
        await Running(guard).pipeline.process_output_step(calls)
