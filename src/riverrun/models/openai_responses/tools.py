"""Tools and the choice among them → the members of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riverrun.models.openai_format import checked_name, function_members, snake_case
from riverrun.models.openai_responses.offered import tool_type
from riverrun.models.openai_responses.options import wire_options
from riverrun.types import NamedTool, ToolChoice, ToolSpec


def wire_tool(tool: ToolSpec, provider: str, warnings: list[dict[str, Any]]) -> dict[str, Any]:
    """The tool as the API takes it; `warnings` gets what of it cannot be sent.

    Raises ConfigError for a function whose name the API refuses.
    """
    options = wire_options(tool.provider_options, provider)
    kind = tool_type(tool)
    if kind is None:
        return {"type": "function", **function_members(tool, warnings)} | options
    members: dict[str, Any] = {"type": kind}
    if kind == "custom":
        members["name"] = checked_name(tool.name)
        if tool.description:
            members["description"] = tool.description
    return members | snake_case(tool.provider_args or {}) | options


def wire_choice(choice: ToolChoice, tools: Sequence[ToolSpec]) -> str | dict[str, Any] | None:
    """The choice as the API takes it; None for its default."""
    if not isinstance(choice, NamedTool):
        return None if choice == "auto" else choice
    tool = next((tool for tool in tools if tool.name == choice.tool_name), None)
    kind = None if tool is None else tool_type(tool)
    if tool is None or kind is None:
        return {"type": "function", "name": choice.tool_name}
    if kind == "custom":
        return {"type": "custom", "name": tool.name}
    return {"type": kind} | _server(tool.provider_args)


def _server(args: Mapping[str, Any] | None) -> dict[str, Any]:
    """Which MCP server is meant, for a choice of its tools."""
    label = snake_case(args or {}).get("server_label")
    return {} if label is None else {"server_label": label}
