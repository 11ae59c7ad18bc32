"""Code that the provider runs."""

from __future__ import annotations

from typing import Any

from riverrun.chunks.codec import json_text
from riverrun.models.openai_responses.items.hosted import give_result, hosted_call, picked
from riverrun.models.openai_responses.items.quoted import QuotedText
from riverrun.models.openai_responses.items.scope import Members, Scope, Whole, text


class CodeCall(Whole):
    """A call of the code interpreter. Its arguments are the container and the code, which comes in pieces."""

    def __init__(self, scope: Scope, item: Members) -> None:
        self._writer = scope.writer
        self._call = hosted_call(scope, item, "code_interpreter")
        self._args: dict[str, Any] = {}
        if container := text(item.get("container_id")):
            self._args["containerId"] = container
        before = json_text(self._args)[:-1] + ("," if self._args else "") + '"code":'
        self._code = QuotedText(scope.writer, self._call, before, "}")

    def grow(self, kind: str, index: int, piece: str) -> None:
        """A piece of the code."""
        if kind == "response.code_interpreter_call_code.delta" and not self._call.ended:
            self._code.grow(piece)

    def event(self, kind: str, event: Members) -> None:
        """The code is complete, and runs from now on."""
        if kind == "response.code_interpreter_call_code.done" and isinstance(event.get("code"), str):
            self._end(event["code"])

    def finish(self, item: Members) -> None:
        """The whole item."""
        self._end(text(item.get("code")))
        give_result(self._writer, self._call, item, picked(item, "status", "outputs"))

    def close(self) -> None:
        """The provider did not say what came of it."""
        self._end("")

    def _end(self, code: str) -> None:
        if not self._call.ended:
            self._code.complete(code)
            self._code.end(self._args | {"code": code or self._code.text})
