"""Messages → requests: what users, instructions and tools say."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from riverrun.chunks import (
    Extra,
    FilePart,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolMessage,
    ToolOutput,
    UnknownMessage,
    UnknownPart,
    UserMessage,
)
from riverrun.models.http import WireRequest
from tests.models.anthropic_messages import (
    CACHE,
    assistant,
    built,
    call,
    options,
    result,
    said,
    sent,
    user,
)

PNG = b"\x89PNG\r\n\x1a\n0000"
PNG_TEXT = base64.b64encode(PNG).decode()
PDF_TEXT = base64.b64encode(b"%PDF-1.7").decode()


def test_a_plain_request():
    assert built(user("hi")) == WireRequest(
        {
            "model": "claude-sonnet-4-5",
            "max_tokens": 32_000,
            "messages": [{"role": "user", "content": [said("hi")]}],
            "stream": True,
        },
        [],
    )


def test_messages_of_one_role_are_one_message():
    messages = (user("a"), user("b"), assistant(TextPart("c")), assistant(TextPart("d")), user("e"))
    assert sent(*messages) == [
        {"role": "user", "content": [said("a"), said("b")]},
        {"role": "assistant", "content": [said("c"), said("d")]},
        {"role": "user", "content": [said("e")]},
    ]


def test_empty_texts_and_messages_without_content_are_never_sent():
    """Bug report anthropics/anthropic-sdk-python#461: the API refuses texts that are empty or all white space."""
    empty = [TextPart(""), TextPart(" \n")]
    body = built(SystemMessage(""), UserMessage(empty), assistant(*empty, ReasoningPart("hm")), user("hi")).body
    assert body["messages"] == [{"role": "user", "content": [said("hi")]}]
    assert "system" not in body


def test_white_space_at_the_end_of_an_answer_to_go_on_with_is_not_sent():
    assert sent(user("a"), assistant(TextPart("It is: \n")))[-1]["content"] == [said("It is:")]
    assert sent(user("a"), assistant(TextPart("b \n")), user("c"))[1]["content"] == [said("b \n")]


def test_instructions_before_all_messages():
    assert built(SystemMessage("be brief"), user("hi")).body["system"] == "be brief"
    body = built(SystemMessage("a", provider_options=options(cacheControl=CACHE)), SystemMessage("b"), user("hi")).body
    assert body["system"] == [said("a", cache_control=CACHE), said("b")]


def test_instructions_between_messages_are_a_users_for_models_that_take_none_there():
    messages = sent(user("a"), assistant(TextPart("b")), SystemMessage("be brief"), user("c"))
    assert messages[2] == {"role": "user", "content": [said("<system>\nbe brief\n</system>"), said("c")]}


@pytest.mark.parametrize("model_id", ["claude-opus-4-8", "claude-sonnet-5-5", "claude-fable-5-1-20260901"])
def test_instructions_between_messages_stand_behind_the_users_turn_for_models_that_take_them(model_id: str):
    messages = (
        user("a"),
        SystemMessage("one"),
        SystemMessage("two"),
        user("b"),
        assistant(TextPart("c")),
        SystemMessage("three"),
        user("d"),
    )
    assert sent(*messages, model_id=model_id) == [
        {"role": "user", "content": [said("a"), said("b")]},
        {"role": "system", "content": [said("one"), said("two")]},
        {"role": "assistant", "content": [said("c")]},
        {"role": "user", "content": [said("d")]},
        {"role": "system", "content": [said("three")]},
    ]
    assert [message["role"] for message in sent(*messages, model_id=model_id, official=False)] == [
        "user",
        "assistant",
        "user",
    ]


def test_instructions_behind_an_answer_are_a_users_where_no_turn_of_the_users_follows():
    messages = sent(user("a"), assistant(TextPart("b")), SystemMessage("go on"), model_id="claude-opus-4-8")
    assert messages[2] == {"role": "user", "content": [said("<system>\ngo on\n</system>")]}


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_TEXT}}
PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF_TEXT}}
NOTE = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a é"}}


@pytest.mark.parametrize(
    ("file", "block"),
    [
        (FilePart(data=PNG, media_type="image/png"), IMAGE),
        (FilePart(data=PNG, media_type="image/*"), IMAGE),
        (FilePart(data=PNG_TEXT, media_type="image/png"), IMAGE),
        (FilePart(data=f"data:image/png;base64,{PNG_TEXT}", media_type="image/*"), IMAGE),
        (
            FilePart(data="https://a.example/x.png", media_type="image/png"),
            {"type": "image", "source": {"type": "url", "url": "https://a.example/x.png"}},
        ),
        (
            FilePart(data="file_011CNha", media_type="image/png"),
            {"type": "image", "source": {"type": "file", "file_id": "file_011CNha"}},
        ),
        (FilePart(data=b"%PDF-1.7", media_type="application/pdf"), PDF),
        (FilePart(data=PDF_TEXT, media_type="application/pdf", filename="x.pdf"), {**PDF, "title": "x.pdf"}),
        (
            FilePart(data="https://a.example/x.pdf", media_type="application/pdf"),
            {"type": "document", "source": {"type": "url", "url": "https://a.example/x.pdf"}},
        ),
        (
            FilePart(data="file_1", media_type="application/pdf"),
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        ),
        (
            FilePart(data="file_1", media_type="text/csv"),
            {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        ),
        (FilePart(data="file_1", media_type="application/zip"), {"type": "container_upload", "file_id": "file_1"}),
        (FilePart(data="a é".encode(), media_type="text/markdown"), NOTE),
        (FilePart(data=base64.b64encode("a é".encode()).decode(), media_type="text/plain"), NOTE),
        (FilePart(data="a é", media_type="text/plain"), NOTE),
        (FilePart(data=b"{}", media_type="application/json"), {**NOTE, "source": {**NOTE["source"], "data": "{}"}}),
    ],
    ids=[
        "bytes",
        "bytes of an unknown type",
        "base64",
        "data URL",
        "URL",
        "uploaded image",
        "pdf",
        "pdf with a name",
        "pdf behind a URL",
        "uploaded pdf",
        "uploaded table",
        "uploaded archive",
        "text bytes",
        "text in base64",
        "text as it is",
        "json",
    ],
)
def test_files(file: FilePart, block: dict[str, Any]):
    request = built(UserMessage([file]))
    assert request.body["messages"] == [{"role": "user", "content": [block]}]
    assert request.warnings == []


@pytest.mark.parametrize(
    "file",
    [
        FilePart(data=b"\x01", media_type="audio/wav"),
        FilePart(data="https://a.example/x.txt", media_type="text/plain"),
        FilePart(data="gs://bucket/x.png", media_type="image/png"),
        FilePart(data="data:text/plain,hello", media_type="text/plain"),
    ],
    ids=["sound", "text behind a URL", "another cloud's", "text in a URL"],
)
def test_a_file_that_the_api_does_not_take_is_warned_of(file: FilePart):
    request = built(UserMessage([file, TextPart("hi")]))
    assert request.body["messages"] == [{"role": "user", "content": [said("hi")]}]
    (warning,) = request.warnings
    assert f"a file of type {file.media_type} in a user message is not sent" in warning["message"]


def test_options_of_parts_are_merged_into_their_blocks():
    pdf = FilePart(
        data=PDF_TEXT, media_type="application/pdf", provider_options=options(citations={"enabled": True}, context="c")
    )
    shown = TextPart("a", provider_options={"anthropic": {"cacheControl": CACHE}, "openai": {"x": 1}})
    (message,) = sent(UserMessage([pdf, shown]))
    assert message["content"] == [
        {**PDF, "citations": {"enabled": True}, "context": "c"},
        said("a", cache_control=CACHE),
    ]


def test_a_messages_cache_control_is_that_of_its_last_block():
    cached = options(cache_control={**CACHE, "ttl": "1h"})
    thought = ReasoningPart("hm", provider_options=options(signature="S"))
    messages = sent(
        UserMessage([TextPart("a"), TextPart("b")], provider_options=cached),
        assistant(TextPart("c"), thought, provider_options=cached),
        ToolMessage(result("text", "ok").content, provider_options=cached),
    )
    blocks = [block for message in messages for block in message["content"]]
    assert [block["type"] for block in blocks if "cache_control" in block] == ["text", "text", "tool_result"]
    assert "cache_control" not in blocks[0]


def test_an_assistant_message_with_text_and_calls():
    messages = sent(assistant(TextPart("I add."), call(input={"a": [1, "é"]})), result("json", {"sum": 2}))
    assert messages == [
        {
            "role": "assistant",
            "content": [said("I add."), {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": [1, "é"]}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"sum":2}'}]},
    ]


def test_arguments_that_are_a_text_are_sent_in_an_object():
    """As a custom tool of OpenAI's was called."""
    options = {"openai": {"type": "custom_tool_call"}}
    (message,) = sent(assistant(call(name="patch", input="*** Begin Patch", provider_options=options)))
    assert message["content"] == [
        {"type": "tool_use", "id": "c1", "name": "patch", "input": {"input": "*** Begin Patch"}}
    ]


@pytest.mark.parametrize("arguments", [None, 3, [1]])
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(arguments: Any):
    (message,) = sent(assistant(call(input=arguments)))
    assert message["content"][0]["input"] == {}


@pytest.mark.parametrize(
    ("name", "valid"), [("functions.add:0", "functions_add_0"), ("", "unknown"), ("x" * 200, "x" * 128), ("ädd", "_dd")]
)
def test_a_name_that_the_model_made_up_is_sent_in_a_form_that_the_api_takes(name: str, valid: str):
    (message,) = sent(assistant(call(name=name)))
    assert message["content"][0]["name"] == valid


def test_ids_of_other_providers_are_made_fit_for_call_and_result():
    messages = sent(assistant(call("call|1:é")), result("text", "ok", "call|1:é"))
    assert messages[0]["content"][0]["id"] == messages[1]["content"][0]["tool_use_id"] == "call_1__"


def test_an_id_that_comes_again_in_a_later_turn_is_told_from_the_first():
    turn = (assistant(call("c1")), result("text", "ok"))
    ids = [
        block.get("id") or block.get("tool_use_id") for message in sent(*turn, *turn) for block in message["content"]
    ]
    assert ids == ["c1", "c1", "c1_2", "c1_2"]


def test_results_stand_first_in_the_users_turn():
    calls = assistant(call("c1"), call("c2"))
    _, turn = sent(calls, user("and?"), result("text", "one", "c1"), result("text", "two", "c2"), user("go on"))
    assert [block.get("tool_use_id") or block["text"] for block in turn["content"]] == ["c1", "c2", "and?", "go on"]


def test_results_that_stand_in_the_answer_are_sent_behind_it():
    parts = [call("c1"), *result("text", "one", "c1").content, call("c2", provider_executed=True)]
    _, turn = sent(assistant(*parts, *result("text", "two", "c2").content))
    assert turn == {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "one"}]}


@pytest.mark.parametrize(
    ("output", "members"),
    [
        (ToolOutput("text", "ok"), {"content": "ok"}),
        (ToolOutput("text", ""), {}),
        (ToolOutput("json", {"a": [1, None]}), {"content": '{"a":[1,null]}'}),
        (ToolOutput("json", None), {"content": "null"}),
        (ToolOutput("error-text", "no such city"), {"content": "no such city", "is_error": True}),
        (ToolOutput("error-text", ""), {"content": "(no output)", "is_error": True}),
        (ToolOutput("error-json", {"code": 7}), {"content": '{"code":7}', "is_error": True}),
        (ToolOutput("text", {"not": "text"}), {"content": '{"not":"text"}'}),
        (ToolOutput("content", []), {}),
        (
            ToolOutput("content", [{"type": "text", "text": ""}, {"type": "text", "text": "a"}]),
            {"content": [said("a")]},
        ),
        (
            ToolOutput("content", [{"type": "image-data", "data": PNG_TEXT, "mediaType": "image/png"}]),
            {"content": [IMAGE]},
        ),
        (
            ToolOutput("content", [{"type": "file-data", "data": PDF_TEXT, "mediaType": "application/pdf"}]),
            {"content": [PDF]},
        ),
        (ToolOutput("content", [{"type": "image", "data": PNG_TEXT, "mimeType": "image/png"}]), {"content": [IMAGE]}),
        (
            ToolOutput("content", [{"type": "image-url", "url": "https://a.example/x.png"}]),
            {"content": [{"type": "image", "source": {"type": "url", "url": "https://a.example/x.png"}}]},
        ),
        (
            ToolOutput("content", [{"type": "tool_reference", "tool_name": "add"}]),
            {"content": [{"type": "tool_reference", "tool_name": "add"}]},
        ),
        (
            ToolOutput("content", [{"type": "text", "text": "a", "providerOptions": options(cacheControl=CACHE)}]),
            {"content": [said("a", cache_control=CACHE)]},
        ),
        (ToolOutput("content", [{"type": "odd", "x": 1}, 3]), {"content": [said('{"type":"odd","x":1}'), said("3")]}),
    ],
    ids=lambda value: None if isinstance(value, dict) else f"{value.type} {value.value!r:.30}",
)
def test_tool_results(output: ToolOutput, members: dict[str, Any]):
    (message,) = sent(result(output.type, output.value))
    assert message["content"] == [{"type": "tool_result", "tool_use_id": "c1", **members}]


def test_options_of_a_result_are_merged_into_its_block():
    (message,) = sent(result("text", "ok", provider_options=options(cacheControl=CACHE)))
    assert message["content"][0]["cache_control"] == CACHE


def test_what_cannot_be_sent_is_warned_of():
    request = built(
        UserMessage([TextPart("a"), UnknownPart(type="odd")]),
        assistant(TextPart("b"), FilePart(data="AQ==", media_type="image/png")),
        ToolMessage([TextPart("c")]),
        UnknownMessage(role="critic", extra=Extra({"content": "x"})),
    )
    assert [warning["message"] for warning in request.warnings] == [
        "a part of type odd in a user message is not sent",
        "a part of type file in an assistant message is not sent",
        "a part of type text in a tool message is not sent",
        "a message of the role critic is not sent",
    ]
