"""What an answer is to be: a Python type, a list of choices or a JSON Schema → what the model is told, and its answer
→ the wanted value.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic, cast, overload

import msgspec
from msgspec import UNSET
from pydantic_core import PydanticSerializationError, to_jsonable_python
from typing_extensions import TypeVar

from riverrun.chunks.codec import json_text
from riverrun.chunks.envelope import is_object
from riverrun.chunks.partial_json import PartialJson
from riverrun.errors import ConfigError
from riverrun.schema import Fault, Mismatch, PythonType, validator
from riverrun.structured.partial import partial_array, partial_choice, partial_value
from riverrun.structured.shape import Kind, closed, kind_of, with_own_top, wrapped
from riverrun.structured.strict import strict_schema, without_nulls

Out = TypeVar("Out", default=Any)


class OutputType(Generic[Out]):
    """The type of an answer, made of

    - anything that pydantic knows: a model, a dataclass, a TypedDict, an Enum, a Literal, `list[X]`, `X | None`, int;
    - a list of texts, of which the answer is one;
    - a JSON Schema, a mapping; its values are JSON values.

    Models answer with objects: an array is asked for as `{"elements": [...]}`, an enum and any other value as
    `{"result": ...}`.
    """

    kind: Kind
    """What it is: an object, an array, one of some values, or any other value."""

    json_schema: Mapping[str, Any]
    """The schema that the model is told."""

    strict_schema: Mapping[str, Any] | None
    """The same for a provider's strict mode, or None where that cannot say it."""

    @overload
    def __init__(self, wanted: type[Out], *, name: str = ...) -> None: ...
    @overload
    def __init__(self: OutputType[str], wanted: Sequence[str], *, name: str = ...) -> None: ...
    @overload
    def __init__(self, wanted: object, *, name: str = ...) -> None: ...
    def __init__(self, wanted: object, *, name: str = "output") -> None:
        """Raises ConfigError, which names `name`, for what is none of these."""
        self._validator = validator(_checked(wanted, name), name=name)
        self._schema = with_own_top(self._validator.json_schema)
        self.kind = kind_of(self._schema)
        self._wrapper = _WRAPPERS[self.kind]
        asked = wrapped(self._schema, self._wrapper) if self._wrapper else self._schema
        self.json_schema = closed(asked)
        self.strict_schema = strict_schema(asked)
        self._all_choices = self._schema.get("enum", [self._schema.get("const")])
        self._choices = [choice for choice in self._all_choices if isinstance(choice, str)]
        self._is_text = self.kind == "value" and self._schema.get("type") == "string"

    @property
    def begins(self) -> str:
        """The characters that an answer may begin with."""
        return "{[" if self.kind == "array" else "{"

    def partial(self, json: PartialJson) -> Any:
        """What is known of the value while the answer is written; UNSET: nothing yet."""
        match self.kind:
            case "object":
                return json.value()
            case "array":
                return partial_array(json, self._wrapper)
            case "enum":
                return partial_choice(json, self._wrapper, self._choices)
            case "value":
                return partial_value(json, self._wrapper)

    def bare(self, text: str) -> Any:
        """The answer of a model that wrote a choice or a scalar and nothing else; UNSET: it did not."""
        if self.kind not in ("enum", "value"):
            return UNSET
        text = _unfenced(text)
        if text in self._choices:
            return text
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return UNSET
        return UNSET if self._is_text and not isinstance(value, str) else value

    def prose(self, text: str) -> Any:
        """The answer of a model that wrote a text when one is wanted, whatever JSON stands in it; UNSET: all of it is
        JSON, it says nothing, or no text is wanted.
        """
        return text.strip() if self._is_text and text.strip() and not _unfenced(text).startswith("{") else UNSET

    def is_stray(self, answer: object) -> bool:
        """Whether a JSON value is none of the answer, but stands in a text that is."""
        return self._is_text and not isinstance(self.unwrapped(answer), str)

    @property
    def missing(self) -> str:
        """What is wrong with an answer that holds none of what was asked for."""
        if self.kind != "enum":
            return "the answer holds no JSON"
        return f"the answer is none of {', '.join(map(json_text, self._all_choices))}"

    def validate(self, answer: object, *, strict: bool = False) -> Out:
        """Make the value of an answer, in its wrapper or without. Raises Mismatch, which says all that is wrong.

        `strict`: the model was told `strict_schema`, so null may stand for what is missing.
        """
        value = self.unwrapped(answer)
        validated = self._validator.validate(without_nulls(value, self._schema) if strict else value)
        return cast("Out", validated)

    def check(self, value: object) -> None:
        """Raises Mismatch for what is no value of the type, as `validate` gives it; TypeError when it has no JSON."""
        json = self.dump(cast("Out", value))
        if not isinstance(self._validator, PythonType):
            self._validator.validate(json)
            return
        if self._is_read_as(json, value):
            return
        with suppress(AttributeError, LookupError, TypeError):  # of a validator that is for JSON alone
            read = self._validator.validate(value, strict=True)
            if read != value:  # pydantic takes a dict for a model
                raise Mismatch([Fault((), f"{value!r:.80} is read as {read!r:.80}, which is to be given")])

    def _is_read_as(self, json: Any, value: object) -> bool:
        """Whether an answer with this JSON would give this very value, by a validator that makes another type of it."""
        try:
            read: object = self._validator.validate(json)
        except Exception:
            return False
        return type(read) is type(value) and read == value

    def unwrapped(self, answer: object) -> Any:
        """The JSON value that an answer holds."""
        return answer[self._wrapper] if is_object(answer) and self._wrapper in answer else answer

    def dump(self, value: Out) -> Any:
        """The JSON value of a value, which shares nothing with it. Raises TypeError when it has none."""
        try:
            return to_jsonable_python(value, by_alias=True)
        except (PydanticSerializationError, ValueError) as error:
            raise TypeError(f"a value of type {type(value).__name__} has no JSON form: {error}") from error


_FENCED = re.compile(r"```\w*[ \t]*\r?\n(.*)```", re.DOTALL)
_WRAPPERS: dict[Kind, str] = {"object": "", "array": "elements", "enum": "result", "value": "result"}


def _unfenced(text: str) -> str:
    text = text.strip()
    fenced = _FENCED.fullmatch(text)
    return fenced[1].strip() if fenced else text


def _checked(wanted: object, name: str) -> object:
    """What is wanted, with choices as a schema."""
    if isinstance(wanted, str):
        raise ConfigError(f"{name}: a text is no type; for a choice of texts give a list of them")
    if inspect.isroutine(wanted):
        raise ConfigError(f"{name}: a function is no type; give the type that it returns")
    if not isinstance(wanted, Sequence):
        return wanted
    choices = cast("Sequence[object]", wanted)
    if not choices or not all(isinstance(choice, str) for choice in choices) or len(set(choices)) < len(choices):
        raise ConfigError(f"{name}: a list of choices is one or more different texts, not {wanted!r:.100}")
    return {"type": "string", "enum": [*choices]}
