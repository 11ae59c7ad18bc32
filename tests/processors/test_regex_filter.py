"""RegexFilter: what it hides, blocks and reports, wherever the text was cut."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riverrun.chunks import (
    AssistantMessage,
    ChunkType,
    RawChunk,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UnknownMessage,
    encode,
    to_value,
)
from riverrun.errors import ConfigError, error_message
from riverrun.processors import Preset, Processor, RegexFilter, Rule, TripwireError
from riverrun.processors.builtin.regex_filter import LONGEST
from tests.processors.streams import (
    Running,
    data,
    delta,
    letters,
    reasoning_delta,
    reasoning_end,
    said,
    streamed,
    text,
    thought,
    tool_error,
    tool_result,
    types,
    user,
    words,
)

MAIL = "ann@example.org"


def filter_of(*rules: Preset | Rule, **options: Any) -> RegexFilter:
    return RegexFilter(rules or ["email"], **options)


# -- input and results


async def test_the_input_is_hidden_wherever_it_holds_something() -> None:
    call = ToolCallPart(tool_call_id="c1", tool_name="mail", input={"to": MAIL, "cc": [MAIL, 1]})
    output = ToolOutput("json", {"from": MAIL, "count": 2})
    result = ToolResultPart(tool_call_id="c1", tool_name="mail", output=output)
    messages = await Running(filter_of()).pipeline.process_input(
        [
            SystemMessage(content=f"Write to {MAIL}."),
            user(f"I am {MAIL}, not bob@example.org."),
            AssistantMessage(content=[ReasoningPart(MAIL), TextPart(MAIL), call]),
            ToolMessage(content=[result]),
            UnknownMessage(role="other"),
        ]
    )
    assert [to_value_of(message) for message in messages] == [
        "Write to [EMAIL].",
        ["I am [EMAIL], not [EMAIL]."],
        [MAIL, "[EMAIL]", {"to": "[EMAIL]", "cc": ["[EMAIL]", 1]}],
        [{"from": "[EMAIL]", "count": 2}],
        "other",
    ]


def to_value_of(message: Any) -> Any:
    """What a message says, part by part."""
    if isinstance(message, UnknownMessage):
        return message.role
    if isinstance(message, SystemMessage):
        return message.content
    return [
        part.text
        if isinstance(part, TextPart | ReasoningPart)
        else part.input
        if isinstance(part, ToolCallPart)
        else part.output.value
        for part in message.content
    ]


async def test_a_blocked_input_stops_the_run_and_does_not_say_what_was_found() -> None:
    with pytest.raises(TripwireError) as caught:
        await Running(filter_of(strategy="block")).pipeline.process_input([user(f"I am {MAIL}")])
    assert caught.value.reason == 'Rule "email" found something in the input'
    assert caught.value.metadata == {"rule": "email"}


async def test_a_warning_leaves_the_input_as_it_is() -> None:
    running = Running(filter_of(strategy="warn"))
    assert words(await running.pipeline.process_input([user(f"I am {MAIL}")])) == [f"I am {MAIL}"]
    assert running.warnings == [
        {
            "processorId": "regex_filter",
            "reason": 'Rule "email" found something in the input',
            "metadata": {"rule": "email"},
        }
    ]


async def test_tool_results_are_hidden_also_in_what_the_model_is_told_of_them() -> None:
    told = {"mastra": {"modelOutput": {"type": "text", "value": f"From {MAIL}"}}}
    result = tool_result({"mail": {"from": [MAIL]}, "count": 1}, provider_metadata=told)
    hidden = await Running(filter_of()).pipeline.process_tool_result(result)
    assert hidden.payload.result == {"mail": {"from": ["[EMAIL]"]}, "count": 1}
    assert hidden.payload.provider_metadata == {"mastra": {"modelOutput": {"type": "text", "value": "From [EMAIL]"}}}
    assert result.payload.result == {"mail": {"from": [MAIL]}, "count": 1}


async def test_a_tool_result_that_holds_nothing_is_the_very_same() -> None:
    pipeline = Running(filter_of()).pipeline
    for result in (tool_result({"a": ["b", None, 1.5]}), tool_result(None), tool_result("text")):
        assert await pipeline.process_tool_result(result) is result


async def test_what_a_tool_fails_with_is_hidden_like_a_result() -> None:
    cause = KeyError(MAIL)
    error = ValueError(f"no mail from {MAIL}")
    error.__cause__ = cause
    pipeline = Running(filter_of()).pipeline
    hidden = await pipeline.process_tool_error(tool_error(error))
    assert error_message(hidden.payload.error) == "no mail from [EMAIL]"
    assert MAIL.encode() not in encode(hidden)
    harmless = tool_error(ValueError("no mail"))
    assert await pipeline.process_tool_error(harmless) is harmless
    with pytest.raises(TripwireError, match='Rule "email" found something in the tool error'):
        await Running(filter_of(strategy="block")).pipeline.process_tool_error(tool_error(error))


async def test_a_blocked_tool_result_stops_the_run() -> None:
    with pytest.raises(TripwireError, match='Rule "email" found something in the tool result'):
        await Running(filter_of(strategy="block")).pipeline.process_tool_result(tool_result([MAIL]))


async def test_the_final_messages_are_hidden_and_not_warned_of_twice() -> None:
    kept = await Running(filter_of()).pipeline.process_output_result([user(MAIL)])
    assert words(kept) == ["[EMAIL]"]
    warning = Running(filter_of(strategy="warn"))
    assert words(await warning.pipeline.process_output_result([user(MAIL)])) == [MAIL]
    assert warning.warnings == []


# -- the stream


async def test_what_comes_letter_by_letter_is_hidden_before_anybody_reads_it() -> None:
    chunks = await streamed(filter_of(), letters(f"Write to {MAIL} today."))
    assert said(chunks) == "Write to [EMAIL] today."
    assert (types(chunks)[0], types(chunks)[-1]) == ("text-start", "text-end")


async def test_text_goes_once_the_window_is_past_it() -> None:
    running = Running(filter_of(window=8))
    chunks = await running.stream(text(*["word "] * 20)[:-1], end=False)
    assert 80 <= len(said(chunks)) <= 92
    assert said(await running.stream([])) == "word " * 20


async def test_a_find_that_goes_on_is_waited_for() -> None:
    url = "https://example.org/" + "a" * 500
    chunks = await streamed(RegexFilter(["url"], window=16), letters(f"See {url} there, {url}"))
    assert said(chunks) == "See [URL] there, [URL]"


async def test_a_find_without_end_stops_the_run() -> None:
    running = Running(RegexFilter(["url"], window=16))
    with pytest.raises(TripwireError, match="found in the output has more than 8,192 characters"):
        await running.stream(text("https://example.org/", *["a" * 500] * 40))
    assert said(running.chunks) == ""


async def test_a_find_without_end_is_warned_of_and_let_go() -> None:
    running = Running(RegexFilter(["url"], window=16, strategy="warn"))
    chunks = await running.stream(text("https://example.org/", *["a" * 500] * 17), end=False)
    assert len(said(chunks)) > LONGEST
    assert [warning["metadata"] for warning in running.warnings] == [{"rule": "url"}]


async def test_what_stands_before_the_window_still_counts() -> None:
    rule = Rule("code", r"(?<![0-9])[0-9]{4}(?![0-9])")
    number = "1" * 40
    assert said(await streamed(RegexFilter([rule], window=8), letters(f"{number} 1234."))) == f"{number} [CODE]."


async def test_a_block_in_the_stream_comes_before_its_text() -> None:
    running = Running(filter_of(strategy="block"))
    with pytest.raises(TripwireError, match='Rule "email" found something in the output'):
        await running.stream(letters(f"It is {MAIL}."))
    assert MAIL[:3] not in said(running.chunks)


async def test_a_warning_in_the_stream_comes_once_for_each_find() -> None:
    running = Running(filter_of(strategy="warn"))
    assert said(await running.stream(letters(f"{MAIL} and {MAIL}"))) == f"{MAIL} and {MAIL}"
    assert len(running.warnings) == 2


async def test_reasoning_is_looked_at_too() -> None:
    chunks = [*(reasoning_delta(letter) for letter in MAIL), reasoning_end()]
    assert thought(await streamed(filter_of(), chunks)) == "[EMAIL]"


async def test_what_is_interrupted_by_other_chunks_is_found_and_nothing_changes_places() -> None:
    chunks = await streamed(filter_of(), [delta("ann@"), data("a"), delta("example"), data("b"), delta(".org")])
    assert [(chunk.type, said([chunk])) for chunk in chunks] == [
        ("text-delta", "[EMAIL]"),
        ("data-a", ""),
        ("data-b", ""),
    ]


async def test_blocks_side_by_side_are_looked_at_apart() -> None:
    chunks: list[ChunkType] = []
    for letter in MAIL:
        chunks += [delta(letter, "t1"), delta(letter.upper(), "t2"), reasoning_delta("-")]
    passed = await streamed(filter_of(), chunks)
    assert said(passed) == "[EMAIL][EMAIL]"
    assert thought(passed) == "-" * len(MAIL)


async def test_text_without_an_end_goes_at_the_end_of_the_step() -> None:
    assert said(await streamed(filter_of(), [delta(f"I am {MAIL}")])) == "I am [EMAIL]"


async def test_raw_chunks_are_dropped_because_they_hold_the_same_text() -> None:
    raw = RawChunk({"delta": MAIL}, run_id="run-1", from_="AGENT")
    assert await streamed(filter_of(), [raw]) == []
    assert await streamed(filter_of(strategy="block"), [raw]) == []
    assert await streamed(filter_of(strategy="warn"), [raw]) == [raw]


SAMPLES = [
    MAIL,
    "4111 1111 1111 1111",
    "DE89 3704 0044 0532 0130 00",
    "123-45-6789",
    "192.168.0.1",
    "2001:db8::1",
    "https://example.org/path",
    "words ",
    "in between, ",
    "12 ",
    " ",
]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(SAMPLES), max_size=8), st.integers(1, 7), st.integers(45, 200))
def test_the_cuts_make_no_difference(samples: list[str], cut: int, window: int) -> None:
    whole = " ".join(samples)
    pieces = [whole[at : at + cut] for at in range(0, len(whole), cut)]
    presets = RegexFilter(get_args(Preset), window=window)
    at_once = asyncio.run(streamed(RegexFilter(get_args(Preset)), text(whole)))
    assert said(asyncio.run(streamed(presets, text(*pieces)))) == said(at_once)


# -- options


@pytest.mark.parametrize(
    ("on", "hooks"),
    [
        ("input", {"process_input"}),
        ("output", {"process_output_stream", "process_output_stream_end", "process_output_result"}),
        ("tool_results", {"process_tool_result", "process_tool_error"}),
    ],
)
def test_it_has_the_hooks_of_the_places_where_it_looks(on: Any, hooks: set[str]) -> None:
    assert filter_of(on=[on]).hooks == hooks


def test_options_that_cannot_work_are_refused() -> None:
    with pytest.raises(ConfigError, match="strategy is 'redact', 'block' or 'warn', not 'hide'"):
        filter_of(strategy="hide")
    for on in ("input", [], ["outputs"]):
        with pytest.raises(ConfigError, match="RegexFilter: on is a list of input, output, tool_results, not "):
            filter_of(on=on)
    with pytest.raises(ConfigError, match="window is a number of characters from 1 on, not 0"):
        filter_of(window=0)
    with pytest.raises(ConfigError, match="window is a number of characters from 1 on, not '128'"):
        filter_of(window="128")


async def test_a_rule_whose_check_fails_stops_the_run_rather_than_let_text_pass() -> None:
    def broken(found: str) -> bool:
        raise ValueError("bug")

    guard: Processor = RegexFilter([Rule("x", "a", check=broken)])
    running = Running(guard)
    with pytest.raises(TripwireError, match=r"A rule could not be checked \(ValueError\)"):
        await running.stream(text("banana"))
    assert said(running.chunks) == ""


def test_two_filters_may_have_names_of_their_own() -> None:
    assert (filter_of().id, filter_of(id="mail").id) == ("regex_filter", "mail")


def test_the_wire_form_of_a_hidden_delta_is_that_of_any_delta() -> None:
    chunks = asyncio.run(streamed(filter_of(), [delta(MAIL)]))
    assert to_value(chunks[0]) == {
        "type": "text-delta",
        "runId": "run-1",
        "from": "AGENT",
        "payload": {"id": "t", "text": "[EMAIL]"},
    }
