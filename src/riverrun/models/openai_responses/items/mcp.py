"""Tools of MCP servers that the provider talks to: their calls, and requests to approve one."""

from __future__ import annotations

from typing import Any

from riverrun.chunks.arguments import parse_arguments
from riverrun.models.answer import StreamedCall
from riverrun.models.openai_responses.items.hosted import give_result
from riverrun.models.openai_responses.items.scope import (
    Members,
    Scope,
    Whole,
    arguments_text,
    identity,
    rest_of,
    text,
)


class McpCall(Whole):
    """A call of such a tool. It has the tool's name; the provider metadata names the server."""

    def __init__(self, scope: Scope, item: Members) -> None:
        self._writer = scope.writer
        self._call = _call(scope, item)
        scope.writer.call_start(self._call)

    def grow(self, kind: str, index: int, piece: str) -> None:
        """A piece of the arguments."""
        if kind == "response.mcp_call_arguments.delta" and not self._call.ended:
            self._writer.call_delta(self._call, piece)

    def event(self, kind: str, event: Members) -> None:
        """The arguments are complete, and the call runs from now on."""
        if kind == "response.mcp_call_arguments.done":
            self._end(arguments_text(event.get("arguments")))

    def finish(self, item: Members) -> None:
        """The whole item."""
        self._end(arguments_text(item.get("arguments")))
        error: object = item.get("error")
        give_result(self._writer, self._call, item, item.get("output") if error is None else error)

    def close(self) -> None:
        """The provider did not say what came of it."""
        self._end(None)

    def _end(self, given: str | None) -> None:
        if not self._call.ended:
            self._writer.call_delta(self._call, rest_of(given or "", self._call.pieces))
            self._writer.call_end(self._call, parse_arguments(given or self._call.text))


class ApprovalRequest(Whole):
    """A call that the provider makes once it is approved: a result for it, from the caller, says whether it is."""

    def __init__(self, scope: Scope, item: Members) -> None:
        self._writer = scope.writer
        self._call = _call(scope, item)
        scope.writer.call_start(self._call)

    def finish(self, item: Members) -> None:
        """The whole item."""
        self._call.metadata |= {"approvalRequestId": text(item.get("id")), "item": dict(item)}
        given = arguments_text(item.get("arguments")) or ""
        self._writer.call_delta(self._call, given)
        self._writer.call_end(self._call, parse_arguments(given))

    def close(self) -> None:
        """The whole request never came."""
        self._writer.call_end(self._call, {})


def _call(scope: Scope, item: Members) -> StreamedCall:
    metadata: dict[str, Any] = identity(item)
    if label := text(item.get("server_label")):
        metadata["serverLabel"] = label
    call_id = scope.writer.call_id(item.get("id"))
    return StreamedCall(call_id, text(item.get("name")), provider_executed=True, dynamic=True, metadata=metadata)
