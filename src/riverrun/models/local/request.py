"""ModelRequest → the body of a llama.cpp chat completion, and what of it a local model cannot do.

llama.cpp does less than its API says: it ignores a tool choice by name, and with the choice "none" it shows the tools
all the same. So only tools that may be called are sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.chunks import ToolMessage
from riverrun.errors import ConfigError
from riverrun.models.local.facts import as_facts
from riverrun.models.local.messages import MessageWriter
from riverrun.models.local.weights import Weights
from riverrun.types import ModelRequest, NamedTool, Settings, ToolSpec

PROVIDER = "local"


@dataclass(frozen=True, slots=True)
class LocalRequest:
    """A request's body and warnings for the step-start chunk.

    `without_tools` is the body for a second try, when the model calls a tool that it invented: it had none to call, and
    is asked for words. None where that would not help.
    """

    body: dict[str, Any]
    warnings: list[dict[str, Any]]
    without_tools: dict[str, Any] | None = None


def local_request(request: ModelRequest, weights: Weights | None = None) -> LocalRequest:
    """Write the body. `weights` says how the model is to be asked (None: as its file says).

    Raises ConfigError for a tool choice that names no tool of the request.
    """
    writer = MessageWriter()
    written = writer.write(request.messages)
    tools = () if weights is not None and _must_answer(request, weights) else _callable_tools(request)
    own_template = weights is not None and weights.template is not None
    plain = as_facts(written) if own_template else written
    body: dict[str, Any] = {
        "messages": written if tools else plain,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # its events are when a request that still reads the prompt can be stopped
        "cache_prompt": request.settings.seed is None,  # what is cached can change an answer a little
        **_settings(request.settings, weights),
    }
    if not written:
        raise ConfigError("a local model needs a message with text to answer to")
    schema = request.response_format
    if schema is not None and not tools:
        body["response_format"] = {"type": "json_schema", "json_schema": {"schema": dict(schema)}}
    body.update(request.provider_options.get(PROVIDER, {}))
    warnings = writer.warnings
    foreign = [tool.name for tool in request.tools if tool.provider_id is not None]
    warnings += [{"type": "unsupported-tool", "tool": name} for name in foreign]
    if schema is not None and tools:
        message = "the response format does not hold while tools are offered: a local model does one or the other"
        warnings.append({"type": "other", "message": message})
    if request.settings.reasoning_effort is not None:
        warnings.append({"type": "unsupported-setting", "setting": "reasoningEffort"})
    if not tools:
        return LocalRequest(body, warnings)
    choice = "auto" if request.tool_choice == "auto" else "required"
    with_tools = {**body, **_tools(tools, choice, request.settings)}
    return LocalRequest(with_tools, warnings, {**body, "messages": plain} if choice == "auto" else None)


def _must_answer(request: ModelRequest, weights: Weights) -> bool:
    """Whether the model has its results and would only call again."""
    has_results = bool(request.messages) and isinstance(request.messages[-1], ToolMessage)
    return weights.answers_after_tools and has_results and request.tool_choice == "auto"


def _callable_tools(request: ModelRequest) -> Sequence[ToolSpec]:
    choice = request.tool_choice
    if choice == "none":
        return ()
    if not isinstance(choice, NamedTool):
        return [tool for tool in request.tools if tool.provider_id is None]
    named = [tool for tool in request.tools if tool.name == choice.tool_name and tool.provider_id is None]
    if not named:
        raise ConfigError(f"the tool choice names '{choice.tool_name}', which is none of the request's tools")
    return named


def _tools(tools: Sequence[ToolSpec], choice: str, settings: Settings) -> dict[str, Any]:
    members: dict[str, Any] = {"tools": [_tool(tool) for tool in tools], "tool_choice": choice}
    if settings.parallel_tool_calls is not None:
        members["parallel_tool_calls"] = settings.parallel_tool_calls
    return members


def _tool(tool: ToolSpec) -> dict[str, Any]:
    parameters = dict(tool.input_schema) or {"type": "object", "properties": {}}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _settings(settings: Settings, weights: Weights | None) -> dict[str, Any]:
    temperature = settings.temperature
    if temperature is None and weights is not None:
        temperature = weights.temperature
    given = {
        "max_tokens": settings.max_output_tokens,
        "temperature": temperature,
        "top_p": settings.top_p,
        "top_k": settings.top_k,
        "presence_penalty": settings.presence_penalty,
        "frequency_penalty": settings.frequency_penalty,
        "stop": list(settings.stop_sequences) if settings.stop_sequences else None,
        "seed": settings.seed,
    }
    return {name: value for name, value in given.items() if value is not None}
