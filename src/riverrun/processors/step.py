"""A step before it is taken: what is known of it, and what is to be different in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from riverrun.chunks import Message, Step
from riverrun.processors.overlay import laid_over, merged
from riverrun.types import Input, Model, Settings, ToolChoice, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInfo:
    """What is known before a step. `number` counts from 0; `messages` are those that the model will see, without the
    `instructions`; `active_tools` None: all of `tools`.
    """

    number: int
    steps: Sequence[Step]
    messages: Sequence[Message]
    model: Model
    run_id: str
    deps: Any = None
    instructions: Sequence[str] = ()
    tools: Sequence[ToolSpec] = ()
    tool_choice: ToolChoice = "auto"
    active_tools: Sequence[str] | None = None
    settings: Settings = field(default_factory=Settings)
    provider_options: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChanges:
    """What is to be different in the coming step, and in it alone. None: as configured.

    Settings and provider options are laid over the run's.
    """

    model: str | Model | None = None
    instructions: str | None = None
    messages: Input | None = None
    tool_choice: ToolChoice | None = None
    active_tools: Sequence[str] | None = None
    settings: Settings | None = None
    provider_options: Mapping[str, Mapping[str, Any]] | None = None


def both(earlier: StepChanges, later: StepChanges) -> StepChanges:
    """Two changes as one: the later one wins, settings and provider options are laid over the earlier ones."""
    given = {item.name: getattr(later, item.name) for item in fields(later) if getattr(later, item.name) is not None}
    if earlier.settings is not None:
        given["settings"] = laid_over(earlier.settings, later.settings)
    if earlier.provider_options is not None:
        given["provider_options"] = merged(earlier.provider_options, later.provider_options)
    return replace(earlier, **given)


def changed(info: StepInfo, changes: StepChanges, messages: Sequence[Message] | None) -> StepInfo:
    """The step as it will be: what the next processor is told. A model that is given by name is not known yet."""
    return replace(
        info,
        messages=info.messages if messages is None else messages,
        model=info.model if changes.model is None or isinstance(changes.model, str) else changes.model,
        instructions=info.instructions if changes.instructions is None else [changes.instructions],
        tool_choice=info.tool_choice if changes.tool_choice is None else changes.tool_choice,
        active_tools=info.active_tools if changes.active_tools is None else changes.active_tools,
        settings=laid_over(info.settings, changes.settings),
        provider_options=merged(info.provider_options, changes.provider_options),
    )
