"""Tools and the choice among them → the members of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riverrun.models.anthropic.names import ToolNames, api_name, checked_name, tool_type
from riverrun.models.anthropic.options import wire_names, wire_options
from riverrun.models.anthropic.schemas import answer_schema
from riverrun.types import NamedTool, ToolChoice, ToolSpec

_BETAS = {
    "computer_20241022": "computer-use-2024-10-22",
    "text_editor_20241022": "computer-use-2024-10-22",
    "bash_20241022": "computer-use-2024-10-22",
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
    "advisor_20260301": "advisor-tool-2026-03-01",
}
"""Tools of the API's that are not for everybody yet, and what asks for them."""


def write_tool(tool: ToolSpec, *names: str, takes_strict: bool) -> dict[str, Any]:
    """A tool's definition. `names` are those under which its options are for this provider; `takes_strict`: the model
    can be held to the schemas of tools. One whose schema has no form that the API takes for this is not strict.

    Raises ConfigError for a tool whose name the API refuses.
    """
    options = wire_options(tool.provider_options, *names)
    if tool.provider_id is not None:
        kind = tool_type(tool)
        named = {} if "toolset" in kind else {"name": api_name(tool)}
        return {"type": kind, **named, **wire_names(tool.provider_args or {}), **options}
    members: dict[str, Any] = {"name": checked_name(tool.name)}
    if tool.description:
        members["description"] = tool.description
    schema = dict(tool.input_schema) or {"type": "object", "properties": {}}
    held = answer_schema(_closed(schema)) if tool.strict and takes_strict else None
    members["input_schema"] = held or schema
    if tool.strict is False or held is not None:
        members["strict"] = tool.strict
    return {**members, **options}


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a tool that takes nothing, which says so in full; any other as it is."""
    return {"additionalProperties": False, **schema} if schema.get("properties") == {} else schema


def write_choice(choice: ToolChoice, names: ToolNames, *, one_by_one: bool) -> dict[str, Any] | None:
    """A tool choice; None for the usual one. `one_by_one`: one tool may be called at once."""
    match choice:
        case "none":
            return {"type": "none"}
        case NamedTool(tool_name):
            members = {"type": "tool", "name": names.theirs(tool_name)}
        case _:
            members = {"type": "any" if choice == "required" else "auto"}
    if one_by_one:
        return {**members, "disable_parallel_tool_use": True}
    return None if choice == "auto" else members


def betas_of(tools: Sequence[ToolSpec]) -> list[str]:
    """What has to be asked for beside the tools."""
    return [beta for tool in tools if (beta := _BETAS.get(tool_type(tool))) is not None]
