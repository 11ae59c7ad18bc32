"""ModelRequest → the body of a chat completion request, and what of it the API does not have."""

from __future__ import annotations

from typing import Any

from riverrun.models.http import WireRequest
from riverrun.models.openai_chat.messages import MessageWriter
from riverrun.models.openai_chat.options import option_names, wire_options
from riverrun.models.openai_format import function_members, known_tools, named_schema
from riverrun.models.openai_sampling import drop_sampling
from riverrun.types import ModelRequest, NamedTool, Settings, ToolSpec


def chat_request(request: ModelRequest, *, model_id: str, provider: str, official: bool = False) -> WireRequest:
    """Write the body for `model_id`.

    `provider` is the key of the provider options that are for this model, beside "openai" and "openai-chat";
    `official` says that OpenAI's own server is asked, which knows max_tokens by another name, and whose reasoning
    models refuse some settings.
    Raises ConfigError for a tool whose name the API refuses.
    """
    writer = MessageWriter(provider, official=official)
    body: dict[str, Any] = {
        "model": model_id,
        "messages": writer.write(request.messages),
        "stream": True,
        "stream_options": {"include_usage": True},
        **_settings(request.settings, official=official),
    }
    warnings = writer.warnings
    body.update(_tools(request, provider, warnings))
    if request.response_format is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": named_schema(request.response_format)}
    options = wire_options(request.provider_options, provider)
    if "text_verbosity" in options:
        options["verbosity"] = options.pop("text_verbosity")
    body.update(options)
    if official:
        drop_sampling(body, options, effort=body.get("reasoning_effort"), warnings=warnings)
    if request.settings.top_k is not None and "top_k" not in body:
        warnings.append({"type": "unsupported-setting", "setting": "topK"})
    return WireRequest(body, warnings)


def _settings(settings: Settings, *, official: bool) -> dict[str, Any]:
    given = {
        "max_completion_tokens" if official else "max_tokens": settings.max_output_tokens,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "presence_penalty": settings.presence_penalty,
        "frequency_penalty": settings.frequency_penalty,
        "stop": list(settings.stop_sequences) if settings.stop_sequences else None,
        "seed": settings.seed,
        "reasoning_effort": settings.reasoning_effort,
    }
    return {name: value for name, value in given.items() if value is not None}


def _tools(request: ModelRequest, provider: str, warnings: list[dict[str, Any]]) -> dict[str, Any]:
    """The members about tools. Those that another provider has are left out."""
    known = known_tools(request.tools, option_names(provider), warnings)
    if not known:
        return {}
    members: dict[str, Any] = {"tools": [_tool(tool, provider, warnings) for tool in known]}
    choice = request.tool_choice
    if isinstance(choice, NamedTool):
        members["tool_choice"] = {"type": "function", "function": {"name": choice.tool_name}}
    elif choice != "auto":
        members["tool_choice"] = choice
    if request.settings.parallel_tool_calls is not None:
        members["parallel_tool_calls"] = request.settings.parallel_tool_calls
    return members


def _tool(tool: ToolSpec, provider: str, warnings: list[dict[str, Any]]) -> dict[str, Any]:
    if tool.provider_id is not None:  # the server's own: named by its type
        return {"type": tool.provider_id.partition(".")[2], **(tool.provider_args or {})}
    return {
        "type": "function",
        "function": function_members(tool, warnings),
        **wire_options(tool.provider_options, provider),
    }
