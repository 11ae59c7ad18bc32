"""The tool calls of one answer: fragments of their arguments → chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks import (
    ChunkType,
    ToolCallChunk,
    ToolCallDeltaChunk,
    ToolCallDeltaPayload,
    ToolCallInputStreamingEndChunk,
    ToolCallInputStreamingEndPayload,
    ToolCallInputStreamingStartChunk,
    ToolCallInputStreamingStartPayload,
    ToolCallPayload,
)
from riverrun.chunks.arguments import parse_arguments


class _Call:
    def __init__(self, tool_call_id: str, name: str) -> None:
        self.tool_call_id = tool_call_id
        self.name = name
        self.text = ""
        self.begun = False


class Calls:
    """Feed it the fragments, then `finish`. `given` tells whether it gave any chunk.

    llama.cpp announces a call with a first "{" as soon as text looks like one, and may find out that it is none. So a
    call begins for the reader with the second piece of its arguments.
    """

    def __init__(self, run_id: str, prefix: str) -> None:
        self.given = False
        self._run_id = run_id
        self._prefix = prefix
        self._calls: dict[int, _Call] = {}

    def feed(self, fragment: Mapping[str, Any]) -> list[ChunkType]:
        """The chunks of one fragment."""
        function: Mapping[str, Any] = fragment.get("function") or {}
        index: int = fragment.get("index", 0)
        call = self._calls.get(index)
        if call is None:
            identity = fragment.get("id") or f"call-{self._prefix}-{index}"
            call = self._calls[index] = _Call(identity, function.get("name") or "")
        piece: str = function.get("arguments") or ""
        call.text += piece
        if not call.begun:
            return [] if call.text.strip() in ("", "{") else self._begin(call)
        return [self._delta(call, piece)] if piece else []

    def finish(self) -> list[ChunkType]:
        """The answer is over: each call is given whole."""
        out: list[ChunkType] = []
        for call in self._calls.values():
            if not call.begun:
                out += self._begin(call)
            end = ToolCallInputStreamingEndPayload(tool_call_id=call.tool_call_id)
            out.append(ToolCallInputStreamingEndChunk(end, run_id=self._run_id, from_="AGENT"))
            whole = ToolCallPayload(
                tool_call_id=call.tool_call_id, tool_name=call.name, args=parse_arguments(call.text)
            )
            out.append(ToolCallChunk(whole, run_id=self._run_id, from_="AGENT"))
        self._calls.clear()
        return out

    def _begin(self, call: _Call) -> list[ChunkType]:
        self.given = call.begun = True
        start = ToolCallInputStreamingStartPayload(tool_call_id=call.tool_call_id, tool_name=call.name)
        out: list[ChunkType] = [ToolCallInputStreamingStartChunk(start, run_id=self._run_id, from_="AGENT")]
        if call.text:
            out.append(self._delta(call, call.text))
        return out

    def _delta(self, call: _Call, piece: str) -> ToolCallDeltaChunk:
        payload = ToolCallDeltaPayload(args_text_delta=piece, tool_call_id=call.tool_call_id, tool_name=call.name)
        return ToolCallDeltaChunk(payload, run_id=self._run_id, from_="AGENT")
