"""Python types and JSON Schemas: what a value must look like, told to a model and held against its answer.

A Validator knows its JSON Schema (draft 2020-12) and makes the wanted value of a JSON value, or raises Mismatch.
Types go through pydantic, schemas that come from elsewhere through jsonschema-rs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, cast

import jsonschema_rs
import msgspec
from pydantic import PydanticUndefinedAnnotation, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from riverrun.chunks.envelope import is_list, is_object
from riverrun.errors import ConfigError, RiverrunError


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a value: where (keys and indexes from the top) and what."""

    path: tuple[str | int, ...]
    message: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path)) or 'root'}: {self.message}"


class Mismatch(RiverrunError):
    """A value that does not fit its schema. `faults` has at least one and at most 50 of the things that are wrong."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults[:_MOST_FAULTS])
        super().__init__("\n".join(map(str, self.faults)))


_MOST_FAULTS = 50


class Validator(Protocol):
    """Tells what a value must look like, and checks it."""

    @property
    def json_schema(self) -> Mapping[str, Any]:
        """JSON Schema of the values that are taken."""
        ...

    def validate(self, value: object, /) -> Any:
        """Make the wanted value of a JSON value, which is left as it is. Raises Mismatch."""
        ...


def validator(wanted: Any, *, name: str) -> Validator:
    """A Validator for a Python type or a JSON Schema (a mapping). ConfigError, with `name`, when there can be none."""
    if isinstance(wanted, Mapping):
        return JsonSchema(cast("Mapping[str, Any]", wanted), name=name)
    return PythonType(wanted, name=name)


UNUSABLE = (PydanticUserError, PydanticUndefinedAnnotation, TypeError, ValueError)
"""What pydantic raises for types that it can make no schema of."""


class PythonType:
    """Any type that pydantic knows. Values are coerced as pydantic does and defaults are filled in."""

    def __init__(self, wanted: Any, *, name: str) -> None:
        """`name` says in a ConfigError whose type it is."""
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(wanted)
            schema = self._adapter.json_schema(schema_generator=_SchemaOfModel)
        except UNUSABLE as error:
            first_line, *_ = str(error).splitlines() or [type(error).__name__]
            raise ConfigError(f"{name}: {first_line}") from error
        self.json_schema: Mapping[str, Any] = without_titles(schema)

    def validate(self, value: object, /, *, strict: bool = False) -> Any:
        """`strict`: the value is to be of the type already, and nothing is coerced."""
        try:
            return self._adapter.validate_python(value, strict=strict or None)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            raise Mismatch([Fault(fault["loc"], fault["msg"]) for fault in found]) from None


class JsonSchema:
    """A JSON Schema of any draft. Values are only judged: nothing is coerced, filled in or left out."""

    def __init__(self, schema: Mapping[str, Any], *, name: str) -> None:
        """Compile the schema, which must stand for itself: one that refers to a file or the network is refused."""
        if not isinstance(schema, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigError(f"{name}: a JSON Schema is a mapping, not {schema!r:.80}")
        self.json_schema = schema
        try:
            self._compiled = jsonschema_rs.validator_for(dict(schema), mask="value", offline=True)
        except (ValueError, TypeError) as error:
            raise ConfigError(f"{name}: this is no valid JSON Schema: {str(error).splitlines()[0]}") from error

    def validate(self, value: object, /) -> Any:
        faults = [_fault(error) for error in islice(self._compiled.iter_errors(value), _MOST_FAULTS)]
        if faults:
            raise Mismatch(faults)
        return value


class _SchemaOfModel(GenerateJsonSchema):
    """Leaves out, without a warning, what has no place in JSON Schema, like a default that is any object."""

    ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012 (declared so by pydantic)


_NAMED_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_VALUES = ("default", "const", "enum", "examples", "required")


def without_titles(schema: Any) -> Any:
    """The schema without its `title`s, which repeat the names of classes and members. Values in it stay as they are."""
    if is_list(schema):
        return [without_titles(item) for item in schema]
    if not is_object(schema):
        return schema
    out: dict[str, Any] = {}
    for key, member in schema.items():
        if key in _NAMED_SCHEMAS:
            out[key] = {name: without_titles(named) for name, named in member.items()}
        elif key in _VALUES:
            out[key] = member
        elif key != "title":
            out[key] = without_titles(member)
    return out


def _fault(error: jsonschema_rs.ValidationError) -> Fault:
    return Fault(tuple(error.instance_path), _message(error))


def _message(error: jsonschema_rs.ValidationError) -> str:
    """The fault in the words that models know best, which are those of ajv."""
    kind = error.kind.name
    known = error.kind.as_dict()
    if kind == "type":
        return f"must be {','.join(known['types'])}"
    if kind == "required":
        return f"must have required property '{known['property']}'"
    if kind == "enum":
        return f"must be one of {_json(known['options'])}"
    if kind == "const":
        return f"must be {_json(known['expected_value'])}"
    if kind == "additionalProperties":
        return f"must not have additional properties: {', '.join(known['unexpected'])}"
    if kind == "falseSchema":
        return "is not allowed"
    if kind in ("anyOf", "oneOf") and "context" in known:
        branches = [_fault(branch[0]) for branch in known["context"] if branch]
        here = len(error.instance_path)
        return " or ".join(dict.fromkeys(_inside(branch, here) for branch in branches)) or error.message
    return error.message


def _inside(fault: Fault, depth: int) -> str:
    """A branch's fault, with its path when that goes deeper than the branch."""
    return str(Fault(fault.path[depth:], fault.message)) if len(fault.path) > depth else fault.message


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
