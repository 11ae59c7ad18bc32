"""Messages: what a model is told and what it answered, in the form that `finish.messages` has on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from riverrun.chunks.envelope import Json, Maybe, Record, TextOrBytes, type_name


class Part(Record, frozen=True, kw_only=True, tag_field="type", tag=type_name):
    """Base of the parts of a message."""

    provider_options: Maybe[dict[str, Any]] = None


class TextPart(Part, frozen=True):
    type: ClassVar[Literal["text"]] = "text"
    text: str


class ReasoningPart(Part, frozen=True):
    """Reasoning to be replayed; its signature, or its encrypted form, travels in `provider_options`."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    text: str


class FilePart(Part, frozen=True, kw_only=True):
    """An image or another file: `data` is bytes, base64 text, a data URL or a URL."""

    type: ClassVar[Literal["file"]] = "file"
    data: TextOrBytes
    media_type: str
    filename: Maybe[str] = None


class ToolCallPart(Part, frozen=True, kw_only=True):
    type: ClassVar[Literal["tool-call"]] = "tool-call"
    tool_call_id: str
    tool_name: str
    input: Maybe[Json] = None
    provider_executed: Maybe[bool] = None


class ToolOutput(Record, frozen=True):
    """What the model is told of a call: `type` is text, json, error-text, error-json or content."""

    type: str
    value: Any


class ToolResultPart(Part, frozen=True, kw_only=True):
    type: ClassVar[Literal["tool-result"]] = "tool-result"
    tool_call_id: str
    tool_name: str
    output: ToolOutput
    input: Maybe[Json] = None


class CustomPart(Part, frozen=True, kw_only=True):
    """Content of a provider's own kind, named "{provider}.{kind}", to be replayed; see CustomChunk."""

    type: ClassVar[Literal["custom"]] = "custom"
    kind: str


class UnknownPart(Record, frozen=True, kw_only=True):
    """A part of another kind; its members are in `extra`."""

    type: str


KnownPart = TextPart | ReasoningPart | FilePart | ToolCallPart | ToolResultPart | CustomPart
if TYPE_CHECKING:
    MessagePart = KnownPart | UnknownPart
else:
    MessagePart = KnownPart  # the fast decoder takes tagged records only; codec.py makes the unknown ones


class MessageBase(Record, frozen=True, kw_only=True, tag_field="role"):
    """Base of the messages."""

    id: Maybe[str] = None
    provider_options: Maybe[dict[str, Any]] = None


class SystemMessage(MessageBase, frozen=True, tag="system"):
    role: ClassVar[Literal["system"]] = "system"
    content: str


class UserMessage(MessageBase, frozen=True, tag="user"):
    role: ClassVar[Literal["user"]] = "user"
    content: list[MessagePart]


class AssistantMessage(MessageBase, frozen=True, tag="assistant"):
    role: ClassVar[Literal["assistant"]] = "assistant"
    content: list[MessagePart]


class ToolMessage(MessageBase, frozen=True, tag="tool"):
    role: ClassVar[Literal["tool"]] = "tool"
    content: list[MessagePart]


class UnknownMessage(Record, frozen=True, kw_only=True):
    """A message of another form; its members are in `extra`."""

    role: str


KnownMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage
if TYPE_CHECKING:
    Message = KnownMessage | UnknownMessage
else:
    Message = KnownMessage


class Messages(Record, frozen=True, kw_only=True):
    """A run's messages: all of them, the user's, and the rest."""

    all: list[Message]
    user: list[Message]
    non_user: list[Message]
