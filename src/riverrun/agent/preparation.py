"""A step before it is taken: what the plan, the processors and the caller's hook make of it → the model's request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.agent.asking import asked
from riverrun.agent.choice import checked_choice, offered
from riverrun.agent.inputs import sealed, to_messages
from riverrun.agent.plan import Plan
from riverrun.agent.structuring import format_of, reader_for
from riverrun.agent.transcript import Transcript
from riverrun.chunks import Message, Step, SystemMessage
from riverrun.models import resolve_model
from riverrun.processors import Pipeline, StepChanges, StepInfo
from riverrun.processors.overlay import laid_over, merged
from riverrun.processors.step import both
from riverrun.structured import ObjectReader
from riverrun.tools import Tool
from riverrun.types import Model, ModelRequest


@dataclass(slots=True)
class Prepared:
    """What is to be done in one step. `reader` reads the structured answer out of its text, if it is to have one."""

    models: Sequence[Model]
    first_model: int
    request: ModelRequest
    tools: Mapping[str, Tool]
    reader: ObjectReader[Any] | None


async def prepared(
    plan: Plan, pipeline: Pipeline, transcript: Transcript, model_index: int, feedback: str | None
) -> Prepared:
    """Put a step together. `feedback` is what processors have against the answer before it."""
    messages = transcript.told
    changes = await _changes(plan, pipeline, messages, transcript.steps, model_index)
    models = plan.models if changes.model is None else [resolve_model(changes.model)]
    first = model_index if changes.model is None else 0
    tools = offered(plan.tools, plan.active_tools if changes.active_tools is None else changes.active_tools)
    system = plan.instructions if changes.instructions is None else [SystemMessage(changes.instructions)]
    told = messages if changes.messages is None else to_messages(changes.messages)
    whole: list[Message] = [*system, *([SystemMessage(feedback)] if feedback else []), *sealed(told)]
    response_format, whole = format_of(plan.output, whole, models[first], beside_tools=bool(tools))
    request = ModelRequest(
        messages=whole,
        run_id=plan.run_id,
        tools=[tool.spec for tool in tools.values()],
        tool_choice=checked_choice(changes.tool_choice or plan.tool_choice, tools),
        settings=laid_over(plan.settings, changes.settings),
        response_format=response_format,
        provider_options=merged(plan.provider_options, changes.provider_options),
        include_raw=plan.include_raw,
    )
    return Prepared(models, first, request, tools, reader_for(plan.output, plan.run_id, models[first]))


async def _changes(
    plan: Plan, pipeline: Pipeline, messages: Sequence[Message], steps: Sequence[Step], model_index: int
) -> StepChanges:
    if plan.prepare_step is None and not pipeline.has("process_input_step"):
        return StepChanges()
    info = StepInfo(
        number=len(steps),
        steps=tuple(steps),
        messages=messages,
        model=plan.models[model_index],
        run_id=plan.run_id,
        deps=plan.deps,
        instructions=[message.content for message in plan.instructions],
        tools=[tool.spec for tool in plan.tools.values()],
        tool_choice=plan.tool_choice,
        active_tools=plan.active_tools,
        settings=plan.settings,
        provider_options=plan.provider_options,
    )
    changes = await pipeline.process_input_step(info)
    if plan.prepare_step is None:
        return changes
    return both(changes, await asked(plan.prepare_step, info, StepChanges) or StepChanges())
