"""Requests → bodies: every kind of message, setting and option, and what goes back as the server gave it."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest

from riverrun.agent.inputs import answer_messages
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
from riverrun.models.http import WireRequest
from riverrun.models.openai_responses.request import responses_request
from riverrun.types import ModelRequest, NamedTool, Settings, ToolSpec
from tests.models.decoding import RUN
from tests.models.openai_responses import decode, offered, wire

PNG = b"\x89PNG\r\n\x1a\n0000"
PNG_TEXT = base64.b64encode(PNG).decode()
ADD = ToolSpec(
    name="add", description="Adds.", input_schema={"type": "object", "properties": {"a": {"type": "integer"}}}
)


def built(
    *messages: Message, provider: str = "openai", model_id: str = "gpt-5", official: bool = False, **members: Any
) -> WireRequest:
    request = ModelRequest(messages=messages or (user("hi"),), run_id=RUN, **members)
    return responses_request(request, model_id=model_id, provider=provider, official=official)


def sent(*messages: Message, **members: Any) -> list[dict[str, Any]]:
    return built(*messages, **members).body["input"]


def user(text: str) -> UserMessage:
    return UserMessage(content=[TextPart(text=text)])


def call(call_id: str = "c1", name: str = "add", **members: Any) -> ToolCallPart:
    return ToolCallPart(tool_call_id=call_id, tool_name=name, **members)


def result(kind: str, value: Any, call_id: str = "c1", **members: Any) -> ToolResultPart:
    return ToolResultPart(tool_call_id=call_id, tool_name="add", output=ToolOutput(kind, value), **members)


def answered(*items: dict[str, Any], tools: list[ToolSpec] | None = None, **options: Any) -> list[Message]:
    """The messages that follow from a response with these output items, as the agent makes them."""
    return followed({"completed": {"output": list(items)}}, tools=tools or [], **options)


def followed(*events: dict[str, Any], **options: Any) -> list[Message]:
    """The messages that follow from a stream of these events, whole or not."""
    fold = StepFold()
    for chunk in decode(wire(events), **options).chunks:
        fold.add(chunk)
    return answer_messages(fold.content())


def test_a_plain_request():
    assert built(user("hi")) == WireRequest(
        {"model": "gpt-5", "input": [{"role": "user", "content": "hi"}], "stream": True}, []
    )


# -- messages


def test_system_and_user_messages_stay_in_their_order():
    messages = (SystemMessage(content="be brief"), user("hi"), SystemMessage(content="be polite"))
    assert sent(*messages) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "system", "content": "be polite"},
    ]


@pytest.mark.parametrize(
    ("model_id", "role"),
    [("gpt-5", "developer"), ("o3", "developer"), ("gpt-4.1", "system"), ("gpt-5-chat-latest", "system")],
)
def test_reasoning_models_of_openais_own_server_take_instructions_as_a_developers(model_id: str, role: str):
    assert sent(SystemMessage(content="a"), model_id=model_id, official=True)[0]["role"] == role


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
    assert sent(UserMessage(content=[TextPart(text="a"), TextPart(text="b")])) == [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]}
    ]


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (FilePart(data=PNG, media_type="image/png"), {"image_url": f"data:image/png;base64,{PNG_TEXT}"}),
        (FilePart(data=PNG, media_type="image/*"), {"image_url": f"data:image/png;base64,{PNG_TEXT}"}),
        (FilePart(data=PNG_TEXT, media_type="image/png"), {"image_url": f"data:image/png;base64,{PNG_TEXT}"}),
        (
            FilePart(data=f"data:image/png;base64,{PNG_TEXT}", media_type="image/png"),
            {"image_url": f"data:image/png;base64,{PNG_TEXT}"},
        ),
        (FilePart(data="https://a.example/x", media_type="image/png"), {"image_url": "https://a.example/x"}),
        (FilePart(data="file-7", media_type="image/png"), {"file_id": "file-7"}),
    ],
    ids=["bytes", "bytes of an unknown type", "base64", "data URL", "URL", "uploaded"],
)
def test_images(part: FilePart, content: dict[str, Any]):
    assert sent(UserMessage(content=[part])) == [{"role": "user", "content": [{"type": "input_image", **content}]}]


@pytest.mark.parametrize(
    ("part", "content"),
    [
        (
            FilePart(data=b"\x01", media_type="application/pdf", filename="x.pdf"),
            {"type": "input_file", "filename": "x.pdf", "file_data": "data:application/pdf;base64,AQ=="},
        ),
        (
            FilePart(data="AQ==", media_type="application/pdf"),
            {"type": "input_file", "filename": "file.pdf", "file_data": "data:application/pdf;base64,AQ=="},
        ),
        (
            FilePart(data="https://a.example/x.pdf", media_type="application/pdf"),
            {"type": "input_file", "file_url": "https://a.example/x.pdf"},
        ),
        (FilePart(data="file-7", media_type="application/pdf"), {"type": "input_file", "file_id": "file-7"}),
        (FilePart(data="assistant-7", media_type="text/plain"), {"type": "input_file", "file_id": "assistant-7"}),
        (
            FilePart(data="data:audio/mpeg;base64,AQ==", media_type="audio/mpeg"),
            {"type": "input_audio", "input_audio": {"data": "AQ==", "format": "mp3"}},
        ),
    ],
    ids=["pdf", "pdf without a name", "URL", "uploaded", "uploaded to Azure", "mp3"],
)
def test_other_files(part: FilePart, content: dict[str, Any]):
    assert sent(UserMessage(content=[part])) == [{"role": "user", "content": [content]}]


def test_sound_behind_a_url_cannot_be_sent():
    with pytest.raises(ConfigError, match="bytes or base64"):
        built(UserMessage(content=[FilePart(data="https://a.example/x.wav", media_type="audio/wav")]))


def test_options_of_parts_and_messages_are_merged_into_their_json():
    image = FilePart(
        data="https://a.example/x",
        media_type="image/png",
        provider_options={"openai": {"imageDetail": "low"}, "other": {"x": 1}},
    )
    text = TextPart(text="a", provider_options={"acme": {"promptCacheBreakpoint": {"mode": "explicit"}}})
    message = UserMessage(content=[text, image], provider_options={"openai-responses": {"status": "completed"}})
    assert sent(message, provider="acme") == [
        {
            "role": "user",
            "status": "completed",
            "content": [
                {"type": "input_text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "input_image", "image_url": "https://a.example/x", "detail": "low"},
            ],
        }
    ]


def test_an_answer_of_unknown_origin_is_plain_text_and_calls():
    message = AssistantMessage(
        content=[ReasoningPart(text="hm"), TextPart(text="I add."), call(input={"a": [1, "é"]})],
        provider_options={"openai": {"phase": "commentary"}},
    )
    assert sent(message, ToolMessage(content=[result("json", {"sum": 2})])) == [
        {"role": "assistant", "content": "I add.", "phase": "commentary"},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":[1,"é"]}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"sum":2}'},
    ]


def test_a_call_whose_arguments_could_not_be_read_has_none():
    assert sent(AssistantMessage(content=[call(name="functions.add:0")])) == [
        {"type": "function_call", "call_id": "c1", "name": "functions_add_0", "arguments": "{}"}
    ]


SOUND = {"type": "file-url", "url": "https://a.example/x.wav", "mediaType": "audio/wav"}
SHOT = {"type": "image-data", "data": "AQ==", "mediaType": "image/png"}


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (ToolOutput("text", "ok"), "ok"),
        (ToolOutput("text", ""), "(no output)"),
        (ToolOutput("json", {"a": [1, None]}), '{"a":[1,null]}'),
        (ToolOutput("json", None), "null"),
        (ToolOutput("error-text", "no such city"), "no such city"),
        (ToolOutput("error-json", {"code": 7}), '{"code":7}'),
        (ToolOutput("text", {"not": "text"}), '{"not":"text"}'),
        (ToolOutput("content", []), "(no output)"),
        (
            ToolOutput(
                "content",
                [
                    {"type": "text", "text": "a"},
                    SHOT,
                    {"type": "file-url", "url": "https://a.example/x.pdf"},
                    {"x": 1},
                    SOUND,
                ],
            ),
            [
                {"type": "input_text", "text": "a"},
                {"type": "input_image", "image_url": "data:image/png;base64,AQ=="},
                {"type": "input_file", "file_url": "https://a.example/x.pdf"},
                {"type": "input_text", "text": '{"x":1}'},
                {"type": "input_text", "text": json.dumps(SOUND, separators=(",", ":"))},
            ],
        ),
    ],
    ids=lambda value: f"{value.type} {value.value!r:.20}" if isinstance(value, ToolOutput) else "",
)
def test_tool_results(output: ToolOutput, told: Any):
    part = ToolResultPart(
        tool_call_id="c1",
        tool_name="add",
        output=output,
        provider_options={"openai": {"status": "completed", "itemId": "fc_1"}},
    )
    assert sent(ToolMessage(content=[part])) == [
        {"type": "function_call_output", "call_id": "c1", "output": told, "status": "completed"}
    ]


def test_what_cannot_be_sent_is_warned_of_once():
    odd = UnknownPart(type="odd")
    picture = FilePart(data="AQ==", media_type="image/png")
    request = built(
        UserMessage(content=[TextPart(text="a"), odd, odd]),
        AssistantMessage(content=[TextPart(text="b"), picture, odd]),
        ToolMessage(content=[TextPart(text="c")]),
    )
    assert request.warnings == [
        {"type": "other", "message": message}
        for message in (
            "a part of type odd in a user message is not sent",
            "a file in an assistant message is not sent",
            "a part of type odd in an assistant message is not sent",
            "a part of type text in a tool message is not sent",
        )
    ]


def test_a_message_of_another_form_is_sent_as_it_is():
    assert sent(UnknownMessage(role="developer", extra=Extra({"content": "x"}))) == [
        {"role": "developer", "content": "x"}
    ]


# -- what the server gave and wants back

REASONING: dict[str, Any] = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
    "encrypted_content": "gAAA-b64==",
}
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [
        {
            "type": "output_text",
            "text": "a",
            "annotations": [{"type": "url_citation", "url": "https://a.example", "title": "A"}],
        },
        {"type": "refusal", "refusal": "no"},
    ],
}
CALL: dict[str, Any] = {
    "id": "fc_1",
    "type": "function_call",
    "call_id": "call_1",
    "name": "add",
    "arguments": '{"a": 1}',
    "namespace": "sums",
    "caller": {"type": "program", "caller_id": "call_0"},
}


def test_reasoning_text_and_calls_go_back_as_they_came():
    assert sent(*answered(REASONING, MESSAGE, CALL)) == [REASONING, MESSAGE, CALL]


@pytest.mark.parametrize(
    "item",
    [
        {"id": "rs_1", "type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "e"},
        {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "e"},
    ],
    ids=["own words", "only encrypted", "kept by the server", "without an id"],
)
def test_reasoning_goes_back_in_the_form_that_it_had(item: dict[str, Any]):
    assert sent(*answered(item, CALL))[0] == item


def test_an_empty_message_goes_back_since_reasoning_must_not_stand_alone():
    empty = {**MESSAGE, "content": [{"type": "output_text", "text": "", "annotations": []}]}
    assert sent(*answered(REASONING, empty)) == [REASONING, empty]


def test_reasoning_that_led_to_nothing_is_not_sent():
    """Bug report BerriAI/litellm#37710: the answer was cut off, and the conversation goes on."""
    assert sent(user("a"), *answered(REASONING), user("b")) == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    ]


BEGUN: list[dict[str, Any]] = [
    {"added": {"id": "rs_1", "type": "reasoning", "summary": []}},
    {"reasoning_summary_text": "hm"},
]
SUMMED_UP: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
HALF: list[dict[str, Any]] = [
    {"added": {"id": "msg_1", "type": "message", "content": []}, "on": 1},
    {"output_text": "Hel", "on": 1},
]


def test_what_was_cut_off_goes_back_as_plain_text():
    incomplete = {"id": "msg_1", "type": "message", "status": "incomplete"}
    half = {**incomplete, "content": [{"type": "output_text", "text": "Hel"}]}
    plain = [{"role": "assistant", "content": "Hel"}]
    assert sent(*followed(*BEGUN, {"done": SUMMED_UP}, *HALF)) == plain
    assert sent(*followed(*BEGUN, {"done": SUMMED_UP}, *HALF, {"done": half, "on": 1}, {"incomplete": {}})) == plain
    assert sent(*followed(*HALF, {"incomplete": {"output": [half]}})) == plain
    assert sent(*followed(*HALF, {"incomplete": {}})) == plain


def test_reasoning_that_was_cut_off_is_not_sent():
    assert sent(user("a"), *followed(*BEGUN)) == [{"role": "user", "content": "a"}]
    assert sent(*followed(*BEGUN, *HALF)) == [{"role": "assistant", "content": "Hel"}]


def test_whole_items_of_an_answer_that_broke_off_go_back_as_they_came():
    encrypted = {**SUMMED_UP, "encrypted_content": "e"}
    assert sent(*followed(*BEGUN, {"done": encrypted}, *HALF)) == [encrypted, {"role": "assistant", "content": "Hel"}]
    two = {**SUMMED_UP, "summary": [*SUMMED_UP["summary"], {"type": "summary_text", "text": "so"}]}
    assert sent(*followed(*BEGUN, {"done": two}, {"done": MESSAGE, "on": 1})) == [two, MESSAGE]


def test_arguments_that_were_changed_are_sent_as_they_are_now():
    (message,) = answered(CALL)
    assert isinstance(message, AssistantMessage)
    (part,) = message.content
    assert isinstance(part, ToolCallPart)
    changed = call("call_1", input={"a": 2}, provider_options=part.provider_options)
    assert sent(AssistantMessage(content=[changed]))[0]["arguments"] == '{"a":2}'


def test_what_another_provider_gave_stays_there():
    items = (
        REASONING,
        MESSAGE,
        CALL,
        {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "a"}},
        {"id": "cmp_1", "type": "compaction", "encrypted_content": "e"},
    )
    assert sent(*answered(*items, provider="azure")) == [
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "no"},
        {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": '{"a":1}'},
    ]


HOSTED: list[dict[str, Any]] = [
    {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "a", "sources": [{"type": "url", "url": "https://a.example"}]},
    },
    {"id": "fs_1", "type": "file_search_call", "status": "completed", "queries": ["a"], "results": None},
    {
        "id": "ci_1",
        "type": "code_interpreter_call",
        "status": "completed",
        "code": "1",
        "container_id": "cntr_1",
        "outputs": [{"type": "logs", "logs": "1"}],
    },
    {"id": "ig_1", "type": "image_generation_call", "status": "completed", "output_format": "png", "result": PNG_TEXT},
    {"id": "ig_2", "type": "image_generation_call", "status": "completed", "result": "https://a.example/x.png"},
    {"id": "ig_3", "type": "image_generation_call", "status": "failed", "result": None},
    {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "wiki", "tools": [{"name": "ask"}]},
    {
        "id": "mcp_1",
        "type": "mcp_call",
        "status": "completed",
        "name": "ask",
        "arguments": '{"q": 1}',
        "server_label": "wiki",
        "output": "b",
        "error": None,
    },
    {
        "id": "tsc_1",
        "type": "tool_search_call",
        "call_id": None,
        "execution": "server",
        "status": "completed",
        "arguments": {"paths": ["a"]},
    },
    {
        "id": "tso_1",
        "type": "tool_search_output",
        "call_id": None,
        "execution": "server",
        "status": "completed",
        "tools": [{"type": "function", "name": "a"}],
    },
    {
        "id": "sh_1",
        "type": "shell_call",
        "call_id": "call_2",
        "status": "completed",
        "action": {"commands": ["ls"]},
        "environment": {"type": "container_reference", "container_id": "cntr_1"},
    },
    {"id": "sho_1", "type": "shell_call_output", "call_id": "call_2", "status": "completed", "output": []},
    {"id": "cm_1", "type": "program", "call_id": "call_3", "code": "f()", "fingerprint": "opaque=="},
    {"id": "cmo_1", "type": "program_output", "call_id": "call_3", "result": "7", "status": "completed"},
    {"id": "cmp_1", "type": "compaction", "encrypted_content": "opaque=="},
    {"id": "new_1", "type": "brand_new", "x": [None, {"y": 1}]},
]


def test_items_of_the_providers_own_tools_go_back_whole_and_in_their_order():
    items = [REASONING, *HOSTED, MESSAGE]
    assert sent(*answered(*items)) == items


def test_an_item_is_kept_once():
    for item in HOSTED:
        (message,) = answered(item)
        assert isinstance(message, AssistantMessage)
        holders = [
            part
            for part in message.content
            if "item" in (getattr(part, "provider_options", None) or {}).get("openai", {})
        ]
        assert len(holders) == 1, item["type"]


def test_what_a_program_of_an_earlier_answer_came_to_goes_back_behind_its_call():
    program, output = HOSTED[-4], HOSTED[-3]
    first = answered(program, {**CALL, "caller": {"type": "program", "caller_id": "call_3"}})
    told = ToolMessage(content=[result("text", "3", "call_1")])
    second = answered(output, MESSAGE, owed={"call_3"})
    items = sent(*first, told, *second)
    assert [item["type"] for item in items] == [
        "program",
        "function_call",
        "function_call_output",
        "program_output",
        "message",
    ]
    assert items[2] == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": "3",
        "caller": {"type": "program", "caller_id": "call_3"},
    }


APPROVAL: dict[str, Any] = {
    "id": "mcpr_1",
    "type": "mcp_approval_request",
    "name": "ask",
    "arguments": '{"q": 1}',
    "server_label": "wiki",
}


@pytest.mark.parametrize(
    ("output", "response"),
    [
        (ToolOutput("json", {"approved": True}), {"approve": True}),
        (ToolOutput("json", {"approve": True, "reason": "fine"}), {"approve": True, "reason": "fine"}),
        (ToolOutput("json", True), {"approve": True}),
        (ToolOutput("text", " Yes "), {"approve": True}),
        (ToolOutput("json", {"approved": False, "reason": "no"}), {"approve": False, "reason": "no"}),
        (ToolOutput("text", "not now"), {"approve": False}),
        (ToolOutput("json", None), {"approve": False}),
        (ToolOutput("error-text", "approved"), {"approve": False}),
    ],
    ids=lambda value: f"{value.type} {value.value!r:.20}" if isinstance(value, ToolOutput) else "",
)
@pytest.mark.parametrize("inside", [False, True], ids=["tool message", "answer"])
def test_a_result_of_a_request_for_approval_is_its_answer(output: ToolOutput, response: dict[str, Any], inside: bool):
    (message,) = answered(REASONING, APPROVAL)
    assert isinstance(message, AssistantMessage)
    part = ToolResultPart(tool_call_id="mcpr_1", tool_name="ask", output=output)
    messages: tuple[Message, ...] = (message, ToolMessage(content=[part]))
    if inside:
        messages = (AssistantMessage(content=[*message.content, part]),)
    assert sent(*messages) == [
        REASONING,
        APPROVAL,
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", **response},
    ]


def test_a_request_for_approval_that_nobody_answered_is_not_sent():
    assert sent(*answered(REASONING, APPROVAL), user("go on")) == [{"role": "user", "content": "go on"}]


NATIVE = offered(
    "openai.custom=write_sql",
    "openai.apply_patch",
    "openai.local_shell",
    "openai.shell",
    "openai.computer",
    "openai.tool_search",
)
CUSTOM: dict[str, Any] = {
    "id": "ctc_1",
    "type": "custom_tool_call",
    "call_id": "c1",
    "name": "write_sql",
    "input": "SELECT 1",
}
PATCH: dict[str, Any] = {
    "id": "apc_1",
    "type": "apply_patch_call",
    "call_id": "c1",
    "status": "completed",
    "operation": {"type": "delete_file", "path": "a"},
}
LOCAL: dict[str, Any] = {
    "id": "lsh_1",
    "type": "local_shell_call",
    "call_id": "c1",
    "status": "completed",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
}
SHELL: dict[str, Any] = {
    "id": "sh_1",
    "type": "shell_call",
    "call_id": "c1",
    "status": "completed",
    "action": {"commands": ["ls"], "max_output_length": 100},
    "caller": {"type": "direct"},
}
COMPUTER: dict[str, Any] = {
    "id": "cu_1",
    "type": "computer_call",
    "call_id": "c1",
    "status": "completed",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
}
SEARCH: dict[str, Any] = {
    "id": "tsc_1",
    "type": "tool_search_call",
    "call_id": "c1",
    "execution": "client",
    "status": "completed",
    "arguments": {"goal": "a"},
}
RAN = [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
FOUND = [{"type": "function", "name": "a"}]


@pytest.mark.parametrize(
    ("item", "output", "answer"),
    [
        (CUSTOM, ToolOutput("text", "1 row"), {"type": "custom_tool_call_output", "output": "1 row"}),
        (CUSTOM, ToolOutput("json", {"rows": 1}), {"type": "custom_tool_call_output", "output": '{"rows":1}'}),
        (
            CUSTOM,
            ToolOutput("content", [SHOT]),
            {
                "type": "custom_tool_call_output",
                "output": [{"type": "input_image", "image_url": "data:image/png;base64,AQ=="}],
            },
        ),
        (PATCH, ToolOutput("text", "done"), {"status": "completed", "output": "done"}),
        (PATCH, ToolOutput("error-text", "no such file"), {"status": "failed", "output": "no such file"}),
        (PATCH, ToolOutput("json", {"status": "failed", "output": "x"}), {"status": "failed", "output": "x"}),
        (PATCH, ToolOutput("json", {"status": "completed"}), {"status": "completed"}),
        (LOCAL, ToolOutput("text", "a"), {"type": "local_shell_call_output", "id": "c1", "output": "a"}),
        (SHELL, ToolOutput("json", RAN), {"output": RAN}),
        (SHELL, ToolOutput("json", {"output": RAN}), {"output": RAN}),
        (SHELL, ToolOutput("text", "a"), {"output": RAN}),
        (
            SHELL,
            ToolOutput("error-text", "b"),
            {"output": [{"stdout": "", "stderr": "b", "outcome": {"type": "exit", "exit_code": 1}}]},
        ),
        (
            COMPUTER,
            ToolOutput("content", [SHOT]),
            {"output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AQ=="}},
        ),
        (
            COMPUTER,
            ToolOutput("text", "https://a.example/x.png"),
            {"output": {"type": "computer_screenshot", "image_url": "https://a.example/x.png"}},
        ),
        (
            COMPUTER,
            ToolOutput("json", {"output": {"type": "x"}, "acknowledged_safety_checks": [{"id": "sc_1"}], "odd": 1}),
            {"output": {"type": "x"}, "acknowledged_safety_checks": [{"id": "sc_1"}]},
        ),
        (SEARCH, ToolOutput("json", FOUND), {"execution": "client", "status": "completed", "tools": FOUND}),
        (SEARCH, ToolOutput("json", {"tools": FOUND}), {"execution": "client", "status": "completed", "tools": FOUND}),
        (SEARCH, ToolOutput("text", "none"), {"execution": "client", "status": "completed", "tools": []}),
    ],
)
def test_a_call_of_the_apis_own_tools_goes_back_with_an_outcome_of_its_kind(
    item: dict[str, Any], output: ToolOutput, answer: dict[str, Any]
):
    messages = answered(item, tools=NATIVE)
    part = ToolResultPart(tool_call_id="c1", tool_name="x", output=output)
    sent_call, sent_output = sent(*messages, ToolMessage(content=[part]))
    assert sent_call == item
    kind = {"type": item["type"].replace("tool_search_call", "tool_search") + "_output"}
    named = {} if item is LOCAL else {"call_id": "c1"}
    kept = {"max_output_length": 100, "caller": {"type": "direct"}} if item is SHELL else {}
    assert sent_output == kind | named | kept | answer


def test_calls_that_nobody_could_run_are_not_sent():
    assert answered(CUSTOM, PATCH) != []
    assert sent(*answered(REASONING, CUSTOM, PATCH), user("go on")) == [{"role": "user", "content": "go on"}]


def test_a_custom_part_that_was_made_by_hand_is_sent_when_it_has_an_item():
    parts = [CustomPart(kind="openai.x", provider_options={"openai": {"item": {"type": "x"}}}), CustomPart(kind="y")]
    assert sent(AssistantMessage(content=parts)) == [{"type": "x"}]


def test_ids_may_be_used_again_from_turn_to_turn():
    patch = answered(PATCH, tools=NATIVE)
    plain = answered({**CALL, "call_id": "c1", "caller": None})
    told = ToolMessage(content=[result("text", "ok")])
    items = sent(*patch, told, *plain, told)
    assert [item["type"] for item in items] == [
        "apply_patch_call",
        "apply_patch_call_output",
        "function_call",
        "function_call_output",
    ]


def test_results_of_calls_that_another_provider_ran_are_not_sent():
    parts = [call(provider_executed=True), result("json", {"a": 1}), TextPart(text="b")]
    assert sent(AssistantMessage(content=parts)) == [{"role": "assistant", "content": "b"}]


# -- a server that keeps nothing, and one that keeps everything


def test_without_a_store_reasoning_is_asked_for_in_its_encrypted_form():
    assert built(provider_options={"openai": {"store": False}}).body["include"] == ["reasoning.encrypted_content"]
    assert "include" not in built(provider_options={"openai": {"store": True}}).body
    assert "include" not in built(provider_options={"openai": {"store": False}}, model_id="gpt-4.1-mini").body
    own = built(provider_options={"openai": {"store": False, "include": ["web_search_call.results"]}})
    assert own.body["include"] == ["web_search_call.results"]


def test_without_a_store_reasoning_that_only_the_server_knew_is_left_out():
    lost = {"id": "rs_2", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    spoken = {"id": "rs_3", "type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}
    request = built(
        *answered(REASONING, lost, spoken, lost | {"id": "rs_4"}, MESSAGE),
        provider_options={"openai": {"store": False}},
    )
    assert request.body["input"] == [REASONING, spoken, MESSAGE]
    assert [warning["message"] for warning in request.warnings] == [
        "reasoning without its encrypted content is not sent, since the server stores nothing"
    ]


def test_a_conversation_knows_what_was_said_up_to_the_servers_last_answer():
    options = {"openai": {"conversation": "conv_1"}}
    messages = [SystemMessage(content="be brief"), user("a"), *answered(REASONING, CALL)]
    told = ToolMessage(content=[result("text", "2", "call_1")])
    assert sent(*messages[:2], provider_options=options) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "a"},
    ]
    assert sent(*messages, told, user("b"), provider_options=options) == [
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": "2",
            "caller": {"type": "program", "caller_id": "call_0"},
        },
        {"role": "user", "content": "b"},
    ]


# -- tools, settings, options


def test_tools():
    strict = ToolSpec(
        name="now",
        description="",
        input_schema={},
        strict=True,
        provider_options={"openai": {"deferLoading": True}},
    )
    body = built(tools=[ADD, strict]).body
    assert body["tools"] == [
        {"type": "function", "name": "add", "description": "Adds.", "parameters": dict(ADD.input_schema)},
        {
            "type": "function",
            "name": "now",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
            "strict": True,
            "defer_loading": True,
        },
    ]
    assert "tool_choice" not in body
    assert "parallel_tool_calls" not in body


def test_a_strict_tool_that_strict_mode_cannot_take_is_sent_without_it():
    request = built(tools=[ToolSpec(name="add", description="", input_schema=ADD.input_schema, strict=True)])
    assert request.body["tools"] == [{"type": "function", "name": "add", "parameters": dict(ADD.input_schema)}]
    assert [warning["type"] for warning in request.warnings] == ["other"]


def hosted(id: str, name: str = "t", **args: Any) -> ToolSpec:
    return ToolSpec(name=name, description="d", input_schema={}, provider_id=id, provider_args=args or None)


def test_tools_of_the_apis_own():
    tools = [
        hosted("openai.web_search", searchContextSize="low"),
        hosted("openai.mcp", server_label="wiki", server_url="https://a.example"),
        hosted("openai.custom", "write_sql", format={"type": "text"}),
        hosted("acme.x_search"),
    ]
    assert built(tools=tools, provider="acme").body["tools"] == [
        {"type": "web_search", "search_context_size": "low"},
        {"type": "mcp", "server_label": "wiki", "server_url": "https://a.example"},
        {"type": "custom", "name": "write_sql", "description": "d", "format": {"type": "text"}},
        {"type": "x_search"},
    ]


def test_tools_of_another_provider_are_left_out():
    request = built(tools=[hosted("groq.browser_search", "browse")], tool_choice="required")
    assert "tools" not in request.body
    assert "tool_choice" not in request.body
    assert request.warnings == [{"type": "unsupported-tool", "tool": "browse"}]


@pytest.mark.parametrize(
    ("choice", "sent_choice"),
    [
        ("none", "none"),
        ("required", "required"),
        (NamedTool("add"), {"type": "function", "name": "add"}),
        (NamedTool("search"), {"type": "file_search"}),
        (NamedTool("write_sql"), {"type": "custom", "name": "write_sql"}),
        (NamedTool("wiki"), {"type": "mcp", "server_label": "w"}),
        (NamedTool("unknown"), {"type": "function", "name": "unknown"}),
    ],
)
def test_tool_choices(choice: Any, sent_choice: Any):
    tools = [
        ADD,
        hosted("openai.file_search", "search"),
        hosted("openai.custom", "write_sql"),
        hosted("openai.mcp", "wiki", serverLabel="w"),
    ]
    assert built(tools=tools, tool_choice=choice).body["tool_choice"] == sent_choice


def test_choices_without_tools_are_not_sent():
    body = built(tool_choice="required", settings=Settings(parallel_tool_calls=False)).body
    assert not {"tool_choice", "parallel_tool_calls", "tools"} & body.keys()


@pytest.mark.parametrize("name", ["", "my tool", "a.b", "x" * 65, "ä"])
def test_a_tool_whose_name_the_api_refuses_is_an_error(name: str):
    with pytest.raises(ConfigError, match="tool name"):
        built(tools=[ToolSpec(name=name, description="", input_schema={})])
    with pytest.raises(ConfigError, match="tool name"):
        built(tools=[hosted("openai.custom", name)])


def test_all_settings():
    settings = Settings(
        max_output_tokens=5,
        temperature=0.0,
        top_p=0.5,
        parallel_tool_calls=False,
        reasoning_effort="low",
        headers={"x-a": "b"},
    )
    request = built(settings=settings, tools=[ADD])
    plain = built(tools=[ADD]).body
    assert request.warnings == []
    assert {name: value for name, value in request.body.items() if name not in plain} == {
        "max_output_tokens": 5,
        "temperature": 0.0,
        "top_p": 0.5,
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low"},
    }


def test_reasoning_models_of_openais_own_server_take_no_sampling():
    settings = Settings(temperature=0.0, top_p=0.5)
    request = built(settings=settings, official=True)
    assert request.body.keys() == {"model", "input", "stream"}
    assert [warning["setting"] for warning in request.warnings] == ["temperature", "topP"]
    for options in ({"reasoningEffort": "none"}, {"temperature": 0.0, "topP": 0.5}):
        request = built(settings=settings, official=True, provider_options={"openai": options})
        assert (request.body["temperature"], request.body["top_p"], request.warnings) == (0.0, 0.5, [])


def test_settings_that_the_api_does_not_have_are_warned_of():
    settings = Settings(top_k=3, seed=0, stop_sequences=["a"], presence_penalty=0.1, frequency_penalty=0.2)
    request = built(settings=settings)
    assert request.body.keys() == {"model", "input", "stream"}
    assert request.warnings == [
        {"type": "unsupported-setting", "setting": setting}
        for setting in ("topK", "seed", "stopSequences", "presencePenalty", "frequencyPenalty")
    ]
    assert built(settings=Settings(stop_sequences=[])).warnings == []


def test_a_setting_that_is_an_option_is_not_warned_of():
    request = built(settings=Settings(top_k=3), provider_options={"acme": {"top_k": 3}}, provider="acme")
    assert (request.warnings, request.body["top_k"]) == ([], 3)


def test_provider_options_are_merged_and_the_providers_own_come_last():
    options = {
        "openai": {"store": False, "metadata": {"x": [1]}, "include": []},
        "openai-responses": {"prompt_cache_key": "a", "truncation": None},
        "acme": {"prompt_cache_key": "b"},
        "anthropic": {"e": 4},
    }
    body = built(provider_options=options, provider="acme").body
    assert body["metadata"] is options["openai"]["metadata"]
    assert (body["store"], body["prompt_cache_key"], body["truncation"], body["include"]) == (False, "b", None, [])
    assert "e" not in body


def test_options_as_javascript_users_spell_them():
    options = {
        "previousResponseId": "resp_0",
        "promptCacheKey": "k",
        "serviceTier": "flex",
        "reasoningSummary": "auto",
        "reasoningEffort": "high",
        "textVerbosity": "low",
        "maxToolCalls": 3,
    }
    body = built(
        provider_options={"openai": options},
        settings=Settings(reasoning_effort="low"),
        response_format={"type": "object"},
    ).body
    assert {name: value for name, value in body.items() if name not in ("model", "input", "stream")} == {
        "previous_response_id": "resp_0",
        "prompt_cache_key": "k",
        "service_tier": "flex",
        "reasoning": {"effort": "high", "summary": "auto"},
        "text": {
            "format": {"type": "json_schema", "name": "response", "schema": {"type": "object"}},
            "verbosity": "low",
        },
        "max_tool_calls": 3,
    }


def test_a_response_format_is_strict_where_its_schema_allows_it():
    schema = {
        "title": "A plan!",
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert built(response_format=schema).body["text"] == {
        "format": {"type": "json_schema", "name": "A_plan_", "schema": schema, "strict": True}
    }
    assert "strict" not in built(response_format={**schema, "required": []}).body["text"]["format"]


def test_a_request_is_not_changed_by_what_is_built_of_it():
    messages = answered(REASONING, *HOSTED, MESSAGE, CALL)
    options = {"openai": {"reasoningEffort": "low", "store": False}}
    before = copy.deepcopy((messages, options))
    body = json.dumps(built(*messages, provider_options=options).body)
    assert json.dumps(built(*messages, provider_options=options).body) == body
    assert (messages, options) == before
