"""Everything that one run is told at its start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.agent.completion import TaskComplete
from riverrun.agent.hooks import OnIteration, PrepareStep, StopWhen
from riverrun.chunks import ChunkType, Message, SystemMessage
from riverrun.processors import Pipeline, Processor
from riverrun.structured import StructuredOutput
from riverrun.tools import Approval, Tool
from riverrun.types import Model, Settings, Timeout, ToolChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that one run is told at its start. `saved_options` is what of it a suspended run keeps."""

    run_id: str
    message_id: str
    agent_id: str
    models: Sequence[Model]
    instructions: Sequence[SystemMessage]
    system: Sequence[SystemMessage]
    """Those of the instructions that came with the input."""
    context: Sequence[Message]
    messages: Sequence[Message]
    tools: Mapping[str, Tool]
    tool_choice: ToolChoice
    active_tools: Sequence[str] | None
    stop_when: Sequence[StopWhen]
    prepare_step: PrepareStep | None
    on_iteration: OnIteration | None
    task_complete: TaskComplete | None
    processors: Sequence[Processor]
    max_processor_retries: int | None
    output: StructuredOutput[Any] | None
    require_tool_approval: Approval
    settings: Settings
    provider_options: Mapping[str, Mapping[str, Any]]
    include_raw: bool
    timeout: Timeout
    tool_concurrency: int
    max_retries: int
    deps: Any
    saved_options: Mapping[str, Any]


def pipeline_of(plan: Plan, write: Callable[[ChunkType], None]) -> Pipeline:
    """The run's processors, which remember nothing yet. `write` takes what they emit."""
    return Pipeline(plan.processors, run_id=plan.run_id, agent_name=plan.agent_id, emit_chunk=write, deps=plan.deps)
