"""Messages of the model: text and refusals, with their sources."""

from __future__ import annotations

from typing import Any

from riverrun.chunks.envelope import is_list, mapping
from riverrun.models.openai_responses.items.blocks import Blocks, Part
from riverrun.models.openai_responses.items.scope import Members, Scope, cut_off, number, text, with_status
from riverrun.models.openai_responses.sources import cite, objects

_KINDS = {"response.output_text.delta": "output_text", "response.refusal.delta": "refusal"}


class Message:
    """A message. Each of its parts is a text block; a refusal is one that is marked in the provider metadata.

    A block begins with a `status` in it, and its end has one only where the message was cut off.
    """

    def __init__(self, scope: Scope, item: Members) -> None:
        self._scope = scope
        self._about: dict[str, Any] = {}
        self._status = ""  # what the end of the last block says
        self._logprobs: dict[int, list[object]] = {}
        self._blocks = Blocks(self._begin, scope.writer.text_delta, self._end)
        self._note(item)

    def grow(self, kind: str, index: int, piece: str) -> None:
        """A piece of a text or a refusal."""
        part_kind = _KINDS.get(kind)
        if part_kind is not None:
            self._blocks.grow(part_kind, index, piece)

    def event(self, kind: str, event: Members) -> None:
        """A part begins or is whole, or has a source."""
        index = number(event.get("content_index"))
        match kind:
            case "response.content_part.added" | "response.content_part.done":
                self._part(index, mapping(event.get("part")))
            case "response.output_text.done" | "response.refusal.done":
                self._part(index, event)
            case "response.output_text.annotation.added":
                self._annotate(self._blocks.open("output_text", index), mapping(event.get("annotation")))
            case _:
                pass

    def finish(self, item: Members) -> None:
        """The whole message."""
        self._note(item)
        for index, part in enumerate(objects(item.get("content"))):
            self._part(index, part)
        self._close(cut_off(item))

    def close(self) -> None:
        """Nothing follows."""
        self._close("incomplete")

    def _close(self, status: str) -> None:
        self._status = status
        self._blocks.close()
        for index in sorted(self._logprobs):
            self._scope.facts.note_logprobs(self._logprobs[index])

    def _note(self, item: Members) -> None:
        for name, member in (("itemId", "id"), ("phase", "phase")):
            if text(item.get(member)):
                self._about.setdefault(name, item[member])

    def _part(self, index: int, part: Members) -> None:
        if isinstance(part.get("refusal"), str):
            self._blocks.complete("refusal", index, part["refusal"])
        elif isinstance(part.get("text"), str):
            made = self._blocks.complete("output_text", index, part["text"])
            for annotation in objects(part.get("annotations")):
                self._annotate(made, annotation)
            logprobs = part.get("logprobs")
            if is_list(logprobs) and logprobs:
                self._logprobs[index] = logprobs

    def _annotate(self, part: Part, annotation: dict[str, Any]) -> None:
        if annotation and annotation not in part.annotations:
            part.annotations.append(annotation)
            cite(annotation, self._scope.writer)

    def _begin(self, kind: str) -> str:
        return self._scope.writer.text_start(with_status(self._metadata(kind), "in_progress"))

    def _end(self, part: Part) -> None:
        if part.kind == "refusal":
            self._scope.facts.note_refusal("".join(part.pieces))
        annotations = {"annotations": part.annotations} if part.annotations else {}
        about = with_status(self._metadata(part.kind), self._status)
        self._scope.writer.text_end(part.block, about | annotations)

    def _metadata(self, kind: str) -> dict[str, Any]:
        return self._about | {"refusal": True} if kind == "refusal" else dict(self._about)
