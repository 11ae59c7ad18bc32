"""The history that stands before a run's input: a thread's messages → a conversation that providers accept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from riverrun.chunks import (
    AssistantMessage,
    Message,
    MessagePart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
)

_WAITS = {
    "approval": "This call was not made yet: it waits for approval.",
    "suspension": "This call is not done yet: it waits for an answer.",
}
"""What is told of a call that waits, by the kind of its PendingCall."""
_INTERRUPTED = "This call was interrupted: it gave no result, and what it did until then is not known."


def history(
    messages: Sequence[Message], *, waiting: Mapping[str, str], answered: Collection[str] = ()
) -> list[Message]:
    """Each result behind its call, also when the answer came later. A call without one gets an error that says why:
    `waiting` has the kind of the calls that wait, by their ids. The input has the results of those that are `answered`.

    Results whose call is not among the messages are left out.
    """
    said: list[Message] = []
    open_calls: dict[str, tuple[ToolCallPart, list[MessagePart]]] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            _answer(open_calls, message)
            continue
        said.append(message)
        results: list[MessagePart] = []
        calls = {call.tool_call_id: (call, results) for call in _calls(message)}
        if calls:
            said.append(ToolMessage(results))
            open_calls.update(calls)
    for call_id, (call, results) in open_calls.items():
        if call_id not in answered:
            results.append(_closing(call, _WAITS.get(waiting.get(call_id, ""), _INTERRUPTED)))
    return [message for message in said if not isinstance(message, ToolMessage) or message.content]


def result_ids(messages: Sequence[Message]) -> set[str]:
    """The ids of the calls that tool messages answer."""
    parts = (part for message in messages if isinstance(message, ToolMessage) for part in message.content)
    return {part.tool_call_id for part in parts if isinstance(part, ToolResultPart)}


def parted(
    messages: Sequence[Message], recalled: Sequence[Message], given: Sequence[Message]
) -> tuple[list[Message], list[Message]]:
    """The history and the input among messages that processors have gone over.

    Those may have put new ones in place of either: what stands before the first of the input, or leaves as many
    messages as the input had behind it, belongs to the history.
    """
    old, new = set(map(id, recalled)), set(map(id, given))
    first = next((place for place, message in enumerate(messages) if id(message) in new), len(messages))
    first = min(first, max(0, len(messages) - len(given)))
    is_old = [id(m) in old or (place < first and id(m) not in new) for place, m in enumerate(messages)]
    told_before = [message for message, known in zip(messages, is_old, strict=True) if known]
    return told_before, [message for message, known in zip(messages, is_old, strict=True) if not known]


def _calls(message: Message) -> list[ToolCallPart]:
    """The calls of the program's tools in a message."""
    if not isinstance(message, AssistantMessage):
        return []
    return [part for part in message.content if isinstance(part, ToolCallPart) and not part.provider_executed]


def _answer(open_calls: dict[str, tuple[ToolCallPart, list[MessagePart]]], message: ToolMessage) -> None:
    for part in message.content:
        if isinstance(part, ToolResultPart) and part.tool_call_id in open_calls:
            _, results = open_calls.pop(part.tool_call_id)
            results.append(part)


def _closing(call: ToolCallPart, why: str) -> ToolResultPart:
    return ToolResultPart(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        output=ToolOutput("error-text", why),
        input=call.input,
    )
