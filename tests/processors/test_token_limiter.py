"""TokenLimiter: which turns a model still sees, and where an answer ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from riverrun.chunks import (
    AssistantMessage,
    FilePart,
    Message,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UnknownMessage,
    UserMessage,
)
from riverrun.errors import ConfigError
from riverrun.models import ScriptedModel
from riverrun.processors import StepInfo, TokenLimiter, TripwireError
from tests.processors.streams import Running, assistant, said, streamed, text, user, words


def one_each(words: str) -> float:
    """A word is a token."""
    return len(words.split())


async def seen(limiter: TokenLimiter, messages: Sequence[Message], *instructions: str) -> Sequence[Message]:
    """The messages that the model gets to see."""
    step = StepInfo(
        number=0,
        steps=(),
        messages=messages,
        model=ScriptedModel([]),
        run_id="run-1",
        instructions=instructions,
    )
    changes = await Running(limiter).pipeline.process_input_step(step)
    return messages if changes.messages is None else cast("Sequence[Message]", changes.messages)


TALK = [user("one two"), assistant("three"), user("four"), assistant("five six"), user("seven")]


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (7, ["one two", "three", "four", "five six", "seven"]),
        (6, ["four", "five six", "seven"]),
        (4, ["four", "five six", "seven"]),
        (3, ["seven"]),
        (1, ["seven"]),
    ],
)
async def test_the_oldest_turns_go_first_and_whole(limit: int, kept: list[str]) -> None:
    assert words(await seen(TokenLimiter(limit, counter=one_each), TALK)) == kept


async def test_an_input_that_fits_is_left_as_it_is() -> None:
    assert await seen(TokenLimiter(7, counter=one_each), TALK) is TALK
    assert await seen(TokenLimiter(7, counter=one_each), []) == []


async def test_a_gap_is_never_left_between_turns() -> None:
    talk = [user("a"), user("b b b b b"), user("c")]
    assert words(await seen(TokenLimiter(3, counter=one_each), talk)) == ["c"]


async def test_instructions_and_system_messages_always_stay_and_are_counted() -> None:
    talk: list[Message] = [SystemMessage(content="be kind"), *TALK]
    kept = await seen(TokenLimiter(5, counter=one_each), talk, "be brief")
    assert isinstance(kept[0], SystemMessage)
    assert words(kept) == ["seven"]


async def test_a_last_turn_that_is_too_long_by_itself_stops_the_run() -> None:
    with pytest.raises(TripwireError, match="The input is at least 3 tokens, 2 are allowed"):
        await seen(TokenLimiter(2, counter=one_each), [user("old"), user("a b c")])
    with pytest.raises(TripwireError, match="The input is at least 3 tokens, 2 are allowed"):
        await seen(TokenLimiter(2, counter=one_each), [], "a b c")


async def test_everything_that_is_text_is_counted() -> None:
    turn: list[Message] = [
        UserMessage(content=[TextPart("a"), FilePart(data="b b b", media_type="text/plain")]),
        AssistantMessage(
            content=[ReasoningPart("c"), ToolCallPart(tool_call_id="1", tool_name="look ", input={"d": "e"})]
        ),
        ToolMessage(
            content=[
                ToolResultPart(tool_call_id="1", tool_name="look", output=ToolOutput("text", "f g")),
                ToolResultPart(tool_call_id="1", tool_name="look", output=ToolOutput("json", ["h"])),
            ]
        ),
        UnknownMessage(role="other"),
    ]
    counted: list[str] = []

    def noting(text: str) -> float:
        counted.append(text)
        return 0

    await seen(TokenLimiter(1, counter=noting), turn)
    assert counted == ["a", "c", 'look {"d":"e"}', "f g", '["h"]', '{"role":"other"}']


async def test_without_a_counter_four_characters_are_a_token() -> None:
    talk = [user("x" * 40), user("x" * 40)]
    assert await seen(TokenLimiter(20), talk) is talk
    assert len(await seen(TokenLimiter(19), talk)) == 1


async def test_too_long_an_output_is_cut_off_and_its_block_still_ends() -> None:
    chunks = await streamed(TokenLimiter(output_limit=2), text("abcd", "efgh", "i", "j"))
    assert said(chunks) == "abcdefgh"
    assert chunks[-1].type == "text-end"


async def test_too_long_an_output_may_stop_the_run() -> None:
    running = Running(TokenLimiter(output_limit=2, strategy="abort"))
    with pytest.raises(TripwireError, match="The output is more than 2 tokens"):
        await running.stream(text("abcd", "efgh", "i"))
    assert said(running.chunks) == "abcdefgh"


async def test_the_output_is_counted_over_all_steps_of_a_run_and_anew_in_each() -> None:
    limiter = TokenLimiter(output_limit=2)
    for _ in range(2):
        running = Running(limiter)
        await running.stream(text("abcd"))
        assert said(await running.stream(text("efgh", "ijkl"))) == "abcdefgh"


def test_it_has_the_hooks_of_its_limits() -> None:
    assert TokenLimiter(1).hooks == {"process_input_step"}
    assert TokenLimiter(output_limit=1).hooks == {"process_output_stream"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"input_limit": 0},
        {"input_limit": "5"},
        {"output_limit": -1},
        {"output_limit": "5"},
        {"input_limit": 1, "strategy": "x"},
    ],
)
def test_limits_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="TokenLimiter"):
        TokenLimiter(**options)
