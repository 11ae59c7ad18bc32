"""TaskComplete: scorers are asked before a run ends, and what they miss goes to the model; hooks have their say too."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from riverrun import Agent, ConfigError, Iteration, Memory, Verdict, client_tool
from riverrun.agent import Candidate, Score, Scorer, TaskComplete
from riverrun.chunks import (
    ChunkType,
    FinishChunk,
    IsTaskCompleteChunk,
    IsTaskCompletePayload,
    StepFinishChunk,
    TextPart,
    UserMessage,
)
from riverrun.models import ScriptedModel
from tests.agent.scripts import (
    agent_of,
    assert_well_formed,
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

ANSWER = ["text-start", "text-delta", "text-end"]


def has_sources(candidate: Candidate) -> Score:
    """Passes an answer that names its sources."""
    return Score(1) if "source" in candidate.text else Score(0, "no source is named")


def is_long(candidate: Candidate) -> bool:
    return len(candidate.text) > 10


async def look() -> str:
    return "seen"


def checks(chunks: Sequence[ChunkType]) -> list[IsTaskCompletePayload]:
    return [chunk.payload for chunk in of(IsTaskCompleteChunk, chunks)]


def last_words(model: ScriptedModel) -> list[str]:
    """What the model was told last, call by call."""
    messages = [request.messages[-1] for request in model.requests]
    return [part.text for message in messages for part in message.content if isinstance(part, TextPart)]  # type: ignore[union-attr]


# -- a candidate


async def test_a_complete_answer_ends_the_run() -> None:
    run = agent_of(says("a source")).stream("what?", task_complete=TaskComplete(scorers=[has_sources]))
    chunks = await read(run)
    assert types(chunks) == ["start", "step-start", *ANSWER, "is-task-complete", "step-finish", "finish"]
    assert_well_formed(chunks)
    (check,) = checks(chunks)
    assert (check.passed, check.iteration, check.timed_out, check.max_iteration_reached) == (True, 1, False, False)
    assert check.results is not None
    (result,) = check.results
    assert (result.scorer_id, result.score, result.passed) == ("has_sources", 1, True)


async def test_an_incomplete_answer_is_followed_by_another_with_feedback() -> None:
    model = ScriptedModel([says("well"), says("a source")])
    run = Agent("a", model=model).stream("what?", task_complete=TaskComplete(scorers=[has_sources]))
    chunks = await read(run)
    one = ["step-start", *ANSWER, "is-task-complete", "step-finish"]
    assert types(chunks) == ["start", *one, *one, "finish"]
    assert_well_formed(chunks)
    assert [(check.iteration, check.passed, check.reason) for check in checks(chunks)] == [
        (1, False, "no source is named"),
        (2, True, None),
    ]
    assert last_words(model) == [
        "what?",
        "The task is not complete yet:\n- has_sources: no source is named\nGo on with the task.",
    ]
    failed = [chunk.payload.is_task_complete_check_failed for chunk in of(StepFinishChunk, chunks)]
    assert (failed, await run.text) == ([True, None], "wella source")


async def test_a_scorer_knows_what_it_judges() -> None:
    seen: list[Candidate] = []

    def judge(candidate: Candidate) -> bool:
        seen.append(candidate)
        return True

    agent = agent_of([*text("I look"), *calls("look")], says("done"), tools=[look])
    task_complete = TaskComplete(scorers=[judge])
    await agent.generate("what?", task_complete=task_complete, run_id="r1", deps="mine")
    (candidate,) = seen
    assert (candidate.task, candidate.text, candidate.iteration) == ("what?", "done", 2)
    assert (candidate.run_id, candidate.deps, candidate.tool_calls) == ("r1", "mine", [])
    assert [message.role for message in candidate.messages] == ["user", "assistant", "tool", "assistant"]


async def test_the_task_is_what_the_user_asked_last_also_in_a_thread() -> None:
    tasks: list[str] = []

    def judge(candidate: Candidate) -> bool:
        tasks.append(candidate.task)
        return True

    agent = agent_of(calls("pick"), says("blue"), tools=[client_tool("pick")], memory=Memory())
    options: dict[str, Any] = {"thread_id": "t1", "task_complete": TaskComplete(scorers=[judge])}
    await agent.generate("which colour?", **options)
    answer: Any = {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "result": "blue"}]}
    await agent.generate([answer], **options)
    assert tasks == ["which colour?"]


async def test_only_an_answer_that_would_end_the_run_is_judged() -> None:
    agent = agent_of(calls("look"), [*text("more"), finish("other")], says("a source"), tools=[look])
    chunks = await read(agent.stream("what?", task_complete=TaskComplete(scorers=[has_sources])))
    assert [check.iteration for check in checks(chunks)] == [3]


# -- scorers


@pytest.mark.parametrize(
    ("strategy", "answer", "passed"),
    [
        ("all", "a source", False),
        ("all", "a source, and more", True),
        ("any", "a source", True),
        ("any", "well", False),
    ],
)
async def test_all_scorers_have_to_pass_or_any(strategy: Any, answer: str, passed: bool) -> None:
    task_complete = TaskComplete(scorers=[has_sources, is_long], strategy=strategy)
    chunks = await read(agent_of(says(answer)).stream("what?", task_complete=task_complete, max_steps=1))
    (check,) = checks(chunks)
    assert check.passed is passed
    assert check.results is not None
    assert [result.scorer_id for result in check.results] == ["has_sources", "is_long"]


@pytest.mark.parametrize(
    ("verdict", "score", "passed"),
    [(True, 1, True), (False, 0, False), (1, 1, True), (0.9, 0.9, False), (Score(0.5, "half"), 0.5, False)],
)
async def test_what_a_scorer_may_say(verdict: Any, score: float, passed: bool) -> None:
    task_complete = TaskComplete(scorers=[Scorer(lambda _: verdict, id="s", name="Mine")])
    chunks = await read(agent_of(says("x")).stream("what?", task_complete=task_complete, max_steps=1))
    (check,) = checks(chunks)
    assert check.results is not None
    (result,) = check.results
    assert (result.score, result.passed, result.scorer_name) == (score, passed, "Mine")


async def test_scorers_may_be_coroutine_functions_and_are_asked_side_by_side() -> None:
    both = asyncio.Event()
    waiting = 0

    async def judge(_: Candidate) -> bool:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            both.set()
        await both.wait()
        return True

    task_complete = TaskComplete(scorers=[judge, judge])
    assert (await agent_of(says("x")).generate("what?", task_complete=task_complete)).status == "success"


async def test_a_scorer_may_be_a_plain_object_and_may_give_what_is_to_be_awaited() -> None:
    class Judge:
        def __call__(self, _: Candidate) -> bool:
            return True

    class LaterJudge:
        async def __call__(self, _: Candidate) -> bool:
            return True

    task_complete = TaskComplete(scorers=[Judge(), LaterJudge(), lambda candidate: LaterJudge()(candidate)])
    (check,) = checks(await read(agent_of(says("x")).stream("what?", task_complete=task_complete)))
    assert check.passed


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("nonsense", "a scorer gives Score(…), a number or a bool, not 'nonsense'"),
        ("1", "a scorer gives Score(…), a number or a bool, not '1'"),
        (None, "a scorer gives Score(…), a number or a bool, not None"),
        (float("nan"), "Score: score is a finite number, not nan"),
    ],
)
async def test_a_scorer_that_answers_nonsense_does_not_pass(answer: Any, told: str) -> None:
    task_complete = TaskComplete(scorers=[Scorer(lambda _: answer, id="s")])
    (check,) = checks(await read(agent_of(says("x")).stream("what?", task_complete=task_complete, max_steps=1)))
    assert check.results is not None
    assert (check.results[0].score, check.results[0].errored) == (0, True)
    assert check.results[0].reason == f"ConfigError: {told}"


@pytest.mark.parametrize(
    ("score", "told"),
    [
        (("1",), "Score: score is a finite number, not '1'"),
        ((None,), "Score: score is a finite number, not None"),
        ((0.2, 5), "Score: reason is a text, not 5"),
    ],
)
async def test_a_score_that_is_none_does_not_pass_and_fails_no_run(score: Any, told: str) -> None:
    task_complete = TaskComplete(scorers=[Scorer(lambda _: Score(*score), id="s")])
    run = agent_of(says("x")).stream("what?", task_complete=task_complete, max_steps=1)
    (check,) = checks(await read(run))
    assert check.results is not None
    assert (check.results[0].score, check.results[0].reason) == (0, f"ConfigError: {told}")
    assert run.status == "success"


async def test_a_scorer_that_raises_does_not_pass_and_fails_no_run() -> None:
    def judge(_: Candidate) -> bool:
        raise ValueError("a bug of mine")

    def ends(_: Candidate) -> bool:
        raise StopIteration

    run = agent_of(says("x")).stream("what?", task_complete=TaskComplete(scorers=[judge, ends, is_long]), max_steps=1)
    (check,) = checks(await read(run))
    assert check.results is not None
    assert [(result.score, result.errored) for result in check.results] == [(0, True), (0, True), (0, None)]
    assert check.results[0].reason == "ValueError: a bug of mine"
    assert run.status == "success"


async def test_a_scorer_that_is_too_late_does_not_pass() -> None:
    async def judge(_: Candidate) -> bool:
        await asyncio.get_running_loop().create_future()
        return True

    task_complete = TaskComplete(scorers=[has_sources, judge], timeout=0.01)
    (check,) = checks(await read(agent_of(says("a source")).stream("what?", task_complete=task_complete, max_steps=1)))
    assert (check.timed_out, check.passed) == (True, False)
    assert check.results is not None
    assert [(result.passed, result.errored) for result in check.results] == [(True, None), (False, True)]
    assert check.results[1].reason == "it took too long"


async def test_a_scorer_that_is_a_plain_function_blocks_nothing_and_may_be_too_late() -> None:
    over = threading.Event()

    def judge(_: Candidate) -> bool:
        return over.wait(10) and threading.current_thread() is threading.main_thread()

    task_complete = TaskComplete(scorers=[judge], timeout=0.01)
    (check,) = checks(await read(agent_of(says("x")).stream("what?", task_complete=task_complete, max_steps=1)))
    over.set()
    assert check.timed_out
    assert check.results is not None
    assert check.results[0].reason == "it took too long"


async def test_a_cancellation_reaches_the_scorers() -> None:
    ended: list[str] = []

    async def judge(_: Candidate) -> bool:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("cancelled")
        return True

    run = agent_of(says("x")).stream("what?", task_complete=TaskComplete(scorers=[judge]))
    await read_until(run, "text-end")
    await turns()
    run.cancel()
    assert types(await read(run))[-2:] == ["abort", "finish"]
    assert ended == ["cancelled"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"scorers": []}, "scorers is a list of at least one"),
        ({"scorers": is_long}, "scorers is a list of at least one"),
        ({"scorers": "judge"}, "scorers is a list of at least one"),
        ({"scorers": ["judge"]}, "a scorer is a function of a Candidate or a Scorer, not 'judge'"),
        ({"scorers": [Scorer("judge", id="s")]}, "a scorer is a function of a Candidate or a Scorer, not 'judge'"),  # type: ignore[arg-type]
        ({"strategy": "most"}, 'strategy is "all" or "any", not \'most\''),
        ({"timeout": "5"}, "timeout is a positive number of seconds, not '5'"),
        ({"timeout": 0}, "timeout is a positive number of seconds, not 0"),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        TaskComplete(**{"scorers": [is_long], **options})


def test_an_option_that_is_no_task_complete_is_refused() -> None:
    with pytest.raises(ConfigError, match="task_complete is"):
        agent_of().stream("what?", task_complete=is_long)  # type: ignore[arg-type]


# -- feedback and limits


async def test_feedback_may_be_suppressed() -> None:
    model = ScriptedModel([says("well"), says("a source")])
    task_complete = TaskComplete(scorers=[has_sources], suppress_feedback=True)
    chunks = await read(Agent("a", model=model).stream("what?", task_complete=task_complete))
    assert [check.suppress_feedback for check in checks(chunks)] == [True, True]
    assert last_words(model) == ["what?", "well"]


async def test_feedback_is_a_part_of_the_conversation() -> None:
    result = await agent_of(says("well"), says("a source")).generate(
        "what?", task_complete=TaskComplete(scorers=[has_sources])
    )
    assert [message.role for message in result.messages] == ["user", "assistant", "user", "assistant"]


async def test_the_steps_of_the_run_bound_it() -> None:
    model = ScriptedModel([says("well"), says("well"), says("a source")])
    run = Agent("a", model=model).stream("what?", task_complete=TaskComplete(scorers=[has_sources]), max_steps=2)
    chunks = await read(run)
    assert [check.max_iteration_reached for check in checks(chunks)] == [False, True]
    assert (len(model.requests), run.status) == (2, "success")
    (finished,) = of(FinishChunk, chunks)
    assert finished.payload.is_task_complete_check_failed is True
    assert [message.role for message in await run.messages] == ["user", "assistant", "user", "assistant"]


async def test_without_a_limit_of_its_own_a_run_takes_five_steps() -> None:
    model = ScriptedModel([says("well")] * 6)
    await Agent("a", model=model).generate("what?", task_complete=TaskComplete(scorers=[has_sources]))
    assert len(model.requests) == 5


# -- beside the hook of iterations


async def test_the_hook_is_asked_after_the_scorers() -> None:
    seen: list[tuple[int, bool]] = []

    def note(iteration: Iteration) -> None:
        seen.append((iteration.number, iteration.will_continue))

    agent = agent_of(says("well"), says("a source"))
    await agent.generate("what?", task_complete=TaskComplete(scorers=[has_sources]), on_iteration=note)
    assert seen == [(1, True), (2, False)]


async def test_the_hook_may_stop_a_run_whose_answer_is_incomplete() -> None:
    model = ScriptedModel([says("well"), says("never")])
    agent = Agent("a", model=model)
    result = await agent.generate(
        "what?", task_complete=TaskComplete(scorers=[has_sources]), on_iteration=lambda _: Verdict(go_on=False)
    )
    assert (len(model.requests), result.text) == (1, "well")
    assert [message.role for message in result.messages] == ["user", "assistant"]


async def test_what_scorers_and_hook_have_to_say_is_told_together() -> None:
    model = ScriptedModel([says("well"), says("a source")])
    await Agent("a", model=model).generate(
        "what?", task_complete=TaskComplete(scorers=[has_sources]), on_iteration=lambda _: Verdict(feedback="hurry")
    )
    told = model.requests[1].messages[-2:]
    assert [isinstance(message, UserMessage) for message in told] == [True, True]
    assert told[1] == UserMessage([TextPart("hurry")])


async def test_the_hook_may_want_more_than_the_scorers() -> None:
    model = ScriptedModel([says("a source"), says("another source")])

    def once(iteration: Iteration) -> Verdict:
        return Verdict(go_on=True if iteration.number == 1 else None)

    agent = Agent("a", model=model)
    await agent.generate("what?", task_complete=TaskComplete(scorers=[has_sources]), on_iteration=once)
    assert len(model.requests) == 2
