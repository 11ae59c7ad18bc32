"""What type checkers know of structured answers: `object` is what the agent was asked for. Only checked, never run."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import dataclasses
import enum
from collections.abc import AsyncIterator
from typing import Any, Literal, assert_type

from pydantic import BaseModel
from typing_extensions import TypedDict

from riverrun import Agent, Result, Run, StructuredOutput
from riverrun.structured import OutputType


class City(BaseModel):
    name: str


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int


class Options(TypedDict):
    verbose: bool


plain = Agent("plain", model="openai/gpt-5-mini")
cities = Agent("cities", model="openai/gpt-5-mini", output=City)


def agents() -> None:
    assert_type(plain, Agent[Any])
    assert_type(cities, Agent[City])
    assert_type(Agent("a", model="m", output=list[City]), Agent[list[City]])
    assert_type(Agent("a", model="m", output=Colour), Agent[Colour])
    assert_type(Agent("a", model="m", output=Point), Agent[Point])
    assert_type(Agent("a", model="m", output=Options), Agent[Options])
    assert_type(Agent("a", model="m", output=int), Agent[int])
    assert_type(Agent("a", model="m", output={"type": "object"}), Agent[Any])
    assert_type(Agent("a", model="m", output=["yes", "no"]), Agent[Any])
    assert_type(Agent("a", model="m", output=OutputType(City)), Agent[City])
    assert_type(Agent("a", model="m", output=StructuredOutput(City, error_strategy="warn")), Agent[City])
    Agent("a", model="m", output=City | None)
    Agent("a", model="m", output=OutputType(Literal["yes", "no"]))
    Agent("a", model="m", output=5)  # type: ignore[arg-type]


async def runs() -> None:
    run = cities.stream("where?")
    assert_type(run, Run[City])
    assert_type(await run.object, City)
    assert_type((await run.object).name, str)
    assert_type((await run.result()).object, City)
    assert_type(run.partial.object, City)
    assert_type(run.full_stream, Run[City])
    async with cities.stream("where?") as entered:
        assert_type(entered, Run[City])
    result = await cities.generate("where?")
    assert_type(result, Result[City])
    assert_type(result.object.name, str)
    assert_type(await plain.stream("where?").object, Any)
    assert_type((await plain.generate("where?")).object, Any)


async def a_type_for_one_run_alone() -> None:
    """It is not followed, and nothing wrong is said of it where the agent has none."""
    assert_type(await plain.stream("which?", output=City).object, Any)
    assert_type((await plain.generate("which?", output=StructuredOutput(City))).object, Any)


async def resumed_runs() -> None:
    assert_type(await cities.resume_stream("this", run_id="r1"), Run[City])
    assert_type(await cities.approve_tool_call(run_id="r1"), Run[City])
    assert_type(await cities.decline_tool_call(run_id="r1", reason="no"), Run[City])


def streams(run: Run[City]) -> None:
    """Values that are not complete yet are JSON."""
    assert_type(run.object_stream, AsyncIterator[Any])
    assert_type(run.element_stream, AsyncIterator[Any])
