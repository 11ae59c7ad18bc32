"""ToolCallFilter: what is left of a history without its tool calls."""

from __future__ import annotations

from typing import Any, cast

import pytest

from riverrun.chunks import (
    AssistantMessage,
    Message,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
)
from riverrun.errors import ConfigError
from riverrun.processors import ToolCallFilter
from tests.processors.streams import Running, user


def call(name: str) -> ToolCallPart:
    return ToolCallPart(tool_call_id=name, tool_name=name, input={})


def result(name: str) -> ToolResultPart:
    return ToolResultPart(tool_call_id=name, tool_name=name, output=ToolOutput("text", "x"))


HISTORY: list[Message] = [
    user("Hi"),
    AssistantMessage(content=[TextPart("Let me look."), call("look"), call("mail")]),
    ToolMessage(content=[result("look"), result("mail")]),
    AssistantMessage(content=[call("look")]),
    ToolMessage(content=[result("look")]),
]


async def test_all_calls_go_with_their_results_and_the_messages_that_held_nothing_else() -> None:
    kept = await Running(ToolCallFilter()).pipeline.process_input(HISTORY)
    assert kept == [user("Hi"), AssistantMessage(content=[TextPart("Let me look.")])]


async def test_only_the_calls_of_some_tools_go() -> None:
    kept = await Running(ToolCallFilter(exclude=["look"])).pipeline.process_input(HISTORY)
    assert kept == [
        user("Hi"),
        AssistantMessage(content=[TextPart("Let me look."), call("mail")]),
        ToolMessage(content=[result("mail")]),
    ]


async def test_no_name_at_all_leaves_everything() -> None:
    assert await Running(ToolCallFilter(exclude=[])).pipeline.process_input(HISTORY) == HISTORY


def test_a_text_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"exclude is a list of tool names: \['look'\]"):
        ToolCallFilter(exclude=cast("Any", "look"))
