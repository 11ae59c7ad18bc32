"""TokenLimiter: as much conversation as a model takes, as much answer as one wants to pay for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from riverrun.chunks import (
    ChunkType,
    Message,
    ReasoningPart,
    SystemMessage,
    TextDeltaChunk,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UnknownMessage,
    UserMessage,
)
from riverrun.chunks.codec import json_text
from riverrun.errors import ConfigError
from riverrun.numbers import is_number
from riverrun.processors.context import ProcessorContext
from riverrun.processors.processor import Processor
from riverrun.processors.step import StepChanges, StepInfo

Counter: TypeAlias = Callable[[str], float]
"""How many tokens a text is."""


def quarter_of_characters(text: str) -> float:
    """Four characters to a token: about right for English, too little for other scripts and code."""
    return len(text) / 4


class TokenLimiter(Processor):
    """Keeps the messages of each step within `input_limit` tokens and a run's text within `output_limit`.

    Too long an input loses its oldest turns (a user's message and all that follows it) in the model's eyes; the run's
    own messages stay. Instructions, system messages and the last turn always stay; when these alone are too long the
    run is stopped. Files are not counted. For too long an output, `strategy` "truncate" drops the rest of the text and
    "abort" stops the run; the model itself is limited by `Settings.max_output_tokens`.

    `counter` counts the tokens of a text; without it four characters are taken as one.
    """

    def __init__(
        self,
        input_limit: int | None = None,
        *,
        output_limit: int | None = None,
        strategy: Literal["truncate", "abort"] = "truncate",
        counter: Counter = quarter_of_characters,
        id: str | None = None,
    ) -> None:
        """Raises ConfigError without a limit, and for a limit or strategy that there cannot be."""
        super().__init__(id=id)
        limits = [limit for limit in (input_limit, output_limit) if limit is not None]
        if not limits or not all(is_number(limit) and limit >= 1 for limit in limits):
            raise ConfigError("TokenLimiter needs input_limit, output_limit or both, as numbers from 1 on")
        if strategy not in ("truncate", "abort"):
            raise ConfigError(f"TokenLimiter: strategy is 'truncate' or 'abort', not {strategy!r}")
        self.input_limit = input_limit
        self.output_limit = output_limit
        self.strategy = strategy
        self.counter = counter

    @property
    def hooks(self) -> frozenset[str]:
        left_out = {"process_input_step": self.input_limit, "process_output_stream": self.output_limit}
        return super().hooks - {hook for hook, limit in left_out.items() if limit is None}

    def process_input_step(self, step: StepInfo, ctx: ProcessorContext) -> StepChanges | None:
        limit = self.input_limit or 0
        system = [message for message in step.messages if isinstance(message, SystemMessage)]
        turns = _turns([message for message in step.messages if not isinstance(message, SystemMessage)])
        room = limit - sum(map(self.counter, step.instructions)) - self._count(system)
        kept: list[Sequence[Message]] = []
        for turn in reversed(turns):
            room -= self._count(turn)
            if room < 0:
                break
            kept.append(turn)
        if room < 0 and not kept:
            ctx.abort(f"The input is at least {math.ceil(limit - room):,} tokens, {limit:,} are allowed")
        if len(kept) == len(turns):
            return None
        return StepChanges(messages=[*system, *(message for turn in reversed(kept) for message in turn)])

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType | None:
        if type(chunk) is not TextDeltaChunk:
            return chunk
        limit = self.output_limit or 0
        used: float = ctx.state.get("used", 0.0) + self.counter(chunk.payload.text)
        ctx.state["used"] = used
        if used <= limit:
            return chunk
        if self.strategy == "abort":
            ctx.abort(f"The output is more than {limit:,} tokens")
        return None

    def _count(self, messages: Sequence[Message]) -> float:
        return sum(self.counter(text) for message in messages for text in _counted(message))


def _turns(messages: Sequence[Message]) -> list[list[Message]]:
    """The messages in turns; what stands before the first user's message is a turn too."""
    turns: list[list[Message]] = []
    for message in messages:
        if isinstance(message, UserMessage) or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def _counted(message: Message) -> list[str]:
    """All that a model reads of a message, as texts."""
    if isinstance(message, SystemMessage):
        return [message.content]
    if isinstance(message, UnknownMessage):
        return [json_text(message)]
    texts: list[str] = []
    for part in message.content:
        match part:
            case TextPart(text=text) | ReasoningPart(text=text):
                texts.append(text)
            case ToolCallPart():
                texts.append(part.tool_name + json_text(part.input))
            case ToolResultPart():
                value = part.output.value
                texts.append(value if isinstance(value, str) else json_text(value))
            case _:
                pass
    return texts
