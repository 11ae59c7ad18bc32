"""The messages of a thread in the form that the recorded system keeps them in: one for the question, one for all that
was done to answer it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from riverrun.chunks import MessagePart, TextPart, ToolCallPart, ToolResultPart
from riverrun.store import StoredMessage
from tests.conformance.values import dump


def recalled(stored: Iterable[StoredMessage], resource_id: str | None) -> list[dict[str, Any]]:
    """The messages of one thread. A question follows a question as a message of its own."""
    turns = groupby(stored, key=lambda one: one.id if one.message.role == "user" else "answer")
    return [_recalled(list(turn), resource_id) for _, turn in turns]


def _recalled(turn: Sequence[StoredMessage], resource_id: str | None) -> dict[str, Any]:
    first = turn[0]
    parts = [part for one in turn for part in _content(one)]
    return {
        "id": first.id,
        "type": "text",
        "role": "user" if first.message.role == "user" else "assistant",
        "createdAt": dump(first.created_at),
        "threadId": first.thread_id,
        "resourceId": resource_id,
        "content": {
            "format": 2,
            "parts": _parts(parts),
            "content": "".join(part.text for part in parts if isinstance(part, TextPart)),
        },
    }


def _content(stored: StoredMessage) -> Sequence[MessagePart]:
    content = stored.message.content  # type: ignore[union-attr]  # of no unknown form: riverrun wrote it
    return [TextPart(content)] if isinstance(content, str) else content


def _parts(parts: Sequence[MessagePart]) -> list[dict[str, Any]]:
    """The parts, in which a call and its result are one."""
    results = {part.tool_call_id: part for part in parts if isinstance(part, ToolResultPart)}
    return [_part(part, results) for part in parts if not isinstance(part, ToolResultPart)]


def _part(part: MessagePart, results: Mapping[str, ToolResultPart]) -> dict[str, Any]:
    if not isinstance(part, ToolCallPart):
        written: dict[str, Any] = dump(part)
        return written
    call = {"toolCallId": part.tool_call_id, "toolName": part.tool_name, "args": dump(part.input)}
    if part.tool_call_id not in results:
        return {"type": "tool-invocation", "toolInvocation": {"state": "call", **call}}
    result = dump(results[part.tool_call_id].output.value)
    return {"type": "tool-invocation", "toolInvocation": {"state": "result", **call, "result": result}}
