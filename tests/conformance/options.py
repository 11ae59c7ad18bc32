"""Options of an action as keyword arguments of `agent.stream` and `agent.generate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from riverrun import (
    Iteration,
    NamedTool,
    Settings,
    StepChanges,
    StepInfo,
    Timeout,
    Tool,
    Verdict,
    client_tool,
    has_tool_call,
    step_count_is,
)
from riverrun.agent import Memory, Score, Scorer, TaskComplete
from riverrun.agent.hooks import StopWhen
from riverrun.types import ToolChoice
from tests.conformance.values import load

SETTINGS = {
    "maxOutputTokens": "max_output_tokens",
    "temperature": "temperature",
    "topP": "top_p",
    "topK": "top_k",
    "presencePenalty": "presence_penalty",
    "frequencyPenalty": "frequency_penalty",
    "stopSequences": "stop_sequences",
    "seed": "seed",
    "headers": "headers",
}
"""Members of `modelSettings` → of Settings."""
MEMORY = {"lastMessages": "last_messages"}
"""Members of an agent's `memory` → of Memory."""
THREAD = {"thread": "thread_id", "resource": "resource_id"}
"""Members of the option `memory` → options."""
LIMITS = {"totalMs": "total", "stepMs": "step", "firstChunkMs": "first_chunk"}
"""Members of `modelSettings.timeout` → of Timeout."""


def call_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments for an action's options."""
    out: dict[str, Any] = {}
    for name, value in options.items():
        if name in TRANSLATED:
            out.update(TRANSLATED[name](value))
    return out


def texts(value: Any) -> str | list[str]:
    """Instructions: a text, a system message, or a list of these."""
    if isinstance(value, Mapping):
        return str(value["content"])
    if isinstance(value, str):
        return value
    return [str(item["content"] if isinstance(item, Mapping) else item) for item in value]


def tool_choice(value: str | Mapping[str, Any]) -> ToolChoice:
    """`auto`, `none`, `required`, or the tool that must be called."""
    return NamedTool(value["toolName"]) if isinstance(value, Mapping) else value  # type: ignore[return-value]


def _model_settings(value: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    settings = _settings(value)
    if settings != Settings():
        out["settings"] = settings
    if "timeout" in value:
        out["timeout"] = Timeout(**{LIMITS[name]: ms / 1000 for name, ms in value["timeout"].items()})
    if "maxRetries" in value:
        out["max_retries"] = value["maxRetries"]
    return out


def _settings(value: Mapping[str, Any]) -> Settings:
    return Settings(**{SETTINGS[name]: member for name, member in value.items() if name in SETTINGS})


def _client_tools(specs: Mapping[str, Any]) -> list[Tool]:
    return [
        client_tool(name, description=spec.get("description", ""), input_schema=spec.get("inputSchema"))
        for name, spec in specs.items()
    ]


def _stop_when(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[StopWhen]:
    conditions = [value] if isinstance(value, Mapping) else value
    made: dict[str, Callable[[Any], StopWhen]] = {"stepCountIs": step_count_is, "hasToolCall": has_tool_call}
    return [made[name](limit) for condition in conditions for name, limit in condition.items()]


def _prepare_step(by_number: Mapping[str, Any]) -> Callable[[StepInfo], StepChanges | None]:
    """`by_number`: what changes in the step of that number, from 0."""

    def prepare(info: StepInfo) -> StepChanges | None:
        changes = by_number.get(str(info.number))
        return None if changes is None else _step_changes(changes)

    return prepare


def _step_changes(changes: Mapping[str, Any]) -> StepChanges:
    return StepChanges(
        tool_choice=tool_choice(changes["toolChoice"]) if "toolChoice" in changes else None,
        active_tools=changes.get("activeTools"),
        messages=load(changes.get("messages")),
        settings=_settings(changes["modelSettings"]) if "modelSettings" in changes else None,
        provider_options=load(changes.get("providerOptions")),
    )


def _on_iteration(verdicts: Sequence[Mapping[str, Any]]) -> Callable[[Iteration], Verdict | None]:
    """The verdict on each iteration in turn; none on those after the last."""

    def judge(iteration: Iteration) -> Verdict | None:
        if iteration.number > len(verdicts):
            return None
        verdict = verdicts[iteration.number - 1]
        return Verdict(go_on=verdict.get("continue"), feedback=verdict.get("feedback"))

    return judge


def memory(value: Mapping[str, Any] | bool) -> Memory | None:
    """How much an agent remembers: true is the default, false nothing."""
    if isinstance(value, Mapping):
        return Memory(**{MEMORY[name]: member for name, member in value.items()})
    return Memory() if value else None


def _thread(value: Mapping[str, Any]) -> dict[str, Any]:
    return {THREAD[name]: member for name, member in value.items() if name in THREAD}


def _task_complete(text: str) -> TaskComplete:
    """The task is complete when the answer contains `text`."""

    def contains(answer: Any) -> Score:
        return Score(1, "found it") if text in answer.text else Score(0, "not found")

    return TaskComplete(scorers=[Scorer(contains, id="contains", name="Contains")])


TRANSLATED: dict[str, Callable[[Any], dict[str, Any]]] = {
    "runId": lambda value: {"run_id": value},
    "maxSteps": lambda value: {"max_steps": value},
    "stopWhen": lambda value: {"stop_when": _stop_when(value)},
    "toolChoice": lambda value: {"tool_choice": tool_choice(value)},
    "activeTools": lambda value: {"active_tools": value},
    "context": lambda value: {"context": load(value)},
    "system": lambda value: {"system": texts(value)},
    "instructions": lambda value: {"instructions": texts(value)},
    "clientTools": lambda value: {"tools": _client_tools(value)},
    "prepare_step": lambda value: {"prepare_step": _prepare_step(value)},
    "iterationComplete": lambda value: {"on_iteration": _on_iteration(value)},
    "includeRawChunks": lambda value: {"include_raw": value},
    "modelSettings": _model_settings,
    "providerOptions": lambda value: {"provider_options": load(value)},
    "toolCallConcurrency": lambda value: {"tool_concurrency": value},
    "maxProcessorRetries": lambda value: {"max_processor_retries": value},
    "memory": _thread,
    "requireToolApproval": lambda value: {"require_tool_approval": value},
    "task_complete_if_text_contains": lambda value: {"task_complete": _task_complete(value)},
    "toolCallId": lambda value: {"tool_call_id": value},
    "reason": lambda value: {"reason": value},
}
"""What each option is in riverrun."""
