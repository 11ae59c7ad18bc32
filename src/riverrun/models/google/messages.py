"""Messages → the `contents` of a generateContent request, and its system instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from riverrun.models.google.files import file_part
from riverrun.models.google.names import option_names
from riverrun.models.google.replay import AnswerParts
from riverrun.models.google.results import function_response
from riverrun.models.options import merged, options_under


class ContentWriter:
    """Writes the contents of one request. `system` has the texts of the system messages at the beginning, `warnings`
    tells what cannot be sent.

    `version` is the model's generation: later ones take files inside the results of tools, and miss a signature on
    calls that came from another provider.
    """

    def __init__(self, provider: str, version: float) -> None:
        self.system: list[str] = []
        self.contents: list[dict[str, Any]] = []
        self.warnings: list[dict[str, Any]] = []
        self._version = version
        self._names = option_names(provider)
        self._answers = AnswerParts(provider, version)

    def write(self, messages: Sequence[Message]) -> None:
        """Write the messages. Empty text, and messages without content, are left out; a content of one role takes in
        the messages of that role that follow.
        """
        for message in messages:
            match message:
                case SystemMessage(content=text):
                    self._system(text)
                case UserMessage():
                    parts = [part for item in message.content if (part := self._user_part(item)) is not None]
                    self._add("user", parts, message.provider_options)
                case AssistantMessage():
                    self._add("model", self._answers.write(message.content), message.provider_options)
                case ToolMessage():
                    self._tool(message)
                case _:
                    self._warn(f"a message with the role {message.role} is not sent")
        if not self.contents or self.contents[0]["role"] == "model":  # the API wants a user to begin
            self.contents.insert(0, {"role": "user", "parts": [{"text": ""}]})
        self.warnings += self._answers.warnings

    def _system(self, text: str) -> None:
        if not self.contents:
            self.system += [text] if text else []
        elif text:
            self._warn("a system message behind others is sent as a user's")
            self._add("user", [{"text": text}])

    def _user_part(self, part: MessagePart) -> dict[str, Any] | None:
        match part:
            case TextPart(text=text):
                content = {"text": text} if text else None
            case FilePart():
                content = file_part(part)
            case _:
                self._warn(f"a part of type {part.type} in a user message is not sent")
                return None
        return None if content is None else merged(content, options_under(part.provider_options, *self._names))

    def _tool(self, message: ToolMessage) -> None:
        """The results, and behind them the files that cannot be inside."""
        responses: list[dict[str, Any]] = []
        files: list[dict[str, Any]] = []
        for part in message.content:
            if not isinstance(part, ToolResultPart):
                self._warn(f"a part of type {part.type} in a tool message is not sent")
                continue
            call = self._answers.called.get(part.tool_call_id)
            response, outside = function_response(part, call, files_inside=self._version >= 3)
            responses.append(merged(response, options_under(part.provider_options, *self._names)))
            files += outside
        self._add("user", responses, message.provider_options)
        self._add("user", files)

    def _add(self, role: str, parts: list[dict[str, Any]], options: Mapping[str, Any] | None = None) -> None:
        """Some models take results of functions for a model's words when other parts stand beside them."""
        if not parts:
            return
        content = {"role": role, "parts": parts, **options_under(options, *self._names)}
        last = self.contents[-1] if self.contents else None
        if last is not None and _form(last) == _form(content):
            last["parts"] += parts
        else:
            self.contents.append(content)

    def _warn(self, message: str) -> None:
        self.warnings.append({"type": "other", "message": message})


def _form(content: Mapping[str, Any]) -> object:
    """What two contents have in common that can be one: all but the parts, and whether these are function responses."""
    others = {name: value for name, value in content.items() if name != "parts"}
    return others, "functionResponse" in content["parts"][0]
