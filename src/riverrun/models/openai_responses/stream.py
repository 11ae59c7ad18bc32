"""One streamed response, event by event → chunks. Pure: no I/O, and all state belongs to this one stream.

Nothing about an event's shape is taken for granted, and what is not known is passed over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from riverrun.chunks import ChunkType
from riverrun.chunks.envelope import is_object, mapping
from riverrun.errors import ModelError
from riverrun.models.http import Decoder, model_error
from riverrun.models.openai_responses.answer import Facts
from riverrun.models.openai_responses.items import Items
from riverrun.models.openai_responses.items.scope import Scope, number, text
from riverrun.models.openai_responses.offered import Offered
from riverrun.models.openai_responses.plain import read_plain
from riverrun.types import ToolSpec

_ENDS = ("completed", "incomplete", "failed", "cancelled")
"""What a response may be when it is over."""


class StreamDecoder(Decoder):
    """Decodes one stream. `tools` are those that were offered, `headers` those of the response, `owed` the ids of
    calls in earlier answers whose outcome the provider has not given yet.
    """

    def __init__(
        self,
        run_id: str,
        *,
        provider: str = "openai",
        tools: Sequence[ToolSpec] = (),
        include_raw: bool = False,
        headers: Mapping[str, str] | None = None,
        owed: Collection[str] = (),
        prefix: str | None = None,
    ) -> None:
        super().__init__(run_id, provider=provider, include_raw=include_raw, prefix=prefix)
        self._facts = Facts(self._writer, headers)
        self._offered = Offered(tools)
        self._items = Items(Scope(self._writer, self._facts, self._offered, owed))

    @property
    def ended(self) -> bool:
        return self._facts.status is not None  # whatever `done` says: gateways send a [DONE] behind half an answer too

    def _end(self) -> None:
        self._items.settle(None)
        self._facts.announce()
        self._facts.finish()

    def _short(self, data: bytes, name: str) -> list[ChunkType] | None:
        if not name.endswith((".delta", "message")) or (plain := read_plain(data)) is None:
            return None
        index = plain.content_index or plain.summary_index or 0
        self._items.grow(plain.type, plain.output_index, index, plain.delta)
        return self._writer.take()

    def _object(self, event: dict[str, Any], name: str) -> None:
        kind = text(event.get("type")) or name
        if _is_failure(event, kind, name):
            self._fail(model_error(event))
        elif is_object(event.get("response")) or kind.removeprefix("response.") in _ENDS:
            self._response(kind, mapping(event.get("response")))
        elif event.get("object") == "response":  # a server that does not stream gives the response itself
            self._response("", event)
        elif kind == "response.output_item.added":
            self._items.begin(event)
        elif kind == "response.output_item.done":
            self._items.finish(event)
        elif kind.endswith(".delta") and isinstance(event.get("delta"), str):
            index = number(event.get("content_index")) or number(event.get("summary_index"))
            self._items.grow(kind, self._items.place(event), index, event["delta"])
        elif kind.startswith("response."):
            self._items.event(kind, event)

    def _response(self, kind: str, response: dict[str, Any]) -> None:
        if kind == "response.created" and self._facts.id not in (None, response.get("id")):
            self._items.settle(None)
            self._facts.begin_again()
        self._facts.note(response)
        self._offered.note(response.get("tools"))
        status = next((end for end in (response.get("status"), kind.removeprefix("response.")) if end in _ENDS), None)
        if status in ("failed", "cancelled"):
            self._fail(_failed(response, status))
        elif status is not None:
            if self._items or self._facts.status is None:  # else the same end is told again
                self._items.settle(response.get("output"))
            self._facts.status = status


def _is_failure(event: Mapping[str, Any], kind: str, name: str) -> bool:
    """Whether an event tells of a failure, given its type and its SSE name."""
    if "error" in (kind, name, event.get("object")) or kind == "response.error":
        return True
    is_answer = kind.startswith("response.") or "object" in event or "response" in event
    return not is_answer and bool(event.get("error") or event.get("detail") or event.get("message"))


def _failed(response: Mapping[str, Any], status: str) -> ModelError:
    if response.get("error"):
        return model_error(response["error"])
    why = "and did not say why" if status == "failed" else "because it was cancelled"
    return ModelError(f"the provider ended the answer {why}", code=status)
