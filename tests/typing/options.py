"""What type checkers accept as input and as options of a run. Only checked, never run."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from riverrun import (
    Agent,
    Iteration,
    ModelRequest,
    NamedTool,
    Settings,
    StepChanges,
    StepInfo,
    Timeout,
    Verdict,
    has_tool_call,
    step_count_is,
)
from riverrun.chunks import ChunkType, Step, TextPart, UserMessage
from riverrun.sync import generate, stream


class OwnModel:
    """A model is whatever has these three members."""

    provider = "own"
    model_id = "m"

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        return
        yield


agent = Agent("typed", model=[OwnModel(), "openai/gpt-5-mini"])


def inputs() -> None:
    agent.stream("hi")
    agent.stream(UserMessage([TextPart("hi")]))
    agent.stream({"role": "user", "content": "hi"})
    agent.stream(["hi", UserMessage([TextPart("hi")]), {"role": "user", "content": "hi"}])
    agent.stream(5)  # type: ignore[arg-type]
    agent.stream(None)  # type: ignore[arg-type]
    agent.stream(input="hi")  # type: ignore[call-arg]


def enough(steps: Sequence[Step]) -> bool:
    return len(steps) > 2


async def enough_later(steps: Sequence[Step]) -> bool:
    return len(steps) > 2


def prepare(info: StepInfo) -> StepChanges | None:
    return StepChanges(model=OwnModel(), messages="hi") if info.number else None


async def prepare_later(info: StepInfo) -> StepChanges | None:
    return None


async def judge(iteration: Iteration) -> Verdict | None:
    return Verdict(go_on=iteration.step.text == "", feedback=None)


def options() -> None:
    agent.stream(
        "hi",
        run_id="r",
        deps=object(),
        instructions=["one", "two"],
        system="three",
        context=["four"],
        tools=[],
        tool_choice=NamedTool("look"),
        active_tools=["look"],
        max_steps=3,
        stop_when=[enough, enough_later, step_count_is(3), has_tool_call("look")],
        prepare_step=prepare,
        on_iteration=judge,
        settings=Settings(temperature=0.5),
        provider_options={"openai": {"store": False}},
        timeout=Timeout(total=60),
        max_retries=0,
        tool_concurrency=2,
        include_raw=True,
        detached=True,
    )
    agent.stream("hi", prepare_step=prepare_later, stop_when=enough, tool_choice="required")
    agent.stream(
        "hi",
        run_id=None,
        instructions=None,
        system=None,
        context=None,
        tools=None,
        tool_choice=None,
        active_tools=None,
        max_steps=None,
        stop_when=None,
        prepare_step=None,
        on_iteration=None,
        settings=None,
        provider_options=None,
        timeout=None,
        max_retries=None,
        tool_concurrency=None,
    )
    agent.stream("hi", temperature=1)  # type: ignore[call-arg]
    agent.stream("hi", max_steps="3")  # type: ignore[arg-type]
    agent.stream("hi", tool_choice="always")  # type: ignore[arg-type]


def the_bridge() -> None:
    for chunk in stream(agent, "hi", max_steps=3):
        _: ChunkType = chunk
    generate(agent, "hi", instructions="Be brief.").text.upper()
    generate(agent, "hi", bogus=1)  # type: ignore[call-arg]
