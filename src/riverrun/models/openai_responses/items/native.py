"""Calls of the API's own tools that the program runs: custom tools, patches, shells, computers, tool searches.

They are given only when the request offered their tool. Nobody can run the others, and the API takes no outcome for
them: they are content of the provider's own kind.
"""

from __future__ import annotations

from typing import Any

from riverrun.models.answer import StreamedCall
from riverrun.models.openai_responses.items.quoted import QuotedText
from riverrun.models.openai_responses.items.scope import Members, Scope, Whole, identity, text


class CustomCall(Whole):
    """A call of a custom tool, whose arguments are a free text."""

    def __init__(self, scope: Scope, item: Members) -> None:
        self._scope = scope
        self._call = StreamedCall(
            scope.writer.call_id(item.get("call_id")), text(item.get("name")), metadata=identity(item)
        )
        self._input = QuotedText(scope.writer, self._call)
        scope.writer.call_start(self._call)

    def grow(self, kind: str, index: int, piece: str) -> None:
        """A piece of the text."""
        if kind == "response.custom_tool_call_input.delta":
            self._input.grow(piece)

    def finish(self, item: Members) -> None:
        """The whole call."""
        whole = text(item.get("input"))
        self._input.complete(whole)
        self._give(item, None if item.get("status") == "incomplete" else whole)

    def close(self) -> None:
        """The whole call never came."""
        self._give({}, None)

    def _give(self, item: Members, args: str | None) -> None:
        if item:
            self._call.metadata["item"] = dict(item)
        self._input.end(args)
        self._scope.facts.called = True


_ARGUMENTS = {
    "apply_patch_call": ("operation",),
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "computer_call": ("action", "actions", "pending_safety_checks"),
    "tool_search_call": ("arguments",),
}
"""The members of a call that are its arguments: the one of them, or an object of several."""


class NativeCall(Whole):
    """A call of another tool. It is given with its item."""

    def __init__(self, scope: Scope, item: Members, *, name: str) -> None:
        self._scope = scope
        self._call = StreamedCall(scope.writer.call_id(item.get("call_id")), name, metadata=identity(item))
        scope.writer.call_start(self._call)

    def finish(self, item: Members) -> None:
        """The whole call."""
        self._call.metadata["item"] = dict(item)
        self._give(None if item.get("status") == "incomplete" else _arguments(item))

    def close(self) -> None:
        """The whole call never came."""
        self._give(None)

    def _give(self, args: object) -> None:
        self._scope.writer.call_end(self._call, args)
        self._scope.facts.called = True


class Custom(Whole):
    """An item that nobody runs and only the provider understands."""

    def __init__(self, scope: Scope, item: Members) -> None:
        self._scope = scope

    def finish(self, item: Members) -> None:
        """The whole item."""
        kind = text(item.get("type"))
        self._scope.writer.custom(kind, identity(item) | {"item": dict(item)})


def _arguments(item: Members) -> Any:
    names = _ARGUMENTS[item["type"]]
    return item.get(names[0]) if len(names) == 1 else {name: item[name] for name in names if item.get(name)}
