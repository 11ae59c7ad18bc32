"""The texts in messages and JSON values, to be looked at and changed one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from riverrun.chunks import (
    AssistantMessage,
    Message,
    MessagePart,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from riverrun.chunks.envelope import is_list, is_object

Change = Callable[[str], str]


def texts_of(message: Message) -> Iterator[str]:
    """What a message says in words: a system message's content, the text parts of others."""
    match message:
        case SystemMessage(content=content):
            yield content
        case UserMessage() | AssistantMessage() | ToolMessage():
            for part in message.content:
                if isinstance(part, TextPart):
                    yield part.text
        case _:
            pass


def with_texts(message: Message, texts: Sequence[str]) -> Message | None:
    """The message with other texts, in the order of `texts_of`; an empty one takes its part away.

    None: nothing is left of the message.
    """
    rest = iter(texts)
    match message:
        case SystemMessage():
            return replace(message, content=next(rest))
        case UserMessage() | AssistantMessage() | ToolMessage():
            parts = [replace(part, text=next(rest)) if isinstance(part, TextPart) else part for part in message.content]
            kept = [part for part in parts if not isinstance(part, TextPart) or part.text]
            return replace(message, content=kept) if kept else None
        case _:
            return message


def change_strings(value: Any, change: Change) -> Any:
    """A JSON value with `change` made to each of its strings, names of members left out; itself when none changed."""
    if isinstance(value, str):
        return change(value)
    if is_object(value):
        members = {name: change_strings(member, change) for name, member in value.items()}
        return members if any(members[name] is not member for name, member in value.items()) else value
    if is_list(value):
        items = [change_strings(item, change) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def change_message(message: Message, change: Change) -> Message:
    """A message with `change` made to its texts, to the arguments of its calls and to the results it tells of.

    Reasoning is left alone: its provider takes it back only as it was.
    """
    match message:
        case SystemMessage(content=content):
            return replace(message, content=change(content))
        case UserMessage() | AssistantMessage() | ToolMessage():
            return replace(message, content=[_change_part(part, change) for part in message.content])
        case _:
            return message


def _change_part(part: MessagePart, change: Change) -> MessagePart:
    match part:
        case TextPart(text=text):
            return replace(part, text=change(text))
        case ToolCallPart(input=arguments):
            return replace(part, input=change_strings(arguments, change))
        case ToolResultPart(output=output):
            return replace(part, output=replace(output, value=change_strings(output.value, change)))
        case _:
            return part
