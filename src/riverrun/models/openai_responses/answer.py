"""What a stream says of its answer as a whole → the response-metadata and the finish chunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from riverrun.chunks import Timestamp
from riverrun.chunks.envelope import is_object, mapping
from riverrun.models.answer import AnswerWriter
from riverrun.models.openai_responses.usage import read_usage

_INCOMPLETE = {"max_output_tokens": "length", "max_tokens": "length", "content_filter": "content-filter"}
"""Why a response is incomplete → why the answer ended."""


class Facts:
    """Gathers it from the response objects in the events.

    `status` is the response's once it has ended; `called` says that it holds calls which wait for their outcome.
    Several responses of one stream are one answer: the first is the one that is announced, the last says how it ended.
    """

    def __init__(self, writer: AnswerWriter, headers: Mapping[str, str] | None) -> None:
        self.status: str | None = None
        self.called = False
        self.id: str | None = None
        self._writer = writer
        self._headers = headers
        self._about: dict[str, Any] = {}  # id, model and created_at: the first that are not empty
        self._kept: dict[str, Any] = {}
        self._usage: Mapping[str, Any] | None = None
        self._incomplete: str | None = None
        self._refusal = ""
        self._logprobs: list[object] = []

    def note(self, response: Mapping[str, Any]) -> None:
        """Take a response object; the first that has an id is announced."""
        for member in ("id", "model", "created_at"):
            if value := response.get(member):
                self._about.setdefault(member, value)
        if isinstance(response.get("id"), str):
            self.id = response["id"]
        self._keep("serviceTier", response.get("service_tier"))
        self._keep("moderation", response.get("moderation"))
        self._keep("conversationId", mapping(response.get("conversation")).get("id"))
        usage = response.get("usage")
        if is_object(usage) and usage:
            self._usage = usage
        reason = mapping(response.get("incomplete_details")).get("reason")
        self._incomplete = reason if isinstance(reason, str) else None
        if "id" in self._about:
            self.announce()

    def begin_again(self) -> None:
        """Another response follows in the same stream."""
        self.status = None
        self.called = False

    def note_refusal(self, text: str) -> None:
        """Take the text of a refusal."""
        self._refusal += text

    def note_logprobs(self, tokens: Sequence[object]) -> None:
        """Take the log probabilities of a text's tokens."""
        self._logprobs.extend(tokens)

    def announce(self) -> None:
        """The response-metadata chunk, once."""
        if not self._writer.announced:
            self._writer.announce(
                id=self._about.get("id"),
                model_id=self._about.get("model"),
                timestamp=_timestamp(self._about.get("created_at")),
                headers=self._headers,
            )

    def finish(self) -> None:
        """The finish chunk. Functions that were called are why the answer ended, unless it was cut off."""
        reason, raw_reason = "stop", self.status
        if self.status == "incomplete":
            reason = _INCOMPLETE.get(self._incomplete or "", "other")
            raw_reason = self._incomplete or self.status
        elif self.called:
            reason = "tool-calls"
        self._keep("refusal", self._refusal)
        self._writer.finish(
            reason,
            raw_reason=raw_reason,
            usage=None if self._usage is None else read_usage(self._usage),
            metadata=({"responseId": self.id} if self.id else {}) | self._kept,
            logprobs={"content": self._logprobs} if self._logprobs else None,
            is_final=True,
        )

    def _keep(self, name: str, value: object) -> None:
        if value:
            self._kept[name] = value


def _timestamp(created: object) -> Timestamp | None:
    if not isinstance(created, int | float) or isinstance(created, bool):
        return None
    try:
        return Timestamp.fromtimestamp(created, UTC)
    except (OverflowError, OSError, ValueError):
        return None
