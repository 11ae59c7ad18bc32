"""Tools and the choice among them → `tools` and `toolConfig`, and what of them a model cannot have."""

from __future__ import annotations

from typing import Any

from riverrun.models.google.names import checked_name, option_names
from riverrun.models.google.schema import sent_schema
from riverrun.models.options import options_under
from riverrun.types import ModelRequest, NamedTool, ToolSpec


def tool_members(
    request: ModelRequest, *, provider: str, version: float, vertex: bool
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The members of the body, and the warnings. `version` is the model's generation: up to Gemini 2 it has either
    functions or Google's own tools. Raises ConfigError for a function whose name the API refuses.
    """
    functions = [tool for tool in request.tools if tool.provider_id is None]
    own, warnings = _own_tools(request, provider, without=bool(functions) and 0 < version < 3)
    tools = [_own_tool(tool) for tool in own]
    if functions:
        tools.append({"functionDeclarations": [_declaration(tool, provider) for tool in functions]})
    config: dict[str, Any] = {}
    choice = _choice(request, functions)
    if choice is not None:
        config["functionCallingConfig"] = choice
    elif request.tool_choice not in ("auto", "none") and own:
        warnings.append({"type": "unsupported-setting", "setting": "toolChoice"})
    if functions and own and version >= 3 and not vertex:  # else the API refuses the two together
        config["includeServerSideToolInvocations"] = True
    members = {"tools": tools, "toolConfig": config}
    return {name: value for name, value in members.items() if value}, warnings


def _own_tools(request: ModelRequest, provider: str, *, without: bool) -> tuple[list[ToolSpec], list[dict[str, Any]]]:
    """Google's tools that are sent (none with the choice "none"), and a warning for each that cannot be."""
    found: list[ToolSpec] = []
    warnings: list[dict[str, Any]] = []
    for tool in request.tools:
        if tool.provider_id is None:
            continue
        if without or tool.provider_id.partition(".")[0] not in option_names(provider):
            warnings.append({"type": "unsupported-tool", "tool": tool.name})
        elif request.tool_choice != "none":
            found.append(tool)
    return found, warnings


def _choice(request: ModelRequest, functions: list[ToolSpec]) -> dict[str, Any] | None:
    choice = request.tool_choice
    if not functions:  # the API refuses a choice among none
        return None
    if isinstance(choice, NamedTool):
        named = any(tool.name == choice.tool_name for tool in functions)
        return {"mode": "ANY", "allowedFunctionNames": [choice.tool_name]} if named else None
    if choice == "auto":
        return {"mode": "VALIDATED"} if any(tool.strict for tool in functions) else None
    return {"mode": "NONE" if choice == "none" else "ANY"}


def _declaration(tool: ToolSpec, provider: str) -> dict[str, Any]:
    declaration: dict[str, Any] = {"name": checked_name(tool.name)}
    if tool.description:
        declaration["description"] = tool.description
    if tool.input_schema:
        declaration["parametersJsonSchema"] = sent_schema(tool.input_schema)
    return {**declaration, **options_under(tool.provider_options, *option_names(provider))}


def _own_tool(tool: ToolSpec) -> dict[str, Any]:
    """One of Google's tools, named by its kind: "google.google_search" → `googleSearch`."""
    first, *rest = (tool.provider_id or "").rpartition(".")[2].split("_")
    kind = first + "".join(word.capitalize() for word in rest)
    args = dict(tool.provider_args or {})
    return {"retrieval": {kind: args}} if kind == "vertexRagStore" else {kind: args}
