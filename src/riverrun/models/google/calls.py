"""Function calls of one answer: whole, or with arguments that come value by value → chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from riverrun.chunks.envelope import is_list, is_object, mapping
from riverrun.models.answer import AnswerWriter, StreamedCall
from riverrun.models.google.arguments import PartialArguments


class FunctionCalls:
    """The calls of one answer. `called` once there is one; `before` is called before a call begins.

    A call without a name goes on with the one that is open. That one ends with a piece that says no more of going on,
    or when another call or other content begins: its end is not always told.
    """

    def __init__(self, writer: AnswerWriter, before: Callable[[], None]) -> None:
        self.called = False
        self._writer = writer
        self._before = before
        self._open: StreamedCall | None = None
        self._arguments = PartialArguments()

    def feed(self, call: Mapping[str, Any], beside: Mapping[str, Any]) -> None:
        """Take the `functionCall` of a part, and what stands beside it."""
        name = call.get("name")
        if isinstance(name, str) and name:
            self._begin(call, name, beside)
        if self._open is None:
            return
        self._open.metadata.update(beside)
        self._writer.call_delta(self._open, self._arguments.add(call.get("partialArgs")))
        if not _goes_on(call):
            self.end()

    def end(self) -> None:
        """The open call is whole, if there is one."""
        call, self._open = self._open, None
        if call is not None:
            self._writer.call_delta(call, self._arguments.end())
            self._writer.call_end(call, self._arguments.value)

    def cut_off(self) -> None:
        """The answer was cut off in the open call: it is given without arguments, so that half a call does not run."""
        call, self._open = self._open, None
        if call is not None:
            self._writer.call_end(call, None)

    def _begin(self, call: Mapping[str, Any], name: str, beside: Mapping[str, Any]) -> None:
        self.end()
        self._before()
        self.called = True
        given_id = call.get("id")
        metadata = {**beside, **({"id": given_id} if isinstance(given_id, str) and given_id else {})}
        begun = StreamedCall(self._writer.call_id(given_id), name, metadata=metadata)
        args: object = call.get("args")
        if not _goes_on(call) and not call.get("partialArgs"):
            give_whole(self._writer, begun, args)
            return
        self._writer.call_start(begun)
        self._open, self._arguments = begun, PartialArguments()
        for member, value in args.items() if is_object(args) else ():
            self._writer.call_delta(begun, self._arguments.set(member, value))


def give_whole(writer: AnswerWriter, call: StreamedCall, args: object) -> None:
    """All chunks of a call whose arguments come at once: as a value, or as JSON text."""
    writer.call_start(call)
    if isinstance(args, str):
        writer.call_delta(call, args)
        writer.call_end(call)
    else:
        args = {} if args is None else args
        writer.call_delta(call, msgspec.json.encode(args).decode())
        writer.call_end(call, args)


def _goes_on(call: Mapping[str, Any]) -> bool:
    """Whether more of a call is to come, after this piece of it."""
    if call.get("willContinue") is True:
        return True
    pieces = call.get("partialArgs")
    return is_list(pieces) and bool(pieces) and mapping(pieces[-1]).get("willContinue") is True
