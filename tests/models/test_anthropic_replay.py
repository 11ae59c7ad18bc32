"""What the model said goes back as it came: word for word, in its order, and only to the provider that gave it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from riverrun.chunks import (
    AssistantMessage,
    CustomPart,
    MessagePart,
    ReasoningPart,
    StepFold,
    SystemMessage,
    TextPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)
from tests.models.anthropic_messages import (
    CACHE,
    Case,
    assistant,
    begin,
    block,
    built,
    call,
    cases,
    decode,
    end,
    options,
    result,
    said,
    sent,
    text,
    user,
)


def answer(stream: bytes, provider: str = "anthropic") -> list[MessagePart]:
    """The parts that follow from a stream, as the agent makes them."""
    fold = StepFold()
    for chunk in decode(stream, provider=provider).chunks:
        fold.add(chunk)
    return fold.content()


def replayed(stream: bytes, provider: str = "anthropic") -> list[dict[str, Any]]:
    """The blocks of the assistant message that follows from a stream."""
    messages = sent(user("hi"), AssistantMessage(answer(stream, provider)), user("go on"), provider=provider)
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    return messages[1]["content"]


THOUGHT = {"type": "thinking", "thinking": "Hm. ", "signature": "S1=="}
BLOCKS: dict[str, list[dict[str, Any]]] = {
    "reasoning": [
        THOUGHT,
        {"type": "redacted_thinking", "data": "ENC=="},
        {"type": "thinking", "thinking": "", "signature": "S2=="},
        said("a "),
        {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}, "caller": {"type": "direct"}},
    ],
    "search": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {"type": "web_search_result", "url": "https://a.example", "title": "A", "encrypted_content": "E"}
            ],
        },
        said(
            "a", citations=[{"type": "web_search_result_location", "url": "https://a.example", "encrypted_index": "I"}]
        ),
        said("b"),
    ],
    "code": [
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "code_execution",
            "input": {"code": "x"},
            "caller": {"type": "direct"},
        },
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "add",
            "input": {},
            "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"},
        },
        {
            "type": "code_execution_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": {"type": "code_execution_tool_result_error", "error_code": "unavailable"},
        },
    ],
    "mcp": [
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "input": {"x": 1}, "server_name": "echoes"},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": True, "content": [said("no")]},
    ],
    "compaction": [{"type": "compaction", "content": "We talked.", "encrypted_content": None}, said("a")],
    "unknown": [
        {"type": "hologram", "x": {"camelCase": [1, None]}},
        {"type": "robot_tool_use", "id": "r", "name": "dance", "input": {}},
        {"type": "robot_tool_result", "tool_use_id": "r", "content": "done", "steps": 3},
    ],
}


def whole(blocks: list[dict[str, Any]]) -> bytes:
    """A stream of these blocks."""
    return begin() + b"".join(block(index, item) for index, item in enumerate(blocks)) + end("tool_use")


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_go_back_word_for_word_and_in_their_order(name: str):
    assert replayed(whole(BLOCKS[name])) == BLOCKS[name]


@pytest.mark.parametrize("name", BLOCKS)
def test_what_another_provider_gave_stays_here(name: str):
    parts = answer(whole(BLOCKS[name]), "acme")
    plain = [
        {name: value for name, value in item.items() if name not in ("caller", "citations")}
        for item in BLOCKS[name]
        if item["type"] in ("text", "tool_use")
    ]
    messages = sent(AssistantMessage(parts), user("go on"))
    assert [block for message in messages[:-1] for block in message["content"]] == plain


def test_a_server_of_another_name_gets_back_what_it_gave():
    assert replayed(whole([THOUGHT, said("a")]), provider="acme") == [THOUGHT, said("a")]


HIDDEN = {"type": "redacted_thinking", "data": "ENC=="}


@pytest.mark.parametrize("last", [[THOUGHT], [HIDDEN], [THOUGHT, HIDDEN]], ids=["seen", "redacted", "both"])
def test_thinking_that_nothing_follows_is_not_sent(last: list[dict[str, Any]]):
    """As when the answer was cut off. The API refuses a message that ends in it."""
    assert replayed(whole([THOUGHT, said("a"), *last])) == [THOUGHT, said("a")]
    cut = AssistantMessage(answer(whole([said("a"), *last])))
    assert sent(user("hi"), cut)[1:] == [{"role": "assistant", "content": [said("a")]}]


@pytest.mark.parametrize("last", [[THOUGHT], [HIDDEN], [THOUGHT, HIDDEN]], ids=["seen", "redacted", "both"])
def test_a_message_of_thinking_alone_is_not_sent(last: list[dict[str, Any]]):
    cut = AssistantMessage(answer(whole(last)))
    assert sent(user("hi"), cut, user("go on")) == [{"role": "user", "content": [said("hi"), said("go on")]}]
    assert sent(user("hi"), cut) == [{"role": "user", "content": [said("hi")]}]
    body = built(cut, SystemMessage("be brief"), user("hi"), model_id="claude-opus-4-8").body
    assert body["system"] == "be brief"


def test_thinking_that_the_next_message_goes_on_with_is_sent():
    paused, rest = AssistantMessage(answer(whole([THOUGHT]))), AssistantMessage(answer(whole([said("a")])))
    assert sent(user("hi"), paused, rest)[1:] == [{"role": "assistant", "content": [THOUGHT, said("a")]}]


@pytest.mark.parametrize("case", [case for case in cases() if case.id.startswith("bugs: ")], ids=lambda case: case.id)
def test_the_second_request_of_the_bug_reports(case: Case):
    expected = {
        "anthropics/anthropic-sdk-python#461": ["tool_use"],
        "BerriAI/litellm#38809": ["thinking", "tool_use"],
        "alibaba/open-code-review#811": ["thinking", "redacted_thinking", "tool_use"],
        "anthropics/anthropic-sdk-python#1331": ["tool_use"],
        "farzaa/clicky#132": ["text"],
    }
    blocks = replayed(case.stream)
    assert [block["type"] for block in blocks] == expected[case.id.split()[1]]
    if "38809" in case.id:
        assert blocks[0] == {"type": "thinking", "thinking": "", "signature": "EqQBsig=="}
    if "811" in case.id:
        assert blocks[0] == {"type": "thinking", "thinking": "Need time.", "signature": "SIG"}
        assert blocks[1] == {"type": "redacted_thinking", "data": "ENCRYPTED"}


def test_a_turn_that_paused_goes_on_in_the_same_message():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    paused = AssistantMessage(answer(begin() + block(0, search) + end("pause_turn")))
    assert sent(user("hi"), paused)[1] == {"role": "assistant", "content": [search]}
    rest = AssistantMessage(answer(begin() + block(0, found) + text(1, "a") + end()))
    assert sent(user("hi"), paused, rest)[1:] == [{"role": "assistant", "content": [search, found, said("a")]}]


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
ECHO = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "input": {"x": 1}, "server_name": "echoes"}
ADD_CALL = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}}
IN_CODE = {**ADD_CALL, "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}


@pytest.mark.parametrize("given_up", [SEARCH, ECHO], ids=["search", "mcp"])
def test_a_call_that_the_provider_never_ran_is_not_sent_when_the_turn_is_over(given_up: dict[str, Any]):
    """As of a run that was cancelled. The API refuses a call without its result; thinking before it goes with it."""
    assert replayed(whole([said("a"), THOUGHT, given_up])) == [said("a")]
    alone = AssistantMessage(answer(whole([given_up])))
    assert sent(user("hi"), alone, user("go on")) == [{"role": "user", "content": [said("hi"), said("go on")]}]
    assert sent(user("hi"), alone, SystemMessage("go on"))[0]["content"][0] == said("hi")
    assert len(sent(user("hi"), alone, SystemMessage("go on"))) == 1


def test_a_call_that_the_provider_is_to_run_is_sent_while_the_turn_goes_on():
    both = AssistantMessage(answer(whole([SEARCH, ADD_CALL])))
    assert sent(user("hi"), both)[1]["content"] == [SEARCH, ADD_CALL]
    results = result("text", "2", "toolu_1")
    assert sent(user("hi"), both, results)[1]["content"] == [SEARCH, ADD_CALL]
    again = AssistantMessage(answer(whole([{**ADD_CALL, "id": "toolu_2"}])))
    assert sent(user("hi"), both, results, again, result("text", "3", "toolu_2"))[1]["content"] == [SEARCH, ADD_CALL]
    assert sent(user("hi"), both, results, user("and?"))[1]["content"] == [ADD_CALL]


def test_a_result_that_comes_after_those_of_the_programs_tools_answers_its_call():
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    first, rest = (AssistantMessage(answer(whole(blocks))) for blocks in ([SEARCH, ADD_CALL], [found, said("a")]))
    messages = sent(user("hi"), first, result("text", "2", "toolu_1"), rest, user("thanks"))
    assert [messages[1]["content"], messages[3]["content"]] == [[SEARCH, ADD_CALL], [found, said("a")]]


def test_a_call_of_code_that_was_given_up_is_sent_as_a_call_of_the_models():
    code = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {"code": "x"}}
    parts = answer(begin(container={"id": "c"}) + block(0, code) + block(1, IN_CODE) + end("tool_use"))
    cancelled = (user("hi"), AssistantMessage(parts), result("text", "2", "toolu_1"))
    assert sent(*cancelled)[1]["content"] == [code, IN_CODE]
    body = built(*cancelled, user("go on")).body
    assert body["messages"][1]["content"] == [ADD_CALL]
    assert "container" not in body


def test_code_that_waits_for_results_is_found_again_in_its_container():
    waiting = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "add",
        "input": {},
        "caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"},
    }
    parts = answer(begin(container={"id": "container_1"}) + block(0, waiting) + end("tool_use"))
    asked = (user("hi"), AssistantMessage(parts), result("text", "2", "toolu_1"))
    body = built(*asked).body
    assert body["container"] == "container_1"
    assert body["messages"][1]["content"] == [waiting]
    assert built(*asked, provider_options=options(container="other")).body["container"] == "other"
    assert "container" not in built(*asked, assistant(TextPart("2")), user("thanks")).body


def test_the_family_of_a_tool_goes_with_its_result():
    click = {"type": "tool_use", "id": "toolu_1", "name": "left_click", "input": {}, "toolset_name": "browser"}
    messages = sent(AssistantMessage(answer(whole([click]))), result("text", "ok", "toolu_1"))
    assert messages[0]["content"] == [click]
    assert messages[1]["content"][0]["toolset_name"] == "browser"


DECLINED = [
    THOUGHT,
    said("I"),
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {}},
    {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {}},
    {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}, "trigger": None},
    {"type": "thinking", "thinking": "", "signature": "S3"},
    {"type": "tool_use", "id": "toolu_2", "name": "add", "input": {}},
]


@pytest.mark.parametrize(
    ("asked", "mark"),
    [
        (options(fallbacks=[{"model": "b"}]), True),
        (options(betas=["server-side-fallback-2026-07-01"]), True),
        ({}, False),
    ],
)
def test_of_what_a_model_said_before_it_declined_only_texts_and_finished_searches_go_back(
    asked: dict[str, Any], mark: bool
):
    """The mark goes back only in a request that may fall back: others refuse it."""
    results = ToolMessage([*result("text", "1", "toolu_1").content, *result("text", "2", "toolu_2").content])
    declined = AssistantMessage(answer(whole(DECLINED)))
    messages = sent(user("hi"), declined, results, provider_options=asked)
    kept = [1, 2, 3, *([6] if mark else []), 7, 8]
    assert messages[1]["content"] == [DECLINED[place] for place in kept]
    assert [block["tool_use_id"] for block in messages[2]["content"]] == ["toolu_2"]


def test_a_custom_part_without_a_block_is_left_out():
    parts = [
        CustomPart(kind="anthropic.x", provider_options=options(block={"no": "type"})),
        CustomPart(kind="anthropic.x"),
        TextPart("a"),
    ]
    assert sent(assistant(*parts)) == [{"role": "assistant", "content": [said("a")]}]


def test_a_request_is_not_changed_by_what_is_built_of_it():
    held = {"type": "compaction", "content": "x"}
    summary = CustomPart(kind="anthropic.compaction", provider_options=options(block=held))
    message = assistant(summary, provider_options=options(cacheControl=CACHE))
    assert sent(user("hi"), message) == sent(user("hi"), message)
    assert held == {"type": "compaction", "content": "x"}


ODD: list[Any] = [
    None,
    True,
    0,
    1.5,
    "",
    "x",
    [],
    [None],
    {},
    {"a": 1},
    {"type": "fallback"},
    {"type": "tool_use"},
    {"type": 3},
]


def test_no_shape_of_what_clients_send_back_stops_a_request():
    """Parts with random members of provider options replaced: there is a request with a JSON form all the same."""
    chance = random.Random(5)
    names = ("type", "signature", "redactedData", "citations", "block", "container", "toolset_name", "caller")
    names += ("cacheControl",)
    for _ in range(3000):

        def odd() -> Any:
            members = {name: chance.choice(ODD) for name in names if chance.random() < 0.4}
            return {"anthropic": chance.choice([members, members, chance.choice(ODD)])}

        parts = [
            TextPart("a", provider_options=odd()),
            ReasoningPart("hm", provider_options=odd()),
            call(input=chance.choice(ODD), provider_options=odd()),
            call("c2", provider_executed=True, provider_options=odd()),
            ToolResultPart(
                tool_call_id="c2",
                tool_name="x",
                output=ToolOutput("json", chance.choice(ODD)),
                provider_options=odd(),
            ),
            CustomPart(kind="anthropic.x", provider_options=odd()),
        ]
        chance.shuffle(parts)
        output = result(
            "content", [chance.choice(ODD), {"type": "text", "providerOptions": odd()}], provider_options=odd()
        )
        request = built(
            SystemMessage("s", provider_options=odd()),
            UserMessage([TextPart("hi", provider_options=odd())], provider_options=odd()),
            AssistantMessage(parts, provider_options=odd()),
            output,
        )
        json.dumps(request.body)
