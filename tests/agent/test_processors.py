"""Processors in runs: what they stop and what they change, for readers, prompts, tools and the memory."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from riverrun import Agent, ConfigError, Memory, ModelError, RunError, StructuredOutput, ToolContext
from riverrun.chunks import (
    AssistantMessage,
    ChunkType,
    DataChunk,
    ErrorChunk,
    Message,
    ObjectChunk,
    ObjectResultChunk,
    Step,
    StepFinishChunk,
    SystemMessage,
    TextDeltaChunk,
    TextPart,
    ToolErrorChunk,
    ToolMessage,
    ToolOutput,
    ToolResultChunk,
    ToolResultPart,
    TripwireChunk,
    UserMessage,
)
from riverrun.models import ScriptedModel
from riverrun.processors import (
    Processor,
    ProcessorContext,
    RegexFilter,
    ResponseCache,
    Rule,
    StepChanges,
    StepInfo,
    StreamErrorRetry,
)
from riverrun.processors.processor import HOOKS
from tests.agent.scripts import (
    HANG,
    WatchedModel,
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
BROKEN = ModelError("the provider is down")


class Stops(Processor):
    """Stops the run in one of its hooks; in `process_output_stream` at the first chunk of type `at`."""

    def __init__(self, hook: str, *, at: str | None = None, retry: bool = False) -> None:
        super().__init__(id="guard")
        self.asked = 0
        self._hooks = frozenset({hook})
        self._at = at
        self._retry = retry

    @property
    def hooks(self) -> frozenset[str]:
        return self._hooks

    def _stop(self, *arguments: Any) -> None:
        ctx: ProcessorContext = arguments[-1]
        self.asked += 1
        ctx.abort("not with me", retry=self._retry, metadata={"score": 1})

    process_input = process_input_step = process_llm_request = process_llm_response = _stop  # type: ignore[assignment]
    process_output_stream_end = process_output_step = process_tool_result = _stop  # type: ignore[assignment]
    process_tool_error = process_output_result = process_api_error = _stop  # type: ignore[assignment]

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
        if self._at in (None, chunk.type):
            self._stop(ctx)
        return chunk


class Notebook:
    """A tool that notes that it ran."""

    def __init__(self) -> None:
        self.runs = 0

    async def look(self) -> str:
        self.runs += 1
        return "seen"


def user(words: str) -> UserMessage:
    return UserMessage([TextPart(words)])


def texts(messages: Sequence[Message]) -> list[str]:
    """What is said in messages, part by part."""
    said: list[str] = []
    for message in messages:
        parts = [TextPart(message.content)] if isinstance(message, SystemMessage) else message.content  # type: ignore[union-attr]
        said += [part.text for part in parts if isinstance(part, TextPart)]
    return said


async def kept(agent: Agent) -> list[Message]:
    """What the thread holds."""
    return [stored.message for stored in (await agent.store.messages("t1")).items]


# -- a tripwire ends the run


ANSWER = ["text-start", "text-delta", "text-end"]
ENDINGS: dict[str, tuple[list[str], int]] = {
    "process_input": ([], 0),
    "process_input_step": (["start"], 0),
    "process_llm_request": (["start"], 0),
    "process_llm_response": (["start", "step-start", *ANSWER, "tool-call"], 1),
    "process_output_stream": (["start", "step-start"], 1),
    "process_output_stream_end": (["start", "step-start", *ANSWER, "tool-call"], 1),
    "process_output_step": (["start", "step-start", *ANSWER, "tool-call", "step-finish"], 1),
}
"""For each hook that comes before a step's tools: what was streamed when it stops the run, and how often the model was
asked."""


@pytest.mark.parametrize("hook", ENDINGS)
async def test_nothing_runs_and_nothing_is_kept_after_a_tripwire(hook: str) -> None:
    model = ScriptedModel([[*text("I look"), *calls("look")], says("done")])
    notebook = Notebook()
    agent = Agent("a", model=model, tools=[notebook.look], processors=[Stops(hook)], memory=Memory())
    run = agent.stream("hi", run_id="r1", **THREAD)
    chunks = await read(run)
    streamed, asked = ENDINGS[hook]
    assert types(chunks) == [*streamed, "tripwire"]
    assert_well_formed(chunks)
    assert (len(model.requests), notebook.runs) == (asked, 0)
    assert await agent.store.get_thread("t1") is None
    assert (run.status, await run.finish_reason, await run.object) == ("tripwire", "other", None)


async def test_a_tripwire_says_whose_it_is_and_why() -> None:
    run = Agent("a", model=ScriptedModel([]), processors=[Stops("process_input", retry=True)]).stream("hi", run_id="r1")
    (chunk,) = of(TripwireChunk, await read(run))
    assert (chunk.run_id, chunk.from_) == ("r1", "AGENT")
    assert run.tripwire is chunk.payload
    assert (chunk.payload.reason, chunk.payload.processor_id) == ("not with me", "guard")
    assert (chunk.payload.retry, chunk.payload.metadata) == (True, {"score": 1})


async def test_a_refused_step_is_told_before_the_tripwire() -> None:
    run = Agent("a", model=ScriptedModel([says("rude")]), processors=[Stops("process_output_step")]).stream("hi")
    chunks = await read(run)
    (finished,) = of(StepFinishChunk, chunks)
    assert finished.payload.step_result is not None
    assert (finished.payload.step_result.reason, finished.payload.step_result.is_continued) == ("tripwire", False)
    assert types(chunks)[-2:] == ["step-finish", "tripwire"]
    (step,) = await run.steps
    assert step.tripwire is not None
    assert step.tripwire["reason"] == "not with me"


async def test_a_refused_tool_result_is_not_told() -> None:
    model = ScriptedModel([calls("look"), says("done")])
    agent = Agent("a", model=model, tools=[Notebook().look], processors=[Stops("process_tool_result")], memory=Memory())
    chunks = await read(agent.stream("hi", **THREAD))
    assert types(chunks) == ["start", "step-start", "tool-call", "tripwire"]
    assert_well_formed(chunks)
    assert len(model.requests) == 1
    assert await agent.store.get_thread("t1") is None


async def test_a_result_as_a_whole_may_be_refused_at_the_end() -> None:
    agent = Agent("a", model=ScriptedModel([says("x")]), processors=[Stops("process_output_result")], memory=Memory())
    chunks = await read(agent.stream("hi", **THREAD))
    assert types(chunks) == ["start", "step-start", *ANSWER, "step-finish", "tripwire"]
    assert_well_formed(chunks)
    assert await agent.store.get_thread("t1") is None


async def test_a_failure_of_the_model_may_be_a_tripwire() -> None:
    agent = Agent("a", model=ScriptedModel([BROKEN]), processors=[Stops("process_api_error")], memory=Memory())
    chunks = await read(agent.stream("hi", **THREAD))
    assert types(chunks) == ["start", "step-start", "tripwire"]
    assert_well_formed(chunks)
    assert await agent.store.get_thread("t1") is None


def test_every_hook_is_among_these() -> None:
    others = {"process_tool_result", "process_tool_error", "process_output_result", "process_api_error"}
    assert {*ENDINGS, *others} == {*HOOKS}


async def test_text_that_came_before_the_tripwire_stays_with_its_readers() -> None:
    model = WatchedModel([[*text("good "), HANG]])
    run = Agent("a", model=model, processors=[Stops("process_output_stream", at="text-end")]).stream("hi")
    assert await run.text == "good "
    assert (model.opened, model.closed) == (1, 1)


async def test_a_tripwire_of_a_later_step_keeps_nothing_of_the_earlier_ones() -> None:
    guard = Stops("process_output_stream", at="text-delta")
    model = ScriptedModel([calls("look"), says("rude")])
    agent = Agent("a", model=model, tools=[Notebook().look], processors=[guard], memory=Memory())
    run = agent.stream("hi", **THREAD)
    assert types(await read(run))[-1] == "tripwire"
    assert len(await run.steps) == 1
    assert await agent.store.get_thread("t1") is None


async def test_a_resumed_run_may_trip_and_is_over_then() -> None:
    async def ask(ctx: ToolContext[Any]) -> str:
        return str(await ctx.suspend("which?"))

    model = ScriptedModel([calls("ask"), says("rude")])
    agent = Agent("a", model=model, tools=[ask])
    await agent.generate("hi", run_id="r1")
    run = await agent.resume_stream("this", run_id="r1", processors=[Stops("process_output_stream", at="text-delta")])
    assert types(await read(run))[-1] == "tripwire"
    assert (await agent.list_suspended_runs()).total == 0


# -- while tools run


class Refuses(Processor):
    """Does not let through what tools write, or results that hold `word`."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word = word

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
        if chunk.type == "tool-output" and self._word in str(chunk.payload.output):  # type: ignore[union-attr]
            ctx.abort("a secret")
        return chunk


async def test_what_a_tool_writes_may_stop_the_run() -> None:
    async def leak(ctx: ToolContext[Any]) -> str:
        await ctx.write("the password")
        return "done"

    model = ScriptedModel([calls("leak"), says("done")])
    chunks = await read(Agent("a", model=model, tools=[leak], processors=[Refuses("password")]).stream("hi"))
    assert types(chunks) == ["start", "step-start", "tool-call", "tripwire"]
    assert len(model.requests) == 1


async def test_a_tool_cannot_keep_a_tripwire_to_itself() -> None:
    after: list[str] = []

    async def leak(ctx: ToolContext[Any]) -> str:
        try:
            await ctx.write("the password")
        except Exception:
            after.append("caught")
        await ctx.write("harmless")
        after.append("written")
        return "done"

    model = ScriptedModel([calls("leak"), says("done")])
    chunks = await read(Agent("a", model=model, tools=[leak], processors=[Refuses("password")]).stream("hi"))
    assert types(chunks) == ["start", "step-start", "tool-call", "tripwire"]
    assert after == ["caught"]
    assert len(model.requests) == 1


async def test_a_plain_function_may_stop_the_run_too() -> None:
    def leak(ctx: ToolContext[Any]) -> str:
        ctx.write_sync("the password")
        return "done"

    async def leak_later(ctx: ToolContext[Any]) -> str:
        ctx.write_sync("the password")
        return "done"

    for name in ("leak", "leak_later"):
        model = ScriptedModel([calls(name), says("done")])
        agent = Agent("a", model=model, tools=[leak, leak_later], processors=[Refuses("password")])
        assert types(await read(agent.stream("hi"))) == ["start", "step-start", "tool-call", "tripwire"]


async def test_tools_beside_a_tripwire_are_cancelled_and_those_behind_it_do_not_start() -> None:
    log: list[str] = []

    async def leak(ctx: ToolContext[Any]) -> str:
        await turns()
        await ctx.write("the password")
        return "done"

    async def work() -> str:
        log.append("began")
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            log.append("cancelled")
            raise
        return "never"

    async def later() -> str:
        log.append("later")
        return "never"

    model = ScriptedModel([calls("leak", "work", "later"), says("done")])
    agent = Agent("a", model=model, tools=[leak, work, later], processors=[Refuses("password")], tool_concurrency=2)
    chunks = await read(agent.stream("hi"))
    assert types(chunks)[-1] == "tripwire"
    assert log == ["began", "cancelled"]
    assert len(model.requests) == 1


async def test_a_tripwire_of_an_agent_with_a_task_is_a_failure_of_the_task() -> None:
    guarded = Agent("inner", model=ScriptedModel([says("rude")]), processors=[Stops("process_output_step")])
    model = ScriptedModel([[call("agent-inner", args='{"prompt": "ask"}'), finish("tool-calls")], says("done")])
    run = Agent("a", model=model, tools=[guarded]).stream("hi")
    (error,) = of(ToolErrorChunk, await read(run))
    assert str(error.payload.error) == "stopped: not with me"
    assert await run.text == "done"


async def test_what_an_agent_with_a_task_says_may_stop_the_outer_run() -> None:
    inner = Agent("inner", model=WatchedModel([[*text("the password"), HANG]]))
    model = ScriptedModel([[call("agent-inner", args='{"prompt": "ask"}'), finish("tool-calls")], says("done")])
    run = Agent("a", model=model, tools=[inner], processors=[Refuses("password")]).stream("hi")
    assert types(await read(run))[-1] == "tripwire"
    (inner_model,) = inner.models
    assert isinstance(inner_model, WatchedModel)
    assert (inner_model.opened, inner_model.closed, len(model.requests)) == (1, 1, 1)


# -- a step may be taken again


def step_reasons(chunks: Sequence[ChunkType]) -> list[str | None]:
    return [chunk.payload.step_result.reason for chunk in of(StepFinishChunk, chunks) if chunk.payload.step_result]


class Wants(Processor):
    """Refuses answers without `word`, and asks for another try."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word = word

    def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
        if self._word not in step.text:
            ctx.abort(f"say {self._word}", retry=True, metadata={"try": ctx.retry_count})


async def test_a_refused_step_is_taken_again_with_feedback() -> None:
    model = ScriptedModel([says("no"), says("please")])
    agent = Agent("a", model=model, processors=[Wants("please")], max_processor_retries=1, memory=Memory())
    run = agent.stream("hi", **THREAD)
    chunks = await read(run)
    assert types(chunks) == ["start", *["step-start", *ANSWER, "step-finish"] * 2, "finish"]
    assert_well_formed(chunks)
    refused = of(StepFinishChunk, chunks)[0].payload.step_result
    assert refused is not None
    assert (refused.reason, refused.is_continued, refused.retry_reason) == ("retry", True, "say please")
    assert (refused.retry_processor_id, refused.retry_metadata) == ("wants", {"try": 0})
    assert "say please" in texts(model.requests[1].messages)[0]
    assert texts(model.requests[1].messages)[1:] == ["hi"]
    assert (await run.text, (await run.usage).output_tokens) == ("please", 10)
    assert texts(await kept(agent)) == ["hi", "please"]
    assert texts(await run.messages) == ["hi", "please"]


async def test_the_feedback_is_for_one_step() -> None:
    model = ScriptedModel([says("no"), [*text("please"), *calls("look")], says("please")])
    agent = Agent("a", model=model, tools=[Notebook().look], processors=[Wants("please")], max_processor_retries=1)
    await agent.generate("hi")
    assert [isinstance(request.messages[0], SystemMessage) for request in model.requests] == [False, True, False]


async def test_tries_end_with_the_budget() -> None:
    model = ScriptedModel([says("no"), says("never"), says("please")])
    run = Agent("a", model=model, processors=[Wants("please")], max_processor_retries=1).stream("hi")
    chunks = await read(run)
    assert step_reasons(chunks) == ["retry", "tripwire"]
    assert types(chunks)[-2:] == ["step-finish", "tripwire"]
    assert_well_formed(chunks)
    assert len(model.requests) == 2


async def test_without_a_budget_there_is_no_second_try() -> None:
    model = ScriptedModel([says("no"), says("please")])
    chunks = await read(Agent("a", model=model, processors=[Wants("please")]).stream("hi"))
    assert step_reasons(chunks) == ["tripwire"]
    assert of(TripwireChunk, chunks)[0].payload.retry is True
    assert len(model.requests) == 1


async def test_a_run_may_have_a_budget_of_its_own() -> None:
    model = ScriptedModel([says("no"), says("please")])
    agent = Agent("a", model=model, processors=[Wants("please")])
    assert (await agent.generate("hi", max_processor_retries=1)).text == "please"


async def test_the_tools_of_a_refused_step_do_not_run() -> None:
    notebook = Notebook()
    model = ScriptedModel([[*text("no"), *calls("look")], says("please")])
    agent = Agent("a", model=model, tools=[notebook.look], processors=[Wants("please")], max_processor_retries=1)
    assert (await agent.generate("hi")).text == "please"
    assert notebook.runs == 0


@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook not in ("process_output_step", "process_api_error")])
async def test_only_a_whole_answer_is_tried_again(hook: str) -> None:
    async def fail() -> str:
        raise ValueError("no")

    guard = Stops(hook, retry=True)
    look = fail if hook == "process_tool_error" else Notebook().look
    model = ScriptedModel([calls(look.__name__), says("done"), says("more")])
    agent = Agent("a", model=model, tools=[look], processors=[guard], max_processor_retries=3)
    assert types(await read(agent.stream("hi")))[-1] == "tripwire"
    assert guard.asked == 1


async def test_an_object_of_a_refused_answer_is_none() -> None:
    class Judge(Processor):
        def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
            if "17" in step.text:
                ctx.abort("too young", retry=True)

    model = ScriptedModel([says('{"age": 17}'), says('{"age": 36}')])
    output = StructuredOutput(dict[str, int])
    run = Agent("a", model=model, output=output, processors=[Judge()], max_processor_retries=1).stream("hi")
    assert [chunk.object for chunk in of(ObjectResultChunk, await read(run))] == [{"age": 36}]
    assert await run.object == {"age": 36}


async def test_a_run_that_was_stopped_has_no_object() -> None:
    model = ScriptedModel([says('{"age": 17}')])
    agent = Agent("a", model=model, output=dict[str, int], processors=[Stops("process_output_step")])
    run = agent.stream("hi")
    assert of(ObjectResultChunk, await read(run)) == []
    assert await run.object is None


async def test_an_object_that_is_refused_with_the_result_as_a_whole_is_none() -> None:
    model = ScriptedModel([says('{"age": 17}')])
    run = Agent("a", model=model, output=dict[str, int], processors=[Stops("process_output_result")]).stream("hi")
    assert await run.object is None
    assert (await run.result()).object is None


# -- failures of the model


class Asks(Processor):
    """Asks for the failed call again, as often as it can."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[Exception] = []

    def process_api_error(self, error: Exception, ctx: ProcessorContext) -> bool:
        self.errors.append(error)
        return True


async def test_a_failed_call_may_be_made_again() -> None:
    asks = Asks()
    run = Agent("a", model=ScriptedModel([BROKEN, says("hello")]), processors=[asks]).stream("hi")
    chunks = await read(run)
    assert types(chunks) == ["start", "step-start", "step-finish", "step-start", *ANSWER, "step-finish", "finish"]
    assert_well_formed(chunks)
    assert step_reasons(chunks) == ["retry", "stop"]
    assert (asks.errors, await run.text, run.status) == ([BROKEN], "hello", "success")


async def test_what_was_said_before_a_failure_does_not_count_twice() -> None:
    broken: list[Any] = [*text("Hel")[:2], {"type": "$stream_error", "error": BROKEN}]
    agent = Agent("a", model=ScriptedModel([broken, says("Hello")]), processors=[Asks()], memory=Memory())
    run = agent.stream("hi", **THREAD)
    assert await run.text == "Hello"
    assert texts(await kept(agent)) == ["hi", "Hello"]


@pytest.mark.parametrize(("budget", "tries"), [(None, 11), (2, 3), (0, 1)])
async def test_a_failed_call_is_made_again_within_the_budget(budget: int | None, tries: int) -> None:
    model = ScriptedModel([BROKEN] * 12)
    run = Agent("a", model=model, processors=[Asks()], max_processor_retries=budget).stream("hi")
    assert types(await read(run))[-3:] == ["error", "step-finish", "finish"]
    assert (run.status, len(model.requests)) == ("failed", tries)


async def test_a_processor_that_retries_streams_comes_with_riverrun(naps: list[float]) -> None:
    cut_off = [*text("Hel")[:2]]
    agent = Agent("a", model=ScriptedModel([cut_off, says("Hello")]), processors=[StreamErrorRetry()])
    assert (await agent.generate("hi")).text == "Hello"


# -- hooks that fail


@pytest.mark.parametrize(
    "hook",
    ["process_input", "process_input_step", "process_output_step", "process_tool_result", "process_output_result"],
)
async def test_a_hook_that_raises_fails_the_run(hook: str) -> None:
    class Faulty(Stops):
        def _stop(self, *arguments: Any) -> None:
            raise ValueError("a bug of mine")

        process_input = process_input_step = process_output_step = process_tool_result = _stop
        process_output_result = _stop

    model = ScriptedModel([calls("look"), says("done")])
    run = Agent("a", model=model, tools=[Notebook().look], processors=[Faulty(hook)]).stream("hi")
    chunks = await read(run)
    (error,) = of(ErrorChunk, chunks)
    assert error.payload.error.__notes__ == [f"raised in {hook} of processor 'guard'"]
    assert types(chunks)[-2:] == ["error", "finish"]
    assert_well_formed(chunks)
    with pytest.raises(RunError, match="a bug of mine"):
        await run.text


async def test_a_hook_of_the_stream_that_raises_is_logged_and_the_stream_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Faulty(Processor):
        def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
            raise ValueError("a bug of mine")

    with caplog.at_level(logging.ERROR, "riverrun"):
        result = await Agent("a", model=ScriptedModel([says("a", "b")]), processors=[Faulty()]).generate("hi")
    assert result.text == "ab"
    assert [record.message.split(";")[0] for record in caplog.records] == [
        "processor 'faulty' failed in process_output_stream"
    ]


async def test_what_is_no_processor_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="processors"):
        Agent("a", model=ScriptedModel([]), processors=["guard"])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="processors"):
        Agent("a", model=ScriptedModel([])).stream("hi", processors=[Stops])  # type: ignore[list-item]


# -- what they change


async def test_messages_of_the_input_reach_the_prompt_and_the_memory_as_they_were_changed() -> None:
    class Masks(Processor):
        def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message]:
            return [user("my card is ***") if message == user("my card is 4711") else message for message in messages]

    model = ScriptedModel([says("ok"), says("ok again")])
    agent = Agent("a", model=model, processors=[Masks()], memory=Memory())
    run = agent.stream("my card is 4711", **THREAD)
    assert texts(await run.messages) == ["my card is ***", "ok"]
    assert texts(model.requests[0].messages) == ["my card is ***"]
    assert texts(await kept(agent)) == ["my card is ***", "ok"]


async def test_what_is_changed_of_the_history_is_not_said_again() -> None:
    class Shouts(Processor):
        def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message]:
            return [_shouted(message) for message in messages]

    model = ScriptedModel([says("one"), says("two")])
    agent = Agent("a", model=model, processors=[Shouts()], memory=Memory())
    await agent.generate("a", **THREAD)
    result = await agent.generate("b", **THREAD)
    assert texts(model.requests[1].messages) == ["A", "ONE", "B"]
    assert texts(result.messages) == ["B", "two"]
    assert texts(await kept(agent)) == ["A", "one", "B", "two"]


def _shouted(message: Message) -> Message:
    assert isinstance(message, UserMessage | AssistantMessage)
    return replace(message, content=[TextPart(words.upper()) for words in texts([message])])


async def test_a_processor_may_add_to_the_input_and_drop_from_it() -> None:
    class Trims(Processor):
        def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message]:
            return [SystemMessage("Be brief."), *messages[-1:]]

    model = ScriptedModel([says("one"), says("two")])
    agent = Agent("a", model=model, processors=[Trims()], memory=Memory())
    await agent.generate("a", **THREAD)
    await agent.generate("b", **THREAD)
    assert texts(model.requests[1].messages) == ["Be brief.", "b"]
    assert texts(await kept(agent)) == ["a", "one", "b", "two"]


async def test_messages_of_a_step_are_for_the_step_alone() -> None:
    class Reminds(Processor):
        def process_input_step(self, step: StepInfo, ctx: ProcessorContext) -> StepChanges | None:
            return StepChanges(messages=[*step.messages, user("hurry")]) if step.number == 0 else None

    model = ScriptedModel([calls("look"), says("done")])
    result = await Agent("a", model=model, tools=[Notebook().look], processors=[Reminds()]).generate("hi")
    assert [texts(request.messages) for request in model.requests] == [["hi", "hurry"], ["hi"]]
    assert texts(result.messages) == ["hi", "done"]


async def test_a_request_may_be_changed_just_before_it_is_sent() -> None:
    class Seeds(Processor):
        def process_llm_request(self, request: Any, ctx: ProcessorContext) -> Any:
            return dataclasses.replace(request, settings=dataclasses.replace(request.settings, seed=7))

    model = ScriptedModel([says("ok")])
    await Agent("a", model=model, processors=[Seeds()]).generate("hi")
    assert model.requests[0].settings.seed == 7


class Censors(Processor):
    """Puts stars in place of a word, in text and in results of tools."""

    def __init__(self, word: str = "secret") -> None:
        super().__init__()
        self._word = word

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
        if isinstance(chunk, TextDeltaChunk):
            return replace(chunk, payload=replace(chunk.payload, text=chunk.payload.text.replace(self._word, "***")))
        return chunk

    def process_tool_result(self, chunk: ToolResultChunk, ctx: ProcessorContext) -> ToolResultChunk:
        said = str(chunk.payload.result).replace(self._word, "***")
        return replace(chunk, payload=replace(chunk.payload, result=said))


async def test_text_is_the_changed_one_for_readers_result_prompt_and_memory() -> None:
    model = ScriptedModel([[*text("a secret"), *calls("look")], says("the secret")])
    agent = Agent("a", model=model, tools=[Notebook().look], processors=[Censors()], memory=Memory())
    run = agent.stream("hi", **THREAD)
    assert await read(run.text_stream) == ["a ***", "the ***"]
    assert await run.text == "the ***"
    assert [step.text for step in await run.steps] == ["a ***", "the ***"]
    assert texts(model.requests[1].messages) == ["hi", "a ***"]
    assert texts(await kept(agent)) == ["hi", "a ***", "the ***"]
    assert texts(await run.messages) == ["hi", "a ***", "the ***"]


async def test_a_tool_result_is_the_changed_one_for_readers_prompt_and_memory() -> None:
    async def look() -> str:
        return "a secret"

    model = ScriptedModel([calls("look"), says("done")])
    agent = Agent("a", model=model, tools=[look], processors=[Censors()], memory=Memory())
    run = agent.stream("hi", **THREAD)
    assert [chunk.payload.result for chunk in await run.tool_results] == ["a ***"]
    told = ToolMessage(
        [ToolResultPart(tool_call_id="c1", tool_name="look", output=ToolOutput("text", "a ***"), input={})]
    )
    assert model.requests[1].messages[-1] == told
    assert (await kept(agent))[2] == told


async def test_a_tool_call_that_is_dropped_does_not_run() -> None:
    class Drops(Processor):
        def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType | None:
            return None if chunk.type == "tool-call" else chunk

    notebook = Notebook()
    model = ScriptedModel([[*text("I look"), *calls("look")], says("done")])
    result = await Agent("a", model=model, tools=[notebook.look], processors=[Drops()]).generate("hi", max_steps=1)
    assert (notebook.runs, result.tool_calls) == (0, [])


async def test_one_chunk_may_become_several() -> None:
    class Doubles(Processor):
        def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> list[ChunkType]:
            return [chunk, chunk] if chunk.type == "text-delta" else [chunk]

    run = Agent("a", model=ScriptedModel([says("ho")]), processors=[Doubles()]).stream("hi")
    assert await read(run.text_stream) == ["ho", "ho"]
    assert (await run.steps)[0].text == "hoho"


async def test_processors_stand_in_a_row() -> None:
    processors = [Censors("secret"), Censors("***")]
    assert (await Agent("a", model=ScriptedModel([says("a secret")]), processors=processors).generate("hi")).text == (
        "a ***"
    )
    processors = [Censors("cat"), Censors("dog")]
    assert (await Agent("a", model=ScriptedModel([says("cat dog")]), processors=processors).generate("hi")).text == (
        "*** ***"
    )


async def test_the_messages_of_a_run_are_kept_as_a_processor_leaves_them() -> None:
    class Summarises(Processor):
        def process_output_result(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message]:
            return [AssistantMessage([TextPart(f"{len(messages)} messages")])]

    model = ScriptedModel([calls("look"), says("done"), says("ok")])
    agent = Agent("a", model=model, tools=[Notebook().look], processors=[Summarises()], memory=Memory())
    run = agent.stream("hi", **THREAD)
    assert texts(await run.messages) == ["hi", "3 messages"]
    assert await run.text == "3 messages"
    assert texts(await kept(agent)) == ["hi", "3 messages"]
    await agent.generate("and?", **THREAD)
    assert texts(model.requests[2].messages) == ["hi", "3 messages", "and?"]


async def test_what_a_cancelled_run_keeps_goes_through_the_processors_too() -> None:
    class Masks(Processor):
        def process_output_result(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message]:
            return [AssistantMessage([TextPart(words.replace("4711", "***"))]) for words in texts(messages)]

    agent = Agent("a", model=ScriptedModel([[*text("it is 4711"), HANG]]), processors=[Masks()], memory=Memory())
    run = agent.stream("hi", **THREAD)
    await read_until(run, "text-delta")
    run.cancel()
    await run.result()
    assert texts(await kept(agent)) == ["hi", "it is ***"]


async def test_what_a_cancelled_run_said_is_not_kept_when_a_processor_refuses_it() -> None:
    guard = Stops("process_output_result")
    agent = Agent("a", model=ScriptedModel([[*text("rude"), HANG]]), processors=[guard], memory=Memory())
    run = agent.stream("hi", **THREAD)
    await read_until(run, "text-delta")
    run.cancel()
    assert types(await read(run))[-2:] == ["abort", "finish"]
    assert await agent.store.get_thread("t1") is None


async def test_a_processor_may_write_into_the_stream() -> None:
    class Scores(Processor):
        def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType:
            if chunk.type == "text-delta":
                ctx.emit("score", {"value": 3})
            return chunk

    chunks = await read(Agent("a", model=ScriptedModel([says("ho")]), processors=[Scores()]).stream("hi", run_id="r"))
    assert types(chunks)[2:5] == ["text-start", "data-score", "text-delta"]
    (data,) = of(DataChunk, chunks)
    assert (data.data, data.run_id) == ({"value": 3}, "r")
    assert_well_formed(chunks)


async def test_a_processor_remembers_over_hooks_and_steps_of_one_run() -> None:
    seen: list[tuple[int, int, Any, str]] = []

    class Counts(Processor):
        def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> None:
            ctx.state["count"] = 10

        def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
            ctx.state["count"] += 1
            seen.append((ctx.step_number, ctx.state["count"], ctx.deps, ctx.agent_name))

    model = ScriptedModel([calls("look"), says("done"), says("other")])
    agent = Agent("a", model=model, tools=[Notebook().look], processors=[Counts()])
    await agent.generate("hi", deps="mine")
    await agent.generate("hi")
    assert seen == [(0, 11, "mine", "a"), (1, 12, "mine", "a"), (0, 11, None, "a")]


async def test_the_processors_of_a_run_take_the_place_of_the_agents() -> None:
    guard = Stops("process_input")
    agent = Agent("a", model=ScriptedModel([says("x"), says("a secret")]), processors=[guard])
    assert (await agent.generate("hi", processors=[])).text == "x"
    assert (await agent.generate("hi", processors=[Censors()])).text == "a ***"
    assert guard.asked == 0


async def test_a_cancellation_reaches_a_run_whose_processor_takes_its_time() -> None:
    class Thinks(Processor):
        async def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
            await asyncio.get_running_loop().create_future()

    notebook = Notebook()
    run = Agent("a", model=ScriptedModel([calls("look")]), tools=[notebook.look], processors=[Thinks()]).stream("hi")
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    assert types(await read(run))[-2:] == ["abort", "finish"]
    assert notebook.runs == 0


# -- text that is held back


async def test_text_that_is_held_back_reaches_no_object() -> None:
    hides = RegexFilter([Rule("card", r"\d{4}-\d{4}", replacement="hidden")])
    pieces = ['{"card": "12', "34-", '5678", "na', 'me": "Ada"}']
    agent = Agent("a", model=ScriptedModel([says(*pieces)]), output=dict[str, str], processors=[hides])
    chunks = await read(agent.stream("hi"))
    told = [chunk.object for chunk in chunks if isinstance(chunk, ObjectChunk | ObjectResultChunk)]
    assert told[-1] == {"card": "hidden", "name": "Ada"}
    assert not any(digits in str(value) for value in told for digits in ("12", "34", "56", "78"))
    assert "5678" not in "".join(chunk.payload.text for chunk in of(TextDeltaChunk, chunks))


# -- answers that are known already


async def test_a_cached_answer_is_played_without_a_call_of_the_model() -> None:
    model = ScriptedModel([calls("look"), says("done")])
    notebook = Notebook()
    agent = Agent("a", model=model, tools=[notebook.look], processors=[ResponseCache()])
    chunks = await read(agent.stream("hi", run_id="r1"))
    second = agent.stream("hi", run_id="r2")
    played = await read(second)
    assert len(model.requests) == 2
    assert types(played) == types(chunks)
    assert_well_formed(played)
    assert {chunk.run_id for chunk in played} == {"r2"}
    assert (notebook.runs, await second.text) == (2, "done")


async def test_a_cached_answer_becomes_an_object_too() -> None:
    model = ScriptedModel([says('{"age": 36}')])
    agent = Agent("a", model=model, output=dict[str, int], processors=[ResponseCache()])
    assert (await agent.generate("hi")).object == {"age": 36}
    assert (await agent.generate("hi")).object == {"age": 36}
    assert len(model.requests) == 1
