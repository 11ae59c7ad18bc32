"""Calls of functions, which the program runs."""

from __future__ import annotations

from typing import Any

from riverrun.chunks.arguments import parse_arguments
from riverrun.chunks.codec import json_text
from riverrun.models.answer import StreamedCall
from riverrun.models.openai_responses.items.scope import (
    Members,
    Scope,
    arguments_text,
    identity,
    rest_of,
    text,
)

_KEPT = ("namespace", "caller", "async")
"""Members of a call that the API wants to see again."""


class FunctionCall:
    """A call of a function. It begins as soon as its name is known, and is given once its arguments are complete."""

    def __init__(self, scope: Scope, item: Members) -> None:
        self._scope = scope
        self._call = StreamedCall("", "")
        self._note(item)

    def grow(self, kind: str, index: int, piece: str) -> None:
        """A piece of the arguments."""
        if kind == "response.function_call_arguments.delta" and not self._call.ended:
            self._scope.writer.call_delta(self._call, piece)

    def event(self, kind: str, event: Members) -> None:
        """The arguments are complete."""
        if kind == "response.function_call_arguments.done":
            self._end(arguments_text(event.get("arguments")))

    def finish(self, item: Members) -> None:
        """The whole call. One that the model broke off has no arguments."""
        self._note(item)
        self._begin(item)
        given = arguments_text(item.get("arguments"))
        self._end(given, broken_off=item.get("status") == "incomplete")

    def close(self) -> None:
        """The whole call never came."""
        self._end(None, broken_off=not self._call.text.strip())

    def _note(self, item: Members) -> None:
        kept = {name: item[name] for name in _KEPT if item.get(name)}
        for name, value in (identity(item) | kept).items():
            self._call.metadata.setdefault(name, value)
        if text(item.get("name")):
            self._begin(item)

    def _begin(self, item: Members) -> None:
        if not self._call.begun:
            self._call.name = text(item.get("name"))
            self._call.id = self._scope.writer.call_id(item.get("call_id"))
            self._scope.writer.call_start(self._call)

    def _end(self, given: str | None, *, broken_off: bool = False) -> None:
        call = self._call
        if call.ended:
            return
        self._scope.writer.call_delta(call, rest_of(given or "", call.pieces))
        if not call.begun:  # its name is still to come
            return
        written = given or call.text
        args: Any = None if broken_off else parse_arguments(written)
        if args is not None and written.strip() and json_text(args) != written:
            call.metadata["arguments"] = written  # prompt caches know the answer only by its very text
        self._scope.writer.call_end(call, args)
        self._scope.facts.called = True
