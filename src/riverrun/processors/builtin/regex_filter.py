"""RegexFilter: finds personal data and secrets by their form, and blocks, hides or reports them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

from msgspec import UNSET
from msgspec.structs import replace

from riverrun.chunks import ChunkType, Message, RawChunk, ToolErrorChunk, ToolResultChunk
from riverrun.chunks.codec import json_value
from riverrun.errors import ConfigError
from riverrun.numbers import is_whole
from riverrun.processors.builtin.rules import Found, Preset, Rule, find, rules_of
from riverrun.processors.context import ProcessorContext
from riverrun.processors.hold_back import Block, held_back
from riverrun.processors.places import PLACES, Place, checked_places, hooks_elsewhere
from riverrun.processors.processor import Processor
from riverrun.processors.texts import change_message, change_strings

LONGEST = 8_192
"""Characters that one find may have in a stream: what grows beyond stops the run, for it cannot be held for ever."""


class RegexFilter(Processor):
    """Looks for what its rules describe: `RegexFilter(["email", "api_key", Rule("order", r"ORD-\\d+")])`.

    `strategy`: "redact" puts each rule's mark in place of what it found, "block" stops the run, "warn" writes a
    `data-warning`; none of them tells what was found. `on`: "input" is every message that the run starts with, "output"
    the streamed text and reasoning and the final messages, "tool_results" what tools give or fail with. The
    arguments of the calls that the model makes, and what tools write while they run, are not looked at.

    Streamed text is held back by `window` characters and up to a quarter more, so that what comes in several pieces is
    found before anybody reads it; what needs more characters than `window` to be recognised is missed. Raw chunks,
    which hold the same text, are dropped unless the filter only warns.
    """

    def __init__(
        self,
        rules: Sequence[Preset | Rule],
        *,
        strategy: Literal["redact", "block", "warn"] = "redact",
        on: Collection[Place] = PLACES,
        window: int = 128,
        id: str | None = None,
    ) -> None:
        """Raises ConfigError for a rule, strategy, place or window that there is not."""
        super().__init__(id=id)
        if strategy not in ("redact", "block", "warn"):
            raise ConfigError(f"RegexFilter: strategy is 'redact', 'block' or 'warn', not {strategy!r}")
        if not is_whole(window, least=1):
            raise ConfigError(f"RegexFilter: window is a number of characters from 1 on, not {window!r:.80}")
        self.rules = rules_of(rules)
        self.strategy = strategy
        self.on = checked_places(on, needed_by="RegexFilter")
        self.window = window

    @property
    def hooks(self) -> frozenset[str]:
        return super().hooks - hooks_elsewhere(self.on)

    def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message]:
        return [change_message(message, lambda text: self._changed(text, "input", ctx)) for message in messages]

    def process_output_result(self, messages: Sequence[Message], ctx: ProcessorContext) -> list[Message] | None:
        if self.strategy == "warn":  # of the same text as in the stream
            return None
        return [change_message(message, lambda text: self._changed(text, "output", ctx)) for message in messages]

    def process_tool_result(self, chunk: ToolResultChunk, ctx: ProcessorContext) -> ToolResultChunk | None:
        def changed(value: Any) -> Any:
            return change_strings(value, lambda text: self._changed(text, "tool result", ctx))

        payload = chunk.payload
        result = UNSET if payload.result is UNSET else json_value(payload.result)
        new_result, metadata = changed(result), changed(payload.provider_metadata)
        if new_result is result and metadata is payload.provider_metadata:
            return None
        return replace(chunk, payload=replace(payload, result=new_result, provider_metadata=metadata))

    def process_tool_error(self, chunk: ToolErrorChunk, ctx: ProcessorContext) -> ToolErrorChunk | None:
        error = json_value(chunk.payload.error)
        changed = change_strings(error, lambda text: self._changed(text, "tool error", ctx))
        return None if changed is error else replace(chunk, payload=replace(chunk.payload, error=changed))

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType | Sequence[ChunkType] | None:
        if type(chunk) is RawChunk and self.strategy != "warn":
            return None
        held = held_back(ctx)
        block = held.hold(chunk)
        if block is not None:
            self._settle(block, ctx)
        return held.release()

    def process_output_stream_end(self, ctx: ProcessorContext) -> Sequence[ChunkType]:
        held = held_back(ctx)
        for block in held.close():
            self._settle(block, ctx)
        return held.release()

    def _settle(self, block: Block, ctx: ProcessorContext) -> None:
        """Settle what is far enough from the end, up to the beginning of a find that reaches further.

        Not for every character anew: the same text would be looked through as often as the window has deltas.
        """
        safe = block.end if block.closed else block.end - self.window
        if safe - block.settled < (1 if block.closed else self.window // 4):
            return
        for found in self._found(block.text, block.settled - block.begin, ctx):
            begin, end = block.begin + found.begin, block.begin + found.end
            if begin >= safe:
                break
            if end > safe:
                safe = end if self._is_too_long(found, ctx) else begin
                break
            self._act(found, "output", ctx)
            if self.strategy == "redact":
                block.edit(begin, end, found.rule.mark)
        block.settle(safe)

    def _is_too_long(self, found: Found, ctx: ProcessorContext) -> bool:
        """Whether a find that goes on is waited for no longer. Stops the run, unless the filter only warns."""
        if found.end - found.begin <= LONGEST:
            return False
        if self.strategy != "warn":
            ctx.abort(f'What rule "{found.rule.name}" found in the output has more than {LONGEST:,} characters')
        self._act(found, "output", ctx)
        return True

    def _changed(self, text: str, place: str, ctx: ProcessorContext) -> str:
        """The text as it may stand in a message or a result."""
        pieces: list[str] = []
        at = 0
        for found in self._found(text, 0, ctx):
            self._act(found, place, ctx)
            pieces += (text[at : found.begin], found.rule.mark)
            at = found.end
        return "".join((*pieces, text[at:])) if pieces and self.strategy == "redact" else text

    def _act(self, found: Found, place: str, ctx: ProcessorContext) -> None:
        if self.strategy == "redact":
            return
        reason = f'Rule "{found.rule.name}" found something in the {place}'
        metadata = {"rule": found.rule.name}
        if self.strategy == "block":
            ctx.abort(reason, metadata=metadata)
        ctx.warn(reason, metadata=metadata)

    def _found(self, text: str, at: int, ctx: ProcessorContext) -> list[Found]:
        try:
            return find(self.rules, text, at)
        except Exception as error:  # a check of the user's: text that was not looked at must not pass
            ctx.abort(f"A rule could not be checked ({type(error).__name__})")
