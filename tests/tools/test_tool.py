"""Tools and how they are made of functions."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import json
import socket
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from riverrun.errors import ConfigError
from riverrun.schema import Mismatch
from riverrun.tools import Tool, ToolContext, client_tool, find_tool, tool

if typing.TYPE_CHECKING:
    from decimal import Decimal


class Unit(enum.Enum):
    CELSIUS = "C"
    KELVIN = "K"


class Place(BaseModel):
    city: str
    title: str = "none"


@dataclasses.dataclass
class Span:
    days: int


class Options(TypedDict, total=False):
    verbose: bool


def call(made: Tool, arguments: dict[str, Any], ctx: Any = None) -> Any:
    """What the tool's function returns for the arguments of a model."""
    assert made.execute is not None
    return made.execute(made.arguments.validate(arguments), ctx)


@tool
def get_weather(
    city: str,
    days: int = 3,
    unit: Unit = Unit.CELSIUS,
    kind: Literal["air", "sea"] | None = None,
    limit: Annotated[int, Field(ge=1, description="At most this many")] = 10,
) -> dict[str, Any]:
    """Current weather for a city.

    Takes the nearest station.

    Args:
        city: The city's name,
            in English.
        days: How many days.
        limit: Not shown, the annotation says it.

    Returns:
        The weather.
    """
    return {"city": city, "days": days, "unit": unit, "kind": kind, "limit": limit}


def test_a_function_is_a_tool_by_its_signature_and_docstring() -> None:
    assert get_weather.name == "get_weather"
    assert get_weather.description == "Current weather for a city.\n\nTakes the nearest station."
    assert json.loads(json.dumps(get_weather.input_schema)) == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city's name,\nin English."},
            "days": {"type": "integer", "default": 3, "description": "How many days."},
            "unit": {"$ref": "#/$defs/Unit", "default": "C"},
            "kind": {"anyOf": [{"type": "string", "enum": ["air", "sea"]}, {"type": "null"}], "default": None},
            "limit": {"type": "integer", "default": 10, "minimum": 1, "description": "At most this many"},
        },
        "required": ["city"],
        "$defs": {"Unit": {"type": "string", "enum": ["C", "K"]}},
    }


def test_a_function_gets_what_the_model_gave_and_its_own_defaults() -> None:
    found = call(get_weather, {"city": "Oslo", "unit": "K", "unknown": 1})
    assert found == {"city": "Oslo", "days": 3, "unit": Unit.KELVIN, "kind": None, "limit": 10}


def test_arguments_arrive_as_the_annotated_types() -> None:
    @tool
    def f(place: Place, spans: list[Span], day: datetime.date, options: Options, anything, flag: bool = False) -> Any:  # type: ignore[no-untyped-def]
        return place, spans, day, options, anything, flag

    arguments = {
        "place": {"city": "Oslo"},
        "spans": [{"days": "2"}],
        "day": "2024-01-02",
        "options": {"verbose": True},
        "anything": [None],
    }
    assert call(f, arguments) == (
        Place(city="Oslo"),
        [Span(2)],
        datetime.date(2024, 1, 2),
        {"verbose": True},
        [None],
        False,
    )
    assert f.spec.input_schema["properties"]["anything"] == {}


def test_annotations_may_name_local_classes() -> None:
    class Local(BaseModel):
        n: int

    @tool
    def one(local: Local) -> int:
        return local.n

    @tool(name="two")
    def other(local: Local) -> int:
        return local.n

    assert [call(made, {"local": {"n": 1}}) for made in (one, other, tool(one.execute.function))] == [1, 1, 1]  # type: ignore[union-attr]


def test_wrong_arguments_are_refused_under_the_parameters_names() -> None:
    with pytest.raises(Mismatch) as caught:
        get_weather.arguments.validate({"limit": 0, "kind": "land"})
    assert [fault.path for fault in caught.value.faults] == [("city",), ("kind",), ("limit",)]


def test_arguments_that_are_no_object_are_refused() -> None:
    with pytest.raises(Mismatch, match="root: must be object"):
        get_weather.arguments.validate([1])


def test_every_name_that_python_allows_may_be_a_parameter() -> None:
    @tool
    def f(json: int, schema: int, copy: int, _private: int, model_config: int, self_: int, p0: int = 1) -> list[int]:
        return [json, schema, copy, _private, model_config, self_, p0]

    names = ["json", "schema", "copy", "_private", "model_config", "self_", "p0"]
    assert list(f.spec.input_schema["properties"]) == names
    assert call(f, {name: number for number, name in enumerate(names)}) == [0, 1, 2, 3, 4, 5, 6]


def test_a_default_that_has_no_json_form_is_left_out_of_the_schema_and_comes_in_as_it_is() -> None:
    missing = object()

    @tool
    def f(value: Any = missing) -> bool:
        return value is missing

    assert f.spec.input_schema["properties"] == {"value": {}}
    assert call(f, {}) is True
    assert call(f, {"value": None}) is False


def test_positional_only_and_keyword_only_parameters_are_filled_in() -> None:
    @tool
    def f(a: int, b: int = 2, /, c: int = 3, *, d: int) -> list[int]:
        return [a, b, c, d]

    assert call(f, {"a": 1, "d": 4}) == [1, 2, 3, 4]


def test_a_field_as_default_is_a_default() -> None:
    @tool
    def f(
        a: int = Field(default=2, ge=1),
        b: Annotated[int, Field(default=5)] = 6,
        c: Annotated[int, Field(default=7)] = Field(),
    ) -> list[int]:
        return [a, b, c]

    assert call(f, {}) == [2, 6, 7]


def test_an_alias_is_the_name_that_the_model_uses() -> None:
    @tool
    def f(from_: Annotated[str, Field(alias="from")]) -> str:
        return from_

    assert list(f.spec.input_schema["properties"]) == ["from"]
    assert call(f, {"from": "Oslo"}) == "Oslo"


def test_a_parameter_for_the_context_is_not_in_the_schema(context: Callable[..., ToolContext[Any]]) -> None:
    @tool
    def f(city: str, ctx: ToolContext[int], maybe: ToolContext | None = None) -> Any:
        return city, ctx, maybe

    ctx = context()
    assert list(f.spec.input_schema["properties"]) == ["city"]
    assert call(f, {"city": "a"}, ctx) == ("a", ctx, ctx)


@pytest.mark.parametrize(
    "doc",
    [
        "Says hello.\n\nArgs:\n    name (str): Who it is.\n",
        "Says hello.\n\nParameters\n----------\nname : str\n    Who it is.\n",
        "Says hello.\n\n:param name: Who it is.\n:type name: str\n:returns: nothing\n",
    ],
)
def test_docstrings_of_google_numpy_and_sphinx_describe_parameters(doc: str) -> None:
    def hello(name: str) -> None: ...

    hello.__doc__ = doc
    made = tool(hello)
    assert made.description == "Says hello."
    assert made.spec.input_schema["properties"]["name"] == {"type": "string", "description": "Who it is."}


def test_a_function_without_docstring_has_no_description() -> None:
    @tool
    def f() -> None: ...

    assert f.description == ""
    assert f.spec.input_schema == {"type": "object", "properties": {}}


def test_options_go_before_what_the_function_says() -> None:
    @tool(
        name="weather-2",
        description="Short",
        id="w",
        strict=True,
        provider_options={"p": 1},
        output_schema={"type": "string"},
        to_model_output=str,
    )
    async def f() -> str:
        """Long."""
        return "x"

    assert (f.name, f.description, f.id, f.to_model_output) == ("weather-2", "Short", "w", str)
    assert (f.spec.name, f.spec.strict, f.spec.provider_options) == ("weather-2", True, {"p": 1})
    assert f.output_schema == {"type": "string"}


class Shop:
    """A shop."""

    def __init__(self, name: str) -> None:
        self.name = name

    def buy(self, what: str) -> str:
        """Buy something."""
        return f"{what} from {self.name}"

    def __call__(self, what: str) -> str:
        return self.buy(what)


def test_a_bound_method_is_a_tool() -> None:
    made = tool(Shop("A").buy)
    assert (made.name, made.description) == ("buy", "Buy something.")
    assert call(made, {"what": "milk"}) == "milk from A"


def test_a_callable_object_is_a_tool_named_after_its_class() -> None:
    made = tool(Shop("A"))
    assert (made.name, made.description) == ("Shop", "A shop.")
    assert call(made, {"what": "milk"}) == "milk from A"


def test_a_partial_is_a_tool_without_the_arguments_it_has() -> None:
    def f(a: int, b: int, c: int = 3) -> list[int]:
        """Adds."""
        return [a, b, c]

    made = tool(functools.partial(f, 1, c=5))
    assert (made.name, made.description) == ("f", "Adds.")
    assert list(made.spec.input_schema["properties"]) == ["b", "c"]
    assert call(made, {"b": 2}) == [1, 2, 5]


def test_a_decorated_function_keeps_its_signature() -> None:
    def traced(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return [function(*args, **kwargs)]

        return wrapper

    @tool
    @traced
    def f(place: Place) -> str:
        """Doc."""
        return place.city

    assert f.description == "Doc."
    assert call(f, {"place": {"city": "Oslo"}}) == ["Oslo"]


def test_names_get_the_characters_that_providers_take() -> None:
    def größe() -> None: ...

    assert tool(größe).name == "gr__e"


@pytest.mark.parametrize("name", ["", "with space", "a.b", "x" * 65, "ns:tool", "größe", "a\n"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="a tool's name has 1 to 64"):
        Tool(name=name)


def every(*args: int) -> None: ...
def named(**kwargs: int) -> None: ...
def gives() -> Iterator[int]:
    yield 1


async def streams() -> AsyncIterator[int]:
    yield 1


def connects(connection: socket.socket) -> None: ...
def prices(price: Decimal) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (every, r'tool "every": a model cannot fill in \*args'),
        (named, r'tool "named": a model cannot fill in \*\*kwargs'),
        (gives, 'tool "gives": a tool returns its result; to stream on the way, use ctx.write'),
        (streams, 'tool "streams": a tool returns its result'),
        (connects, 'tool "connects": .*socket'),
        (prices, "tool \"prices\": an annotation cannot be read: name 'Decimal' is not defined"),
        (Shop.buy, 'tool "buy": this is a method without its object'),
        (Shop, "Shop is a class"),
        (lambda: 1, "a lambda has no name"),
        (5, "a tool is made of a function, not of 5"),
        (dict.get, "tool|method"),
    ],
)
def test_what_no_model_can_fill_in_is_refused_with_a_reason(function: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tool(function)


def test_a_named_lambda_is_a_tool() -> None:
    assert call(tool(name="one")(lambda: 1), {}) == 1


async def test_a_tool_of_a_schema_takes_a_dict(context: Callable[..., ToolContext[Any]]) -> None:
    async def execute(arguments: dict[str, Any], ctx: ToolContext[Any]) -> Any:
        return arguments, ctx.run_id

    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    made = Tool(name="t", description="d", input_schema=schema, execute=execute)
    assert made.spec.input_schema is schema
    assert await call(made, {"a": 1, "b": 2}, context()) == ({"a": 1, "b": 2}, "run-1")


def test_a_tool_without_schema_takes_any_object() -> None:
    made = Tool(name="t", execute=lambda arguments, ctx: arguments)
    assert made.spec.input_schema == {"type": "object", "properties": {}}
    assert call(made, {"x": 1}) == {"x": 1}
    with pytest.raises(Mismatch, match="must be object"):
        made.arguments.validate(1)


def test_a_wrong_schema_names_its_tool() -> None:
    with pytest.raises(ConfigError, match='tool "t", input_schema: this is no valid JSON Schema'):
        Tool(name="t", input_schema={"type": "objekt"})
    with pytest.raises(ConfigError, match='tool "t", output_schema: this is no valid JSON Schema'):
        Tool(name="t", output_schema={"type": "objekt"})
    with pytest.raises(ConfigError, match='tool "t", output_schema: a JSON Schema is a mapping, not <class '):
        Tool(name="t", output_schema=Mismatch)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match='tool "t", resume_schema: '):
        Tool(name="t", resume_schema=Mismatch)


def test_to_model_output_must_not_be_a_coroutine_function() -> None:
    async def told(result: object) -> str:
        return "x"

    with pytest.raises(ConfigError, match='tool "t": to_model_output must be a plain function'):
        Tool(name="t", to_model_output=told)


def test_a_client_tool_has_nothing_to_execute() -> None:
    made = client_tool("ui", description="d", input_schema={"type": "object"})
    assert made.execute is None
    assert (made.spec.name, made.spec.description, made.spec.input_schema) == ("ui", "d", {"type": "object"})


def test_a_tool_is_frozen_and_a_changed_copy_is_a_whole_tool() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        get_weather.name = "x"  # type: ignore[misc]
    renamed = dataclasses.replace(get_weather, name="w2")
    assert renamed.spec.name == "w2"
    assert call(renamed, {"city": "Oslo"})["unit"] is Unit.CELSIUS


def test_a_tool_is_found_by_its_name_and_then_by_its_id() -> None:
    first, second = Tool(name="a", id="b"), Tool(name="b")
    assert find_tool([first, second], "a") is first
    assert find_tool([first, second], "b") is second
    assert find_tool([first], "b") is first
    assert find_tool([first], "c") is None
