"""Requests → bodies of generateContent: every kind of message, setting and option, and what goes back as it came."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from riverrun.chunks import (
    AssistantMessage,
    CustomPart,
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
from riverrun.models.google.request import google_request
from riverrun.models.http import WireRequest
from riverrun.types import ModelRequest, NamedTool, Settings, ToolSpec
from tests.models.google_content import RUN, Case, cases, decode, event

PNG = b"\x89PNG\r\n\x1a\n0000"
PNG_TEXT = base64.b64encode(PNG).decode()
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
ADD = ToolSpec(name="add", description="Adds.", input_schema=SCHEMA)
SEARCH = ToolSpec(name="google_search", description="", input_schema={}, provider_id="google.google_search")


def built(
    *messages: Message, model: str = "m", provider: str = "google", vertex: bool = False, **members: Any
) -> WireRequest:
    request = ModelRequest(messages=messages or (user("hi"),), run_id=RUN, **members)
    return google_request(request, model_id=model, provider=provider, vertex=vertex)


def sent(*messages: Message, **members: Any) -> list[dict[str, Any]]:
    return built(*messages, **members).body["contents"]


def config(**members: Any) -> dict[str, Any]:
    return built(**members).body.get("generationConfig", {})


def user(text: str) -> UserMessage:
    return UserMessage(content=[TextPart(text=text)])


def call(call_id: str = "c1", name: str = "add", **members: Any) -> ToolCallPart:
    return ToolCallPart(tool_call_id=call_id, tool_name=name, **members)


def result(kind: str, value: Any, call_id: str = "c1", **members: Any) -> ToolMessage:
    part = ToolResultPart(tool_call_id=call_id, tool_name="add", output=ToolOutput(kind, value), **members)
    return ToolMessage(content=[part])


HI = {"role": "user", "parts": [{"text": "hi"}]}


def test_a_plain_request():
    assert built(user("hi")) == WireRequest({"contents": [HI]}, [])


# -- messages


def test_system_messages_at_the_beginning_are_the_instruction():
    body = built(SystemMessage(content="be brief"), SystemMessage(content=""), SystemMessage(content="be kind")).body
    assert body["systemInstruction"] == {"parts": [{"text": "be brief"}, {"text": "be kind"}]}


def test_a_later_system_message_is_a_users():
    request = built(SystemMessage(content="a"), user("hi"), SystemMessage(content="now"), SystemMessage(content=""))
    assert request.body["contents"] == [{"role": "user", "parts": [{"text": "hi"}, {"text": "now"}]}]
    assert request.warnings == [{"type": "other", "message": "a system message behind others is sent as a user's"}]


def test_gemma_is_instructed_by_the_user():
    body = built(SystemMessage(content="be brief"), user("hi"), model="models/gemma-3-27b-it").body
    assert body == {"contents": [{"role": "user", "parts": [{"text": "be brief"}, {"text": "hi"}]}]}


def test_messages_of_one_role_are_one_content():
    contents = sent(user("a"), user("b"), AssistantMessage(content=[TextPart(text="c")]), user("d"))
    assert contents == [
        {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
        {"role": "model", "parts": [{"text": "c"}]},
        {"role": "user", "parts": [{"text": "d"}]},
    ]


def test_empty_texts_and_messages_without_content_are_never_sent():
    empty = [TextPart(text="")]
    messages = (
        SystemMessage(content=""),
        UserMessage(content=empty),
        user("a"),
        AssistantMessage(content=[*empty, ReasoningPart(text="hm")]),
        UserMessage(content=[*empty, TextPart(text="hi")]),
    )
    assert built(*messages).body == {"contents": [{"role": "user", "parts": [{"text": "a"}, {"text": "hi"}]}]}


@pytest.mark.parametrize(
    "messages", [(SystemMessage(content="a"),), (AssistantMessage(content=[TextPart(text="b")]), user("c"))]
)
def test_a_user_begins_even_without_words(messages: tuple[Message, ...]):
    assert sent(*messages)[0] == {"role": "user", "parts": [{"text": ""}]}


@pytest.mark.parametrize(
    ("data", "media_type", "part"),
    [
        (PNG, "image/png", {"inlineData": {"mimeType": "image/png", "data": PNG_TEXT}}),
        (PNG, "image/*", {"inlineData": {"mimeType": "image/png", "data": PNG_TEXT}}),
        (PNG_TEXT, "image/png", {"inlineData": {"mimeType": "image/png", "data": PNG_TEXT}}),
        (f"data:image/png;base64,{PNG_TEXT}", "image/*", {"inlineData": {"mimeType": "image/png", "data": PNG_TEXT}}),
        (b"x", "application/pdf", {"inlineData": {"mimeType": "application/pdf", "data": "eA=="}}),
        (
            "https://a.example/x.png?y",
            "image/*",
            {"fileData": {"mimeType": "image/png", "fileUri": "https://a.example/x.png?y"}},
        ),
        ("https://a.example/watch", "video/*", {"fileData": {"fileUri": "https://a.example/watch"}}),
        ("gs://b/x", "audio/mpeg", {"fileData": {"mimeType": "audio/mpeg", "fileUri": "gs://b/x"}}),
        (
            "files/abc",
            "application/pdf",
            {
                "fileData": {
                    "mimeType": "application/pdf",
                    "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc",
                }
            },
        ),
    ],
    ids=["bytes", "bytes of a kind", "base64", "data URL", "pdf", "URL", "URL without a type", "gs", "uploaded"],
)
def test_files(data: bytes | str, media_type: str, part: dict[str, Any]):
    message = UserMessage(content=[FilePart(data=data, media_type=media_type)])
    assert sent(message) == [{"role": "user", "parts": [part]}]


def test_a_data_url_that_is_no_base64_cannot_be_sent():
    with pytest.raises(ConfigError, match="bytes or base64"):
        built(UserMessage(content=[FilePart(data="data:text/plain,hi", media_type="text/plain")]))


def test_options_of_parts_and_messages_are_merged_into_their_json():
    options = {"google": {"videoMetadata": {"fps": 1}, "fileData": {"displayName": "v"}}, "other": {"x": 1}}
    video = FilePart(data="gs://b/v.mp4", media_type="video/mp4", provider_options=options)
    text = TextPart(text="a", provider_options={"acme": {"partMetadata": {"k": 1}}})
    message = UserMessage(content=[text, video], provider_options={"google": {"x": 2}})
    assert sent(user("before"), message, user("after"), provider="acme") == [
        {"role": "user", "parts": [{"text": "before"}]},
        {
            "role": "user",
            "x": 2,
            "parts": [
                {"text": "a", "partMetadata": {"k": 1}},
                {
                    "fileData": {"fileUri": "gs://b/v.mp4", "mimeType": "video/mp4", "displayName": "v"},
                    "videoMetadata": {"fps": 1},
                },
            ],
        },
        {"role": "user", "parts": [{"text": "after"}]},
    ]


def test_a_call_and_its_result():
    message = AssistantMessage(content=[TextPart(text="I add."), call(input={"a": [1, "é"]})])
    assert sent(user("hi"), message, result("json", {"sum": 2})) == [
        HI,
        {"role": "model", "parts": [{"text": "I add."}, {"functionCall": {"name": "add", "args": {"a": [1, "é"]}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"output": {"sum": 2}}}}]},
    ]


def test_an_id_is_sent_only_when_the_provider_gave_it():
    given = call("x9", input={}, provider_options={"google": {"id": "x9"}})
    contents = sent(AssistantMessage(content=[given, call("c2")]), result("text", "a", "x9"), result("text", "b", "c2"))
    assert [part["functionCall"].get("id") for part in contents[1]["parts"]] == ["x9", None]
    assert contents[2]["parts"] == [
        {"functionResponse": {"name": "add", "id": "x9", "response": {"output": "a"}}},
        {"functionResponse": {"name": "add", "response": {"output": "b"}}},
    ]


@pytest.mark.parametrize(("value", "args"), [(None, {}), ([1], {"input": [1]}), ("x", {"input": "x"})])
def test_arguments_that_are_no_object(value: Any, args: dict[str, Any]):
    contents = sent(AssistantMessage(content=[call(input=value)]))
    assert contents[1]["parts"][0]["functionCall"]["args"] == args


@pytest.mark.parametrize(
    ("name", "valid"),
    [("default_api.add:0", "default_api.add:0"), ("", "_"), ("7up", "_7up"), ("ä b", "__b"), ("x" * 200, "x" * 128)],
)
def test_a_name_that_the_model_made_up_is_sent_in_a_form_that_the_api_takes(name: str, valid: str):
    contents = sent(AssistantMessage(content=[call(name=name)]), result("text", "no such tool"))
    assert contents[1]["parts"][0]["functionCall"]["name"] == valid
    assert contents[2]["parts"][0]["functionResponse"]["name"] == valid


@pytest.mark.parametrize(
    ("output", "response"),
    [
        (ToolOutput("text", "ok"), {"output": "ok"}),
        (ToolOutput("text", ""), {"output": ""}),
        (ToolOutput("json", {"a": [1, None]}), {"output": {"a": [1, None]}}),
        (ToolOutput("json", None), {"output": None}),
        (ToolOutput("error-text", "no such city"), {"error": "no such city"}),
        (ToolOutput("error-json", {"code": 7}), {"error": {"code": 7}}),
        (ToolOutput("content", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), {"output": "a\nb"}),
        (ToolOutput("content", [{"type": "odd", "x": 1}]), {"output": '{"type":"odd","x":1}'}),
        (ToolOutput("content", []), {"output": ""}),
        (ToolOutput("content", "x"), {"output": "x"}),
    ],
    ids=lambda value: f"{value.type} {value.value!r:.20}" if isinstance(value, ToolOutput) else None,
)
def test_tool_results(output: ToolOutput, response: dict[str, Any]):
    part = ToolResultPart(tool_call_id="c1", tool_name="add", output=output)
    contents = sent(ToolMessage(content=[part]))
    assert contents == [{"role": "user", "parts": [{"functionResponse": {"name": "add", "response": response}}]}]


SHOT = [
    {"type": "text", "text": "done"},
    {"type": "image-data", "data": "AQ==", "mediaType": "image/png"},
    {"type": "file-url", "url": "https://a.example/x.wav", "mediaType": "audio/wav"},
]
INLINE = {"inlineData": {"mimeType": "image/png", "data": "AQ=="}}
LINKED = {"fileData": {"mimeType": "audio/wav", "fileUri": "https://a.example/x.wav"}}


def test_files_of_results_follow_all_results_in_a_content_of_their_own():
    """Models take results for their own words when other parts stand beside them."""
    contents = sent(user("hi"), result("content", SHOT), result("text", "ok", "c2"), user("go on"))
    assert contents == [
        HI,
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "add", "response": {"output": "done\n(files follow)"}}}],
        },
        {"role": "user", "parts": [{"text": "Files from the tool add:"}, INLINE, LINKED]},
        {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"output": "ok"}}}]},
        {"role": "user", "parts": [{"text": "go on"}]},
    ]


def test_later_models_take_files_inside_a_result():
    contents = sent(user("hi"), result("content", SHOT), model="gemini-3-flash-preview")
    assert contents[1]["parts"] == [
        {"functionResponse": {"name": "add", "response": {"output": "done\n(files follow)"}, "parts": [INLINE]}}
    ]
    assert contents[2]["parts"] == [{"text": "Files from the tool add:"}, LINKED]
    inside = sent(user("hi"), result("content", SHOT[1:2]), model="gemini-flash-latest")
    assert inside[1]["parts"] == [{"functionResponse": {"name": "add", "response": {"output": ""}, "parts": [INLINE]}}]
    assert len(inside) == 2


def test_options_of_results_are_merged():
    message = result("text", "a", provider_options={"google": {"functionResponse": {"scheduling": "SILENT"}}})
    assert sent(message)[0]["parts"][0]["functionResponse"]["scheduling"] == "SILENT"


def test_what_cannot_be_sent_is_warned_of():
    request = built(
        UserMessage(content=[TextPart(text="a"), UnknownPart(type="odd")]),
        AssistantMessage(content=[TextPart(text="b"), UnknownPart(type="odd")]),
        ToolMessage(content=[TextPart(text="c")]),
        UnknownMessage(role="developer", extra=Extra({"content": "x"})),
    )
    assert [warning["message"] for warning in request.warnings] == [
        "a part of type odd in a user message is not sent",
        "a part of type text in a tool message is not sent",
        "a message with the role developer is not sent",
        "a part of type odd in an answer is not sent",
    ]
    assert len(request.body["contents"]) == 2


# -- what the provider gave and wants back

WHOLE = [case for case in cases() if "error" not in case.expect and "streamed" not in case.id]


def replayed(*stream: bytes, provider: str = "google", **members: Any) -> list[dict[str, Any]]:
    """The parts of the answer that follow from a stream, as the agent makes them."""
    fold = StepFold()
    for chunk in decode(*stream, provider=provider).chunks:
        fold.add(chunk)
    contents = sent(user("hi"), AssistantMessage(content=fold.content()), provider=provider, **members)
    return contents[1]["parts"] if len(contents) > 1 else []


@pytest.mark.parametrize("case", WHOLE, ids=[case.id for case in WHOLE])
def test_every_part_of_an_answer_goes_back_as_it_came(case: Case):
    assert replayed(case.stream) == [plain(part) for part in told(case)]


def told(case: Case) -> list[dict[str, Any]]:
    """The parts that a fixture holds, neighbouring ones of text that have nothing else joined."""
    parts: list[dict[str, Any]] = []
    for item in events_of(case.stream):
        for candidate in item.get("candidates") or ():
            if candidate.get("index") in (0, None):
                for part in (candidate.get("content") or {}).get("parts") or ():
                    put(parts, {name: value for name, value in part.items() if value is not None})
    return parts


def put(parts: list[dict[str, Any]], part: dict[str, Any]) -> None:
    last = parts[-1] if parts else {}
    if (
        not part.keys() - {"thought"}
        or part == {"text": ""}
        or part.get("functionCall", {"name": "x"}).get("name") is None
    ):
        return
    if part.keys() <= {"text", "thought"} and last.keys() == part.keys():
        parts[-1] = {**last, "text": last["text"] + part["text"]}
    else:
        parts.append(part)


def events_of(stream: bytes) -> list[dict[str, Any]]:
    text = stream.partition(b"data: [DONE]")[0]
    if text.startswith(b"["):
        return json.loads(text)
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith(b"data: {")]


def plain(part: dict[str, Any]) -> dict[str, Any]:
    """What may have been missing or a text goes back as an object."""
    if "functionCall" in part:
        args = part["functionCall"].get("args") or {}
        args = json.loads(args) if isinstance(args, str) else args
        return {**part, "functionCall": {**part["functionCall"], "args": args}}
    for kind, member in (("toolCall", "args"), ("toolResponse", "response")):
        if "toolType" in part.get(kind, {}):
            return {**part, kind: {member: {}, **part[kind]}}
    return part


def test_earlier_models_are_not_sent_what_server_tools_did_in_later_ones():
    """Their API refuses it; running code is what they know too."""
    search = {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "1", "args": {}}}
    found = {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "1", "response": {}}}
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    stream = event(search, found, code, finish="STOP")
    assert replayed(stream, model="gemini-3-flash-preview") == [search, found, code]
    assert replayed(stream, model="gemini-2.5-flash") == [code]


def test_streamed_arguments_go_back_as_one_call():
    begin = {"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": "S"}
    piece = {"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "b"}], "willContinue": True}}
    parts = replayed(event(begin), event(piece), event({"functionCall": {}}, finish="STOP"))
    assert parts == [{"functionCall": {"name": "f", "args": {"a": "b"}}, "thoughtSignature": "S"}]


def test_what_another_provider_gave_stays_here():
    foreign = {"anthropic": {"signature": "S"}, "openai": {"itemId": "r", "id": "x", "thoughtSignature": "T"}}
    parts = [
        ReasoningPart(text="hm", provider_options=foreign),
        ReasoningPart(text="hm"),
        TextPart(text="a", provider_options=foreign),
        TextPart(text="", provider_options=foreign),
        call("s", "web_search", provider_executed=True, provider_options=foreign),
        ToolResultPart(tool_call_id="s", tool_name="web_search", output=ToolOutput("json", {})),
        CustomPart(kind="openai.compaction", provider_options=foreign),
        call(input={}, provider_options=foreign),
    ]
    assert sent(user("hi"), AssistantMessage(content=parts))[1] == {
        "role": "model",
        "parts": [{"text": "a"}, {"functionCall": {"name": "add", "args": {}}}],
    }


def test_signatures_go_back_only_under_the_providers_name():
    stream = event(
        {"text": "h", "thought": True}, {"text": "a", "thoughtSignature": "S"}, {"executableCode": {"code": "1"}}
    )
    end = event(finish="STOP")
    assert len(replayed(stream, end, provider="vertex")) == 3
    fold = StepFold()
    for chunk in decode(stream, end, provider="vertex").chunks:
        fold.add(chunk)
    assert sent(user("hi"), AssistantMessage(content=fold.content()))[1]["parts"] == [{"text": "a"}]


def test_later_models_are_told_that_a_foreign_call_has_no_signature():
    """They refuse an answer whose first call has none; the calls beside it need none."""
    message = AssistantMessage(content=[TextPart(text="a"), call("c1"), call("c2")])
    signed = AssistantMessage(content=[call("c3", provider_options={"google": {"thoughtSignature": "S"}}), call("c4")])
    results = (result("text", "a"), result("text", "b", "c2"))
    contents = sent(user("hi"), message, *results, signed, model="gemini-3-pro-preview")
    found = [
        part.get("thoughtSignature") for content in contents for part in content["parts"] if "functionCall" in part
    ]
    assert found == ["skip_thought_signature_validator", None, "S", None]
    before = sent(user("hi"), message, model="gemini-2.5-pro")
    assert [part.get("thoughtSignature") for part in before[1]["parts"]] == [None, None, None]


def test_a_request_is_not_changed_by_what_is_built_of_it():
    options = {"google": {"id": "1", "functionCall": {"x": 1}, "serverToolType": "X"}}
    message = AssistantMessage(content=[call(input={"a": 1}, provider_options=options)])
    assert sent(message) == sent(message)
    given = {"google": {"generationConfig": {"a": 1}, "toolConfig": {"b": 2}, "temperature": 1}}
    first = built(provider_options=given, tools=[ADD], tool_choice="required")
    assert built(provider_options=given, tools=[ADD], tool_choice="required") == first


# -- tools


def test_tools():
    body = built(tools=[ADD, ToolSpec(name="now", description="", input_schema={})]).body
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {"name": "add", "description": "Adds.", "parametersJsonSchema": SCHEMA},
                {"name": "now"},
            ]
        }
    ]
    assert "toolConfig" not in body


def test_options_of_tools_are_merged():
    tool = ToolSpec(
        name="a", description="", input_schema={}, provider_options={"google": {"behavior": "NON_BLOCKING"}}
    )
    assert built(tools=[tool]).body["tools"][0]["functionDeclarations"] == [{"name": "a", "behavior": "NON_BLOCKING"}]


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (NamedTool("add"), {"mode": "ANY", "allowedFunctionNames": ["add"]}),
    ],
)
def test_tool_choices(choice: Any, config: Any):
    assert built(tools=[ADD], tool_choice=choice).body["toolConfig"] == {"functionCallingConfig": config}


def test_a_strict_tool_is_validated():
    strict = ToolSpec(name="a", description="", input_schema={}, strict=True)
    assert built(tools=[ADD, strict]).body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}


def test_a_choice_without_tools_is_not_sent():
    assert built(tool_choice="required").body == {"contents": [HI]}


@pytest.mark.parametrize("name", ["", "my tool", "7up", "-a", "x" * 129, "ä"])
def test_a_tool_whose_name_the_api_refuses_is_an_error(name: str):
    with pytest.raises(ConfigError, match="tool name"):
        built(tools=[ToolSpec(name=name, description="", input_schema={})])


@pytest.mark.parametrize(
    ("id", "args", "sent_tool"),
    [
        ("google.google_search", None, {"googleSearch": {}}),
        ("google.google_search", {"timeRangeFilter": {"x": 1}}, {"googleSearch": {"timeRangeFilter": {"x": 1}}}),
        ("google.code_execution", None, {"codeExecution": {}}),
        ("google.url_context", None, {"urlContext": {}}),
        ("google.file_search", {"fileSearchStoreNames": ["s"]}, {"fileSearch": {"fileSearchStoreNames": ["s"]}}),
        ("google.vertex_rag_store", {"topK": 1}, {"retrieval": {"vertexRagStore": {"topK": 1}}}),
        ("acme.google_maps", None, {"googleMaps": {}}),
    ],
)
def test_googles_own_tools(id: str, args: dict[str, Any] | None, sent_tool: dict[str, Any]):
    tool = ToolSpec(name="x", description="", input_schema={}, provider_id=id, provider_args=args)
    assert built(tools=[tool], provider="acme").body["tools"] == [sent_tool]
    assert "toolConfig" not in built(tools=[tool], provider="acme").body


def test_another_providers_tool_is_warned_of():
    tool = ToolSpec(name="shell", description="", input_schema={}, provider_id="openai.local_shell")
    request = built(tools=[tool, ADD])
    assert request.warnings == [{"type": "unsupported-tool", "tool": "shell"}]
    assert request.body["tools"] == built(tools=[ADD]).body["tools"]


def test_functions_and_googles_own_tools_go_together_from_gemini_3_on():
    own, functions = {"googleSearch": {}}, {"functionDeclarations": [{"name": "now"}]}
    tools = [SEARCH, ToolSpec(name="now", description="", input_schema={})]
    later = built(tools=tools, model="gemini-3-flash-preview")
    assert later.body["tools"] == [own, functions]
    assert later.body["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert "toolConfig" not in built(tools=tools, model="gemini-3-flash-preview", vertex=True).body
    assert "toolConfig" not in built(tools=tools, model="another").body
    before = built(tools=tools, model="gemini-2.5-flash")
    assert before.body["tools"] == [functions]
    assert before.warnings == [{"type": "unsupported-tool", "tool": "google_search"}]


def test_choices_and_googles_own_tools():
    assert "tools" not in built(tools=[SEARCH], tool_choice="none").body
    forced = built(tools=[SEARCH], tool_choice="required")
    assert forced.warnings == [{"type": "unsupported-setting", "setting": "toolChoice"}]
    assert "toolConfig" not in forced.body
    named = built(tools=[SEARCH, ADD], tool_choice=NamedTool("google_search"), model="gemini-3-flash-preview")
    assert named.warnings == forced.warnings


# -- schemas


@pytest.mark.parametrize(
    ("schema", "sent_schema"),
    [
        ({"const": "a"}, {"enum": ["a"]}),
        ({"const": 1, "type": "integer"}, {"type": "integer", "enum": [1]}),
        ({"const": True}, {"const": True}),
        ({"$schema": "x", "type": "string"}, {"type": "string"}),
        ({"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}),
        (
            {"properties": {"a": {"$ref": "#/$defs/A", "description": "An a."}}},
            {"properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}], "description": "An a."}}},
        ),
        (
            {"anyOf": [{"const": "a"}, {"type": "null"}], "default": {"const": "a"}},
            {"anyOf": [{"enum": ["a"]}, {"type": "null"}], "default": {"const": "a"}},
        ),
        ({"additionalProperties": False, "enum": ["const"]}, {"additionalProperties": False, "enum": ["const"]}),
        (
            {"properties": {"$schema": {"const": "a"}, "const": {"type": "string"}, "default": {"$ref": "#/x"}}},
            {"properties": {"$schema": {"enum": ["a"]}, "const": {"type": "string"}, "default": {"$ref": "#/x"}}},
        ),
        ({"allOf": ({"const": "a"},)}, {"allOf": [{"enum": ["a"]}]}),
    ],
)
def test_schemas_are_sent_in_googles_dialect(schema: dict[str, Any], sent_schema: dict[str, Any]):
    tool = ToolSpec(name="a", description="", input_schema=schema)
    assert built(tools=[tool]).body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] == sent_schema
    assert config(response_format=schema) == {"responseMimeType": "application/json", "responseJsonSchema": sent_schema}


def test_a_response_format_holds_beside_tools_from_gemini_3_on():
    both = {"response_format": SCHEMA, "tools": [ADD]}
    assert config(**both, model="gemini-3-flash-preview")["responseJsonSchema"] == SCHEMA
    assert config(**both)["responseJsonSchema"] == SCHEMA
    before = built(**both, model="gemini-2.5-flash")
    assert "generationConfig" not in before.body
    assert [warning["type"] for warning in before.warnings] == ["other"]
    alone = built(response_format=SCHEMA, tools=[SEARCH], tool_choice="none", model="gemini-2.5-flash")
    assert alone.body["generationConfig"]["responseJsonSchema"] == SCHEMA


# -- settings and options


def test_all_settings():
    settings = Settings(
        max_output_tokens=5,
        temperature=0.0,
        top_p=0.5,
        top_k=40,
        presence_penalty=0.1,
        frequency_penalty=0.2,
        stop_sequences=("a", "b"),
        seed=0,
        parallel_tool_calls=True,
        headers={"x-a": "b"},
    )
    request = built(settings=settings)
    assert request.body["generationConfig"] == {
        "maxOutputTokens": 5,
        "temperature": 0.0,
        "topP": 0.5,
        "topK": 40,
        "presencePenalty": 0.1,
        "frequencyPenalty": 0.2,
        "stopSequences": ["a", "b"],
        "seed": 0,
    }
    assert request.warnings == []


def test_calls_one_at_a_time_are_warned_of():
    warnings = built(settings=Settings(parallel_tool_calls=False)).warnings
    assert warnings == [{"type": "unsupported-setting", "setting": "parallelToolCalls"}]


@pytest.mark.parametrize(
    ("model", "effort", "thinking"),
    [
        ("gemini-3-flash-preview", "low", {"thinkingLevel": "low", "includeThoughts": True}),
        ("gemini-3-flash-preview", "minimal", {"thinkingLevel": "minimal", "includeThoughts": True}),
        ("gemini-3-flash-preview", "none", {"thinkingLevel": "minimal"}),
        ("gemini-3-pro-preview", "none", {"thinkingLevel": "low"}),
        ("models/gemini-3.1-pro-preview", "xhigh", {"thinkingLevel": "high", "includeThoughts": True}),
        ("gemini-3.8-flash", "minimal", {"thinkingLevel": "low", "includeThoughts": True}),
        ("gemini-3.8-flash-lite", "minimal", {"thinkingLevel": "minimal", "includeThoughts": True}),
        ("gemini-flash-latest", "medium", {"thinkingLevel": "medium", "includeThoughts": True}),
        ("gemini-2.5-flash", "medium", {"thinkingBudget": 8192, "includeThoughts": True}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}),
        ("gemini-2.0-flash", "low", None),
        ("gemini-pro", "low", None),
        ("gemma-3-27b-it", "low", None),
        ("gemini-3-flash-preview", "enormous", None),
    ],
)
def test_reasoning_efforts(model: str, effort: str, thinking: dict[str, Any] | None):
    request = built(model=model, settings=Settings(reasoning_effort=effort))
    assert request.body.get("generationConfig", {}).get("thinkingConfig") == thinking
    unsupported = [{"type": "unsupported-setting", "setting": "reasoningEffort"}]
    assert request.warnings == ([] if thinking else unsupported)


def test_options_stand_where_the_api_wants_them_and_the_providers_own_come_last():
    options = {
        "google": {
            "safetySettings": [{"category": "C"}],
            "labels": {"a": "b"},
            "responseModalities": ["TEXT"],
            "thinkingConfig": {"includeThoughts": False},
            "retrievalConfig": {"languageCode": "de"},
            "streamFunctionCallArguments": True,
            "temperature": 0.1,
            "serviceTier": "flex",
        },
        "acme": {"temperature": 0.2},
        "anthropic": {"e": 4},
    }
    settings = Settings(temperature=1, seed=3, reasoning_effort="low")
    body = built(
        provider_options=options,
        provider="acme",
        settings=settings,
        tools=[ADD],
        tool_choice="required",
        model="gemini-3-flash-preview",
    ).body
    assert body.keys() == {
        "contents",
        "tools",
        "toolConfig",
        "generationConfig",
        "safetySettings",
        "labels",
        "serviceTier",
    }
    assert body["generationConfig"] == {
        "temperature": 0.2,
        "seed": 3,
        "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": False},
        "responseModalities": ["TEXT"],
    }
    assert body["toolConfig"] == {
        "functionCallingConfig": {"mode": "ANY", "streamFunctionCallArguments": True},
        "retrievalConfig": {"languageCode": "de"},
    }


def test_what_a_cached_content_has_is_not_sent_beside_it():
    request = built(
        SystemMessage(content="s"),
        user("hi"),
        tools=[ADD],
        tool_choice="required",
        provider_options={"google": {"cachedContent": "cachedContents/x"}},
    )
    assert request.body == {"contents": [HI], "cachedContent": "cachedContents/x"}
    assert [warning["message"] for warning in request.warnings] == [
        "systemInstruction is not sent: the cached content has its own",
        "tools is not sent: the cached content has its own",
        "toolConfig is not sent: the cached content has its own",
    ]
