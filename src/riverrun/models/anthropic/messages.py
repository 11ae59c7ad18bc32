"""Messages → the `messages` and the `system` of a request. Neighbours of one role are one message there."""

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
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from riverrun.models.anthropic.calls import CallIds
from riverrun.models.anthropic.files import file_block
from riverrun.models.anthropic.names import ToolNames
from riverrun.models.anthropic.options import wire_options
from riverrun.models.anthropic.outputs import output_content
from riverrun.models.anthropic.replay import Block, Replay
from riverrun.models.anthropic.thinking import THINKING_BLOCKS
from riverrun.models.options import merged

_NOT_CACHED = (*THINKING_BLOCKS, "fallback", "mcp_tool_listing")
"""Blocks at which no cache may begin."""


def option_names(provider: str) -> tuple[str, ...]:
    """Under which names provider options are for a server of this API; the last has the last word."""
    return ("anthropic", provider)


class MessageWriter:
    """Writes the messages of one request.

    `system` are the blocks for what stands before all others; `container` is the one that waits for the results which
    the request brings; `warnings` tells what cannot be sent. `system_messages`: the model takes them between others,
    too. `fallbacks`: see Replay.
    """

    def __init__(self, provider: str, names: ToolNames, *, system_messages: bool, fallbacks: bool) -> None:
        self.system: list[Block] = []
        self._option_names = option_names(provider)
        self._calls = CallIds()
        self._replay = Replay(provider, names, self._calls, fallbacks=fallbacks)
        self._system_messages = system_messages
        self._waiting: list[Block] = []  # instructions that stand between messages, until a user's turn is over
        self._written: list[dict[str, Any]] = []

    @property
    def warnings(self) -> list[dict[str, Any]]:
        return self._replay.warnings

    @property
    def container(self) -> Any:
        return self._replay.container

    def write(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        """The messages as JSON values. Empty text, thinking that nothing follows, calls that the provider gave up, and
        messages without content are left out.
        """
        self._replay.give_up(messages)
        for message in messages:
            match message:
                case SystemMessage():
                    self._instruct(message)
                case UserMessage():
                    self._replay.container = None  # no code waits there any more
                    self._add("user", self._user(message), message.provider_options)
                case AssistantMessage():
                    self._assistant(message)
                case ToolMessage():
                    self._add_results(message.content, message.provider_options)
                case _:
                    self._warn(f"a message of the role {message.role} is not sent")
        self._end_answer()
        self._flush_instructions()
        self._trim_end()
        return self._written

    def _add(self, role: str, blocks: list[Block], options: Mapping[str, Any] | None = None) -> None:
        if not blocks:
            return
        if role != "assistant":
            self._end_answer()
        self._cache(blocks, options)
        if self._written and self._written[-1]["role"] == role:
            self._written[-1]["content"] += blocks
        else:
            self._written.append({"role": role, "content": blocks})

    def _cache(self, blocks: list[Block], options: Mapping[str, Any] | None) -> None:
        """A message's cache control is that of its last block."""
        control = wire_options(options, *self._option_names).get("cache_control")
        last = next((block for block in reversed(blocks) if block["type"] not in _NOT_CACHED), None)
        if control is not None and last is not None:
            last["cache_control"] = control

    def _end_answer(self) -> None:
        """The API refuses an answer that ends in thinking, as one does that was cut off."""
        if not self._written or self._written[-1]["role"] != "assistant":
            return
        content = self._written[-1]["content"]
        while content and content[-1]["type"] in THINKING_BLOCKS:
            content.pop()
        if not content:
            self._written.pop()

    def _trim_end(self) -> None:
        """The API refuses white space at the end of an answer that the model is to go on with."""
        if self._written and self._written[-1]["role"] == "assistant":
            last = self._written[-1]["content"][-1]
            if last["type"] == "text" and "citations" not in last:
                last["text"] = last["text"].rstrip()

    def _warn(self, message: str) -> None:
        self.warnings.append({"type": "other", "message": message})

    # -- system

    def _instruct(self, message: SystemMessage) -> None:
        if not message.content.strip():
            return
        self._end_answer()
        block: Block = {"type": "text", "text": message.content}
        self._cache([block], message.provider_options)
        if not self._written:
            self.system.append(block)
        elif self._system_messages:
            self._waiting.append(block)
        else:
            self._add("user", [_tagged(block)])

    def _flush_instructions(self) -> None:
        """Instructions may stand behind a user's turn only."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        if self._written[-1]["role"] == "user":
            self._written.append({"role": "system", "content": waiting})
        else:
            self._add("user", [_tagged(block) for block in waiting])

    # -- user

    def _user(self, message: UserMessage) -> list[Block]:
        return [block for part in message.content if (block := self._user_block(part)) is not None]

    def _user_block(self, part: MessagePart) -> Block | None:
        match part:
            case TextPart(text=text):
                block = {"type": "text", "text": text} if text.strip() else None
            case FilePart(media_type=media_type):
                block = file_block(part)
                if block is None:
                    self._warn(f"a file of type {media_type} in a user message is not sent: the API does not take it")
            case _:
                self._warn(f"a part of type {part.type} in a user message is not sent")
                return None
        return None if block is None else merged(block, wire_options(part.provider_options, *self._option_names))

    # -- assistant and tools

    def _assistant(self, message: AssistantMessage) -> None:
        """An answer. The results of its calls may be in it; the API wants them in the user's turn."""
        self._flush_instructions()
        self._add("assistant", self._replay.blocks(message), message.provider_options)
        calls = {
            part.tool_call_id
            for part in message.content
            if isinstance(part, ToolCallPart) and not part.provider_executed
        }
        self._add_results(
            [part for part in message.content if isinstance(part, ToolResultPart) and part.tool_call_id in calls]
        )

    def _add_results(self, parts: Sequence[MessagePart], options: Mapping[str, Any] | None = None) -> None:
        """Results stand first in the user's turn, right behind the calls."""
        results = [block for part in parts if (block := self._result(part)) is not None]
        turn = self._written[-1] if self._written else None
        if turn is None or turn["role"] != "user":
            self._add("user", results, options)
            return
        self._cache(results, options)
        content = turn["content"]
        first = next((i for i, block in enumerate(content) if block["type"] != "tool_result"), len(content))
        content[first:first] = results

    def _result(self, part: MessagePart) -> Block | None:
        if not isinstance(part, ToolResultPart):
            self._warn(f"a part of type {part.type} in a tool message is not sent")
            return None
        call_id = self._calls.of_result(part.tool_call_id)
        if call_id is None:
            return None
        block: Block = {"type": "tool_result", "tool_use_id": call_id}
        content = output_content(part.output, *self._option_names)
        if part.output.type.startswith("error"):
            block["is_error"] = True
            content = content or "(no output)"  # the API wants to be told of a failure
        if content:
            block["content"] = content
        if part.tool_call_id in self._replay.toolsets:
            block["toolset_name"] = self._replay.toolsets[part.tool_call_id]
        return {**block, **wire_options(part.provider_options, *self._option_names)}


def _tagged(block: Block) -> Block:
    """An instruction for a model that takes none between messages."""
    return {**block, "text": f"<system>\n{block['text']}\n</system>"}
