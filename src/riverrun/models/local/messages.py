"""Messages → the `messages` of a llama.cpp chat completion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from riverrun.chunks import (
    AssistantMessage,
    FilePart,
    Message,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)
from riverrun.chunks.codec import json_text, json_value

_NO_OUTPUT = "(no output)"


class MessageWriter:
    """Writes the messages of one request. `warnings` tells what of them the model cannot be shown."""

    def __init__(self) -> None:
        self.warnings: list[dict[str, Any]] = []

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """The messages as JSON values; system messages at the beginning become one, empty messages are left out."""
        written: list[dict[str, Any]] = []
        for message in messages:
            match message:
                case SystemMessage(content=text):
                    if len(written) == 1 and written[0]["role"] == "system":
                        written[0] = {"role": "system", "content": f"{written[0]['content']}\n\n{text}"}
                    elif text:
                        written.append({"role": "system", "content": text})
                case UserMessage():
                    written += self._user(message)
                case AssistantMessage():
                    written += self._assistant(message)
                case ToolMessage():
                    written += [_result(part) for part in message.content if isinstance(part, ToolResultPart)]
                case _:
                    self._warn(f"a message with the role {message.role} is not sent")
        return written

    def _user(self, message: UserMessage) -> list[dict[str, Any]]:
        texts = [part.text for part in message.content if isinstance(part, TextPart)]
        if any(isinstance(part, FilePart) for part in message.content):
            self._warn("files are not sent: this model reads text only")
        text = "\n".join(text for text in texts if text)
        return [{"role": "user", "content": text}] if text else []

    def _assistant(self, message: AssistantMessage) -> list[dict[str, Any]]:
        text = "".join(part.text for part in message.content if isinstance(part, TextPart))
        calls = [_call(part) for part in message.content if isinstance(part, ToolCallPart)]
        if not text and not calls:
            return []
        return [{"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})]

    def _warn(self, message: str) -> None:
        warning = {"type": "other", "message": message}
        if warning not in self.warnings:
            self.warnings.append(warning)


def _call(part: ToolCallPart) -> dict[str, Any]:
    arguments = "{}" if part.input is None else json_text(part.input)
    return {
        "id": part.tool_call_id,
        "type": "function",
        "function": {"name": part.tool_name, "arguments": arguments},
    }


def _result(part: ToolResultPart) -> dict[str, Any]:
    return {
        "role": "tool",
        "tool_call_id": part.tool_call_id,
        "name": part.tool_name,
        "content": _output(part.output),
    }


def _output(output: ToolOutput) -> str:
    """What a tool gave, as text; an error says that it is one."""
    value = json_value(output.value)
    if output.type in ("text", "error-text") and isinstance(value, str):
        return f"error: {value}" if output.type == "error-text" else value or _NO_OUTPUT
    if output.type == "content" and isinstance(value, list):
        return "\n".join(_text(item) for item in cast("list[dict[str, Any]]", value)) or _NO_OUTPUT
    return msgspec.json.encode({"error": value} if output.type == "error-json" else value).decode()


def _text(item: dict[str, Any]) -> str:
    return str(item["text"]) if item.get("type") == "text" else f"({item.get('type')})"
