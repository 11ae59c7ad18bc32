"""The content of one message: its blocks by index, several of which may be open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import mapping
from riverrun.models.answer import AnswerWriter, StreamedCall
from riverrun.models.anthropic.blocks import (
    Block,
    CallBlock,
    CustomBlock,
    TextBlock,
    ThinkingBlock,
    WholeBlock,
    kind_of_delta,
)
from riverrun.models.anthropic.names import ToolNames
from riverrun.models.anthropic.sources import note_found

_RESULT = "_tool_result"


class Content:
    """Opens, grows and closes blocks. `open` are those that are open.

    `called`: tools of the program were called; `waits`: one of them by code of the model's, which the provider runs
    and which goes on when it has the result.
    """

    def __init__(self, writer: AnswerWriter, names: ToolNames) -> None:
        self.open: dict[int | None, Block] = {}
        self.called = False
        self.waits = False
        self._writer = writer
        self._names = names
        self._remote: dict[str, CallBlock] = {}  # calls that the provider runs, by the id that it gave them
        self._answered: set[str] = set()

    def start(self, index: int | None, block: Mapping[str, Any]) -> None:
        """A block begins. One that is open at this index is over; one without a type is told by its first delta."""
        self.stop(index)
        kind = block.get("type")
        if isinstance(kind, str) and kind:
            self.open[index] = self._opened(kind, block)

    def grow(self, index: int | None, delta: Mapping[str, Any]) -> None:
        """A block goes on; it begins when its start did not come. What belongs to none is passed over."""
        block = self.open.get(index)
        if block is None:
            kind = kind_of_delta(delta)
            if kind is None:
                return
            block = self.open[index] = self._opened(kind, {"type": kind})
        block.grow(delta)

    def stop(self, index: int | None) -> None:
        """A block is whole."""
        block = self.open.pop(index, None)
        if block is not None:
            block.end()

    def end(self, *, cut: bool = False) -> None:
        """The message is over. `cut`: another one began in its place."""
        blocks, self.open = list(self.open.values()), {}
        for block in blocks:
            block.end(cut=cut)

    # -- opening

    def _opened(self, kind: str, block: Mapping[str, Any]) -> Block:
        match kind:
            case "text":
                return TextBlock(self._writer, block)
            case "thinking":
                return ThinkingBlock(self._writer, block)
            case "redacted_thinking":
                data = block.get("data")
                self._writer.redacted_reasoning(data, {"redactedData": data})
                return WholeBlock()
            case "tool_use":
                return self._call(block)
            case _ if kind.endswith("_tool_use"):
                return self._remote_call(kind, block)
            case _ if kind.endswith(_RESULT):
                self._result(kind, block)
                return WholeBlock()
            case _:
                return CustomBlock(self._writer, kind, block)

    def _call(self, block: Mapping[str, Any]) -> Block:
        self.called = True
        caller = mapping(block.get("caller")).get("type", "direct")
        self.waits = self.waits or caller != "direct"
        name = _text(block.get("name"))
        call = StreamedCall(self._writer.call_id(block.get("id")), self._names.ours(name))
        call.metadata.update(_rest(block, "type", "id", "name", "input"))
        return CallBlock(self._writer, call, block)

    def _remote_call(self, kind: str, block: Mapping[str, Any]) -> Block:
        """A call that the provider runs. The names of tools on MCP servers are those servers'."""
        name = _text(block.get("name"))
        is_foreign = kind == "mcp_tool_use"
        ours = name if is_foreign else self._names.ours(name)
        call = StreamedCall(
            self._writer.call_id(block.get("id")), ours, provider_executed=True, dynamic=is_foreign or None
        )
        call.metadata.update({"type": kind, **_rest(block, "type", "id", "name", "input")})
        if ours != name:
            call.metadata["name"] = name
        opened = CallBlock(self._writer, call, block)
        self._remote[_text(block.get("id"))] = opened
        return opened

    def _result(self, kind: str, block: Mapping[str, Any]) -> None:
        """What such a call came to, once. It may have been made in an earlier message."""
        call_id = _text(block.get("tool_use_id"))
        if call_id in self._answered:
            return
        self._answered.add(call_id)
        called = self._remote.get(call_id)
        if called is not None:
            called.end()
            call = called.call
        else:
            name = self._names.ours(kind.removesuffix(_RESULT))
            call = StreamedCall(call_id or self._writer.call_id(), name, provider_executed=True)
        content: object = block.get("content")
        failed = block.get("is_error") is True or _text(mapping(content).get("type")).endswith("_error")
        metadata = {"type": kind, **_rest(block, "type", "tool_use_id", "content")}
        self._writer.call_result(call, content, is_error=failed, metadata=metadata)
        note_found(content, self._writer)


def _rest(block: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """What else a block has; it has to come back with it."""
    return {
        "serverName" if name == "server_name" else name: value
        for name, value in block.items()
        if name not in without and value is not None
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
