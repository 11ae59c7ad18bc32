"""ModelRequest → the body of a chat completion request, and what of it the API does not have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from riverrun.errors import ConfigError
from riverrun.models.http import WireRequest
from riverrun.models.openai_chat.messages import MessageWriter
from riverrun.models.openai_chat.options import options_for
from riverrun.types import ModelRequest, NamedTool, Settings, ToolSpec

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def chat_request(request: ModelRequest, *, model_id: str, provider: str, official: bool = False) -> WireRequest:
    """Write the body for `model_id`.

    `provider` is the key of the provider options that are for this model, beside "openai" and "openai-chat";
    `official` says that OpenAI's own server is asked, which knows max_tokens by another name.
    Raises ConfigError for a tool whose name the API refuses.
    """
    writer = MessageWriter(provider)
    body: dict[str, Any] = {
        "model": model_id,
        "messages": writer.write(request.messages),
        "stream": True,
        "stream_options": {"include_usage": True},
        **_settings(request.settings, official=official),
    }
    if request.tools:
        body.update(_tools(request, provider))
    if request.response_format is not None:
        body["response_format"] = _response_format(request.response_format)
    body.update(options_for(request.provider_options, provider))
    warnings = writer.warnings
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


def _tools(request: ModelRequest, provider: str) -> dict[str, Any]:
    members: dict[str, Any] = {"tools": [_tool(tool, provider) for tool in request.tools]}
    choice = request.tool_choice
    if isinstance(choice, NamedTool):
        members["tool_choice"] = {"type": "function", "function": {"name": choice.tool_name}}
    elif choice != "auto":
        members["tool_choice"] = choice
    if request.settings.parallel_tool_calls is not None:
        members["parallel_tool_calls"] = request.settings.parallel_tool_calls
    return members


def _tool(tool: ToolSpec, provider: str) -> dict[str, Any]:
    if tool.provider_id is not None:  # the server's own: named by its type
        return {"type": tool.provider_id.partition(".")[2], **(tool.provider_args or {})}
    if not _TOOL_NAME.fullmatch(tool.name):
        raise ConfigError(
            f"the tool name {tool.name!r} cannot be sent: it must be 1 to 64 letters, digits, underscores and hyphens"
        )
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = dict(tool.input_schema) or {"type": "object", "properties": {}}
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function, **options_for(tool.provider_options, provider)}


def _response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    title = schema.get("title")
    name = re.sub(r"[^A-Za-z0-9_-]", "_", title)[:64] if isinstance(title, str) and title else "response"
    named: dict[str, Any] = {"name": name, "schema": dict(schema)}
    if _allows_strict(schema):
        named["strict"] = True
    return {"type": "json_schema", "json_schema": named}


def _allows_strict(schema: object) -> bool:
    """Whether the API takes a schema in strict mode: every object is closed and requires all its properties."""
    if isinstance(schema, list):
        return all(_allows_strict(item) for item in cast("list[object]", schema))
    if not isinstance(schema, Mapping):
        return True
    members = cast("Mapping[str, Any]", schema)
    properties = members.get("properties")
    if members.get("type") == "object" or isinstance(properties, Mapping):
        names = set(cast("Mapping[str, Any]", properties)) if isinstance(properties, Mapping) else set[str]()
        if members.get("additionalProperties") is not False or names != set(members.get("required") or ()):
            return False
    return all(_allows_strict(value) for name, value in members.items() if name not in ("enum", "const", "default"))
