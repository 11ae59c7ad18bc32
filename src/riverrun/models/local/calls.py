"""The tool calls of one answer: fragments of their arguments → chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from riverrun.models.answer import AnswerWriter, StreamedCall


class Calls:
    """Feed it the fragments, then `finish`. `given` tells whether it told of any call; `before` is called before it
    tells of one.

    llama.cpp announces a call with a first "{" as soon as text looks like one, and may find out that it is none. So a
    call begins for the reader with the second piece of its arguments.
    """

    def __init__(self, writer: AnswerWriter, before: Callable[[], None]) -> None:
        self.given = False
        self._writer = writer
        self._before = before
        self._calls: dict[int, StreamedCall] = {}

    def feed(self, fragment: Mapping[str, Any]) -> None:
        """Take one fragment."""
        function: Mapping[str, Any] = fragment.get("function") or {}
        index: int = fragment.get("index", 0)
        call = self._calls.get(index)
        if call is None:
            call = StreamedCall(self._writer.call_id(fragment.get("id")), function.get("name") or "")
            self._calls[index] = call
        self._writer.call_delta(call, function.get("arguments") or "")
        if not call.begun and call.text.strip() not in ("", "{"):
            self._begin(call)

    def finish(self) -> None:
        """The answer is over: each call is given whole."""
        for call in self._calls.values():
            self._begin(call)
            self._writer.call_end(call)
        self._calls.clear()

    def _begin(self, call: StreamedCall) -> None:
        self.given = True
        self._before()
        self._writer.call_start(call)
