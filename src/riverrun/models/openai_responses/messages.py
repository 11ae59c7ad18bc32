"""Messages → the `input` items of a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riverrun.chunks import (
    AssistantMessage,
    FilePart,
    Message,
    MessagePart,
    SystemMessage,
    TextPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from riverrun.models.openai_responses.files import file_content
from riverrun.models.openai_responses.options import wire_options
from riverrun.models.openai_responses.replay import Replay
from riverrun.models.options import merged


class InputWriter:
    """Writes the messages of one request. `warnings` tells what of them cannot be sent.

    `provider` is the key of the metadata that goes back; `system_role` is what instructions are sent as; `is_stored`
    says that the server keeps its answers; `remembers` that it has all messages up to its last answer.
    """

    def __init__(
        self, provider: str, *, system_role: str = "system", is_stored: bool = True, remembers: bool = False
    ) -> None:
        self.warnings: list[dict[str, Any]] = []
        self._provider = provider
        self._system_role = system_role
        self._remembers = remembers
        self._written: list[dict[str, Any]] = []
        self._answers = Replay(self._written, self.warn, provider, is_stored=is_stored)

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """The messages as JSON values. Empty text, and messages without content, are left out."""
        self._answers.look_at(messages)
        known = 0
        for message in messages:
            match message:
                case SystemMessage(content=text):
                    if text:
                        self._add({"role": self._system_role, "content": text}, message)
                case UserMessage():
                    self._user(message)
                case AssistantMessage():
                    self._answers.write(message)
                    known = len(self._written) if self._answers.is_own(message) else known
                case ToolMessage():
                    self._tool(message)
                case _:
                    self._written.append({"role": message.role, **(message.extra or {})})
        return self._written[known:] if self._remembers else self._written

    def warn(self, message: str) -> None:
        """Tell of something that is not sent, once."""
        warning = {"type": "other", "message": message}
        if warning not in self.warnings:
            self.warnings.append(warning)

    def _add(self, members: dict[str, Any], message: SystemMessage | UserMessage) -> None:
        self._written.append(members | wire_options(message.provider_options, self._provider))

    def _user(self, message: UserMessage) -> None:
        content = [part for item in message.content if (part := self._user_part(item)) is not None]
        if len(content) == 1 and set(content[0]) == {"type", "text"}:
            self._add({"role": "user", "content": content[0]["text"]}, message)
        elif content:
            self._add({"role": "user", "content": content}, message)

    def _user_part(self, part: MessagePart) -> dict[str, Any] | None:
        match part:
            case TextPart(text=text):
                content = {"type": "input_text", "text": text} if text else None
            case FilePart():
                content = file_content(part)
            case _:
                self.warn(f"a part of type {part.type} in a user message is not sent")
                return None
        if content is None:
            return None
        options = wire_options(part.provider_options, self._provider)
        if "image_detail" in options:
            options["detail"] = options.pop("image_detail")
        return merged(content, options)

    def _tool(self, message: ToolMessage) -> None:
        for part in message.content:
            if isinstance(part, ToolResultPart):
                self._answers.result(part)
            else:
                self.warn(f"a part of type {part.type} in a tool message is not sent")
