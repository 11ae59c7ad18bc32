"""Guardrails in general: which texts are judged, in which pieces, and what is done about a finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from riverrun.chunks import (
    AssistantMessage,
    FilePart,
    Message,
    RawChunk,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from riverrun.errors import ConfigError
from riverrun.processors import Finding, Guardrail, GuardrailOptions, JudgeError, ProcessorContext, TripwireError
from riverrun.processors.judged.guardrail import LONGEST
from riverrun.processors.places import Place
from tests.processors.streams import (
    Judge,
    Running,
    assistant,
    data,
    delta,
    letters,
    reasoning_delta,
    reasoning_end,
    said,
    text,
    thought,
    tool_error,
    tool_result,
    types,
    user,
    words,
)

PLACES: list[Place] = ["input", "output", "tool_results"]


class BadGuard(Guardrail):
    """Finds the word "bad", without a judge, and puts "good" in its place."""

    strategies = ("block", "warn", "filter", "rewrite")

    def __init__(self, strategy: str = "block", *, on: Sequence[Place] = PLACES, **options: Any) -> None:
        super().__init__(Judge(), strategy=strategy, on=on, **cast("GuardrailOptions", options))
        self.texts: list[str] = []

    async def find(self, text: str, ctx: ProcessorContext) -> Finding | None:
        self.texts.append(text)
        if "bug" in text:
            raise ValueError("secret")
        if "odd" in text:
            raise JudgeError("the judge shrugged")
        if "bad" not in text:
            return None
        return Finding(reason="bad", metadata={"score": 1}, text=text.replace("bad", "good"))


# -- input


async def input_of(guard: Guardrail, *messages: Message) -> Sequence[Message]:
    return await Running(guard).pipeline.process_input(messages)


async def test_what_the_user_said_since_the_last_answer_is_judged() -> None:
    guard = BadGuard()
    history = [user("old"), assistant("answer")]
    await input_of(guard, SystemMessage(content="system"), *history, user("one"), user("two"))
    assert guard.texts == ["one", "two"]
    await input_of(BadGuard(), user("bad"), assistant("answer"), user("good"))


async def test_after_a_tool_message_too() -> None:
    guard = BadGuard()
    await input_of(guard, user("old"), ToolMessage(content=[TextPart("result")]), user("new"))
    assert guard.texts == ["new"]


async def test_the_whole_history_is_judged_when_that_is_asked_for() -> None:
    guard = BadGuard(history=True)
    await input_of(guard, user("old"), AssistantMessage(content=[TextPart("bad")]), user("new"))
    assert guard.texts == ["old", "new"]


async def test_every_text_of_a_message_is_judged_and_files_are_not() -> None:
    guard = BadGuard("rewrite")
    file = FilePart(data="bad", media_type="text/plain")
    (message,) = await input_of(guard, UserMessage(content=[TextPart("a bad"), file, TextPart(" \n")]))
    assert message == UserMessage(content=[TextPart("a good"), file, TextPart(" \n")])
    assert guard.texts == ["a bad"]


async def test_block_stops_the_run() -> None:
    with pytest.raises(TripwireError) as caught:
        await input_of(BadGuard(), user("bad"))
    assert (caught.value.reason, caught.value.metadata, caught.value.processor_id) == ("bad", {"score": 1}, "bad_guard")


async def test_warn_tells_and_lets_pass() -> None:
    running = Running(BadGuard("warn", id="mild"))
    assert words(await running.pipeline.process_input([user("bad")])) == ["bad"]
    assert running.warnings == [{"processorId": "mild", "reason": "bad", "metadata": {"score": 1}}]


async def test_filter_takes_the_message_away() -> None:
    assert words(await input_of(BadGuard("filter"), user("old"), assistant("a"), user("bad"), user("b"))) == [
        "old",
        "a",
        "b",
    ]


async def test_filter_stops_a_run_that_nothing_is_left_of() -> None:
    with pytest.raises(TripwireError, match="Nothing is left of what the user said"):
        await input_of(BadGuard("filter"), user("old"), assistant("a"), user("bad"))


# -- tool results


async def test_a_tool_result_is_judged_as_the_text_that_it_is() -> None:
    guard = BadGuard("rewrite")
    pipeline = Running(guard).pipeline
    fine = tool_result("fine")
    assert await pipeline.process_tool_result(fine) is fine
    assert (await pipeline.process_tool_result(tool_result("a bad one"))).payload.result == "a good one"
    nested = await pipeline.process_tool_result(tool_result({"pages": ["bad"]}))
    assert nested.payload.result == {"pages": ["good"]}
    assert guard.texts == ["fine", "a bad one", '{"pages":["bad"]}']


async def test_what_the_model_is_told_of_a_result_is_judged_and_replaced_with_it() -> None:
    told = {"mastra": {"modelOutput": {"type": "text", "value": "bad news"}, "kept": 1}, "p": {}}
    result = await Running(BadGuard("filter", id="guard")).pipeline.process_tool_result(
        tool_result({"n": 1}, provider_metadata=told)
    )
    assert result.payload.result == "[removed by guard]"
    assert result.payload.provider_metadata == {
        "mastra": {"modelOutput": {"type": "text", "value": "[removed by guard]"}, "kept": 1},
        "p": {},
    }


async def test_what_a_tool_fails_with_is_judged_like_a_result() -> None:
    guard = BadGuard("rewrite")
    pipeline = Running(guard).pipeline
    fine = tool_error(ValueError("HTTP 500"))
    assert await pipeline.process_tool_error(fine) is fine
    rewritten = await pipeline.process_tool_error(tool_error(ValueError("a bad one")))
    assert str(rewritten.payload.error) == "a good one"
    removed = await Running(BadGuard("filter", id="guard")).pipeline.process_tool_error(tool_error({"message": "bad"}))
    assert str(removed.payload.error) == "[removed by guard]"
    assert guard.texts == ["HTTP 500", "a bad one"]


async def test_a_result_that_is_rewritten_into_no_json_stays_a_text() -> None:
    class Cutter(BadGuard):
        async def find(self, text: str, ctx: ProcessorContext) -> Finding | None:
            return Finding(reason="cut", text=text[:-1])

    result = await Running(Cutter("rewrite")).pipeline.process_tool_result(tool_result(["bad"]))
    assert result.payload.result == '["bad"'


# -- the stream


async def test_nothing_of_a_block_is_read_before_it_was_judged() -> None:
    running = Running(BadGuard())
    with pytest.raises(TripwireError, match="bad"):
        await running.stream(letters("This is a bad thing."))
    assert said(running.chunks) == ""


async def test_long_text_is_judged_in_pieces_that_end_with_a_sentence() -> None:
    guard = BadGuard(window=20)
    running = Running(guard)
    chunks = await running.stream(letters("One two three. Four five six seven. Eight."))
    assert said(chunks) == "One two three. Four five six seven. Eight."
    assert guard.texts == ["One two three. ", "Four five six seven. ", "Eight."]


async def test_text_without_a_sentence_is_parted_between_words_or_anywhere() -> None:
    guard = BadGuard(window=5)
    await Running(guard).stream(letters("aaa bbb ccc ddd"))
    assert guard.texts == ["aaa bbb ", "ccc ddd"]
    guard = BadGuard(window=3)
    await Running(guard).stream(letters("a" * 14))
    assert guard.texts == ["a" * 6, "a" * 6, "aa"]


async def test_a_finding_is_rewritten_filtered_or_warned_of_in_the_stream() -> None:
    for strategy, wanted in (("rewrite", "All fine. A good one."), ("filter", "All fine. "), ("warn", BAD)):
        running = Running(BadGuard(strategy, window=10))
        chunks = await running.stream(letters(BAD))
        assert said(chunks) == wanted
        assert (types(chunks)[0], types(chunks)[-1]) == ("text-start", "text-end")
        assert len(running.warnings) == (strategy == "warn")


BAD = "All fine. A bad one."


async def test_reasoning_is_judged_too() -> None:
    chunks = await Running(BadGuard("rewrite")).stream([reasoning_delta("a ba"), reasoning_delta("d"), reasoning_end()])
    assert thought(chunks) == "a good"


async def test_other_chunks_keep_their_places() -> None:
    chunks = await Running(BadGuard("rewrite")).stream([data("a"), delta("b"), data("c"), delta("ad"), data("d")])
    assert [(chunk.type, said([chunk])) for chunk in chunks] == [
        ("data-a", ""),
        ("text-delta", "good"),
        ("data-c", ""),
        ("data-d", ""),
    ]


async def test_raw_chunks_are_dropped_unless_it_only_warns() -> None:
    raw = RawChunk({"delta": "bad"}, run_id="run-1", from_="AGENT")
    assert await Running(BadGuard()).stream([raw]) == []
    assert await Running(BadGuard("warn")).stream([raw]) == [raw]


# -- judges that fail


@pytest.mark.parametrize(
    ("word", "why"), [("odd", "the judge shrugged"), ("bug", "ValueError")], ids=["no answer", "a fault"]
)
async def test_text_that_could_not_be_judged_stops_the_run(word: str, why: str) -> None:
    reason = f"^The text could not be judged: {why}$"
    with pytest.raises(TripwireError, match=reason):
        await input_of(BadGuard("warn"), user(word))
    running = Running(BadGuard("warn"))
    with pytest.raises(TripwireError, match=reason):
        await running.stream(text(word))
    assert said(running.chunks) == ""


async def test_text_that_could_not_be_judged_passes_with_a_warning_when_that_is_asked_for() -> None:
    running = Running(BadGuard(fail_open=True))
    assert said(await running.stream(text("odd"))) == "odd"
    assert [warning["reason"] for warning in running.warnings] == ["The text could not be judged: the judge shrugged"]


async def test_a_rewriting_that_is_missing_is_a_judge_that_failed() -> None:
    class Silent(BadGuard):
        async def find(self, text: str, ctx: ProcessorContext) -> Finding | None:
            return Finding(reason="bad")

    with pytest.raises(TripwireError, match="could not be judged: the judge gave no text to put in the place"):
        await input_of(Silent("rewrite"), user("bad"))


# -- options


def test_it_has_the_hooks_of_the_places_where_it_looks() -> None:
    assert BadGuard(on=["input"]).hooks == {"process_input"}
    assert BadGuard(on=["output"]).hooks == {"process_output_stream", "process_output_stream_end"}
    assert BadGuard(on=["tool_results"]).hooks == {"process_tool_result", "process_tool_error"}


async def test_a_text_of_any_length_is_judged_in_pieces_that_a_judge_can_take_in() -> None:
    sentences = "All is well. " * 10_000 + "a bad end"
    guard = BadGuard("rewrite")
    (passed,) = words(await input_of(guard, user(sentences)))
    assert passed == sentences.replace("bad", "good")
    assert "".join(guard.texts) == sentences
    assert 4 <= len(guard.texts) <= 10
    assert all(len(piece) <= 2 * LONGEST for piece in guard.texts)
    assert all(piece.endswith("well. ") for piece in guard.texts[:-1])


def test_options_that_cannot_work_are_refused() -> None:
    with pytest.raises(ConfigError, match="BadGuard has no option fail_opne"):
        BadGuard(fail_opne=True)
    with pytest.raises(ConfigError, match="BadGuard: strategy is one of block, warn, filter, rewrite, not 'delete'"):
        BadGuard("delete")
    with pytest.raises(ConfigError, match="BadGuard: on is a list of input, output, tool_results"):
        BadGuard(on=[])
    with pytest.raises(ConfigError, match="BadGuard: window is a number of characters from 1 on, not 0"):
        BadGuard(window=0)
    with pytest.raises(ConfigError, match="BadGuard: window is a number of characters from 1 on, not '5'"):
        BadGuard(window="5")
