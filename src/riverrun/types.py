"""The architecture on one page: what flows, what makes it, what changes it.

    Source --chunks--> Stage --chunks--> reader

A model, an agent, a workflow and a recorded log are Sources of one kind or another; a processor is a Stage.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from riverrun.chunks import ChunkType, Message
from riverrun.errors import ConfigError
from riverrun.numbers import is_number

Stream: TypeAlias = AsyncIterator[ChunkType]
"""Chunks, one after the other."""

Stage: TypeAlias = Callable[[Stream], Stream]
"""Takes a stream and gives a changed one."""

Input: TypeAlias = str | Message | Mapping[str, Any] | Sequence[str | Message | Mapping[str, Any]]
"""What a caller may say to a Source: a text (one user message), a message, its JSON form, or a list of these."""


@runtime_checkable
class Source(Protocol):
    """Makes a stream from an input: an agent, a workflow, a recorded log."""

    def stream(self, input: Input, /) -> AsyncIterable[ChunkType]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What a model is told of a tool. `input_schema` is JSON Schema.

    `provider_id` ("groq.browser_search") is that of a tool which the provider has and runs itself, set up with
    `provider_args`.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    strict: bool | None = None
    provider_options: Mapping[str, Any] | None = None
    provider_id: str | None = None
    provider_args: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool choice: this tool must be called."""

    tool_name: str


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | NamedTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeout:
    """Limits in seconds; None: no limit.

    `total` bounds the run, its tools included; `step` one model call with its whole stream; `first_chunk` the wait for
    its first content. Raises ConfigError for anything but positive, finite numbers.
    """

    total: float | None = None
    step: float | None = None
    first_chunk: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("total", self.total), ("step", self.step), ("first_chunk", self.first_chunk)):
            if value is not None and not (is_number(value) and 0 < value < math.inf):
                raise ConfigError(f"Timeout: {name} is a positive number of seconds, not {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a model is to answer. None: the provider's default. Raises ConfigError for what is no setting."""

    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop_sequences: Sequence[str] | None = None
    seed: int | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    headers: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            value: object = getattr(self, name)
            if value is not None and not is_number(value):
                raise ConfigError(f"Settings: {name} is a number, not {value!r}")
        if self.max_output_tokens is not None and self.max_output_tokens < 1:
            raise ConfigError(f"Settings: max_output_tokens is at least 1, not {self.max_output_tokens}")
        if isinstance(self.stop_sequences, str):
            raise ConfigError(f"Settings: stop_sequences is a list of texts, not {self.stop_sequences!r}")


_NUMBERS = ("max_output_tokens", "temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "seed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One model call. `run_id` goes on every chunk that the model makes; `response_format` is a JSON Schema."""

    messages: Sequence[Message]
    run_id: str
    tools: Sequence[ToolSpec] = ()
    tool_choice: ToolChoice = "auto"
    settings: Settings = field(default_factory=Settings)
    response_format: Mapping[str, Any] | None = None
    provider_options: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {})
    include_raw: bool = False


class Model(Protocol):
    """Answers a request with chunks, all with `from_="AGENT"` and the request's run id:

        step-start (request, warnings)
        (response-metadata | text-* | reasoning-* | source | file | tool-call-* | tool-call | tool-result | raw)*
        finish (step_result.reason and raw_reason, output.usage, metadata.provider_metadata)

    A failure raises ModelError, after the blocks that are open were closed. A model keeps no state between calls, and
    closing the iterator closes the connection.
    """

    @property
    def provider(self) -> str:
        """The provider's name, as in model strings."""
        ...

    @property
    def model_id(self) -> str:
        """The provider's name of the model."""
        ...

    def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        """Call the model."""
        ...
