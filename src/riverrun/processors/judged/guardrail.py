"""Guardrail: the base of processors that have texts judged by a model before anybody gets to see them."""

from __future__ import annotations

import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypedDict, Unpack

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from riverrun.chunks import (
    AssistantMessage,
    ChunkType,
    Message,
    RawChunk,
    ToolErrorChunk,
    ToolMessage,
    ToolResultChunk,
    ToolResultPayload,
    UserMessage,
)
from riverrun.chunks.codec import json_text
from riverrun.chunks.envelope import mapping
from riverrun.errors import ConfigError, ToolError, TripwireError, error_message
from riverrun.numbers import is_whole
from riverrun.processors.context import ProcessorContext
from riverrun.processors.hold_back import Block, held_back
from riverrun.processors.judged.judge import Judge, JudgeError, Question
from riverrun.processors.places import Place, checked_places, hooks_elsewhere
from riverrun.processors.processor import Processor
from riverrun.processors.texts import texts_of, with_texts
from riverrun.types import Model, Source

LONGEST = 20_000
"""Characters: a text of more than twice as many is judged in pieces of about this length."""

_logger = logging.getLogger("riverrun")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*\s+|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong with a text. `text` is what may stand in its place, where the strategy asks for one."""

    reason: str
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    text: str | None = None


class GuardrailOptions(TypedDict, total=False):
    """What all guardrails take; see Guardrail."""

    window: int
    history: bool
    fail_open: bool
    timeout: float
    id: str | None


class Guardrail(Processor, ABC):
    """Has texts judged and acts on what was found.

    `judge` is a Model, or a Source such as an Agent. `strategy`: "block" stops the run; "warn" writes a `data-warning`
    and lets the text pass; "filter" takes it away; the others put another text in its place. `on`: "input" is what the
    user has said since the last answer, with `history` all of it; "output" is the streamed text and reasoning, judged
    in pieces of `window` characters or some more before anybody reads them; "tool_results" is what tools give or fail
    with. Files, the arguments of calls, and what tools write while they run are not judged. Raw chunks are dropped,
    unless the strategy only tells.

    A judge that fails, takes longer than `timeout` seconds or says nonsense stops the run, because nobody knows what
    the text holds; with `fail_open` the text passes with a warning.
    """

    strategies: ClassVar[tuple[str, ...]]
    """What can be done about a finding."""

    def __init__(
        self,
        judge: Source | Model,
        *,
        strategy: str,
        on: Collection[Place],
        **options: Unpack[GuardrailOptions],
    ) -> None:
        """Raises ConfigError for options that there cannot be."""
        super().__init__(id=options.get("id"))
        name = type(self).__name__
        unknown = options.keys() - GuardrailOptions.__annotations__.keys()
        if unknown:
            raise ConfigError(f"{name} has no option {', '.join(sorted(unknown))}")
        window = options.get("window", 400)
        if strategy not in self.strategies:
            raise ConfigError(f"{name}: strategy is one of {', '.join(self.strategies)}, not {strategy!r}")
        if not is_whole(window, least=1):
            raise ConfigError(f"{name}: window is a number of characters from 1 on, not {window!r:.80}")
        self.strategy = strategy
        self.on = checked_places(on, needed_by=name)
        self.window = window
        self.history = options.get("history", False)
        self.fail_open = options.get("fail_open", False)
        self._judge = Judge(judge, timeout=options.get("timeout", 30.0))

    @abstractmethod
    async def find(self, text: str, ctx: ProcessorContext) -> Finding | None:
        """What is wrong with a text; None: nothing. Raises JudgeError when that cannot be said."""

    async def ask(self, question: Question, text: str, ctx: ProcessorContext) -> dict[str, Any]:
        """The judge's answer about a text. Raises JudgeError."""
        return await self._judge.ask(question, text, run_id=ctx.run_id)

    @property
    def hooks(self) -> frozenset[str]:
        return super().hooks - hooks_elsewhere(self.on)

    # -- places

    async def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message]:
        first = 0 if self.history else _first_new(messages)
        passed: list[Message] = []
        for message in messages[first:]:
            left = await self._passed(message, ctx) if isinstance(message, UserMessage) else message
            if left is not None:
                passed.append(left)
        if len(passed) < len(messages) - first and not any(isinstance(message, UserMessage) for message in passed):
            ctx.abort("Nothing is left of what the user said")
        return [*messages[:first], *passed]

    async def _passed(self, message: UserMessage, ctx: ProcessorContext) -> Message | None:
        return with_texts(message, [await self._judged(text, ctx) for text in texts_of(message)])

    async def process_tool_result(self, chunk: ToolResultChunk, ctx: ProcessorContext) -> ToolResultChunk | None:
        if chunk.payload.result is UNSET:
            return None
        text = _told(chunk.payload)
        passed = await self._judged(text, ctx)
        if passed == text:
            return None
        return replace(chunk, payload=_with_result(chunk.payload, passed or f"[removed by {self.id}]"))

    async def process_tool_error(self, chunk: ToolErrorChunk, ctx: ProcessorContext) -> ToolErrorChunk | None:
        text = error_message(chunk.payload.error)
        passed = await self._judged(text, ctx)
        if passed == text:
            return None
        return replace(chunk, payload=replace(chunk.payload, error=ToolError(passed or f"[removed by {self.id}]")))

    async def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> Sequence[ChunkType]:
        if type(chunk) is RawChunk and self.strategy not in _HARMLESS:
            return []
        held = held_back(ctx)
        block = held.hold(chunk)
        if block is not None:
            await self._settle(block, ctx)
        return held.release()

    async def process_output_stream_end(self, ctx: ProcessorContext) -> Sequence[ChunkType]:
        held = held_back(ctx)
        for block in held.close():
            await self._settle(block, ctx)
        return held.release()

    # -- texts

    async def _settle(self, block: Block, ctx: ProcessorContext) -> None:
        """Have a block's text judged, when there is enough of it or no more comes."""
        held = block.held
        text = held if block.closed else held[: _cut(held, self.window)]
        if not text:
            return
        passed = await self._judged(text, ctx)
        end = block.settled + len(text)
        if passed != text:
            block.edit(block.settled, end, passed)
        block.settle(end)

    async def _judged(self, text: str, ctx: ProcessorContext) -> str:
        """The text as it may pass."""
        return "".join([await self._judged_piece(piece, ctx) for piece in _pieces(text)])

    async def _judged_piece(self, text: str, ctx: ProcessorContext) -> str:
        if not text.strip():
            return text
        try:
            finding = await self.find(text, ctx)
            return text if finding is None else self._acted(finding, text, ctx)
        except TripwireError:
            raise
        except Exception as error:
            _logger.warning("processor '%s' could not judge a text", self.id, exc_info=error)
            why = str(error) if isinstance(error, JudgeError) else type(error).__name__
            reason = f"The text could not be judged: {why}"
            if not self.fail_open:
                ctx.abort(reason)
            ctx.warn(reason)
            return text

    def _acted(self, finding: Finding, text: str, ctx: ProcessorContext) -> str:
        match self.strategy:
            case "block":
                ctx.abort(finding.reason, metadata=finding.metadata)
            case "warn":
                ctx.warn(finding.reason, metadata=finding.metadata)
                return text
            case "filter":
                return ""
            case _:
                pass
        if not finding.text:
            raise JudgeError("the judge gave no text to put in the place of this one")
        return finding.text


_HARMLESS = ("warn", "detect")


def _first_new(messages: Sequence[Message]) -> int:
    """Where the messages begin that no answer follows."""
    for place in range(len(messages), 0, -1):
        if isinstance(messages[place - 1], AssistantMessage | ToolMessage):
            return place
    return 0


def _pieces(text: str) -> Iterator[str]:
    """A text in parts that a judge can take in."""
    while len(text) > 2 * LONGEST:
        end = _cut(text[: 2 * LONGEST], LONGEST)
        yield text[:end]
        text = text[end:]
    yield text


def _cut(text: str, window: int) -> int:
    """Where to part a text that goes on: after a sentence when there is enough of it, and after a word or anywhere when
    there is twice as much. 0: it is waited for more.
    """
    if len(text) < window:
        return 0
    ends = [match.end() for match in _SENTENCE_END.finditer(text, window // 2)]
    if ends:
        return ends[-1]
    if len(text) < 2 * window:
        return 0
    return text.rfind(" ", window) + 1 or len(text)


# -- tool results


def _told(payload: ToolResultPayload) -> str:
    """All that a result says, to the reader and to the model."""
    own = _model_output(payload)
    texts = [_as_text(payload.result), *([_as_text(own.get("value"))] if own else [])]
    return "\n".join(dict.fromkeys(texts))


def _with_result(payload: ToolResultPayload, text: str) -> ToolResultPayload:
    """The result with `text` in the place of all that it said."""
    metadata = payload.provider_metadata
    if metadata is not None and _model_output(payload):
        told = {**mapping(metadata["mastra"]), "modelOutput": {"type": "text", "value": text}}
        metadata = {**metadata, "mastra": told}
    return replace(payload, result=_as_value(text), provider_metadata=metadata)


def _model_output(payload: ToolResultPayload) -> dict[str, Any]:
    """What the tool itself made of its result for the model."""
    return mapping(mapping((payload.provider_metadata or {}).get("mastra")).get("modelOutput"))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json_text(value)


def _as_value(text: str) -> object:
    """JSON text as its value again, any other text as it is."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
