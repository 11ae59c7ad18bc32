"""Reasoning: summaries of it, its own text, or only its encrypted form."""

from __future__ import annotations

from typing import Any

from riverrun.chunks.envelope import mapping
from riverrun.models.openai_responses.items.blocks import Blocks, Part
from riverrun.models.openai_responses.items.scope import Members, Scope, cut_off, identity, number, text, with_status
from riverrun.models.openai_responses.sources import objects

_KINDS = {"response.reasoning_summary_text.delta": "summary_text", "response.reasoning_text.delta": "reasoning_text"}


class Reasoning:
    """A reasoning item. Each of its parts is a reasoning block, and it has one even without any part.

    Every block says in the provider metadata of its end which item it is of, and the last one has the encrypted form,
    so that the item can be put together again. A block begins with a `status` in it, and the last one ends with one
    only where the item was cut off.
    """

    def __init__(self, scope: Scope, item: Members) -> None:
        self._writer = scope.writer
        self._about = identity(item)
        self._status = ""  # what the end of the last block says
        self._blocks = Blocks(self._begin, scope.writer.reasoning_delta, self._end)
        self._blocks.wait()

    def grow(self, kind: str, index: int, piece: str) -> None:
        """A piece of a summary or of the text."""
        part_kind = _KINDS.get(kind)
        if part_kind is not None:
            self._blocks.grow(part_kind, index, piece)

    def event(self, kind: str, event: Members) -> None:
        """A part begins or is whole."""
        part = mapping(event.get("part"))
        match kind:
            case "response.reasoning_summary_part.added" | "response.reasoning_summary_part.done":
                self._complete("summary_text", event.get("summary_index"), part)
            case "response.reasoning_summary_text.done":
                self._complete("summary_text", event.get("summary_index"), event)
            case "response.content_part.added" | "response.content_part.done":
                self._complete("reasoning_text", event.get("content_index"), part)
            case "response.reasoning_text.done":
                self._complete("reasoning_text", event.get("content_index"), event)
            case _:
                pass

    def finish(self, item: Members) -> None:
        """The whole item."""
        self._about = identity(item) | self._about
        for kind, parts in (("summary_text", item.get("summary")), ("reasoning_text", item.get("content"))):
            for index, part in enumerate(objects(parts)):
                self._complete(kind, index, part)
        if encrypted := text(item.get("encrypted_content")):
            self._about["reasoningEncryptedContent"] = encrypted
        self._close(cut_off(item))

    def close(self) -> None:
        """Nothing follows."""
        self._close("incomplete")

    def _close(self, status: str) -> None:
        self._status = status
        self._blocks.close()

    def _complete(self, kind: str, index: object, part: Members) -> None:
        self._blocks.complete(kind, number(index), text(part.get("text")))

    def _begin(self, _: str) -> str:
        return self._writer.reasoning_start(with_status(self._about, "in_progress"))

    def _end(self, part: Part) -> None:
        kind: dict[str, Any] = {"partType": part.kind} if part.kind == "reasoning_text" else {}
        self._writer.reasoning_end(part.block, metadata=with_status(self._about, self._status) | kind)
