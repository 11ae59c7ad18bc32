"""What type checkers know of structured output. Only checked, never run."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Literal, assert_type

from pydantic import BaseModel
from typing_extensions import TypedDict

from riverrun.structured import ObjectReader, OutputType, StructuredOutput


class City(BaseModel):
    name: str


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int


class Options(TypedDict):
    verbose: bool


def types() -> None:
    assert_type(OutputType(City), OutputType[City])
    assert_type(OutputType(list[City]), OutputType[list[City]])
    assert_type(OutputType(Colour), OutputType[Colour])
    assert_type(OutputType(Point), OutputType[Point])
    assert_type(OutputType(Options), OutputType[Options])
    assert_type(OutputType(int), OutputType[int])
    assert_type(OutputType(["a", "b"]), OutputType[str])
    assert_type(OutputType({"type": "object"}), OutputType[Any])


def types_that_have_to_be_named() -> tuple[OutputType[Literal["a", "b"]], OutputType[City | None]]:
    return OutputType(Literal["a", "b"]), OutputType(City | None)


def settings() -> None:
    assert_type(StructuredOutput(City), StructuredOutput[City])
    assert_type(StructuredOutput(list[City], error_strategy="warn"), StructuredOutput[list[City]])
    assert_type(StructuredOutput(OutputType(Colour)), StructuredOutput[Colour])
    assert_type(StructuredOutput({"type": "object"}), StructuredOutput[Any])
    StructuredOutput(City, error_strategy="loud")  # type: ignore[arg-type]


def values() -> None:
    outcome = ObjectReader(StructuredOutput(City), run_id="run").finish("stop")
    assert_type(outcome.value, City | None)
    assert_type(OutputType(City).validate({}), City)
