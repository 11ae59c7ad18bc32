"""Tools, settings and options → requests, by what the model takes."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

from riverrun.chunks import ReasoningPart, TextPart
from riverrun.errors import ConfigError
from riverrun.models.anthropic import AnthropicModel
from riverrun.types import NamedTool, Settings, ToolSpec
from tests.models.anthropic_messages import ADD, CACHE, assistant, built, call, options, result, sent, user, warned

# -- tools


def test_tools():
    strict = ToolSpec(
        name="now",
        description="",
        input_schema={},
        strict=True,
        provider_options=options(cacheControl=CACHE, deferLoading=True),
    )
    body = built(tools=[ADD, strict]).body
    assert body["tools"] == [
        {"name": "add", "description": "Adds.", "input_schema": dict(ADD.input_schema)},
        {
            "name": "now",
            "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
            "strict": True,
            "cache_control": CACHE,
            "defer_loading": True,
        },
    ]
    assert "tool_choice" not in body


def strict(schema: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name="find", description="", input_schema=schema, strict=True)


def test_the_schema_of_a_strict_tool_is_closed_wherever_the_api_wants_it_to_be():
    place = {"type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}, "required": ["x"]}
    request = built(tools=[strict({"type": "object", "properties": {"at": place}})])
    (tool,) = request.body["tools"]
    assert request.warnings == []
    assert tool["strict"] is True
    assert tool["input_schema"]["additionalProperties"] is False
    assert tool["input_schema"]["properties"]["at"]["additionalProperties"] is False
    assert "minimum" not in tool["input_schema"]["properties"]["at"]["properties"]["x"]


OPEN: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": True}}}


@pytest.mark.parametrize(
    ("schema", "model_id"),
    [
        (OPEN, "claude-opus-5"),
        ({"type": "object"}, "claude-opus-5"),
        ({"type": "object", "properties": {}}, "claude-3-5-haiku-20241022"),
    ],
    ids=["open", "anything", "an old model"],
)
def test_a_tool_that_cannot_be_strict_is_sent_as_it_is_with_a_warning(schema: dict[str, Any], model_id: str):
    request = built(tools=[strict(schema)], model_id=model_id)
    assert request.body["tools"] == [{"name": "find", "input_schema": schema}]
    message = "the tool find is not strict: the API cannot hold this model to its schema"
    assert request.warnings == [{"type": "other", "message": message}]


def test_a_tool_that_is_not_to_be_strict_says_so():
    lax = ToolSpec(name="find", description="", input_schema=OPEN, strict=False)
    assert built(tools=[lax]).body["tools"] == [{"name": "find", "input_schema": OPEN, "strict": False}]


def provided(kind: str, name: str = "t", **args: Any) -> ToolSpec:
    return ToolSpec(name=name, description="", input_schema={}, provider_id=kind, provider_args=args or None)


@pytest.mark.parametrize(
    ("tool", "definition", "betas"),
    [
        (
            provided("anthropic.web_search_20250305", maxUses=2, blocked_domains=["x"]),
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 2, "blocked_domains": ["x"]},
            None,
        ),
        (
            provided("anthropic.code_execution_20260120"),
            {"type": "code_execution_20260120", "name": "code_execution"},
            None,
        ),
        (provided("anthropic.bash_20250124"), {"type": "bash_20250124", "name": "bash"}, None),
        (provided("anthropic.memory_20250818"), {"type": "memory_20250818", "name": "memory"}, None),
        (
            provided("anthropic.text_editor_20250124"),
            {"type": "text_editor_20250124", "name": "str_replace_editor"},
            None,
        ),
        (
            provided("anthropic.text_editor_20250728"),
            {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
            None,
        ),
        (
            provided("anthropic.computer_20251124", display_width_px=1, display_height_px=2),
            {"type": "computer_20251124", "name": "computer", "display_width_px": 1, "display_height_px": 2},
            "computer-use-2025-11-24",
        ),
        (
            provided("anthropic.tool_search_tool_bm25_20251119"),
            {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
            None,
        ),
        (
            provided("anthropic.mcp_toolset", mcp_server_name="echoes"),
            {"type": "mcp_toolset", "mcp_server_name": "echoes"},
            None,
        ),
        (provided("acme.dance"), {"type": "dance", "name": "dance"}, None),
    ],
    ids=lambda value: value.provider_id if isinstance(value, ToolSpec) else None,
)
def test_tools_that_the_api_defines(tool: ToolSpec, definition: dict[str, Any], betas: str | None):
    request = built(tools=[tool], provider="acme")
    assert request.body["tools"] == [definition]
    assert request.headers.get("anthropic-beta") == betas


def test_a_tool_of_another_provider_is_warned_of():
    request = built(tools=[provided("openai.web_search", "search")])
    assert "tools" not in request.body
    assert request.warnings == [{"type": "unsupported-tool", "tool": "search"}]


def test_calls_of_the_apis_tools_have_its_names():
    shell = provided("anthropic.bash_20250124", "shell")
    (message,) = sent(assistant(call(name="shell")), tools=[shell])
    assert message["content"][0]["name"] == "bash"
    body = built(tools=[shell], tool_choice=NamedTool("shell")).body
    assert body["tool_choice"] == {"type": "tool", "name": "bash"}


@pytest.mark.parametrize(
    ("choice", "parallel", "sent_choice"),
    [
        ("auto", None, None),
        ("auto", True, None),
        ("auto", False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("none", False, {"type": "none"}),
        ("required", None, {"type": "any"}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
        (NamedTool("add"), None, {"type": "tool", "name": "add"}),
    ],
)
def test_tool_choices(choice: Any, parallel: bool | None, sent_choice: Any):
    body = built(tools=[ADD], tool_choice=choice, settings=Settings(parallel_tool_calls=parallel)).body
    assert body.get("tool_choice") == sent_choice


def test_choices_without_tools_are_not_sent():
    body = built(tool_choice="required", settings=Settings(parallel_tool_calls=False)).body
    assert not {"tool_choice", "tools"} & body.keys()


@pytest.mark.parametrize("model_id", ["claude-fable-5", "claude-mythos-preview", "claude-opus-5-5"])
def test_models_that_cannot_be_made_to_call_a_tool_are_not(model_id: str):
    request = built(tools=[ADD], tool_choice="required", model_id=model_id)
    assert "tool_choice" not in request.body
    assert request.warnings == warned("toolChoice")


@pytest.mark.parametrize("name", ["", "my tool", "a.b", "x" * 129, "ä"])
def test_a_tool_whose_name_the_api_refuses_is_an_error(name: str):
    with pytest.raises(ConfigError, match="tool name"):
        built(tools=[ToolSpec(name=name, description="", input_schema={})])


# -- settings


def test_settings_of_a_model_that_takes_them():
    settings = Settings(max_output_tokens=5, temperature=0.0, top_k=3, stop_sequences=("a", "b"), headers={"x-a": "b"})
    request = built(settings=settings)
    assert request.warnings == []
    assert request.body == {
        **built().body,
        "max_tokens": 5,
        "temperature": 0.0,
        "top_k": 3,
        "stop_sequences": ["a", "b"],
    }
    assert request.headers == {"x-a": "b", "anthropic-version": "2023-06-01"}


def test_settings_that_choose_among_tokens_ask_for_the_version_of_the_api_that_has_them():
    assert built().headers == {}
    assert built(provider_options=options(temperature=0.1)).headers == {"anthropic-version": "2023-06-01"}
    own = Settings(temperature=0.1, headers={"Anthropic-Version": "2099-01-01"})
    assert built(settings=own).headers == {"Anthropic-Version": "2099-01-01"}


@pytest.mark.parametrize("model_id", ["claude-opus-4-7", "claude-haiku-5-5", "claude-mythos-preview", "claude-x"])
def test_newer_models_do_not_take_them(model_id: str):
    request = built(settings=Settings(temperature=0.1, top_p=0.5, top_k=3), model_id=model_id)
    assert not {"temperature", "top_p", "top_k"} & request.body.keys()
    assert request.warnings == warned("temperature", "topP", "topK")
    assert request.headers == {}


def test_of_temperature_and_top_p_models_from_4_1_on_take_one():
    both = Settings(temperature=0.1, top_p=0.5)
    request = built(settings=both, model_id="claude-opus-4-1-20250805")
    assert (request.body["temperature"], "top_p" in request.body) == (0.1, False)
    assert request.warnings == warned("topP")
    assert built(settings=both, model_id="claude-sonnet-4-20250514").warnings == []
    assert built(settings=both, model_id="kimi-k3").body["top_p"] == 0.5


def test_settings_that_the_api_does_not_have_are_warned_of():
    request = built(settings=Settings(seed=0, presence_penalty=0.1, frequency_penalty=0.2))
    assert request.body == built().body
    assert request.warnings == warned("seed", "presencePenalty", "frequencyPenalty")


@pytest.mark.parametrize(
    ("model_id", "limit"),
    [
        ("claude-3-haiku-20240307", 4096),
        ("claude-3-opus-latest", 4096),
        ("claude-instant-1.2", 4096),
        ("claude-2.1", 4096),
        ("claude-3-5-sonnet-20241022", 8192),
        ("us.anthropic.claude-3-5-haiku-20241022-v1:0", 8192),
        ("claude-3-7-sonnet-latest", 32_000),
        ("claude-opus-4-20250514", 32_000),
        ("claude-haiku-5-5", 32_000),
        ("glm-5", 32_000),
    ],
)
def test_an_answer_has_a_limit_that_its_model_takes(model_id: str, limit: int):
    assert built(model_id=model_id).body["max_tokens"] == limit


# -- thinking

ADAPTIVE = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("model_id", "effort", "thinking", "sent_effort"),
    [
        ("claude-opus-4-6", "low", ADAPTIVE, "low"),
        ("claude-sonnet-4-6", "xhigh", ADAPTIVE, "max"),
        ("claude-opus-4-7", "xhigh", ADAPTIVE, "xhigh"),
        ("claude-fable-5", "max", ADAPTIVE, "max"),
        ("claude-haiku-5-5", "minimal", ADAPTIVE, "low"),
        ("claude-x", "medium", ADAPTIVE, "medium"),
        ("claude-sonnet-4-5", "medium", {"type": "enabled", "budget_tokens": 8192}, None),
        ("anthropic/claude-haiku-4.5", "low", {"type": "enabled", "budget_tokens": 2048}, None),
        ("claude-3-7-sonnet-20250219", "minimal", {"type": "enabled", "budget_tokens": 1024}, None),
        ("minimax-m3", "high", {"type": "enabled", "budget_tokens": 16384}, None),
        ("claude-opus-4-6", "none", None, None),
        ("claude-sonnet-4-5", "none", None, None),
        ("claude-sonnet-5", "none", {"type": "disabled"}, None),
        ("claude-sonnet-5-5", "none", {"type": "between_tools"}, None),
        ("claude-opus-5-5", "none", None, "low"),
        ("minimax-m3", "none", {"type": "disabled"}, None),
    ],
)
def test_how_much_a_model_is_to_think(model_id: str, effort: str, thinking: Any, sent_effort: str | None):
    body = built(model_id=model_id, settings=Settings(reasoning_effort=effort)).body
    assert body.get("thinking") == thinking
    assert body.get("output_config") == (None if sent_effort is None else {"effort": sent_effort})


@pytest.mark.parametrize(
    ("model_id", "effort", "warning"),
    [
        ("claude-3-5-sonnet-20241022", "low", warned("reasoningEffort")[0]),
        ("claude-sonnet-4-5", "immense", warned("reasoningEffort")[0]),
        (
            "claude-sonnet-4-6",
            "xhigh",
            {"type": "other", "message": "the model has no effort 'xhigh': it is asked for 'max'"},
        ),
        (
            "claude-fable-5",
            "none",
            {"type": "other", "message": "the model cannot be kept from thinking: it is asked for low effort"},
        ),
    ],
)
def test_thinking_that_a_model_does_not_have_is_warned_of(model_id: str, effort: str, warning: dict[str, Any]):
    assert built(model_id=model_id, settings=Settings(reasoning_effort=effort)).warnings == [warning]


def test_a_budget_comes_on_top_of_the_answers_limit():
    high = {"reasoning_effort": "high"}
    assert built(settings=Settings(**high, max_output_tokens=100)).body["max_tokens"] == 100 + 16_384
    assert built(settings=Settings(**high)).body["max_tokens"] == 32_000 + 16_384
    assert built(settings=Settings(**high), model_id="claude-opus-4-1").body["max_tokens"] == 32_000
    assert built(settings=Settings(**high, max_output_tokens=63_000)).body["max_tokens"] == 64_000


def test_a_model_that_thinks_takes_no_settings_that_choose_among_tokens():
    settings = Settings(reasoning_effort="low", temperature=0.1, top_k=3)
    for model_id in ("claude-sonnet-4-5", "claude-opus-4-6"):
        request = built(settings=settings, model_id=model_id)
        assert not {"temperature", "top_k"} & request.body.keys()
        assert request.warnings == warned("temperature", "topK")
    budget = options(thinking={"type": "enabled", "budgetTokens": 2000})
    assert built(settings=Settings(temperature=0.1), provider_options=budget).warnings == warned("temperature")


def test_a_budget_does_not_go_with_a_tool_that_must_be_called():
    settings = Settings(reasoning_effort="low")
    request = built(settings=settings, tools=[ADD], tool_choice="required")
    assert "thinking" not in request.body
    assert request.warnings == [{**warned("reasoningEffort")[0], "details": "a tool is required"}]
    adaptive = built(settings=settings, tools=[ADD], tool_choice="required", model_id="claude-opus-4-6")
    assert adaptive.body["thinking"] == ADAPTIVE


BUDGET = {"type": "enabled", "budget_tokens": 5000}


@pytest.mark.parametrize("choice", ["required", NamedTool("add")])
def test_a_budget_of_the_options_does_not_either(choice: Any):
    request = built(tools=[ADD], tool_choice=choice, provider_options=options(thinking=BUDGET))
    assert "thinking" not in request.body
    assert request.body["max_tokens"] == 32_000
    assert request.warnings == [{**warned("reasoningEffort")[0], "details": "a tool is required"}]
    off = options(thinking={"type": "disabled"})
    assert built(tools=[ADD], tool_choice=choice, provider_options=off).body["thinking"] == {"type": "disabled"}


THOUGHT = ReasoningPart("hm", provider_options=options(signature="S"))
RESULT = result("text", "2")


@pytest.mark.parametrize(
    "asked",
    [{"settings": Settings(reasoning_effort="low")}, {"provider_options": options(thinking=BUDGET)}],
    ids=["setting", "option"],
)
@pytest.mark.parametrize("last", [(), (user("go on"),)], ids=["results", "results and a text"])
def test_a_budget_does_not_go_with_results_of_calls_that_were_made_without_thinking(
    asked: dict[str, Any], last: tuple[Any, ...]
):
    """Another provider's model made them. The API refuses to think on."""
    request = built(user("hi"), assistant(ReasoningPart("hm"), call()), RESULT, *last, **asked)
    assert "thinking" not in request.body
    (warning,) = request.warnings
    assert warning["details"] == "the calls whose results are sent were made without thinking"


@pytest.mark.parametrize(
    "messages",
    [
        [user("hi"), assistant(THOUGHT, call()), RESULT],
        [user("hi"), assistant(THOUGHT, call()), RESULT, assistant(call("c2")), result("text", "3", "c2")],
        [user("hi"), assistant(call()), RESULT, assistant(TextPart("a")), user("go on")],
        [user("hi"), assistant(TextPart("a")), user("go on")],
    ],
    ids=["thought", "thought once", "an earlier turn", "no call"],
)
def test_a_budget_goes_with_all_other_messages(messages: list[Any]):
    assert "thinking" in built(*messages, settings=Settings(reasoning_effort="low")).body


def test_a_model_that_thinks_as_it_likes_goes_on_with_calls_that_were_made_without_thinking():
    asked = (user("hi"), assistant(call()), RESULT)
    body = built(*asked, settings=Settings(reasoning_effort="low"), model_id="claude-opus-4-6").body
    assert body["thinking"] == ADAPTIVE


def test_the_options_say_more_exactly_how_to_think():
    budget = options(thinking={"type": "enabled", "budgetTokens": 5000}, effort="max")
    request = built(settings=Settings(reasoning_effort="low", max_output_tokens=100), provider_options=budget)
    assert request.body["thinking"] == {"type": "enabled", "budget_tokens": 5000}
    assert request.body["output_config"] == {"effort": "max"}
    assert request.body["max_tokens"] == 5100


# -- options


def test_options_are_merged_untouched_and_the_providers_own_come_last():
    given = {
        "anthropic": {"metadata": {"user_id": "u"}, "service_tier": "auto", "outputConfig": {"task_budget": {"x": 1}}},
        "acme": {"serviceTier": "standard_only"},
        "openai": {"e": 4},
    }
    body = built(
        provider_options=given, provider="acme", settings=Settings(reasoning_effort="low"), model_id="claude-opus-5"
    ).body
    assert body["metadata"] is given["anthropic"]["metadata"]
    assert body["service_tier"] == "standard_only"
    assert body["output_config"] == {"effort": "low", "task_budget": {"x": 1}}
    assert "e" not in body


def test_options_may_be_written_as_javascript_clients_do():
    given = options(
        cacheControl=CACHE,
        mcpServers=[{"type": "url", "name": "x", "url": "https://x.example", "authorizationToken": "t"}],
        contextManagement={"edits": [{"type": "clear_tool_uses_20250919", "clearAtLeast": {"type": "input_tokens"}}]},
        disableParallelToolUse=True,
    )
    body = built(provider_options=given, tools=[ADD]).body
    assert body["cache_control"] == CACHE
    assert body["mcp_servers"] == [{"type": "url", "name": "x", "url": "https://x.example", "authorization_token": "t"}]
    assert body["context_management"]["edits"][0]["clear_at_least"] == {"type": "input_tokens"}
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


@pytest.mark.parametrize("name", ["betas", "anthropicBeta"])
def test_betas_are_asked_for_in_a_header(name: str):
    request = built(
        provider_options=options(**{name: ["one", "two"]}),
        settings=Settings(headers={"Anthropic-Beta": "two, three", "x-a": "b"}),
        tools=[provided("anthropic.advisor_20260301")],
    )
    assert request.headers == {"x-a": "b", "anthropic-beta": "two,three,one,advisor-tool-2026-03-01"}
    assert not {"betas", "anthropic_beta"} & request.body.keys()


# -- answers of a form


def test_an_answer_is_held_to_a_schema_in_the_form_that_the_api_takes():
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
    body = built(response_format=schema, settings=Settings(reasoning_effort="low"), model_id="claude-opus-5").body
    form = body["output_config"]["format"]
    assert form["type"] == "json_schema"
    assert form["schema"]["additionalProperties"] is False
    assert form["schema"]["required"] == ["n"]
    assert "minimum" not in form["schema"]["properties"]["n"]
    assert body["output_config"]["effort"] == "low"
    assert schema == {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


class City(BaseModel):
    name: str


class Forecast(BaseModel):
    """Closed: the same city twice is no circle."""

    here: City
    there: City | None
    days: list[Literal["sun", "rain"]]


class Scores(BaseModel):
    scores: dict[str, int]


class Anything(BaseModel):
    found: list[dict[str, Any]]


class Tree(BaseModel):
    children: list[Tree]


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Loosely(BaseModel):
    said: City | Loose


FORECAST = Forecast.model_json_schema()


@pytest.mark.parametrize("model", [Scores, Anything, Tree, Loose, Loosely])
def test_open_objects_and_schemas_that_refer_to_themselves_are_told_in_words(model: type[BaseModel]):
    """The SDK would close them, so that only {} fits; the API refuses circles."""
    schema = model.model_json_schema()
    claude = AnthropicModel("claude-opus-5", api_key="k")
    assert not claude.takes_schema(schema, beside_tools=False)
    assert built(response_format=schema, model_id="claude-opus-5").warnings == warned("responseFormat")
    assert claude.takes_schema(FORECAST, beside_tools=False)


@pytest.mark.parametrize(
    ("inner", "taken"),
    [
        ({"type": "object", "additionalProperties": False}, True),
        ({"type": "object", "properties": {}}, False),
        ({"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": False}, False),
        ({"$ref": "#/definitions/x"}, False),
        ({"$ref": "#"}, False),
        ({"oneOf": [{"type": "string"}, {"type": "object"}]}, False),
    ],
    ids=["empty", "nameless", "patterns", "unknown", "circle", "a variant"],
)
def test_which_schemas_an_answer_can_be_held_to(inner: dict[str, Any], taken: bool):
    schema = {"type": "object", "properties": {"a": inner}}
    assert AnthropicModel("claude-opus-5", api_key="k").takes_schema(schema, beside_tools=False) is taken


@pytest.mark.parametrize(
    ("schema", "model_id"),
    [
        (FORECAST, "claude-3-5-haiku-20241022"),
        ({}, "claude-opus-5"),
        ({"properties": 3}, "claude-opus-5"),
        ({"type": ["string", "null"]}, "claude-opus-5"),
    ],
    ids=["an old model", "an open schema", "no schema", "two types"],
)
def test_an_answer_that_cannot_be_held_to_a_schema_is_warned_of(schema: dict[str, Any], model_id: str):
    request = built(response_format=schema, model_id=model_id)
    assert "output_config" not in request.body
    assert request.warnings == warned("responseFormat")
