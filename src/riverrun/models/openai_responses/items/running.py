"""Calls that the provider runs and whose outcome is an item of its own, perhaps of a later answer."""

from __future__ import annotations

from riverrun.chunks.arguments import parse_arguments
from riverrun.models.answer import StreamedCall
from riverrun.models.openai_responses.items.hosted import give_result, hosted_call, picked
from riverrun.models.openai_responses.items.native import Custom
from riverrun.models.openai_responses.items.scope import Members, Scope, Whole, text

_TOOLS = {
    "program": "programmatic_tool_calling",
    "program_output": "programmatic_tool_calling",
    "tool_search_call": "tool_search",
    "tool_search_output": "tool_search",
    "shell_call": "shell",
    "shell_call_output": "shell",
}


class RunningCall(Whole):
    """A call: a program, a search for tools, commands in a container, or a tool that only the server has (xAI)."""

    def __init__(self, scope: Scope, item: Members) -> None:
        self._scope = scope
        self._call = hosted_call(scope, item, _TOOLS.get(text(item.get("type"))) or text(item.get("name")))

    def finish(self, item: Members) -> None:
        """The whole item."""
        self._call.metadata["item"] = dict(item)
        self._scope.running[_key(item)] = self._call
        self._scope.writer.call_end(self._call, _arguments(item))

    def close(self) -> None:
        """The whole call never came."""
        self._scope.writer.call_end(self._call, {})


class Outcome(Whole):
    """What such a call came to. Without the call it is content of the provider's own kind."""

    def __init__(self, scope: Scope, item: Members) -> None:
        self._scope = scope

    def finish(self, item: Members) -> None:
        """The whole item."""
        call = self._scope.running.pop(_key(item), None) or self._owed(item)
        if call is None:
            Custom(self._scope, item).finish(item)
        else:
            give_result(self._scope.writer, call, item, picked(item, "status", "result", "tools", "output"))

    def _owed(self, item: Members) -> StreamedCall | None:
        """The call of an earlier answer."""
        call_id = text(item.get("call_id"))
        tool = _TOOLS[item["type"]]
        return StreamedCall(call_id, self._scope.offered.name(tool) or tool) if call_id in self._scope.owed else None


def _key(item: Members) -> str:
    """The id that a call and its outcome share; some have none, and come one after the other."""
    return text(item.get("call_id")) or _TOOLS.get(text(item.get("type")), "")


def _arguments(item: Members) -> object:
    match item.get("type"):
        case "program":
            return picked(item, "code")
        case "tool_search_call":
            return item.get("arguments")
        case "shell_call":
            return item.get("action")
        case _:
            return parse_arguments(text(item.get("input")))
