"""What a local model is sent, and how tool results become facts for a small one."""

from __future__ import annotations

import json
from typing import Any

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
    UserMessage,
)
from riverrun.errors import ConfigError
from riverrun.models.local.request import local_request
from riverrun.models.local.weights import WEIGHTS
from riverrun.types import ModelRequest, NamedTool, Settings, ToolSpec

SMALL = WEIGHTS["qwen2.5-coder-0.5b"]
LARGER = WEIGHTS["qwen2.5-coder-1.5b"]


def tool(name: str) -> ToolSpec:
    return ToolSpec(name=name, description=f"Does {name}.", input_schema={"type": "object"})


def user(text: str) -> UserMessage:
    return UserMessage(content=[TextPart(text=text)])


def called(name: str, output: object, *, kind: str = "json") -> list[Message]:
    call = ToolCallPart(tool_call_id="c1", tool_name=name, input={"city": "Oslo"})
    result = ToolResultPart(tool_call_id="c1", tool_name=name, output=ToolOutput(kind, output))
    return [AssistantMessage(content=[call]), ToolMessage(content=[result])]


def request(*messages: Message, **members: Any) -> ModelRequest:
    return ModelRequest(messages=messages or [user("Hello")], run_id="r", **members)


def test_messages_are_written_as_llama_cpp_takes_them() -> None:
    thought = AssistantMessage(content=[ReasoningPart(text="hm"), TextPart(text="Let me see.")])
    body = local_request(
        request(SystemMessage(content="Be kind."), user("Hi"), thought, *called("weather", {"sky": "rain"}))
    ).body
    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Let me see."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": '{"sky":"rain"}'},
    ]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("text", "fine", "fine"),
        ("text", "", "(no output)"),
        ("json", 42, "42"),
        ("error-text", "no such city", "error: no such city"),
        ("error-json", {"code": 1}, '{"error":{"code":1}}'),
        ("content", [{"type": "text", "text": "a"}, {"type": "image-data", "data": ""}], "a\n(image-data)"),
    ],
)
def test_every_kind_of_tool_output_becomes_text(kind: str, value: object, text: str) -> None:
    body = local_request(request(user("Hi"), *called("weather", value, kind=kind))).body
    assert body["messages"][-1]["content"] == text


def test_system_messages_at_the_beginning_become_one() -> None:
    body = local_request(request(SystemMessage(content="A."), SystemMessage(content="B."), user("Hi"))).body
    assert body["messages"][0] == {"role": "system", "content": "A.\n\nB."}


def test_files_are_left_out_with_one_warning() -> None:
    image = FilePart(data="AA==", media_type="image/png")
    sent = local_request(request(UserMessage(content=[TextPart(text="Look"), image, image])))
    assert sent.body["messages"] == [{"role": "user", "content": "Look"}]
    assert sent.warnings == [{"type": "other", "message": "files are not sent: this model reads text only"}]


def test_a_request_without_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="a message with text"):
        local_request(request(UserMessage(content=[])))


def test_settings_go_under_llama_cpps_names_and_the_weights_give_the_temperature() -> None:
    settings = Settings(max_output_tokens=9, top_k=3, stop_sequences=["END"], seed=1, reasoning_effort="low")
    sent = local_request(request(settings=settings), SMALL)
    assert {"max_tokens": 9, "top_k": 3, "stop": ["END"], "seed": 1, "temperature": 0.0}.items() <= sent.body.items()
    assert sent.body["cache_prompt"] is False
    assert sent.warnings == [{"type": "unsupported-setting", "setting": "reasoningEffort"}]
    assert "temperature" not in local_request(request()).body
    assert local_request(request(settings=Settings(temperature=1.0)), SMALL).body["temperature"] == 1.0


def test_provider_options_reach_llama_cpp() -> None:
    assert local_request(request(provider_options={"local": {"min_p": 0.1}, "openai": {"x": 1}})).body["min_p"] == 0.1


def test_a_tool_named_by_the_choice_is_the_only_one_sent_and_is_required() -> None:
    sent = local_request(request(tools=[tool("a"), tool("b")], tool_choice=NamedTool("b")))
    assert [entry["function"]["name"] for entry in sent.body["tools"]] == ["b"]
    assert sent.body["tool_choice"] == "required"
    assert sent.without_tools is None


def test_a_choice_that_names_no_tool_of_the_request_is_refused() -> None:
    with pytest.raises(ConfigError, match="names 'c'"):
        local_request(request(tools=[tool("a")], tool_choice=NamedTool("c")))


def test_no_tools_are_sent_with_the_choice_none() -> None:
    assert "tools" not in local_request(request(tools=[tool("a")], tool_choice="none")).body


def test_a_tool_without_parameters_gets_an_empty_object_schema() -> None:
    bare = ToolSpec(name="now", description="", input_schema={})
    body = local_request(request(tools=[bare])).body
    assert body["tools"][0]["function"]["parameters"] == {"type": "object", "properties": {}}


def test_a_response_format_is_sent_when_no_tools_are() -> None:
    schema = {"type": "object"}
    body = local_request(request(response_format=schema)).body
    assert body["response_format"] == {"type": "json_schema", "json_schema": {"schema": schema}}
    sent = local_request(request(response_format=schema, tools=[tool("a")]))
    assert "response_format" not in sent.body
    assert "does not hold while tools are offered" in sent.warnings[0]["message"]


def test_a_small_model_with_results_gets_facts_and_no_tools() -> None:
    messages = [SystemMessage(content="S"), user("Weather?"), *called("weather", {"degrees": 7, "sky": "rain"})]
    sent = local_request(request(*messages, tools=[tool("weather")]), SMALL)
    assert "tools" not in sent.body
    written = sent.body["messages"]
    assert written[0] == {"role": "system", "content": "S"}
    assert [message["role"] for message in written[1:]] == ["user", "assistant"] * 2 + ["user"]  # two examples
    question, fact, task = written[-1]["content"].split("\n\n")
    assert question == "Weather?"
    assert fact == "Facts:\n- weather: degrees: 7, sky: rain"
    assert "facts" in task
    assert '{"' not in json.dumps(written[-1]["content"])


@pytest.mark.parametrize(("result", "fact"), [(42, "result: 42"), ("42", "result: 42"), ([1], "result: [1]")])
def test_a_result_that_is_no_object_is_named_result(result: object, fact: str) -> None:
    body = local_request(request(user("2+40?"), *called("add", result), tools=[tool("add")]), SMALL).body
    assert f"- add: {fact}\n" in body["messages"][-1]["content"]


def test_results_of_several_steps_of_a_turn_are_facts_of_one_message() -> None:
    messages = [user("Both?"), *called("weather", {"sky": "rain"}), *called("add", 5)]
    written = local_request(request(*messages, tools=[tool("add")]), SMALL).body["messages"]
    assert "- weather: sky: rain\n- add: result: 5" in written[-1]["content"]


def test_facts_of_an_earlier_turn_come_without_examples() -> None:
    answered = AssistantMessage(content=[TextPart(text="Rain.")])
    messages = [user("Weather?"), *called("weather", {"sky": "rain"}), answered, user("Thanks")]
    written = local_request(request(*messages), SMALL).body["messages"]
    assert [message["role"] for message in written] == ["user", "assistant", "user"]
    assert "- weather: sky: rain" in written[0]["content"]


def test_results_without_a_question_are_facts_all_the_same() -> None:
    written = local_request(request(*called("weather", 1), tools=[tool("weather")]), SMALL).body["messages"]
    assert written[-1]["content"].startswith("Facts:\n- weather: result: 1")


def test_a_small_model_keeps_its_tools_when_one_is_required_or_a_new_question_came() -> None:
    results = [user("Weather?"), *called("weather", 1)]
    tools = [tool("weather")]
    assert "tools" in local_request(request(*results, tools=tools, tool_choice="required"), SMALL).body
    assert "tools" in local_request(request(*results, user("And in Rome?"), tools=tools), SMALL).body


def test_a_larger_model_keeps_its_tools_after_results() -> None:
    body = local_request(request(user("Weather?"), *called("weather", 1), tools=[tool("weather")]), LARGER).body
    assert body["messages"][-1]["role"] == "tool"
    assert "tools" in body


def test_the_second_try_has_no_tools_and_the_schema_that_the_first_could_not_have() -> None:
    sent = local_request(request(tools=[tool("a")], response_format={"type": "object"}), SMALL)
    assert sent.without_tools is not None
    assert "tools" not in sent.without_tools
