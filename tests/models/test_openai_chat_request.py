"""Requests → bodies: every kind of message, setting and option."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from riverrun.chunks import (
    AssistantMessage,
    Extra,
    FilePart,
    Message,
    ReasoningPart,
    StepFold,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UnknownMessage,
    UnknownPart,
    UserMessage,
)
from riverrun.errors import ConfigError
from riverrun.models.http import WireRequest
from riverrun.models.openai_chat.request import chat_request
from riverrun.types import ModelRequest, NamedTool, Settings, ToolSpec
from tests.models.openai_chat import RUN, decode, event

PNG = b"\x89PNG\r\n\x1a\n0000"
PNG_TEXT = base64.b64encode(PNG).decode()
TEXT = {"type": "string"}
ADD = ToolSpec(
    name="add", description="Adds.", input_schema={"type": "object", "properties": {"a": {"type": "integer"}}}
)


def built(
    *messages: Message, provider: str = "openai-chat", model_id: str = "m", official: bool = False, **members: Any
) -> WireRequest:
    request = ModelRequest(messages=messages or (user("hi"),), run_id=RUN, **members)
    return chat_request(request, model_id=model_id, provider=provider, official=official)


def sent(*messages: Message, **members: Any) -> list[dict[str, Any]]:
    return built(*messages, **members).body["messages"]


def user(text: str) -> UserMessage:
    return UserMessage(content=[TextPart(text=text)])


def call(call_id: str = "c1", name: str = "add", **members: Any) -> ToolCallPart:
    return ToolCallPart(tool_call_id=call_id, tool_name=name, **members)


def result(kind: str, value: Any, call_id: str = "c1", **members: Any) -> ToolMessage:
    part = ToolResultPart(tool_call_id=call_id, tool_name="add", output=ToolOutput(kind, value), **members)
    return ToolMessage(content=[part])


def test_a_plain_request():
    assert built(user("hi")) == WireRequest(
        {
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": True,
            "stream_options": {"include_usage": True},
        },
        [],
    )


# -- messages


def test_system_and_user_messages():
    assert sent(SystemMessage(content="be brief"), user("hi")) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
    ]


def test_empty_texts_and_messages_without_content_are_never_sent():
    empty = [TextPart(text="")]
    messages = (
        SystemMessage(content=""),
        UserMessage(content=empty),
        AssistantMessage(content=[*empty, ReasoningPart(text="hm")]),
        UserMessage(content=[*empty, TextPart(text="hi")]),
    )
    assert sent(*messages) == [{"role": "user", "content": "hi"}]


def test_several_parts_of_a_user_message_are_a_list():
    message = UserMessage(content=[TextPart(text="a"), TextPart(text="b")])
    assert sent(message) == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    ]


@pytest.mark.parametrize(
    ("data", "media_type", "url"),
    [
        (PNG, "image/png", f"data:image/png;base64,{PNG_TEXT}"),
        (PNG, "image/*", f"data:image/png;base64,{PNG_TEXT}"),
        (b"\xff\xd8\xff\xe0", "image/*", "data:image/jpeg;base64,/9j/4A=="),
        (b"?", "image/*", "data:image/png;base64,Pw=="),
        (PNG_TEXT, "image/png", f"data:image/png;base64,{PNG_TEXT}"),
        (f"data:image/png;base64,{PNG_TEXT}", "image/png", f"data:image/png;base64,{PNG_TEXT}"),
        ("https://a.example/x.png", "image/png", "https://a.example/x.png"),
    ],
    ids=["bytes", "bytes of an unknown type", "jpeg", "unknown bytes", "base64", "data URL", "URL"],
)
def test_images(data: bytes | str, media_type: str, url: str):
    message = UserMessage(content=[FilePart(data=data, media_type=media_type)])
    assert sent(message) == [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (
            FilePart(data=b"\x01", media_type="audio/wav"),
            {"type": "input_audio", "input_audio": {"data": "AQ==", "format": "wav"}},
        ),
        (
            FilePart(data="data:audio/mpeg;base64,AQ==", media_type="audio/mpeg"),
            {"type": "input_audio", "input_audio": {"data": "AQ==", "format": "mp3"}},
        ),
        (
            FilePart(data=b"\x01", media_type="application/pdf", filename="x.pdf"),
            {"type": "file", "file": {"filename": "x.pdf", "file_data": "data:application/pdf;base64,AQ=="}},
        ),
        (
            FilePart(data="AQ==", media_type="application/pdf"),
            {"type": "file", "file": {"filename": "file.pdf", "file_data": "data:application/pdf;base64,AQ=="}},
        ),
        (FilePart(data="file-7", media_type="application/pdf"), {"type": "file", "file": {"file_id": "file-7"}}),
        (
            FilePart(data="https://a.example/v.mp4", media_type="video/mp4"),
            {"type": "video_url", "video_url": {"url": "https://a.example/v.mp4"}},
        ),
        (
            FilePart(data="https://a.example/x.png", media_type="application/octet-stream"),
            {"type": "image_url", "image_url": {"url": "https://a.example/x.png"}},
        ),
    ],
    ids=["wav", "mp3 as data URL", "pdf", "pdf without a name", "uploaded file", "video", "image of no type"],
)
def test_other_files(part: FilePart, content: dict[str, Any]):
    assert sent(UserMessage(content=[part])) == [{"role": "user", "content": [content]}]


def test_openais_own_server_is_sent_no_document_by_its_url():
    page = FilePart(data="https://a.example/x.pdf", media_type="application/pdf")
    image = FilePart(data="https://a.example/x.png", media_type="image/png")
    message = UserMessage(content=[TextPart(text="a"), page, image])
    assert [part["type"] for part in sent(message)[0]["content"]] == ["text", "file", "image_url"]
    request = built(message, official=True)
    assert [part["type"] for part in request.body["messages"][0]["content"]] == ["text", "image_url"]
    assert request.warnings == [
        {"type": "other", "message": "a file is not sent: OpenAI takes only images by URL here"}
    ]


def test_sound_behind_a_url_cannot_be_sent():
    with pytest.raises(ConfigError, match="bytes or base64"):
        built(UserMessage(content=[FilePart(data="https://a.example/x.wav", media_type="audio/wav")]))


def test_options_of_parts_and_messages_are_merged_into_their_json():
    options = {"openai": {"image_url": {"detail": "low"}}, "other": {"x": 1}}
    image = FilePart(data="https://a.example/x.png", media_type="image/png", provider_options=options)
    text = TextPart(text="a", provider_options={"acme": {"cache_control": {"type": "ephemeral"}}})
    message = UserMessage(content=[text, image], provider_options={"openai-chat": {"name": "ann"}})
    assert sent(message, provider="acme") == [
        {
            "role": "user",
            "name": "ann",
            "content": [
                {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
                {"type": "image_url", "image_url": {"url": "https://a.example/x.png", "detail": "low"}},
            ],
        }
    ]


def test_an_assistant_message_with_text_and_calls():
    message = AssistantMessage(content=[TextPart(text="I "), TextPart(text="add."), call(input={"a": [1, "é"]})])
    assert sent(message, result("json", {"sum": 2})) == [
        {
            "role": "assistant",
            "content": "I add.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":[1,"é"]}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"sum":2}'},
    ]


def test_a_call_whose_arguments_could_not_be_read_has_none():
    (message,) = sent(AssistantMessage(content=[call()]))
    assert message["content"] is None
    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize(
    ("name", "valid"), [("functions.add:0", "functions_add_0"), ("", "unknown"), ("x" * 80, "x" * 64), ("ädd", "_dd")]
)
def test_a_name_that_the_model_made_up_is_sent_in_a_form_that_the_api_takes(name: str, valid: str):
    (message,) = sent(AssistantMessage(content=[call(name=name)]))
    assert message["tool_calls"][0]["function"]["name"] == valid


def test_calls_that_the_provider_ran_are_not_sent():
    message = AssistantMessage(content=[TextPart(text="a"), call(provider_executed=True)])
    assert sent(message) == [{"role": "assistant", "content": "a"}]


@pytest.mark.parametrize(
    ("output", "content"),
    [
        (ToolOutput("text", "ok"), "ok"),
        (ToolOutput("text", ""), "(no output)"),
        (ToolOutput("json", {"a": [1, None]}), '{"a":[1,null]}'),
        (ToolOutput("json", None), "null"),
        (ToolOutput("error-text", "no such city"), "no such city"),
        (ToolOutput("error-json", {"code": 7}), '{"code":7}'),
        (ToolOutput("text", {"not": "text"}), '{"not":"text"}'),
        (ToolOutput("content", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "a\nb"),
        (ToolOutput("content", [{"type": "odd", "x": 1}]), '{"type":"odd","x":1}'),
        (ToolOutput("content", []), "(no output)"),
    ],
    ids=lambda value: None if isinstance(value, str) else f"{value.type} {value.value!r:.20}",
)
def test_tool_results(output: ToolOutput, content: str):
    part = ToolResultPart(tool_call_id="c1", tool_name="add", output=output)
    assert sent(ToolMessage(content=[part])) == [{"role": "tool", "tool_call_id": "c1", "content": content}]


def test_images_of_tool_results_follow_all_results_as_a_users():
    shot = [{"type": "text", "text": "done"}, {"type": "image-data", "data": "AQ==", "mediaType": "image/png"}]
    linked = [{"type": "image-url", "url": "https://a.example/x.png"}]
    messages = sent(result("content", shot), result("content", linked, "c2"), result("text", "ok", "c3"), user("go on"))
    assert [message["role"] for message in messages] == ["tool", "tool", "tool", "user", "user"]
    assert [message["content"] for message in messages[:3]] == ["done\n(images follow)", "(images follow)", "ok"]
    assert messages[3]["content"] == [
        {"type": "text", "text": "Images of the tool call c1 (add):"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQ=="}},
        {"type": "text", "text": "Images of the tool call c2 (add):"},
        {"type": "image_url", "image_url": {"url": "https://a.example/x.png"}},
    ]


def test_other_files_of_tool_results_follow_as_a_users_too():
    page = {"type": "file-data", "data": "AQ==", "mediaType": "application/pdf", "filename": "x.pdf"}
    messages = sent(result("content", [{"type": "text", "text": "done"}, page]))
    assert messages[0]["content"] == "done\n(files follow)"
    assert messages[1]["content"] == [
        {"type": "text", "text": "Files of the tool call c1 (add):"},
        {"type": "file", "file": {"filename": "x.pdf", "file_data": "data:application/pdf;base64,AQ=="}},
    ]


@pytest.mark.parametrize("media_type", ["application/pdf", "audio/wav"])
def test_a_file_of_a_tool_result_that_cannot_be_sent_is_told_by_its_url(media_type: str):
    item = {"type": "file-url", "url": "https://a.example/x", "mediaType": media_type}
    told = built(result("content", [item]), official=True).body["messages"]
    assert [json.loads(message["content"]) for message in told] == [item]


def test_what_cannot_be_sent_is_warned_of():
    request = built(
        UserMessage(content=[TextPart(text="a"), UnknownPart(type="odd")]),
        AssistantMessage(content=[TextPart(text="b"), FilePart(data="AQ==", media_type="image/png")]),
        ToolMessage(content=[TextPart(text="c")]),
    )
    assert [warning["message"] for warning in request.warnings] == [
        "a part of type odd in a user message is not sent",
        "a file in an assistant message is not sent",
        "a part of type text in a tool message is not sent",
    ]


def test_a_message_of_another_form_is_sent_as_it_is():
    assert sent(UnknownMessage(role="developer", extra=Extra({"content": "x"}))) == [
        {"role": "developer", "content": "x"}
    ]


# -- what a server gave and wants back


def replayed(*events: bytes, provider: str = "openai-chat") -> dict[str, Any]:
    """The assistant message that follows from a stream, as the agent makes it."""
    fold = StepFold()
    for chunk in decode(*events, provider=provider).chunks:
        fold.add(chunk)
    (message,) = sent(AssistantMessage(content=fold.content()), provider=provider)
    return message


def test_a_thought_signature_goes_back_on_its_call():
    """Bug report earendil-works/pi#9444."""
    extra = {"google": {"thought_signature": "AbC="}}
    calls = [
        {"index": 0, "id": "c1", "function": {"name": "now", "arguments": "{}"}, "extra_content": extra},
        {"index": 1, "id": "c2", "function": {"name": "now", "arguments": "{}", "thoughtSignature": "x"}},
    ]
    message = replayed(event({"tool_calls": calls}, "tool_calls"))
    assert message["tool_calls"][0]["extra_content"] == extra
    assert message["tool_calls"][1]["function"] == {"name": "now", "arguments": "{}", "thoughtSignature": "x"}
    assert "extra_content" not in message["tool_calls"][1]


def test_reasoning_content_goes_back():
    message = replayed(
        event({"reasoning_content": "h"}), event({"reasoning_content": "m"}), event({"content": "a"}, "stop")
    )
    assert message == {"role": "assistant", "content": "a", "reasoning_content": "hm"}


def test_reasoning_details_go_back_in_their_order():
    text = {"type": "reasoning.text", "text": "hm", "signature": "S", "index": 0}
    encrypted = {"type": "reasoning.encrypted", "data": "eA==", "index": 1}
    message = replayed(
        event({"reasoning": "hm", "reasoning_details": [text]}),
        event({"content": "a"}),
        event({"reasoning_details": [encrypted]}, "stop"),
    )
    assert message == {"role": "assistant", "content": "a", "reasoning_details": [text, encrypted]}


def test_reasoning_that_no_server_asked_for_stays_here():
    message = replayed(event({"reasoning": "hm"}), event({"content": "a"}, "stop"))
    assert message == {"role": "assistant", "content": "a"}
    assert replayed(event({"content": "<think>hm</think>a"}, "stop")) == message


def test_what_another_provider_gave_stays_here():
    options = {"anthropic": {"signature": "S"}, "deepseek": {"field": "reasoning_content"}}
    parts = [ReasoningPart(text="hm", provider_options=options), TextPart(text="a")]
    assert sent(AssistantMessage(content=parts)) == [{"role": "assistant", "content": "a"}]
    (message,) = sent(AssistantMessage(content=[call(provider_options={"openai": {"itemId": "fc_1"}})]))
    assert message["tool_calls"][0].keys() == {"id", "type", "function"}


def test_a_refusal_is_sent_as_text():
    assert replayed(event({"refusal": "No."}, "stop")) == {"role": "assistant", "content": "No."}


# -- tools, settings, options


def test_tools():
    strict = ToolSpec(name="now", description="", input_schema={}, strict=True, provider_options={"openai": {"x": 1}})
    body = built(tools=[ADD, strict]).body
    assert body["tools"] == [
        {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": dict(ADD.input_schema)}},
        {
            "type": "function",
            "function": {
                "name": "now",
                "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
                "strict": True,
            },
            "x": 1,
        },
    ]
    assert "tool_choice" not in body
    assert "parallel_tool_calls" not in body


@pytest.mark.parametrize(
    ("choice", "sent_choice"),
    [
        ("none", "none"),
        ("required", "required"),
        (NamedTool("add"), {"type": "function", "function": {"name": "add"}}),
    ],
)
def test_tool_choices(choice: Any, sent_choice: Any):
    assert built(tools=[ADD], tool_choice=choice).body["tool_choice"] == sent_choice


def test_choices_without_tools_are_not_sent():
    body = built(tool_choice="required", settings=Settings(parallel_tool_calls=False)).body
    assert not {"tool_choice", "parallel_tool_calls", "tools"} & body.keys()


def test_a_strict_tool_has_a_schema_that_strict_mode_takes():
    inner = {"type": "object", "properties": {"b": TEXT}, "required": ["b"]}
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": inner}}, "required": ["a"]}
    request = built(tools=[ToolSpec(name="add", description="", input_schema=schema, strict=True)])
    closed = {**inner, "additionalProperties": False}
    assert request.body["tools"][0]["function"] == {
        "name": "add",
        "parameters": {
            **schema,
            "properties": {"a": {"type": "array", "items": closed}},
            "additionalProperties": False,
        },
        "strict": True,
    }
    assert request.warnings == []


@pytest.mark.parametrize(
    "schema",
    [ADD.input_schema, {"type": "object", "additionalProperties": TEXT}],
    ids=["optional member", "open object"],
)
def test_a_strict_tool_that_strict_mode_cannot_take_is_sent_without_it(schema: dict[str, Any]):
    request = built(tools=[ToolSpec(name="add", description="", input_schema=schema, strict=True)])
    assert request.body["tools"][0]["function"] == {"name": "add", "parameters": schema}
    assert [warning["message"][:40] for warning in request.warnings] == ["the tool add is sent without strict: str"]


def test_a_tool_that_is_not_to_be_strict_says_so():
    request = built(tools=[ToolSpec(name="add", description="", input_schema={}, strict=False)])
    assert request.body["tools"][0]["function"]["strict"] is False


def test_tools_of_another_provider_are_left_out():
    own, foreign = (
        ToolSpec(name=name, description="", input_schema={}, provider_id=f"{name}.web_search_1")
        for name in ("acme", "anthropic")
    )
    request = built(tools=[own, foreign], provider="acme")
    assert request.body["tools"] == [{"type": "web_search_1"}]
    assert request.warnings == [{"type": "unsupported-tool", "tool": "anthropic"}]
    assert not {"tools", "tool_choice"} & built(tools=[foreign], tool_choice="required").body.keys()


@pytest.mark.parametrize("name", ["", "my tool", "a.b", "x" * 65, "ä"])
def test_a_tool_whose_name_the_api_refuses_is_an_error(name: str):
    with pytest.raises(ConfigError, match="tool name"):
        built(tools=[ToolSpec(name=name, description="", input_schema={})])


def test_all_settings():
    settings = Settings(
        max_output_tokens=5,
        temperature=0.0,
        top_p=0.5,
        presence_penalty=0.1,
        frequency_penalty=0.2,
        stop_sequences=("a", "b"),
        seed=0,
        parallel_tool_calls=False,
        reasoning_effort="low",
        headers={"x-a": "b"},
    )
    body = built(settings=settings, tools=[ADD]).body
    plain = built(tools=[ADD]).body
    assert {name: value for name, value in body.items() if name not in plain} == {
        "max_tokens": 5,
        "temperature": 0.0,
        "top_p": 0.5,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "stop": ["a", "b"],
        "seed": 0,
        "parallel_tool_calls": False,
        "reasoning_effort": "low",
    }


def test_openais_own_server_has_another_name_for_the_token_limit():
    body = built(settings=Settings(max_output_tokens=5), official=True).body
    assert body["max_completion_tokens"] == 5
    assert "max_tokens" not in body


SAMPLING = Settings(temperature=0.0, top_p=0.5)


@pytest.mark.parametrize("model_id", ["gpt-5-mini", "gpt-5.2", "o4-mini", "ft:gpt-5:acme"])
def test_reasoning_models_of_openais_own_server_take_no_sampling(model_id: str):
    request = built(settings=SAMPLING, model_id=model_id, official=True)
    assert not {"temperature", "top_p"} & request.body.keys()
    assert request.warnings == [
        {"type": "unsupported-setting", "setting": "temperature"},
        {"type": "unsupported-setting", "setting": "topP"},
    ]


@pytest.mark.parametrize(
    ("model_id", "official", "options"),
    [
        ("gpt-4.1", True, {}),
        ("gpt-5-chat-latest", True, {}),
        ("gpt-5", False, {}),
        ("gpt-5.2", True, {"reasoning_effort": "none"}),
        ("gpt-5", True, {"temperature": 0.0, "top_p": 0.5}),
    ],
    ids=["never reasons", "chat", "another server", "does not reason", "options"],
)
def test_sampling_is_sent_where_it_may_be_taken(model_id: str, official: bool, options: dict[str, Any]):
    request = built(settings=SAMPLING, model_id=model_id, official=official, provider_options={"openai": options})
    assert (request.body["temperature"], request.body["top_p"], request.warnings) == (0.0, 0.5, [])


def test_top_k_is_warned_of_unless_it_is_an_option():
    assert built(settings=Settings(top_k=3)).warnings == [{"type": "unsupported-setting", "setting": "topK"}]
    request = built(settings=Settings(top_k=3), provider_options={"acme": {"top_k": 3}}, provider="acme")
    assert request.warnings == []
    assert request.body["top_k"] == 3


def test_provider_options_are_merged_and_the_providers_own_come_last():
    options = {
        "openai": {"a": 1, "b": {"x": [1]}, "stream_options": {"include_usage": False}},
        "openai-chat": {"c": 2, "d": None},
        "acme": {"c": 3},
        "anthropic": {"e": 4},
    }
    body = built(provider_options=options, provider="acme").body
    assert body["b"] is options["openai"]["b"]
    assert (body["a"], body["c"], body["d"]) == (1, 3, None)
    assert body["stream_options"] == {"include_usage": False}
    assert "e" not in body


def test_options_as_javascript_users_spell_them():
    options = {"reasoningEffort": "high", "parallelToolCalls": False, "textVerbosity": "low", "logitBias": {"aB": 1}}
    body = built(provider_options={"openai": options}, settings=Settings(reasoning_effort="low"), tools=[ADD]).body
    assert body.items() >= {"reasoning_effort": "high", "parallel_tool_calls": False, "verbosity": "low"}.items()
    assert body["logit_bias"] == {"aB": 1}
    assert not options.keys() & body.keys()
    image = FilePart(
        data="https://a.example/x.png", media_type="image/png", provider_options={"openai": {"imageDetail": "low"}}
    )
    content = {"type": "image_url", "image_url": {"url": "https://a.example/x.png", "detail": "low"}}
    assert sent(UserMessage(content=[image])) == [{"role": "user", "content": [content]}]


STRICT = {
    "type": "object",
    "properties": {
        "a": {"type": "array", "items": {"type": "object", "properties": {}, "additionalProperties": False}}
    },
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (STRICT, True),
        ({**STRICT, "required": []}, None),
        ({**STRICT, "properties": {"a": {"type": "object"}}}, None),
        ({"type": "object"}, None),
        ({"$defs": {"b": {"type": "object"}}, **STRICT}, None),
        ({**STRICT, "title": "A plan!", "description": "x"}, True),
    ],
    ids=["closed", "optional member", "open object inside", "open", "open definition", "title"],
)
def test_a_response_format_is_strict_where_its_schema_allows_it(schema: dict[str, Any], strict: bool | None):
    assert built(response_format=schema).body["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "A_plan_" if "title" in schema else "response",
            "schema": schema,
            **({} if strict is None else {"strict": strict}),
        },
    }


def with_member(member: dict[str, Any]) -> dict[str, Any]:
    """The schema of a closed object with this member."""
    return {**STRICT, "properties": {"a": member}}


@pytest.mark.parametrize(
    "member",
    [
        {},
        {"description": "anything"},
        {"oneOf": [TEXT]},
        {"anyOf": [TEXT], "discriminator": {"propertyName": "kind"}},
        {"$ref": "#/$defs/b", "description": "x"},
        {"type": "array"},
        {"type": "array", "items": TEXT, "uniqueItems": True},
        {"type": "array", "items": TEXT, "prefixItems": [TEXT]},
        {"type": "array", "items": {}},
        {"type": ["object", "null"]},
        {**TEXT, "format": "uri"},
        {**TEXT, "pattern": "(?=a)"},
        {**TEXT, "minLength": 1},
        {**TEXT, "default": "a"},
        {"anyOf": [TEXT, {"oneOf": [TEXT]}]},
    ],
    ids=str,
)
def test_what_strict_mode_does_not_know_is_sent_without_it(member: dict[str, Any]):
    schema = with_member(member)
    assert built(response_format=schema).body["response_format"]["json_schema"] == {
        "name": "response",
        "schema": schema,
    }


@pytest.mark.parametrize(
    "member",
    [
        {"$ref": "#/$defs/b"},
        {"anyOf": [TEXT, {"type": "null"}], "title": "A"},
        {"enum": ["a", "b"]},
        {"const": "a"},
        {"type": ["string", "null"], "format": "date", "pattern": "^a"},
        {"type": "array", "items": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9}, "minItems": 1},
    ],
    ids=str,
)
def test_what_strict_mode_knows_is_sent_in_it(member: dict[str, Any]):
    schema = {**with_member(member), "$defs": {"b": {**TEXT, "title": "B"}}}
    assert built(response_format=schema).body["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize("schema", [TEXT, {**STRICT, "anyOf": [STRICT]}], ids=["text", "choice"])
def test_only_an_object_is_strict_as_a_whole(schema: dict[str, Any]):
    assert "strict" not in built(response_format=schema).body["response_format"]["json_schema"]


def test_a_request_is_not_changed_by_what_is_built_of_it():
    message = AssistantMessage(content=[call(input={"a": 1}, provider_options={"openai-chat": {"function": {"x": 1}}})])
    assert sent(message) == sent(message)
