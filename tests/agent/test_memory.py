"""Threads: what a run remembers of one, what it leaves there however it ends, and whose it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from riverrun import Agent, ConfigError, Memory, ModelError, RunError, Timeout, ToolContext, client_tool
from riverrun.chunks import (
    AssistantMessage,
    ChunkType,
    DataChunk,
    ErrorChunk,
    FilePart,
    Message,
    ReasoningPart,
    Step,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)
from riverrun.models import ScriptedModel
from riverrun.processors import Processor, ProcessorContext
from riverrun.store import AnyStore, InMemoryStore, Store, StoredMessage, Thread
from tests.agent.scripts import (
    HANG,
    assert_well_formed,
    call,
    calls,
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

THREAD: dict[str, Any] = {"thread_id": "t1", "resource_id": "ada"}
INTERRUPTED = "This call was interrupted: it gave no result, and what it did until then is not known."


@asynccontextmanager
async def opened(kind: str) -> AsyncIterator[AnyStore]:
    """A store of this kind."""
    if kind == "in memory":
        yield InMemoryStore()
    else:
        async with await Store.open("sqlite://") as store:
            yield store


@pytest.fixture(params=["in memory", "sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def agent_with(store: AnyStore | None, *answers: Any, memory: Memory | None = None, **options: Any) -> Agent:
    """An agent with a memory whose model gives these answers."""
    return Agent("a", model=ScriptedModel(answers), memory=memory or Memory(), store=store, **options)


def asked(agent: Agent) -> list[list[str]]:
    """What the model was asked, call by call."""
    (model,) = agent.models
    assert isinstance(model, ScriptedModel)
    return [said(request.messages) for request in model.requests]


def said(messages: Sequence[Message]) -> list[str]:
    """Messages in short: texts, calls as `name()`, results as `=output`."""
    return [_said(message) for message in messages]


def _said(message: Message) -> str:
    if isinstance(message, SystemMessage):
        return f"[{message.content}]"
    return " ".join(_part(part) for part in message.content)  # type: ignore[union-attr]


def _part(part: Any) -> str:
    match part:
        case TextPart(words) | ReasoningPart(words):
            return words
        case ToolCallPart():
            return f"{part.tool_name}()"
        case ToolResultPart():
            return f"={part.output.value}"
        case _:
            return type(part).__name__


async def kept(store: AnyStore, thread_id: str = "t1") -> list[str]:
    """What the thread holds."""
    return said([stored.message for stored in (await store.messages(thread_id)).items])


async def look() -> str:
    return "seen"


async def hang() -> str:
    await asyncio.get_running_loop().create_future()
    return "never"


async def ask(ctx: ToolContext[Any]) -> str:
    return str(await ctx.suspend("which?"))


# -- turn after turn


async def test_a_turn_sees_those_before_it(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, says("one"), says("two"), says("three"))
        for words in ("a", "b", "c"):
            await agent.generate(words, **THREAD)
        assert asked(agent) == [["a"], ["a", "one", "b"], ["a", "one", "b", "two", "c"]]
        assert await kept(store) == ["a", "one", "b", "two", "c", "three"]


async def test_nothing_is_doubled_over_turns_with_tools(kind: str) -> None:
    async with opened(kind) as store:
        turn = [[*text("I look"), *calls("look")], says("done")]
        agent = agent_with(store, *turn, *turn, *turn, tools=[look], memory=Memory(save_per_step=True))
        for words in ("a", "b", "c"):
            await agent.generate(words, **THREAD)
        one = ["I look look()", "=seen", "done"]
        assert await kept(store) == ["a", *one, "b", *one, "c", *one]
        assert asked(agent)[-1] == ["a", *one, "b", *one, "c", "I look look()", "=seen"]


async def test_a_result_holds_the_turn_and_not_what_was_recalled() -> None:
    agent = agent_with(None, says("one"), says("two"))
    await agent.generate("a", **THREAD)
    assert said((await agent.generate("b", **THREAD)).messages) == ["b", "two"]


@pytest.mark.parametrize(
    ("limit", "recalled"), [(0, []), (1, ["two"]), (2, ["b", "two"]), (9, ["a", "one", "b", "two"])]
)
async def test_the_last_messages_are_recalled_in_their_order(kind: str, limit: int, recalled: list[str]) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, says("one"), says("two"), says("three"), memory=Memory(last_messages=limit))
        for words in ("a", "b", "c"):
            await agent.generate(words, **THREAD)
        assert asked(agent)[-1] == [*recalled, "c"]
        assert len(await kept(store)) == 6


@pytest.mark.parametrize("limit", [-1, 1001, "5", None])
def test_a_limit_that_there_is_not_is_refused(limit: Any) -> None:
    with pytest.raises(ConfigError, match="last_messages is a number from 0 to 1000"):
        Memory(last_messages=limit)


def test_what_is_no_memory_is_refused() -> None:
    with pytest.raises(ConfigError, match="memory is Memory"):
        Agent("a", model=ScriptedModel([]), memory=True)  # type: ignore[arg-type]


async def test_a_result_is_not_recalled_without_its_call() -> None:
    agent = agent_with(None, calls("look"), says("done"), says("ok"), tools=[look], memory=Memory(last_messages=2))
    await agent.generate("a", **THREAD)
    await agent.generate("b", **THREAD)
    assert asked(agent)[-1] == ["done", "b"]


async def test_threads_know_nothing_of_each_other(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, says("one"), says("two"), says("three"))
        await agent.generate("a", **THREAD)
        await agent.generate("b", thread_id="t2", resource_id="ada")
        await agent.generate("c")
        assert asked(agent) == [["a"], ["b"], ["c"]]
        assert (await store.list_threads("ada")).total == 2


async def test_agents_may_share_a_thread() -> None:
    store = InMemoryStore()
    await agent_with(store, says("one")).generate("a", **THREAD)
    other = Agent("b", model=ScriptedModel([says("two")]), memory=Memory(), store=store)
    await other.generate("b", **THREAD)
    assert asked(other) == [["a", "one", "b"]]


async def test_instructions_and_context_are_no_part_of_the_thread() -> None:
    agent = agent_with(None, says("one"), says("two"), instructions="Be kind.")
    beside: list[Message] = [SystemMessage("Be brief."), UserMessage([TextPart("a")])]
    await agent.generate(beside, context="It rains.", **THREAD)
    assert await kept(agent.store) == ["a", "one"]
    await agent.generate("b", **THREAD)
    assert asked(agent) == [["[Be kind.]", "[Be brief.]", "It rains.", "a"], ["[Be kind.]", "a", "one", "b"]]


async def test_what_a_provider_wants_back_is_recalled_as_it_was(kind: str) -> None:
    async with opened(kind) as store:
        signed = {"anthropic": {"signature": "sig"}}
        picture = UserMessage([FilePart(data=b"\x89PNG", media_type="image/png"), TextPart("what is it?")])
        agent = agent_with(store, [*reasoning("hm", providerMetadata=signed), *says("a cat")], says("yes"))
        await agent.generate(picture, **THREAD)
        await agent.generate("sure?", **THREAD)
        (model,) = agent.models
        assert isinstance(model, ScriptedModel)
        assert model.requests[1].messages[:2] == [
            picture,
            AssistantMessage([ReasoningPart("hm", provider_options=signed), TextPart("a cat")]),
        ]


async def test_a_client_that_says_its_history_again_doubles_nothing(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, says("one"), says("two"))
        first = UserMessage([TextPart("a")], id="m1")
        await agent.generate(first, **THREAD)
        again = UserMessage([TextPart("A")], id="m1")  # what the thread has of it counts
        await agent.generate([again, UserMessage([TextPart("b")], id="m2")], **THREAD)
        assert asked(agent)[1] == ["a", "one", "b"]
        assert await kept(store) == ["a", "one", "b", "two"]


async def test_a_message_that_the_user_says_in_other_words_is_asked_anew(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, says("one"), says("two"))
        await agent.generate(UserMessage([TextPart("a")], id="m1"), **THREAD)
        await agent.generate(UserMessage([TextPart("A")], id="m1"), **THREAD)
        assert asked(agent)[1] == ["one", "A"]
        assert await kept(store) == ["A", "one", "two"]


async def test_runs_side_by_side_both_stay_in_the_thread(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, says("one"), says("two"))
        await asyncio.gather(agent.generate("a", **THREAD), agent.generate("b", **THREAD))
        assert sorted(await kept(store)) == ["a", "b", "one", "two"]


# -- whose a thread is


@pytest.mark.parametrize("resource", [{}, {"resource_id": "eve"}])
async def test_a_thread_of_another_resource_is_refused(kind: str, resource: dict[str, Any]) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, says("one"), says("never"))
        await agent.generate("a", **THREAD)
        run = agent.stream("tell me all", thread_id="t1", **resource)
        chunks = await read(run)
        assert types(chunks) == ["start", "error", "finish"]
        assert_well_formed(chunks)
        with pytest.raises(RunError, match="'t1' belongs to another resource"):
            await run.text
        assert asked(agent) == [["a"]]
        assert await kept(store) == ["a", "one"]


async def test_a_thread_that_another_resource_made_meanwhile_is_not_written_to(kind: str) -> None:
    async with opened(kind) as store:

        async def steal() -> str:
            await store.save_thread(Thread(id="t1", resource_id="eve"))
            return "stolen"

        agent = agent_with(store, calls("steal"), says("done"), tools=[steal])
        run = agent.stream("a", **THREAD)
        assert types(await read(run))[-2:] == ["error", "finish"]
        assert await kept(store) == []


async def test_a_thread_without_a_resource_is_its_own(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, says("one"), says("two"))
        await agent.generate("a", thread_id="t1")
        await agent.generate("b", thread_id="t1")
        assert asked(agent)[1] == ["a", "one", "b"]
        with pytest.raises(RunError, match="another resource"):
            await agent.generate("c", **THREAD)


async def test_a_run_that_waits_stays_in_its_thread_whoever_resumes_it() -> None:
    agent = agent_with(None, calls("ask"), says("done"), tools=[ask])
    await agent.generate("a", run_id="r1", **THREAD)
    run = await agent.resume_stream("this", run_id="r1", thread_id="t2", resource_id="eve")
    assert await run.text == "done"
    assert await kept(agent.store) == ["a", "ask()", "=this", "done"]
    assert await agent.store.get_thread("t2") is None


def test_a_thread_without_a_memory_is_refused() -> None:
    with pytest.raises(ConfigError, match="no memory for a thread"):
        Agent("a", model=ScriptedModel([])).stream("hi", **THREAD)


# -- however a run ends


async def test_a_cancelled_run_keeps_what_was_said(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, [*text("Hel", "lo")[:-1], HANG], says("ok"))
        run = agent.stream("a", **THREAD)
        await read_until(run, "text-delta", 2)
        run.cancel()
        await run.result()
        assert await kept(store) == ["a", "Hello"]
        await agent.generate("b", **THREAD)
        assert asked(agent)[1] == ["a", "Hello", "b"]


async def test_a_run_that_is_cancelled_before_its_answer_keeps_the_question() -> None:
    agent = agent_with(None, [HANG])
    run = agent.stream("a", **THREAD)
    await turns()
    run.cancel()
    await run.result()
    assert await kept(agent.store) == ["a"]


async def test_a_run_that_is_cancelled_after_a_step_keeps_the_step() -> None:
    agent = agent_with(None, calls("look"), says("never"), tools=[look])
    run = agent.stream("a", **THREAD)
    await read_until(run, "tool-call")
    run.cancel("after_step")
    assert types(await read(run))[-2:] == ["abort", "finish"]
    assert await kept(agent.store) == ["a", "look()", "=seen"]


async def test_a_run_that_fails_keeps_what_was_said(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, [*text("Hel")[:2], {"type": "error", "error": "bad"}])
        with pytest.raises(RunError):
            await agent.generate("a", **THREAD)
        assert await kept(store) == ["a", "Hel"]


@pytest.mark.parametrize("answer", [ModelError("down"), [{"type": "error", "error": "bad"}]])
async def test_a_run_that_fails_before_it_says_anything_keeps_nothing(answer: Any) -> None:
    agent = agent_with(None, answer, says("ok"))
    with pytest.raises(RunError):
        await agent.generate("a", **THREAD)
    await agent.generate("a", **THREAD)
    assert await kept(agent.store) == ["a", "ok"]


async def test_a_hook_that_fails_takes_nothing_of_the_steps_before() -> None:
    def fail(_: Any) -> None:
        raise ValueError("a bug of mine")

    agent = agent_with(None, calls("look"), tools=[look])
    with pytest.raises(RunError, match="a bug of mine"):
        await agent.generate("a", on_iteration=fail, **THREAD)
    assert await kept(agent.store) == ["a", "look()", "=seen"]


async def test_nothing_is_written_when_the_memory_is_for_reading(kind: str) -> None:
    async with opened(kind) as store:
        await agent_with(store, says("one")).generate("a", **THREAD)
        memory = Memory(read_only=True, save_per_step=True, generate_title=True)
        reader = agent_with(store, calls("look"), says("two"), memory=memory, tools=[look])
        await reader.generate("b", **THREAD)
        assert asked(reader)[0] == ["a", "one", "b"]
        assert await kept(store) == ["a", "one"]
        await agent_with(store, says("x"), memory=memory).generate("b", thread_id="t2", resource_id="ada")
        assert await store.get_thread("t2") is None


@pytest.mark.parametrize("memory", [Memory(), Memory(save_per_step=True)])
async def test_steps_are_kept_one_by_one_or_all_at_the_end(kind: str, memory: Memory) -> None:
    async with opened(kind) as store:
        before: list[list[str]] = []

        async def watch() -> str:
            before.append(await kept(store))
            return "seen"

        agent = agent_with(store, calls("watch"), calls("watch"), says("done"), memory=memory, tools=[watch])
        await agent.generate("a", **THREAD)
        one = ["watch()", "=seen"]
        assert before == [[], ["a", *one] if memory.save_per_step else []]
        assert await kept(store) == ["a", *one, *one, "done"]


class Refuses(Processor):
    """Stops a run whose answer holds a word."""

    def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
        if "rude" in step.text:
            ctx.abort("mind your words")


async def test_a_tripwire_takes_back_what_was_kept_of_the_run(kind: str) -> None:
    async with opened(kind) as store:
        await agent_with(store, says("one")).generate("a", **THREAD)
        memory = Memory(save_per_step=True)
        agent = agent_with(store, calls("look"), says("rude"), tools=[look], memory=memory, processors=[Refuses()])
        assert types(await read(agent.stream("b", **THREAD)))[-1] == "tripwire"
        assert await kept(store) == ["a", "one"]


async def test_a_tripwire_of_a_resumed_run_takes_back_what_was_kept_when_it_waited(kind: str) -> None:
    async with opened(kind) as store:
        await agent_with(store, says("one")).generate("a", **THREAD)
        agent = agent_with(store, calls("ask"), says("rude"), tools=[ask], processors=[Refuses()])
        await agent.generate("b", run_id="r1", **THREAD)
        assert await kept(store) == ["a", "one", "b", "ask()"]
        run = await agent.resume_stream("this", run_id="r1")
        assert types(await read(run))[-1] == "tripwire"
        assert await kept(store) == ["a", "one"]


async def test_what_a_processor_takes_out_at_the_end_is_not_left_from_before() -> None:
    class Shortens(Processor):
        def process_output_result(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message]:
            return list(messages[-1:])

    memory = Memory(save_per_step=True)
    agent = agent_with(None, calls("look"), says("done"), tools=[look], memory=memory, processors=[Shortens()])
    await agent.generate("a", **THREAD)
    assert await kept(agent.store) == ["a", "done"]


# -- calls without a result


async def test_a_call_that_was_interrupted_is_told_as_that(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, [*text("I charge"), *calls("look", "hang")], says("ok"), tools=[look, hang])
        run = agent.stream("a", **THREAD)
        await read_until(run, "tool-call", 2)
        await turns()
        run.cancel()
        await run.result()
        assert await kept(store) == ["a", "I charge look() hang()", "=seen"]
        await agent.generate("b", **THREAD)
        assert asked(agent)[1] == ["a", "I charge look() hang()", f"=seen ={INTERRUPTED}", "b"]
        (model,) = agent.models
        assert isinstance(model, ScriptedModel)
        told = model.requests[1].messages[2]
        assert isinstance(told, ToolMessage)
        assert told.content[1] == ToolResultPart(
            tool_call_id="c2", tool_name="hang", output=ToolOutput("error-text", INTERRUPTED), input={}
        )


async def test_what_is_told_of_an_interrupted_call_is_not_kept() -> None:
    agent = agent_with(None, calls("hang"), says("ok"), tools=[hang])
    run = agent.stream("a", **THREAD)
    await read_until(run, "tool-call")
    run.cancel()
    await run.result()
    await agent.generate("b", **THREAD)
    assert await kept(agent.store) == ["a", "hang()", "b", "ok"]


async def test_what_is_done_beside_a_call_that_waits_is_told_as_done(kind: str) -> None:
    async with opened(kind) as store:
        both = [call("look", "c1"), call("ask", "c2"), finish("tool-calls")]
        agent = agent_with(store, both, says("later"), says("done"), tools=[look, ask])
        await agent.generate("a", run_id="r1", **THREAD)
        await agent.generate("b", **THREAD)
        waits = "=This call is not done yet: it waits for an answer."
        assert asked(agent)[1] == ["a", "look() ask()", f"=seen {waits}", "b"]
        run = await agent.resume_stream("this", run_id="r1")
        assert await run.text == "done"
        assert await kept(store) == ["a", "look() ask()", "=seen =this", "b", "later", "done"]


async def test_a_call_that_waits_for_approval_is_told_as_that_until_it_is_decided_on(kind: str) -> None:
    async with opened(kind) as store:
        answers = [calls("look"), says("meanwhile"), says("looked"), says("ok")]
        agent = agent_with(store, *answers, tools=[look], require_tool_approval=True)
        await agent.generate("a", run_id="r1", **THREAD)
        assert await kept(store) == ["a", "look()"]
        await agent.generate("b", **THREAD)
        waits = "=This call was not made yet: it waits for approval."
        assert asked(agent)[1] == ["a", "look()", waits, "b"]

        assert await (await agent.approve_tool_call(run_id="r1")).text == "looked"
        assert asked(agent)[2] == ["a", "look()", "=seen"]
        await agent.generate("c", **THREAD)
        assert asked(agent)[3] == ["a", "look()", "=seen", "b", "meanwhile", "looked", "c"]


async def test_a_call_that_waits_for_an_answer_is_told_as_that(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, calls("ask"), says("ok"), tools=[ask])
        await agent.generate("a", **THREAD)
        await agent.generate("b", **THREAD)
        assert asked(agent)[1] == ["a", "ask()", "=This call is not done yet: it waits for an answer.", "b"]


async def test_a_resumed_run_doubles_nothing(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, says("one"), [*text("I ask"), *calls("ask")], says("done"), tools=[ask])
        await agent.generate("a", **THREAD)
        await agent.generate("b", run_id="r1", **THREAD)
        await (await agent.resume_stream("this", run_id="r1")).result()
        assert await kept(store) == ["a", "one", "b", "I ask ask()", "=this", "done"]
        assert asked(agent)[2] == ["a", "one", "b", "I ask ask()", "=this"]


async def test_a_call_of_the_client_is_answered_by_the_next_input(kind: str) -> None:
    async with opened(kind) as store:
        agent = agent_with(store, calls("look", "pick"), says("done"), tools=[look, client_tool("pick")])
        await agent.generate("a", **THREAD)
        answer: Any = {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c2", "result": "blue"}]}
        await agent.generate([answer], **THREAD)
        assert asked(agent)[1] == ["a", "look() pick()", "=seen =blue"]
        assert await kept(store) == ["a", "look() pick()", "=seen", "=blue", "done"]


async def test_a_call_of_the_client_that_nobody_answers_does_not_spoil_the_thread() -> None:
    agent = agent_with(None, calls("pick"), says("ok"), tools=[client_tool("pick")])
    await agent.generate("a", **THREAD)
    await agent.generate("never mind", **THREAD)
    assert asked(agent)[1] == ["a", "pick()", f"={INTERRUPTED}", "never mind"]


async def test_a_call_id_that_comes_again_in_each_turn_is_no_trouble() -> None:
    answers = [
        [call("look", "0"), finish("tool-calls")],
        says("x"),
        [call("hang", "0"), finish("tool-calls")],
        says("y"),
    ]
    agent = agent_with(None, *answers, says("z"), tools=[look, hang])
    await agent.generate("a", **THREAD)
    run = agent.stream("b", **THREAD)
    await read_until(run, "tool-call")
    await turns()
    run.cancel()
    await run.result()
    await agent.generate("c", **THREAD)
    assert asked(agent)[-1] == ["a", "look()", "=seen", "x", "b", "hang()", f"={INTERRUPTED}", "c"]


# -- titles


def titles(chunks: Sequence[ChunkType]) -> list[DataChunk]:
    return [chunk for chunk in of(DataChunk, chunks) if chunk.type == "data-thread-title"]


async def test_a_thread_gets_its_title_once(kind: str) -> None:
    async with opened(kind) as store:
        memory = Memory(generate_title=True)
        agent = agent_with(store, says("one"), says(' "A greeting"\n'), says("two"), memory=memory)
        chunks = await read(agent.stream("hi", run_id="r1", **THREAD))
        assert types(chunks)[-3:] == ["step-finish", "data-thread-title", "finish"]
        assert_well_formed(chunks)
        (title,) = titles(chunks)
        assert (title.data, title.transient) == ({"threadId": "t1", "title": "A greeting"}, True)
        thread = await store.get_thread("t1")
        assert thread is not None
        assert thread.title == "A greeting"
        assert "user: hi\nassistant: one" in asked(agent)[1]
        assert titles(await read(agent.stream("again", **THREAD))) == []


async def test_a_title_of_the_programs_own_stays() -> None:
    agent = agent_with(None, says("one"), memory=Memory(generate_title=True))
    await agent.store.save_thread(Thread(id="t1", resource_id="ada", title="Mine", metadata={"a": 1}))
    assert titles(await read(agent.stream("hi", **THREAD))) == []
    thread = await agent.store.get_thread("t1")
    assert thread is not None
    assert (thread.title, thread.metadata) == ("Mine", {"a": 1})


@pytest.mark.parametrize("failure", [ModelError("down"), ValueError("a bug of mine"), says("  ")])
async def test_a_title_that_cannot_be_made_is_not_worth_the_run(failure: Any) -> None:
    agent = agent_with(None, says("one"), failure, memory=Memory(generate_title=True))
    run = agent.stream("hi", **THREAD)
    chunks = await read(run)
    assert (titles(chunks), of(ErrorChunk, chunks)) == ([], [])
    assert (run.status, await kept(agent.store)) == ("success", ["hi", "one"])


@pytest.mark.parametrize("limit", [Timeout(step=0.05), Timeout(first_chunk=0.05), Timeout(total=0.05)])
async def test_a_title_that_takes_too_long_is_not_worth_the_run(limit: Timeout) -> None:
    agent = agent_with(None, says("one"), [HANG], memory=Memory(generate_title=True))
    run = agent.stream("hi", timeout=limit, **THREAD)
    chunks = await read(run)
    assert_well_formed(chunks)
    assert (titles(chunks), run.status, await kept(agent.store)) == ([], "success", ["hi", "one"])


class StuckStore(InMemoryStore):
    """Never saves a message."""

    async def save_messages(self, saved: Sequence[StoredMessage], /) -> None:
        await asyncio.get_running_loop().create_future()


async def test_a_store_that_is_stuck_does_not_hold_a_run_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riverrun.agent.ending.PATIENCE", 0.05)
    run = agent_with(StuckStore(), says("one")).stream("hi", timeout=Timeout(total=0.05), **THREAD)
    assert types(await read(run))[-2:] == ["error", "finish"]
    assert "the store gave no answer" in str(getattr(run.error, "__notes__", ""))
    run = agent_with(StuckStore(), says("one")).stream("hi", **THREAD)
    await read_until(run, "step-finish")
    run.cancel()
    assert types(await read(run))[-2:] == ["error", "finish"]


async def test_a_run_that_fails_makes_no_title() -> None:
    agent = agent_with(None, [*text("Hel")[:2], {"type": "error", "error": "bad"}], memory=Memory(generate_title=True))
    chunks = await read(agent.stream("hi", **THREAD))
    assert (titles(chunks), len(asked(agent))) == ([], 1)
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]


async def test_a_resumed_run_that_is_cancelled_at_its_title_is_kept_all_the_same() -> None:
    agent = agent_with(None, calls("ask"), says("done"), [HANG], tools=[ask], memory=Memory(generate_title=True))
    await agent.generate("a", run_id="r1", **THREAD)
    run = await agent.resume_stream("this", run_id="r1")
    await read_until(run, "step-finish", 2)
    await turns()
    run.cancel()
    assert types(await read(run))[-2:] == ["abort", "finish"]
    assert await kept(agent.store) == ["a", "ask()", "=this", "done"]


# -- stores that fail


class BrokenStore(InMemoryStore):
    """Fails at one of its verbs."""

    def __init__(self, verb: str) -> None:
        super().__init__()
        self.calls = 0

        async def fail(*_: Any, **__: Any) -> Any:
            self.calls += 1
            raise OSError("the disk is full")

        setattr(self, verb, fail)


@pytest.mark.parametrize("verb", ["get_thread", "last_messages", "save_messages", "save_thread"])
async def test_a_store_that_fails_fails_the_run(verb: str) -> None:
    store = BrokenStore(verb)
    if verb == "last_messages":
        await store.save_thread(Thread(id="t1", resource_id="ada"))
    chunks = await read(agent_with(store, says("one")).stream("a", **THREAD))
    assert [str(chunk.payload.error) for chunk in of(ErrorChunk, chunks)] == ["the disk is full"]
    assert types(chunks)[-2:] == ["error", "finish"]
    assert_well_formed(chunks)


async def test_a_cancelled_run_that_cannot_be_kept_says_so() -> None:
    agent = agent_with(BrokenStore("save_messages"), [*text("Hel")[:2], HANG])
    run = agent.stream("a", **THREAD)
    await read_until(run, "text-delta")
    run.cancel()
    chunks = await read(run)
    assert types(chunks)[-2:] == ["error", "finish"]
    assert_well_formed(chunks)
    assert run.partial.text == "Hel"


async def test_a_failed_run_that_cannot_be_kept_is_failed_for_its_own_reason() -> None:
    def fail(_: Any) -> None:
        raise ValueError("a bug of mine")

    agent = agent_with(BrokenStore("save_messages"), says("one"))
    (error,) = of(ErrorChunk, await read(agent.stream("a", on_iteration=fail, **THREAD)))
    assert str(error.payload.error) == "a bug of mine"
    assert error.payload.error.__notes__ == ["what was said could not be kept: the disk is full"]
