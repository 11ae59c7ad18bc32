"""What type checkers know of chunks: the union is closed, and a pattern opens the payload. Only checked, never run."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import Any, assert_never, assert_type

from riverrun.chunks import (
    AssistantMessage,
    ChunkType,
    DataChunk,
    ErrorChunk,
    FinishChunk,
    Message,
    MessagePart,
    StepOutput,
    SystemMessage,
    TextDeltaChunk,
    TextDeltaPayload,
    TextPart,
    ToolCallChunk,
    ToolMessage,
    ToolResultChunk,
    UnknownChunk,
    UnknownMessage,
    UserMessage,
    decode,
    encode,
)


def told(chunk: ChunkType) -> str:
    match chunk:
        case TextDeltaChunk(p):
            assert_type(p, TextDeltaPayload)
            return p.text
        case ToolCallChunk(p):
            assert_type(p.tool_call_id, str)
            return p.tool_name
        case ToolResultChunk(p):
            assert_type(p.result, Any)
            return p.tool_name
        case FinishChunk(p):
            assert_type(p.output, StepOutput | None)
            return ""
        case ErrorChunk(p):
            assert_type(p.error, Any)
            return str(p.error)
        case DataChunk() | UnknownChunk():
            assert_type(chunk.type, str)
            return chunk.type
        case _:
            assert_type(chunk.run_id, str | None)
            return chunk.type


def every_message(message: Message) -> list[MessagePart] | str:
    match message:
        case SystemMessage(content):
            return content
        case UserMessage(content) | AssistantMessage(content) | ToolMessage(content):
            return content
        case UnknownMessage():
            return message.role
        case _:
            assert_never(message)


def forgotten(message: Message) -> str:
    match message:
        case SystemMessage():
            return "system"
        case UserMessage() | AssistantMessage() | ToolMessage():
            return "other"
        case _:
            assert_never(message)  # type: ignore[arg-type]


def values() -> None:
    chunk = TextDeltaChunk(TextDeltaPayload("id", "text"), run_id="r", from_="AGENT")
    assert_type(chunk.payload.text, str)
    assert_type(encode(chunk), bytes)
    assert_type(decode(b""), ChunkType)
    chunk.payload.text = "other"  # type: ignore[misc]
    TextDeltaChunk(TextDeltaPayload("id", "text"), from_="ROBOT")  # type: ignore[arg-type]
    _ = UserMessage([TextPart("hi")], id="m")
