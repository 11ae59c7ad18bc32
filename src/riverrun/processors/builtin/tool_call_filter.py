"""ToolCallFilter: a history without its tool calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from riverrun.chunks import AssistantMessage, Message, MessagePart, ToolCallPart, ToolMessage, ToolResultPart
from riverrun.errors import ConfigError
from riverrun.processors.context import ProcessorContext
from riverrun.processors.processor import Processor


class ToolCallFilter(Processor):
    """Takes tool calls and their results out of the messages that a run starts with.

    `exclude` names the tools; None: all of them. Calls that the run itself makes stay.
    """

    def __init__(self, *, exclude: Collection[str] | None = None, id: str | None = None) -> None:
        """Raises ConfigError for a text in place of a list."""
        super().__init__(id=id)
        if isinstance(exclude, str):
            raise ConfigError(f"ToolCallFilter: exclude is a list of tool names: [{exclude!r}]")
        self.exclude = None if exclude is None else frozenset(exclude)

    def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message]:
        kept: list[Message] = []
        for message in messages:
            if not isinstance(message, AssistantMessage | ToolMessage):
                kept.append(message)
                continue
            parts = [part for part in message.content if not self._is_excluded(part)]
            if parts:
                kept.append(replace(message, content=parts))
        return kept

    def _is_excluded(self, part: MessagePart) -> bool:
        if not isinstance(part, ToolCallPart | ToolResultPart):
            return False
        return self.exclude is None or part.tool_name in self.exclude
