"""Names of tools: the program's, and those that the API gives to the tools that it defines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from riverrun.errors import ConfigError
from riverrun.types import ToolSpec

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_OLD_EDITORS = ("text_editor_20241022", "text_editor_20250124")


class ToolNames:
    """The tools of one request. A tool that the API defines may have another name here than there."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._theirs = {tool.name: api_name(tool) for tool in tools if tool.provider_id is not None}
        self._ours = {theirs: ours for ours, theirs in self._theirs.items()}

    def ours(self, name: str) -> str:
        """The program's name for a tool that the API calls so."""
        return self._ours.get(name, name)

    def theirs(self, name: str) -> str:
        """The API's name for a tool of the program. One that the model made up is changed to what the API takes."""
        return self._theirs.get(name) or re.sub(r"[^A-Za-z0-9_-]", "_", name)[:128] or "unknown"


def is_provided_by(tool: ToolSpec, *providers: str) -> bool:
    """Whether these providers have a tool: all have those of the program."""
    return tool.provider_id is None or tool.provider_id.partition(".")[0] in providers


def api_name(tool: ToolSpec) -> str:
    """What the API calls a tool that it defines: its type without the date, but for editors."""
    kind = tool_type(tool)
    if kind.startswith("text_editor_2"):
        return "str_replace_editor" if kind in _OLD_EDITORS else "str_replace_based_edit_tool"
    return re.sub(r"_\d{8}$", "", kind)


def tool_type(tool: ToolSpec) -> str:
    """The type of a tool that the API defines."""
    return (tool.provider_id or "").partition(".")[2]


def checked_name(name: str) -> str:
    """The name of a tool of the program. Raises ConfigError for one that the API refuses."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"the tool name {name!r} cannot be sent: it must be 1 to 128 letters, digits, underscores and hyphens"
        )
    return name
