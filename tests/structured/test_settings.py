"""How an object is asked for: by a schema or in words, of one model or of two; nonsense is refused at once."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

import pytest
from pydantic import BeforeValidator

from riverrun.chunks import (
    AssistantMessage,
    FilePart,
    Message,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)
from riverrun.errors import ConfigError
from riverrun.models import ScriptedModel
from riverrun.structured import OutputType, StructuredOutput
from tests.structured.material import PERSON_SCHEMA, Person, Point, Weather

HI: list[Message] = [SystemMessage("You are kind."), UserMessage([TextPart("Hi")])]
CLOSED = {**PERSON_SCHEMA, "additionalProperties": False}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"error_strategy": "loud"}, "error_strategy is one of strict, warn, fallback, not 'loud'"),
        ({"prompt_injection": "user"}, "prompt_injection is True, False, 'system', 'inline' or 'auto', not 'user'"),
        ({"prompt_injection": 1}, "prompt_injection is"),
        ({"instructions": "  "}, "instructions are a text that is not empty"),
        ({"instructions": 7}, "instructions are a text that is not empty"),
        ({"model": 7}, "model is a model or the name of one, not 7"),
        ({"provider_options": "fast"}, "provider_options is a mapping"),
        ({"fallback_value": {}}, "belong together"),
        ({"error_strategy": "fallback"}, "belong together"),
        (
            {"error_strategy": "fallback", "fallback_value": object()},
            "fallback_value: a value of type object has no JSON",
        ),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        StructuredOutput(PERSON_SCHEMA, **options)


@pytest.mark.parametrize(
    ("output", "value", "told"),
    [
        (Person, {"name": "?", "age": 0}, r"is read as Person\(name='\?', age=0\), which is to be given"),
        (list[Person], [{"name": "?", "age": 0}], r"is read as \[Person\(name='\?', age=0\)\], which is to be given"),
        (Person, "nobody", "Input should be a valid dictionary or instance of Person"),
        (Point, {"x": 1.0}, "Input should be an instance of Point"),
        (int, "3", "Input should be a valid integer"),
        (Weather, "sunny", "instance of Weather"),
        (["red", "green"], "blue", r'must be one of \["red","green"\]'),
        (PERSON_SCHEMA, {"name": 7, "age": 0}, "name: must be string"),
    ],
)
def test_a_fallback_is_a_value_of_the_type(output: Any, value: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=f"^fallback_value: .*{told}"):
        StructuredOutput(output, error_strategy="fallback", fallback_value=value)


@pytest.mark.parametrize(
    ("output", "value"),
    [
        (Person, Person(name="?", age=0)),
        (list[Person], [Person(name="?", age=0)]),
        (Point, Point(0.0)),
        (set[int], {1}),
        (datetime.date, datetime.date(2024, 1, 2)),
        (Annotated[datetime.date, BeforeValidator(datetime.date.fromisoformat)], datetime.date(2024, 1, 2)),
        (float, 1),
        (Weather, Weather.SUNNY),
        (["red", "green"], "green"),
        (PERSON_SCHEMA, {"name": "?", "age": 0}),
        (Person, None),
    ],
)
def test_a_fallback_of_the_type_is_left_as_it_is(output: Any, value: Any) -> None:
    settings = StructuredOutput(output, error_strategy="fallback", fallback_value=value)
    assert settings.fallback is value


def test_what_works_is_taken() -> None:
    model = ScriptedModel(["{}"])
    StructuredOutput(Person, model=model, instructions="Be exact.", provider_options={"openai": {"x": 1}})
    StructuredOutput(Person, model="openai/gpt-5-mini", error_strategy="fallback", fallback_value=None)
    assert StructuredOutput[Person](Person).output_type.kind == "object"


def test_an_output_type_is_taken_as_it_is() -> None:
    made = OutputType(Person)
    assert StructuredOutput(made).output_type is made


@pytest.mark.parametrize(
    ("injection", "native", "sent", "place"),
    [
        (False, True, True, None),
        (False, False, True, None),
        (True, True, False, "system"),
        ("system", True, False, "system"),
        ("inline", True, False, "inline"),
        ("auto", True, True, None),
        ("auto", False, False, "inline"),
    ],
)
def test_the_schema_is_sent_or_told(injection: Any, native: bool, sent: bool, place: str | None) -> None:
    settings = StructuredOutput(PERSON_SCHEMA, prompt_injection=injection)
    assert settings.response_format(native=native) == (CLOSED if sent else None)
    system, user = settings.asking(HI, native=native)
    assert isinstance(system, SystemMessage)
    assert isinstance(user, UserMessage)
    assert (system.content != "You are kind.", len(user.content) > 1) == (place == "system", place == "inline")
    assert [message.content for message in HI] == ["You are kind.", [TextPart("Hi")]]  # the caller's own stay


def test_the_words_hold_the_schema_unless_the_caller_has_words_of_his_own() -> None:
    (system, _) = StructuredOutput(PERSON_SCHEMA, prompt_injection=True).asking(HI)
    assert isinstance(system, SystemMessage)
    assert system.content.startswith("You are kind.\n\nAnswer with one JSON value")
    assert '"required":["name","age"]' in system.content
    (system, _) = StructuredOutput(PERSON_SCHEMA, prompt_injection=True, instructions="As JSON!").asking(HI)
    assert system == SystemMessage("You are kind.\n\nAs JSON!")


def test_words_go_to_where_the_last_user_speaks() -> None:
    settings = StructuredOutput(PERSON_SCHEMA, prompt_injection="inline", instructions="As JSON!")
    said = AssistantMessage([TextPart("Hello")])
    words = TextPart("As JSON!")
    assert settings.asking([*HI, said]) == [HI[0], UserMessage([TextPart("Hi"), words]), said]
    assert settings.asking([said]) == [said, UserMessage([words])]


def test_words_make_a_system_message_where_there_is_none() -> None:
    settings = StructuredOutput(PERSON_SCHEMA, prompt_injection=True, instructions="As JSON!")
    assert settings.asking(HI[1:]) == [SystemMessage("As JSON!"), HI[1]]
    assert settings.asking([SystemMessage(""), SystemMessage("a")]) == [
        SystemMessage(""),
        SystemMessage("a\n\nAs JSON!"),
    ]
    assert settings.asking([SystemMessage("")]) == [SystemMessage("As JSON!")]


def test_the_strict_schema_is_sent_where_there_is_a_strict_mode() -> None:
    settings = StructuredOutput({**PERSON_SCHEMA, "required": ["name"]})
    strict = settings.response_format(strict=True)
    assert strict is not None
    assert strict["required"] == ["name", "age"]
    assert strict["properties"]["age"] == {"anyOf": [{"type": "number"}, {"type": "null"}]}
    open_object = StructuredOutput(dict[str, int])
    assert open_object.response_format(strict=True) == open_object.response_format()


# -- two models


def test_the_first_model_is_told_what_to_speak_of() -> None:
    (system, user) = StructuredOutput(PERSON_SCHEMA, model=ScriptedModel([])).asking_in_words(HI)
    assert isinstance(system, SystemMessage)
    assert '"required":["name","age"]' in system.content
    assert user == HI[1]


def test_the_second_model_is_told_what_the_first_one_did_in_sections() -> None:
    system, user = StructuredOutput(PERSON_SCHEMA, model=ScriptedModel([])).structuring(
        [
            ReasoningPart("hmm"),
            ReasoningPart(""),
            TextPart("Ada "),
            ToolCallPart(tool_call_id="c1", tool_name="look_up", input={"name": "Ada"}),
            ToolResultPart(tool_call_id="c1", tool_name="look_up", output=ToolOutput("json", {"age": 36})),
            ToolResultPart(tool_call_id="c2", tool_name="ask", output=ToolOutput("text", "36, I say")),
            FilePart(data="AA==", media_type="image/png"),
            TextPart("is 36."),
        ]
    )
    assert isinstance(system, SystemMessage)
    assert '"required":["name","age"]' in system.content
    assert user == UserMessage(
        [
            TextPart(
                "Make the JSON value of the following.\n\n"
                "# Reasoning\nhmm\n\n"
                '# Tool calls\n- look_up({"name":"Ada"})\n\n'
                '# Tool results\n- look_up: {"age":36}\n- ask: 36, I say\n\n'
                "# Answer\nAda is 36."
            )
        ]
    )


def test_the_second_model_has_the_callers_instructions() -> None:
    settings = StructuredOutput(PERSON_SCHEMA, model="openai/gpt-5-mini", instructions="Be exact.")
    assert settings.structuring([TextPart("Ada")]) == [
        SystemMessage("Be exact."),
        UserMessage([TextPart("Make the JSON value of the following.\n\n# Answer\nAda")]),
    ]
