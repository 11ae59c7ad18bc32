"""What a caller may say, in all its forms, and what is refused with a word on why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from riverrun import Agent, ConfigError
from riverrun.agent.inputs import answer_messages, sealed, to_messages
from riverrun.chunks import (
    AssistantMessage,
    FilePart,
    MessagePart,
    Messages,
    ReasoningPart,
    SystemMessage,
    TextDeltaChunk,
    TextDeltaPayload,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UnknownPart,
    UserMessage,
)
from riverrun.models import ScriptedModel
from tests.agent.scripts import says


def user(*parts: MessagePart | str) -> UserMessage:
    return UserMessage([TextPart(part) if isinstance(part, str) else part for part in parts])


def assistant(*parts: MessagePart | str) -> AssistantMessage:
    return AssistantMessage([TextPart(part) if isinstance(part, str) else part for part in parts])


def called(id: str = "c1", name: str = "look", input: Any = None, **more: Any) -> ToolCallPart:
    return ToolCallPart(tool_call_id=id, tool_name=name, input=input, **more)


def result(value: Any, id: str = "c1", name: str = "look", kind: str = "text", **more: Any) -> ToolResultPart:
    return ToolResultPart(tool_call_id=id, tool_name=name, output=ToolOutput(kind, value), **more)


# -- texts and messages


def test_a_text_is_a_message_of_the_user() -> None:
    assert to_messages("hi") == [user("hi")]


def test_no_text_is_no_message() -> None:
    assert to_messages("") == []
    assert to_messages([]) == []
    assert to_messages([""]) == []
    assert to_messages({"role": "user", "content": ""}) == []


def test_a_list_may_mix_texts_messages_and_json() -> None:
    mixed: list[Any] = ["a", user("b"), {"role": "user", "content": "c"}]
    assert to_messages(mixed) == [user("a"), user("b"), user("c")]


def test_any_iterable_of_messages_will_do() -> None:
    def several() -> Iterator[str]:
        yield "a"
        yield "b"

    for given in (("a", "b"), several()):
        assert to_messages(given) == [user("a"), user("b")]  # type: ignore[arg-type]


def test_a_message_stays_as_it_is() -> None:
    message = UserMessage([TextPart("hi")], id="m1", provider_options={"p": {"cache": True}})
    assert to_messages(message)[0] is message


# -- the form of models


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"role": "system", "content": "Be brief."}, SystemMessage("Be brief.")),
        ({"role": "user", "content": "hi"}, user("hi")),
        ({"role": "assistant", "content": "hello"}, assistant("hello")),
        ({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, user("a", "b")),
        (
            {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            SystemMessage("a\nb"),
        ),
        ({"role": "user", "content": [TextPart("a"), {"type": "text", "text": "b"}]}, user("a", "b")),
        ({"role": "assistant", "content": [{"type": "reasoning", "text": "hm"}]}, assistant(ReasoningPart("hm"))),
        ({"role": "user", "content": "hi", "id": "m1"}, UserMessage([TextPart("hi")], id="m1")),
        (
            {"role": "user", "content": "hi", "providerOptions": {"p": {"cache": True}}},
            UserMessage([TextPart("hi")], provider_options={"p": {"cache": True}}),
        ),
        (
            {"role": "user", "content": [{"type": "text", "text": "hi", "providerOptions": {"p": {"x": 1}}}]},
            user(TextPart("hi", provider_options={"p": {"x": 1}})),
        ),
    ],
)
def test_messages_in_the_form_of_models(given: Any, message: Any) -> None:
    assert to_messages(given) == [message]


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (
            {"type": "image", "image": "https://a.example/x.png"},
            FilePart(data="https://a.example/x.png", media_type="image/*"),
        ),
        (
            {"type": "image", "image": b"\x89PNG", "mediaType": "image/png"},
            FilePart(data=b"\x89PNG", media_type="image/png"),
        ),
        ({"type": "image", "image": "aGk=", "mimeType": "image/gif"}, FilePart(data="aGk=", media_type="image/gif")),
        (
            {"type": "file", "data": "aGk=", "mediaType": "application/pdf", "filename": "a.pdf"},
            FilePart(data="aGk=", media_type="application/pdf", filename="a.pdf"),
        ),
        (
            {"type": "file", "url": "data:text/plain;base64,aGk="},
            FilePart(data="data:text/plain;base64,aGk=", media_type="application/octet-stream"),
        ),
        ({"type": "file", "data": b"hi", "mimeType": "text/plain"}, FilePart(data=b"hi", media_type="text/plain")),
    ],
)
def test_images_and_files(given: Any, part: FilePart) -> None:
    assert to_messages({"role": "user", "content": [given]}) == [user(part)]


def test_files_reach_the_model() -> None:
    part: MessagePart = FilePart(data=b"hi", media_type="text/plain", filename="a.txt")
    assert to_messages([user("read this", part)])[0].content[1] is part  # type: ignore[union-attr]


def test_a_history_with_tools() -> None:
    history: list[Any] = [
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"at": 1}},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "look",
                    "output": {"type": "json", "value": {"seen": 1}},
                    "input": {"at": 1},
                }
            ],
        },
        {"role": "assistant", "content": "I saw one."},
    ]
    assert to_messages(history) == [
        user("look"),
        assistant("I look.", called(input={"at": 1})),
        ToolMessage([result({"seen": 1}, kind="json", input={"at": 1})]),
        assistant("I saw one."),
    ]


@pytest.mark.parametrize(
    ("members", "output"),
    [
        ({"output": {"type": "text", "value": "a"}}, ToolOutput("text", "a")),
        ({"output": {"type": "error-text", "value": "a"}}, ToolOutput("error-text", "a")),
        ({"output": {"type": "content", "value": []}}, ToolOutput("content", [])),
        ({"result": "a"}, ToolOutput("text", "a")),
        ({"result": {"a": 1}}, ToolOutput("json", {"a": 1})),
        ({"result": None}, ToolOutput("json", None)),
        ({"output": {"a": 1}}, ToolOutput("json", {"a": 1})),
        ({"result": "no", "isError": True}, ToolOutput("error-text", "no")),
        ({"result": {"no": 1}, "isError": True}, ToolOutput("error-json", {"no": 1})),
        ({}, ToolOutput("json", None)),
    ],
)
def test_results_of_tools_in_all_their_forms(members: dict[str, Any], output: ToolOutput) -> None:
    (message,) = to_messages({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", **members}]})
    assert isinstance(message, ToolMessage)
    assert message.content == [ToolResultPart(tool_call_id="c1", tool_name="", output=output)]


def test_arguments_may_be_called_args() -> None:
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "args": {"at": 1}}
    assert to_messages({"role": "assistant", "content": [call]}) == [assistant(called(input={"at": 1}))]


# -- the form of user interfaces


def test_messages_of_a_user_interface() -> None:
    given: list[Any] = [
        {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {
            "id": "m2",
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "hm", "providerMetadata": {"p": {"signature": "s"}}},
                {"type": "text", "text": "hello", "state": "done"},
                {"type": "source-url", "sourceId": "s", "url": "https://a.example"},
                {"type": "data-progress", "data": 50},
            ],
        },
    ]
    reasoned = ReasoningPart("hm", provider_options={"p": {"signature": "s"}})
    assert to_messages(given) == [
        UserMessage([TextPart("hi")], id="m1"),
        AssistantMessage([reasoned, TextPart("hello")], id="m2"),
    ]


TOOL_STATES: dict[str, tuple[dict[str, Any], ToolOutput | None]] = {
    "input-streaming": ({"input": {"a": None}}, None),
    "input-available": ({}, None),
    "approval-requested": ({"approval": {"id": "x"}}, None),
    "output-available": ({"output": {"n": 1}}, ToolOutput("json", {"n": 1})),
    "output-available, with nothing": ({}, ToolOutput("json", None)),
    "output-error": ({"errorText": "broken"}, ToolOutput("error-text", "broken")),
    "output-denied": ({}, ToolOutput("error-text", "The call was not approved.")),
}


@pytest.mark.parametrize("state", TOOL_STATES)
@pytest.mark.parametrize("kind", [{"type": "tool-look"}, {"type": "dynamic-tool", "toolName": "look"}])
def test_a_tool_part_in_each_state(kind: dict[str, str], state: str) -> None:
    members, output = TOOL_STATES[state]
    part = {**kind, "toolCallId": "c1", "state": state.partition(",")[0], "input": {"at": 1}, **members}
    said, *told = to_messages({"role": "assistant", "parts": [part]})
    assert said == assistant(called(input=part["input"]))
    assert told == (
        [] if output is None else [ToolMessage([ToolResultPart(tool_call_id="c1", tool_name="look", output=output)])]
    )


def test_a_tool_that_waits_in_a_user_interface_is_not_told_to_the_model() -> None:
    part = {"type": "tool-look", "toolCallId": "c1", "state": "input-available", "input": {}}
    given: list[Any] = [{"role": "assistant", "parts": [part]}, "never mind"]
    assert sealed(to_messages(given)) == [user("never mind")]


def test_the_steps_of_an_answer_stay_apart() -> None:
    """What the model said after it saw a result must not stand before the result."""

    def done(id: str) -> dict[str, Any]:
        return {"type": "tool-look", "toolCallId": id, "state": "output-available", "input": {}, "output": id}

    parts = [
        {"type": "step-start"},
        {"type": "text", "text": "I look."},
        done("c1"),
        {"type": "step-start"},
        done("c2"),
        {"type": "step-start"},
        {"type": "text", "text": "Two things."},
    ]
    assert to_messages({"role": "assistant", "id": "m", "parts": parts}) == [
        AssistantMessage([TextPart("I look."), called("c1", input={})], id="m"),
        ToolMessage([result("c1", "c1")]),
        AssistantMessage([called("c2", input={})], id="m"),
        ToolMessage([result("c2", "c2")]),
        AssistantMessage([TextPart("Two things.")], id="m"),
    ]


@pytest.mark.parametrize(
    ("state", "members", "output"),
    [
        ("partial-call", {}, None),
        ("call", {}, None),
        ("result", {"result": "seen"}, ToolOutput("text", "seen")),
        ("result", {"result": None}, ToolOutput("json", None)),
    ],
)
def test_the_older_form_with_tool_invocations(state: str, members: dict[str, Any], output: ToolOutput | None) -> None:
    call = {"state": state, "toolCallId": "c1", "toolName": "look", "args": {"at": 1}, **members}
    older = {"role": "assistant", "content": "I look.", "toolInvocations": [call]}
    said, *told = to_messages(older)
    assert said == assistant("I look.", called(input={"at": 1}))
    assert [message.content[0].output for message in told] == ([] if output is None else [output])  # type: ignore[union-attr]


def test_a_tool_that_the_provider_ran_keeps_its_result_in_the_answer() -> None:
    part = {
        "type": "tool-search",
        "toolCallId": "s1",
        "state": "output-available",
        "input": {},
        "output": 3,
        "providerExecuted": True,
    }
    assert to_messages({"role": "assistant", "parts": [part]}) == [
        assistant(called("s1", "search", {}, provider_executed=True), result(3, "s1", "search", "json"))
    ]


# -- the stored form


def test_stored_messages() -> None:
    invocation = {"state": "result", "toolCallId": "c1", "toolName": "look", "args": {}, "result": "seen"}
    given: list[Any] = [
        {
            "id": "m1",
            "role": "user",
            "createdAt": "x",
            "content": {"format": 2, "parts": [{"type": "text", "text": "q"}]},
        },
        {
            "id": "m2",
            "role": "assistant",
            "content": {
                "format": 2,
                "parts": [
                    {"type": "step-start"},
                    {"type": "reasoning", "reasoning": "hm"},
                    {"type": "tool-invocation", "toolInvocation": invocation},
                    {"type": "step-start"},
                    {"type": "text", "text": "done"},
                ],
            },
        },
    ]
    assert to_messages(given) == [
        UserMessage([TextPart("q")], id="m1"),
        AssistantMessage([ReasoningPart("hm"), called(input={})], id="m2"),
        ToolMessage([result("seen")]),
        AssistantMessage([TextPart("done")], id="m2"),
    ]


# -- what is refused


MALFORMED: dict[str, Any] = {
    "nothing": None,
    "a number": 5,
    "bytes": b"hi",
    "a list of numbers": [1, 2],
    "a list in a list": [["hi"]],
    "nothing in a list": [None],
    "an object without a role": {"content": "hi"},
    "a role that is no text": {"role": 1, "content": "hi"},
    "a role that is none": {"role": "robot", "content": "hi"},
    "a message without content": {"role": "user"},
    "content that is a number": {"role": "user", "content": 5},
    "content that is an odd object": {"role": "user", "content": {"text": "hi"}},
    "parts that are a text": {"role": "user", "parts": "hi"},
    "parts that are texts": {"role": "user", "content": ["hi"]},
    "a part that is nothing": {"role": "user", "content": [None]},
    "a part without a type": {"role": "user", "content": [{"text": "hi"}]},
    "a text part without text": {"role": "user", "content": [{"type": "text"}]},
    "a text part with a number": {"role": "user", "content": [{"type": "text", "text": 5}]},
    "a system part without text": {"role": "system", "content": [{"type": "text"}]},
    "an image without an image": {"role": "user", "content": [{"type": "image", "url": "https://a.example"}]},
    "a file without data": {"role": "user", "content": [{"type": "file", "mediaType": "text/plain"}]},
    "a call without an id": {"role": "assistant", "content": [{"type": "tool-call", "toolName": "look"}]},
    "a call without a name": {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1"}]},
    "a tool part without an id": {"role": "assistant", "parts": [{"type": "tool-look", "state": "output-available"}]},
    "a dynamic tool without a name": {"role": "assistant", "parts": [{"type": "dynamic-tool", "toolCallId": "c"}]},
    "an invocation that is a text": {
        "role": "assistant",
        "parts": [{"type": "tool-invocation", "toolInvocation": "x"}],
    },
    "an invocation that is missing": {"role": "assistant", "parts": [{"type": "tool-invocation"}]},
    "invocations that are a number": {"role": "assistant", "content": "a", "toolInvocations": 5},
    "invocations that are texts": {"role": "assistant", "content": "a", "toolInvocations": ["x"]},
    "a tool message with a text": {"role": "tool", "content": "seen"},
    "a tool message with a text part": {"role": "tool", "content": [{"type": "text", "text": "seen"}]},
    "a result whose id is a number": {"role": "tool", "content": [{"type": "tool-result", "toolCallId": 1}]},
    "provider options that are a text": {"role": "user", "content": "a", "providerOptions": "fast"},
    "options of a part that are a list": {
        "role": "user",
        "content": [{"type": "text", "text": "a", "providerOptions": [1]}],
    },
    "a part in place of a message": TextPart("hi"),
    "a chunk in place of a message": TextDeltaChunk(TextDeltaPayload("t", "hi")),
    "the messages of a finish chunk": Messages(all=[], user=[], non_user=[]),
    "a message whose content is a text": UserMessage("hi"),  # type: ignore[arg-type]
    "a message whose parts are texts": AssistantMessage(["hi"]),  # type: ignore[list-item]
    "a message of JSON parts": UserMessage([{"type": "text", "text": "hi"}]),  # type: ignore[list-item]
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_no_input_is_refused_with_a_word_on_why(what: str) -> None:
    agent = Agent("a", model=ScriptedModel([says("never")]))
    with pytest.raises(ConfigError) as raised:
        agent.stream(MALFORMED[what])
    message = str(raised.value)
    assert "Traceback" not in message
    assert len(message) > 20, message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "an input is a text, a message or a list of these, not int"),
        ({"role": "robot", "content": "hi"}, "a message's role is system, user, assistant or tool, not 'robot'"),
        ({"content": "hi"}, "a message is an object with a role and content, not {'content': 'hi'}"),
        ({"role": "user", "content": [{"type": "text"}]}, "text is missing or no text: {'type': 'text'}"),
        ({"role": "user", "content": ["hi"]}, "a part of a message is an object, not 'hi'"),
        (TextPart("hi"), "a message is a SystemMessage, UserMessage, …, not TextPart(text='hi'"),
    ],
)
def test_the_word_on_why_names_what_is_wrong(given: Any, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        to_messages(given)
    assert str(raised.value).startswith(message)


def test_a_long_input_is_not_repeated_whole_in_the_refusal() -> None:
    with pytest.raises(ConfigError) as raised:
        to_messages([{"content": "x" * 10_000}])  # type: ignore[list-item]
    assert len(str(raised.value)) < 200


# -- answers as messages, and messages as providers accept them


def test_an_answer_is_what_was_said_and_then_the_results() -> None:
    content = [TextPart("I look."), called("c1"), called("c2"), result("one", "c1"), result("two", "c2")]
    assert answer_messages(content) == [
        assistant("I look.", called("c1"), called("c2")),
        ToolMessage([result("one", "c1"), result("two", "c2")]),
    ]


def test_the_result_of_a_providers_tool_belongs_to_the_answer_even_when_the_call_was_earlier() -> None:
    content = [result("found", "earlier"), TextPart("It is so."), called("c1"), result("one", "c1")]
    assert answer_messages(content) == [
        assistant(result("found", "earlier"), "It is so.", called("c1")),
        ToolMessage([result("one", "c1")]),
    ]


def test_what_a_provider_wants_back_comes_with_a_clients_parts() -> None:
    (message,) = to_messages(
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "text": "", "providerMetadata": {"google": {"thoughtSignature": "s"}}},
                {"type": "custom", "kind": "openai.compaction", "providerMetadata": {"openai": {"item": {}}}},
                {
                    "type": "tool-web_search",
                    "toolCallId": "c",
                    "state": "output-available",
                    "providerExecuted": True,
                    "input": {},
                    "output": "found",
                    "callProviderMetadata": {"openai": {"itemId": "i"}},
                    "resultProviderMetadata": {"openai": {"item": 1}},
                },
            ],
        }
    )
    assert isinstance(message, AssistantMessage)
    assert [(part.type, part.provider_options) for part in message.content if not isinstance(part, UnknownPart)] == [
        ("text", {"google": {"thoughtSignature": "s"}}),
        ("custom", {"openai": {"item": {}}}),
        ("tool-call", {"openai": {"itemId": "i"}}),
        ("tool-result", {"openai": {"item": 1}}),
    ]


def test_an_empty_answer_is_no_message() -> None:
    assert answer_messages([]) == []


def test_sealing_changes_nothing_that_providers_accept() -> None:
    messages = [
        SystemMessage("Be brief."),
        user("hi"),
        assistant("I look.", called()),
        ToolMessage([result("seen")]),
        assistant("done"),
    ]
    assert sealed(messages) == messages
    assert sealed([]) == []


def test_sealing_does_not_touch_the_messages_it_is_given() -> None:
    message = assistant("a", called("open"))
    assert sealed([message]) == [assistant("a")]
    assert message.content == [TextPart("a"), called("open")]


def test_results_before_a_call_do_not_answer_it() -> None:
    messages = [ToolMessage([result("seen")]), assistant("a", called()), user("b")]
    assert sealed(messages)[1:] == [assistant("a"), user("b")]


def test_tool_messages_with_options_of_their_own_stay_apart() -> None:
    cached = ToolMessage([result("b", "c2")], provider_options={"p": {"cache": True}})
    messages = [assistant(called("c1"), called("c2")), ToolMessage([result("a", "c1")]), cached]
    assert sealed(messages) == messages


def test_an_empty_message_of_the_assistant_stays() -> None:
    assert sealed([AssistantMessage([])]) == [AssistantMessage([])]
