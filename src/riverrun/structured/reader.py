"""Reads the object out of a model call's text while it comes: text → object chunks, and at the end what it came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal

from msgspec import UNSET

from riverrun.chunks import ChunkType, ErrorChunk, ErrorPayload, ObjectChunk, ObjectResultChunk
from riverrun.chunks.codec import plain
from riverrun.chunks.partial_json import PartialJson
from riverrun.errors import StructuredOutputError
from riverrun.schema import Fault, Mismatch
from riverrun.structured.finder import JsonFinder
from riverrun.structured.output_type import Out
from riverrun.structured.settings import StructuredOutput

SHORT = 2_000
"""Characters of JSON up to which each change is told at once."""

STEPS = 32
"""From there on changes are told when the JSON has grown by this part of its length, so that all that is told of an
answer is a fixed number of times as long as the answer, however long that is."""


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[Out]):
    """What a model call's text came to.

    `status`: "none" (no JSON came), "valid" (`value`), "fallback" (`value` is the fallback), "ignored" (not valid, and
    the strategy is to go on without a value) or "failed" (not valid: the run ends in `error`). `chunks` are to be
    written when the model's own are, before the step's finish.
    """

    status: Literal["none", "valid", "fallback", "ignored", "failed"]
    value: Out | None = None
    error: StructuredOutputError | None = None
    chunks: Sequence[ChunkType] = ()


class ObjectReader(Generic[Out]):
    """Reads one model call's answer."""

    def __init__(
        self,
        settings: StructuredOutput[Out],
        *,
        run_id: str,
        strict: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """`strict`: the model was told the strict schema. `metadata` goes on all chunks."""
        self._settings = settings
        self._type = settings.output_type
        self._run_id = run_id
        self._strict = strict
        self._metadata = dict(metadata) if metadata else None
        self._finder = JsonFinder(begins=self._type.begins)
        self._seen: tuple[PartialJson | None, int] = (None, 0)
        self._seen_length = 0
        self._shown: Any = UNSET

    def feed(self, text: str) -> list[ChunkType]:
        """Take the next piece of the answer. Returns the chunks to write before it."""
        self._finder.feed(text)
        return self._news()

    def finish(self, reason: str | None, *, required: bool = False) -> Outcome[Out]:
        """The answer is over; `reason` is why the model stopped. `required`: an answer without JSON is not valid.

        A step that called tools is not the last word: JSON in it that does not fit is passed over, and so is that
        there is none.
        """
        answer = self._answer(reason)
        if answer is UNSET and (reason in _GOES_ON or not required):
            return Outcome(status="none")
        value = self._validated(answer, reason)
        if isinstance(value, StructuredOutputError):
            return Outcome(status="none") if reason == "tool-calls" else self._failed(value)
        return Outcome(status="valid", value=value, chunks=self._last(self._result(self._json_of(value, answer))))

    # -- while it is written

    def _is_due(self, json: PartialJson) -> bool:
        if json.status != "open" or json.length <= SHORT or json is not self._seen[0]:
            return True
        return (json.length - self._seen_length) * STEPS >= json.length

    def _news(self, *, at_once: bool = False) -> list[ChunkType]:
        """A chunk with what is known now, if that is new and it is time to tell it."""
        json = self._finder.json
        if json is None or self._seen == (json, json.version) or not self._finder.has_begun:
            return []
        if not at_once and not self._is_due(json):
            return []
        self._seen, self._seen_length = (json, json.version), json.length
        value = self._type.partial(json)
        if value is UNSET or value == self._shown:
            return []
        self._shown = value
        return [ObjectChunk(value, run_id=self._run_id, from_="AGENT", metadata=self._metadata)]

    # -- at the end

    def _answer(self, reason: str | None) -> Any:
        """The JSON value that was said, `_UNREADABLE`, or UNSET when there was none."""
        answer = self._finder.value()
        if answer is UNSET or self._type.is_stray(answer):
            said = self._finder.said
            bare = UNSET if self._finder.has_begun else self._type.bare(said)
            if bare is UNSET and reason not in _GOES_ON:
                bare = self._type.prose(said)
            if bare is not UNSET:
                return bare
        if answer is not UNSET:
            return plain(answer)  # a copy: its owner may change it, what is in the chunks must stay
        return _UNREADABLE if self._finder.has_begun else UNSET

    def _validated(self, answer: object, reason: str | None) -> Out | StructuredOutputError:
        said = self._finder.text
        if reason in _CUT_OFF:
            message = f'Structured output was truncated because the model finished with reason "{reason}".'
            return StructuredOutputError(message, code="truncated", value=said, finish_reason=reason)
        if answer is UNSET:
            return _invalid([Fault((), self._type.missing)], said)
        if answer is _UNREADABLE:
            return _invalid([Fault((), "this is not valid JSON, or it ends in the middle")], said)
        try:
            return self._type.validate(answer, strict=self._strict)
        except Mismatch as mismatch:
            return _invalid(mismatch.faults, said)
        except Exception as error:  # from a validator of the caller's own
            return _invalid([Fault((), f"{type(error).__name__}: {error}")], said)

    def _failed(self, error: StructuredOutputError) -> Outcome[Out]:
        """Do what the strategy says."""
        match self._settings.error_strategy:
            case "warn":
                return Outcome(status="ignored", error=error, chunks=self._last())
            case "fallback":
                value = self._settings.fallback
                result = self._result(self._type.dump(value), fallback=True)
                return Outcome(status="fallback", value=value, error=error, chunks=self._last(result))
            case "strict":
                failure = ErrorChunk(ErrorPayload(error=error), run_id=self._run_id, from_="AGENT")
                return Outcome(status="failed", error=error, chunks=self._last(failure))

    def _last(self, *chunks: ChunkType) -> list[ChunkType]:
        """The chunks, behind what is known and was not told yet."""
        return [*self._news(at_once=True), *chunks]

    def _json_of(self, value: Out, answer: object) -> Any:
        """A value's JSON; the model's own for a value that has none."""
        try:
            return self._type.dump(value)
        except TypeError:
            return self._type.unwrapped(answer)

    def _result(self, value: Any, **marks: bool) -> ChunkType:
        metadata = {**(self._metadata or {}), **marks} or None
        return ObjectResultChunk(value, run_id=self._run_id, from_="AGENT", metadata=metadata)


_UNREADABLE = object()
_GOES_ON = ("tool-calls", "other")
_CUT_OFF = ("length", "content-filter")
_MOST_FAULTS = 20
_LONGEST_FAULT = 300


def _invalid(faults: Sequence[Fault], said: str) -> StructuredOutputError:
    lines = "\n".join(f"- {str(fault)[:_LONGEST_FAULT]}" for fault in faults[:_MOST_FAULTS])
    return StructuredOutputError(f"Structured output validation failed: {lines}", code="invalid", value=said)
