"""Tool calls of one streamed answer: their fragments, put together → chunks.

A fragment belongs to a call by its index, by its id, or else by coming after it. Servers differ: ids only at first, or
never, or on each fragment; names whole, repeated or in pieces; one index for all calls, or none. Fragments of several
calls may alternate, so all calls end when the answer ends, in the order of their indexes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

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


@dataclass(slots=True)
class _Call:
    """A call while it grows. `given_id` is the server's, "" until it gives one; `extra` what the API does not name."""

    index: int
    id: str
    given_id: str
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    started: bool = False


class ToolCalls:
    """The calls of one answer. `names` are the tools that the model was offered; empty when that is not known."""

    def __init__(self, *, run_id: str, provider: str, prefix: str, names: Collection[str]) -> None:
        self._run_id = run_id
        self._provider = provider
        self._prefix = prefix
        self._names = frozenset(names)
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __bool__(self) -> bool:
        return any(call.name or call.pieces for call in self._calls)

    def feed(self, fragments: Sequence[object]) -> list[ChunkType]:
        """Take the `tool_calls` of one delta; what is no object is passed over."""
        chunks: list[ChunkType] = []
        for fragment in fragments:
            if isinstance(fragment, dict):
                self._fragment(cast("dict[str, Any]", fragment), chunks)
        return chunks

    def grow(self, index: int, args: str) -> list[ChunkType] | None:
        """A fragment that only continues the arguments of a call that was begun; None if there is no such call."""
        call = self._by_index.get(index)
        if call is None or not call.started:
            return None
        if not args:
            return []
        call.pieces.append(args)
        return [self._delta_chunk(call, args)]

    def end(self) -> list[ChunkType]:
        """The answer is complete: end the calls and give them whole."""
        chunks: list[ChunkType] = []
        for call in sorted(self._calls, key=lambda call: call.index):
            if call.name or call.pieces:
                self._start(call, chunks)
                chunks.append(self._end_chunk(call))
                chunks.append(self._call_chunk(call))
        return chunks

    def abort(self) -> list[ChunkType]:
        """The answer broke off: end what was begun. Half a call is never given."""
        started = sorted((call for call in self._calls if call.started), key=lambda call: call.index)
        self._calls.clear()
        return [self._end_chunk(call) for call in started]

    # -- fragments

    def _fragment(self, fragment: dict[str, Any], chunks: list[ChunkType]) -> None:
        function: object = fragment.get("function")
        members = cast("dict[str, Any]", function) if isinstance(function, dict) else fragment
        name, args = _text(members.get("name")), _arguments(members.get("arguments"))
        call = self._call_of(_index(fragment.get("index")), _text(fragment.get("id")), name, args)
        if name and not call.started:
            call.name = self._joined(call.name, name)
        _keep_extra(call, fragment, members)
        if args:
            call.pieces.append(args)
        if call.started:
            if args:
                chunks.append(self._delta_chunk(call, args))
        elif call.name and (call.pieces or self._is_whole(call.name)):
            self._start(call, chunks)

    def _call_of(self, index: int | None, given_id: str, name: str, args: str) -> _Call:
        """The call that a fragment belongs to; a new one when it belongs to none."""
        if given_id:
            known = next((call for call in self._calls if call.given_id == given_id), None)
            if known is not None and (index is None or index == known.index):
                if index is not None:
                    self._by_index[index] = known
                return known
        if index is not None:
            call = self._by_index.get(index)
        else:
            call = self._calls[-1] if self._calls and not given_id else None
        if call is None or (given_id and call.given_id) or self._is_next(call, name, args):
            return self._new(index, given_id)
        if given_id:
            call.given_id = given_id
            if not call.started:
                call.id = self._free_id(given_id) or call.id
        return call

    def _new(self, index: int | None, given_id: str) -> _Call:
        call_id = self._free_id(given_id) or f"call_{self._prefix}_{len(self._calls)}"
        label = index if index is not None else max((call.index + 1 for call in self._calls), default=0)
        call = _Call(label, call_id, given_id)
        self._calls.append(call)
        self._by_index[label] = call
        return call

    def _free_id(self, given_id: str) -> str | None:
        """A server's id, unless it gave the same to another call: results are told apart by it."""
        return None if any(call.id == given_id for call in self._calls) else given_id or None

    def _is_next(self, call: _Call, name: str, args: str) -> bool:
        """Whether a fragment that names a function begins another call, though index and id do not say so."""
        if not name or not call.name:
            return False
        if not call.pieces:  # two calls without arguments
            return not name.startswith(call.name) and {name, call.name} <= self._names
        begins = args.lstrip().startswith("{") or (not args and name != call.name)
        return begins and _is_object(call.pieces)

    # -- names

    def _joined(self, held: str, piece: str) -> str:
        """A name that comes whole, again and again, or in pieces."""
        if piece == held:
            return held
        if held + piece in self._names:
            return held + piece
        if piece.startswith(held) or (held in piece and piece in self._names):
            return piece
        return held + piece

    def _is_whole(self, name: str) -> bool:
        """Whether nothing can follow in this name."""
        return name in self._names and not any(other != name and other.startswith(name) for other in self._names)

    # -- chunks

    def _metadata(self, call: _Call) -> dict[str, Any] | None:
        return {self._provider: dict(call.extra)} if call.extra else None

    def _start(self, call: _Call, chunks: list[ChunkType]) -> None:
        if call.started:
            return
        call.started = True
        payload = ToolCallInputStreamingStartPayload(
            tool_call_id=call.id, tool_name=call.name, provider_metadata=self._metadata(call)
        )
        chunks.append(ToolCallInputStreamingStartChunk(payload, run_id=self._run_id, from_="AGENT"))
        if call.pieces:
            chunks.append(self._delta_chunk(call, "".join(call.pieces)))

    def _delta_chunk(self, call: _Call, args: str) -> ChunkType:
        payload = ToolCallDeltaPayload(args_text_delta=args, tool_call_id=call.id, tool_name=call.name)
        return ToolCallDeltaChunk(payload, run_id=self._run_id, from_="AGENT")

    def _end_chunk(self, call: _Call) -> ChunkType:
        payload = ToolCallInputStreamingEndPayload(tool_call_id=call.id)
        return ToolCallInputStreamingEndChunk(payload, run_id=self._run_id, from_="AGENT")

    def _call_chunk(self, call: _Call) -> ChunkType:
        payload = ToolCallPayload(
            tool_call_id=call.id,
            tool_name=call.name,
            args=parse_arguments("".join(call.pieces)),
            provider_metadata=self._metadata(call),
        )
        return ToolCallChunk(payload, run_id=self._run_id, from_="AGENT")


def _keep_extra(call: _Call, fragment: dict[str, Any], function: dict[str, Any]) -> None:
    """Thought signatures and the like, which have to be sent back on the same call."""
    for name, value in fragment.items():
        if name not in ("index", "id", "type", "function", "name", "arguments") and value is not None:
            call.extra[name] = value
    if function is not fragment:
        rest = {name: value for name, value in function.items() if name not in ("name", "arguments")}
        if rest:
            call.extra["function"] = {**call.extra.get("function", {}), **rest}


def _text(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def _index(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _arguments(value: object) -> str:
    """Arguments are JSON text; some servers give the object itself."""
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return value if isinstance(value, str) else ""


def _is_object(pieces: list[str]) -> bool:
    if not pieces[-1].rstrip().endswith("}"):
        return False
    try:
        return isinstance(msgspec.json.decode("".join(pieces)), dict)
    except (msgspec.DecodeError, UnicodeError):
        return False
