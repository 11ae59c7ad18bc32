"""Which tools the model is offered, and which of them it is to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from riverrun.errors import ConfigError
from riverrun.tools import Tool
from riverrun.types import NamedTool, ToolChoice


def offered(tools: Mapping[str, Tool], active: Sequence[str] | None) -> Mapping[str, Tool]:
    """The tools of the run that are active, all when `active` is None; ConfigError for names that are none of them."""
    if active is None:
        return tools
    unknown = [name for name in active if name not in tools]
    if unknown:
        raise ConfigError(f"active_tools names no tool of the run: {', '.join(unknown)}")
    return {name: tool for name, tool in tools.items() if name in active}


def checked_choice(choice: ToolChoice, tools: Mapping[str, Tool]) -> ToolChoice:
    """The choice, when it can be made among the `tools` that are offered; ConfigError when it cannot."""
    if isinstance(choice, NamedTool):
        if choice.tool_name not in tools:
            raise ConfigError(f"tool_choice names no tool that is offered: {choice.tool_name}")
        return choice
    if choice not in ("auto", "none", "required"):
        raise ConfigError(f'tool_choice is "auto", "none", "required" or NamedTool(name), not {choice!r}')
    return choice
