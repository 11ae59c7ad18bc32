"""Processor: the base class of what stands between an agent, its model and its readers."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence
from typing import TypeAlias, TypeVar

from riverrun.chunks import ChunkType, Message, Step, ToolErrorChunk, ToolResultChunk
from riverrun.errors import ConfigError
from riverrun.processors.cached import CachedResponse
from riverrun.processors.context import ProcessorContext
from riverrun.processors.step import StepChanges, StepInfo
from riverrun.types import ModelRequest

T = TypeVar("T")
Given: TypeAlias = T | Awaitable[T]
"""What a hook gives: at once, or as a coroutine."""

HOOKS = (
    "process_input",
    "process_input_step",
    "process_llm_request",
    "process_llm_response",
    "process_output_stream",
    "process_output_stream_end",
    "process_output_step",
    "process_tool_result",
    "process_tool_error",
    "process_output_result",
    "process_api_error",
)
"""The names of the hooks, in the order in which a run comes by them."""


class Processor:
    """Looks at what goes into a model and what comes out of it, and may change or stop it.

    Override the hooks you need, as plain functions or as coroutine functions; those that are not overridden cost
    nothing. Each hook may call `ctx.abort`. A processor belongs to any number of runs at once: what it remembers of
    one goes into `ctx.state`.
    """

    id: str = "processor"
    """Names the processor on the chunks that it causes; unless it is set, the name of its class in snake_case."""

    def __init__(self, *, id: str | None = None) -> None:
        if id is not None:
            self.id = id

    def __init_subclass__(cls) -> None:
        """Raises ConfigError for a method that looks like a hook and is none."""
        if "id" not in vars(cls):
            cls.id = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).lower()
        for name in vars(cls):
            if name.startswith("process_") and name not in HOOKS:
                raise ConfigError(f"{cls.__name__}.{name} is no hook; the hooks are {', '.join(HOOKS)}")

    @property
    def hooks(self) -> frozenset[str]:
        """The names of the hooks that this processor has. Override it to leave some out."""
        return frozenset(name for name in HOOKS if getattr(type(self), name) is not getattr(Processor, name))

    def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> Given[Sequence[Message] | None]:
        """Once, before the run starts: the messages to go on with, or None to leave them as they are."""
        return None

    def process_input_step(self, step: StepInfo, ctx: ProcessorContext) -> Given[StepChanges | None]:
        """Before each step: what is to be different in it. `messages` of the changes are Messages."""
        return None

    def process_llm_request(
        self, request: ModelRequest, ctx: ProcessorContext
    ) -> Given[ModelRequest | CachedResponse | None]:
        """Just before each model call (`ctx.model`): another request, or an answer that makes the call needless."""
        return None

    def process_llm_response(self, chunks: Sequence[ChunkType], ctx: ProcessorContext) -> Given[None]:
        """After each model call that came to its end: all that the model gave, as it gave it."""
        return None

    def process_output_stream(
        self, chunk: ChunkType, ctx: ProcessorContext
    ) -> Given[ChunkType | Sequence[ChunkType] | None]:
        """For each chunk of the model and the tools: the same, another, a list of several, or None to drop it.

        An exception other than `ctx.abort`'s is logged, and the chunk passes unchanged.
        """
        return chunk

    def process_output_stream_end(self, ctx: ProcessorContext) -> Given[Sequence[ChunkType] | None]:
        """When the model has said everything in a step: what was held back until now."""
        return None

    def process_output_step(self, step: Step, ctx: ProcessorContext) -> Given[None]:
        """After each model call, before its tools run: the place to refuse an answer (`ctx.abort(retry=True)`)."""
        return None

    def process_tool_result(self, chunk: ToolResultChunk, ctx: ProcessorContext) -> Given[ToolResultChunk | None]:
        """For each result before it is streamed and told to the model: another one, or None to leave it as it is."""
        return None

    def process_tool_error(self, chunk: ToolErrorChunk, ctx: ProcessorContext) -> Given[ToolErrorChunk | None]:
        """For each call that failed, likewise: the model reads what an error says, too."""
        return None

    def process_output_result(
        self, messages: Sequence[Message], ctx: ProcessorContext
    ) -> Given[Sequence[Message] | None]:
        """Once, at the end: the messages that the run has added, as they are to be kept; None leaves them."""
        return None

    def process_api_error(self, error: Exception, ctx: ProcessorContext) -> Given[bool]:
        """When a model call failed: whether to call again."""
        return False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"
