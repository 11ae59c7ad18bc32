"""The tools that a request offered: which of the model's calls the program can run, and by which names."""

from __future__ import annotations

from collections.abc import Sequence

from riverrun.models.openai_responses.sources import objects
from riverrun.types import ToolSpec

_HOLD_CUSTOM = ("custom", "namespace", "tool_search")
"""Types of tools that are custom ones of the program's, or may bring such."""


def tool_type(tool: ToolSpec) -> str | None:
    """The type of a tool of the API's own, such as "web_search"; None for a function."""
    return None if tool.provider_id is None else tool.provider_id.partition(".")[2]


class Offered:
    """The tools of one request."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = [(kind, tool.name) for tool in tools if (kind := tool_type(tool)) is not None]
        self._served: set[str] = set()

    def note(self, tools: object) -> None:
        """Take what a response says of its tools."""
        self._served.update(kind for tool in objects(tools) if isinstance(kind := tool.get("type"), str))

    def name(self, kind: str) -> str | None:
        """The name of the tool of this type, or of a variant ("web_search_preview"); None when none was offered."""
        return next((name for found, name in self._tools if found == kind or found.startswith(f"{kind}_")), None)

    def has_custom(self, name: object) -> bool:
        """Whether a custom tool of this name was offered."""
        return ("custom", name) in self._tools

    @property
    def none_custom(self) -> bool:
        """Whether custom calls are of the server's own tools (xAI): the response names tools, and none is custom."""
        return bool(self._served) and self._served.isdisjoint(_HOLD_CUSTOM)
