"""Tool calls of one streamed answer: their fragments, put together → chunks.

A fragment belongs to a call by its index, by its id, or else by coming after it. Servers differ: ids only at first, or
never, or on each fragment; names whole, repeated or in pieces; one index for all calls, or none. Fragments of several
calls may alternate, so all calls end when the answer ends, in the order of their indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from riverrun.models.answer import AnswerWriter, StreamedCall


@dataclass(slots=True)
class _Call(StreamedCall):
    """`given_id` is the server's, "" until it gives one."""

    index: int = 0
    given_id: str = ""


class ToolCalls:
    """The calls of one answer. `names` are the tools that the model was offered; empty when that is not known.

    `before` is called before a call begins, when other content may still be open.
    """

    def __init__(self, writer: AnswerWriter, names: Collection[str], before: Callable[[], None]) -> None:
        self._writer = writer
        self._before = before
        self._names = frozenset(names)
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __bool__(self) -> bool:
        return any(call.name or call.pieces for call in self._calls)

    def feed(self, fragments: Sequence[object]) -> None:
        """Take the `tool_calls` of one delta; what is no object is passed over."""
        for fragment in fragments:
            if isinstance(fragment, dict):
                self._fragment(cast("dict[str, Any]", fragment))

    def grow(self, index: int, args: str) -> bool:
        """Take a fragment that only goes on with the arguments of a call that has begun; False if there is none."""
        call = self._by_index.get(index)
        if call is None or not call.begun:
            return False
        self._writer.call_delta(call, args)
        return True

    def end(self) -> None:
        """The answer is complete: end the calls and give them whole."""
        for call in sorted(self._calls, key=lambda call: call.index):
            if call.name or call.pieces:
                self._writer.call_end(call)

    # -- fragments

    def _fragment(self, fragment: dict[str, Any]) -> None:
        function: object = fragment.get("function")
        members = cast("dict[str, Any]", function) if isinstance(function, dict) else fragment
        name, args = _text(members.get("name")), _arguments(members.get("arguments"))
        call = self._call_of(_index(fragment.get("index")), _text(fragment.get("id")), name, args)
        if name and not call.begun:
            call.name = self._joined(call.name, name)
        _keep_extra(call, fragment, members)
        self._writer.call_delta(call, args)
        if not call.begun and call.name and (call.pieces or self._is_whole(call.name)):
            self._before()
            self._writer.call_start(call)

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
            if not call.begun:
                call.id = self._writer.call_id(given_id)
        return call

    def _new(self, index: int | None, given_id: str) -> _Call:
        label = index if index is not None else max((call.index + 1 for call in self._calls), default=0)
        call = _Call(self._writer.call_id(given_id), "", index=label, given_id=given_id)
        self._calls.append(call)
        self._by_index[label] = call
        return call

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


def _keep_extra(call: _Call, fragment: dict[str, Any], function: dict[str, Any]) -> None:
    """Thought signatures and the like, which have to be sent back on the same call."""
    for name, value in fragment.items():
        if name not in ("index", "id", "type", "function", "name", "arguments") and value is not None:
            call.metadata[name] = value
    if function is not fragment:
        rest = {name: value for name, value in function.items() if name not in ("name", "arguments")}
        if rest:
            call.metadata["function"] = {**call.metadata.get("function", {}), **rest}


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
