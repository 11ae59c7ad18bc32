"""The parts of one answer → its chunks. What a part has beside its text or value is kept, to be sent back with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from riverrun.chunks.envelope import is_object
from riverrun.models.answer import AnswerWriter
from riverrun.models.google.blocks import Blocks, Kind
from riverrun.models.google.calls import FunctionCalls
from riverrun.models.google.server_tools import ServerTools
from riverrun.types import ToolSpec

_Take: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], bool | None]
"""Takes what a part holds and what stands beside it; False when it is not of the form that is known."""


class Content:
    """Takes part after part. `blocks` has the text that is open."""

    def __init__(self, writer: AnswerWriter, tools: Sequence[ToolSpec]) -> None:
        self.blocks = Blocks(writer)
        self._writer = writer
        self._calls = FunctionCalls(writer, self.blocks.close)
        server = ServerTools(writer, tools)
        self._takes: dict[str, _Take] = {
            "executableCode": server.code,
            "codeExecutionResult": server.code_result,
            "toolCall": server.call,
            "toolResponse": server.response,
            "inlineData": self._inline_file,
            "fileData": self._linked_file,
        }

    @property
    def called(self) -> bool:
        """Whether functions were called."""
        return self._calls.called

    def part(self, part: dict[str, Any]) -> None:
        """Take a part; one of a kind that is not known becomes a custom chunk."""
        call = part.get("functionCall")
        if is_object(call):
            self._calls.feed(call, _beside(part, "functionCall"))
            return
        text = part.get("text")
        if isinstance(text, str):
            self._text(text, part)
            return
        self._close()
        for kind, take in self._takes.items():
            value = part.get(kind)
            if is_object(value) and take(value, _beside(part, kind)) is not False:
                return
        self._custom(part)

    def end(self, *, cut_off: bool) -> None:
        """No more parts come. `cut_off`: before the answer was whole."""
        if cut_off:
            self._calls.cut_off()
        self._close()

    def _close(self) -> None:
        self._calls.end()
        self.blocks.close()

    def _text(self, text: str, part: Mapping[str, Any]) -> None:
        beside = _beside(part, "text")
        kind: Kind = "reasoning" if beside.get("thought") else "text"
        if beside.keys() - {"thought"}:
            self._calls.end()
            self.blocks.whole(kind, text, beside)
        elif text:
            self._calls.end()
            self.blocks.grow(kind, text)

    def _inline_file(self, data: Mapping[str, Any], beside: Mapping[str, Any]) -> bool:
        content = data.get("data")
        if isinstance(content, str):
            self._file(content, data, beside, kind="inlineData", base64=True)
        return isinstance(content, str)

    def _linked_file(self, data: Mapping[str, Any], beside: Mapping[str, Any]) -> bool:
        uri = data.get("fileUri")
        if isinstance(uri, str):
            self._file(uri, data, beside, kind="fileData", base64=False)
        return isinstance(uri, str)

    def _file(
        self, content: str, data: Mapping[str, Any], beside: Mapping[str, Any], *, kind: str, base64: bool
    ) -> None:
        rest = {name: value for name, value in data.items() if name not in ("data", "fileUri", "mimeType")}
        mime_type, filename = data.get("mimeType"), data.get("displayName")
        self._writer.file(
            content,
            mime_type if isinstance(mime_type, str) else "application/octet-stream",
            base64=base64,
            filename=filename if isinstance(filename, str) else None,
            metadata={**beside, kind: rest} if rest else beside,
        )

    def _custom(self, part: Mapping[str, Any]) -> None:
        told = {name: value for name, value in part.items() if value is not None and name != "thought"}
        if told:
            kind = next((name for name in told if name != "thoughtSignature"), "part")
            self._writer.custom(kind, {"part": dict(part)})


def _beside(part: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The other members of a part, such as its `thoughtSignature`. `thought` counts when it is true."""
    beside = {name: value for name, value in part.items() if name != kind and value is not None}
    if beside.get("thought") is not True:
        beside.pop("thought", None)
    return beside
