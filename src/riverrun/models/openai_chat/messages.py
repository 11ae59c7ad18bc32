"""Messages → the `messages` of a chat completion request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from riverrun.chunks import (
    AssistantMessage,
    FilePart,
    Message,
    MessagePart,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)
from riverrun.chunks.codec import json_text, json_value
from riverrun.models.files import exact_media_type, output_file
from riverrun.models.openai_chat.files import file_content, needs_download
from riverrun.models.openai_chat.options import wire_options
from riverrun.models.openai_format import valid_name
from riverrun.models.options import merged, options_under

_NO_OUTPUT = "(no output)"


class MessageWriter:
    """Writes the messages of one request. `warnings` tells what of them cannot be sent; `official` says that OpenAI's
    own server is asked, which fetches no documents.
    """

    def __init__(self, provider: str, *, official: bool = False) -> None:
        self.warnings: list[dict[str, Any]] = []
        self._provider = provider
        self._official = official
        self._written: list[dict[str, Any]] = []
        self._files: list[dict[str, Any]] = []  # of tool results; they follow the results in a message of their own

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """The messages as JSON values. Empty text, and messages without content, are left out."""
        for message in messages:
            if not isinstance(message, ToolMessage):
                self._flush_files()
            match message:
                case SystemMessage(content=text):
                    if text:
                        self._add({"role": "system", "content": text}, message)
                case UserMessage():
                    self._user(message)
                case AssistantMessage():
                    self._assistant(message)
                case ToolMessage():
                    self._tool(message)
                case _:
                    self._written.append({"role": message.role, **(message.extra or {})})
        self._flush_files()
        return self._written

    def _add(self, members: dict[str, Any], message: SystemMessage | UserMessage | AssistantMessage) -> None:
        self._written.append({**members, **wire_options(message.provider_options, self._provider)})

    def _warn(self, message: str) -> None:
        self.warnings.append({"type": "other", "message": message})

    # -- user

    def _user(self, message: UserMessage) -> None:
        content = [part for item in message.content if (part := self._user_part(item)) is not None]
        if len(content) == 1 and set(content[0]) == {"type", "text"}:
            self._add({"role": "user", "content": content[0]["text"]}, message)
        elif content:
            self._add({"role": "user", "content": content}, message)

    def _user_part(self, part: MessagePart) -> dict[str, Any] | None:
        match part:
            case TextPart(text=text):
                content = {"type": "text", "text": text} if text else None
            case FilePart() if self._official and needs_download(part):
                self._warn("a file is not sent: OpenAI takes only images by URL here")
                return None
            case FilePart():
                content = file_content(part)
            case _:
                self._warn(f"a part of type {part.type} in a user message is not sent")
                return None
        if content is None:
            return None
        options = wire_options(part.provider_options, self._provider)
        if "image_detail" in options:
            options = merged({"image_url": {"detail": options.pop("image_detail")}}, options)
        return merged(content, options)

    # -- assistant

    def _assistant(self, message: AssistantMessage) -> None:
        text = "".join(part.text for part in message.content if isinstance(part, TextPart))
        calls = [
            self._call(part)
            for part in message.content
            if isinstance(part, ToolCallPart) and not part.provider_executed
        ]
        if any(isinstance(part, FilePart) for part in message.content):
            self._warn("a file in an assistant message is not sent")
        if not text and not calls:
            return
        members: dict[str, Any] = {"role": "assistant", "content": text or None}
        members.update(self._reasoning(message.content))
        if calls:
            members["tool_calls"] = calls
        self._add(members, message)

    def _call(self, part: ToolCallPart) -> dict[str, Any]:
        arguments = json_text(part.input) if part.input is not None else "{}"
        function = {"name": valid_name(part.tool_name), "arguments": arguments}
        call = {"id": part.tool_call_id, "type": "function", "function": function}
        return merged(call, options_under(part.provider_options, self._provider))

    def _reasoning(self, content: Sequence[MessagePart]) -> dict[str, Any]:
        """Reasoning goes back only to a server that gave it in a form which it wants to see again."""
        texts: list[str] = []
        details: list[Any] = []
        for part in content:
            if isinstance(part, ReasoningPart):
                options = options_under(part.provider_options, self._provider)
                if options.get("field") == "reasoning_content" and part.text:
                    texts.append(part.text)
                if isinstance(options.get("reasoning_details"), list):
                    details += cast("list[Any]", options["reasoning_details"])
        members: dict[str, Any] = {}
        if texts:
            members["reasoning_content"] = "".join(texts)
        if details:
            members["reasoning_details"] = details
        return members

    # -- tools

    def _tool(self, message: ToolMessage) -> None:
        for part in message.content:
            if isinstance(part, ToolResultPart):
                result = {"role": "tool", "tool_call_id": part.tool_call_id, "content": self._output(part)}
                self._written.append({**result, **wire_options(part.provider_options, self._provider)})
            else:
                self._warn(f"a part of type {part.type} in a tool message is not sent")

    def _output(self, part: ToolResultPart) -> str:
        output = part.output
        match output.type:
            case "text" | "error-text" if isinstance(output.value, str):
                return output.value or _NO_OUTPUT
            case "content" if isinstance(output.value, list | tuple):
                return self._content_output(part, output)
            case _:
                return json_text(output.value)

    def _content_output(self, part: ToolResultPart, output: ToolOutput) -> str:
        """The texts of a content output. Its files follow as a user's, since a tool may answer with text only."""
        texts: list[str] = []
        files: list[dict[str, Any]] = []
        for item in cast("list[Any]", json_value(output.value)):
            members = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
            if members.get("type") == "text":
                texts.append(str(members.get("text", "")))
            elif (file := output_file(members)) is not None and self._may_follow(file):
                files.append(file_content(file))
            else:
                texts.append(msgspec.json.encode(item).decode())
        if files:
            kind = "Images" if all(file["type"] == "image_url" for file in files) else "Files"
            where = f"{kind} of the tool call {part.tool_call_id} ({part.tool_name}):"
            self._files += [{"type": "text", "text": where}, *files]
            texts.append(f"({kind.lower()} follow)")
        return "\n".join(text for text in texts if text) or _NO_OUTPUT

    def _may_follow(self, file: FilePart) -> bool:
        """Whether a file of a tool's output can be sent as a user's; else it is told as it is."""
        if not file.media_type:  # an object of the tool's own
            return False
        return not needs_download(file) or not (self._official or exact_media_type(file).startswith("audio/"))

    def _flush_files(self) -> None:
        if self._files:
            self._written.append({"role": "user", "content": self._files})
            self._files = []
