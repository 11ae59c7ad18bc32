"""How an object is asked for, and what is done when the answer is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, cast

from msgspec import UNSET, UnsetType

from riverrun.chunks import Message, MessagePart, SystemMessage, TextPart, UserMessage
from riverrun.chunks.codec import plain
from riverrun.errors import ConfigError
from riverrun.schema import Mismatch
from riverrun.structured.output_type import Out, OutputType
from riverrun.structured.prompts import (
    answer_instructions,
    json_instructions,
    structuring_instructions,
    structuring_prompt,
    with_system_text,
    with_user_text,
)
from riverrun.types import Model

ErrorStrategy: TypeAlias = Literal["strict", "warn", "fallback"]
"""What happens when an answer is not valid: the run fails, goes on without a value, or has the fallback value."""

PromptInjection: TypeAlias = bool | Literal["system", "inline", "auto"]
"""Where the schema is told in words instead of being sent as such: nowhere (False), in the system message ("system",
True), in the user's message ("inline"), or there only when the model takes no schema ("auto")."""


@dataclass(frozen=True)  # no slots: StructuredOutput[City](City) writes to the instance
class StructuredOutput(Generic[Out]):
    """What an answer is to be (see OutputType), and how it is come by.

    With a `model` the answer is given in words, and this second model makes the object of it. `instructions` stand in
    place of the words in which the schema is told or, with a `model`, of that model's instructions. `provider_options`
    are for the call that gives the object. `fallback_value` is of the wanted type, or None. Raises ConfigError for what
    cannot work.
    """

    output: type[Out] | OutputType[Out] | Mapping[str, Any] | Sequence[str]
    error_strategy: ErrorStrategy = field(default="strict", kw_only=True)
    fallback_value: Out | UnsetType = field(default=UNSET, kw_only=True)
    prompt_injection: PromptInjection = field(default="auto", kw_only=True)
    instructions: str | None = field(default=None, kw_only=True)
    model: str | Model | None = field(default=None, kw_only=True)
    provider_options: Mapping[str, Mapping[str, Any]] | None = field(default=None, kw_only=True)
    output_type: OutputType[Out] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        output: Any = self.output
        object.__setattr__(self, "output_type", output if isinstance(output, OutputType) else OutputType(output))
        _check(self)

    @property
    def fallback(self) -> Out:
        """The value in place of one that is not valid, with the strategy "fallback"."""
        return cast("Out", self.fallback_value)

    def value(self, answer: Any) -> Any:
        """The value of what `object-result` holds, when nothing else is left of it: of the wanted type if it can be."""
        try:
            return self.output_type.validate(plain(answer))  # a copy: what is in the chunks must stay
        except Exception:  # Mismatch, or from a validator of the caller's own
            return self.fallback if self.error_strategy == "fallback" else answer

    # -- asking the model that gives the object

    def response_format(self, *, native: bool = True, strict: bool = False) -> Mapping[str, Any] | None:
        """The schema to send with the request; None: it is told in words.

        `native`: the model takes a schema, as far as is known. `strict`: it has a strict mode.
        """
        if self._place(native) is not None:
            return None
        strict_schema = self.output_type.strict_schema if strict else None
        return strict_schema or self.output_type.json_schema

    def asking(self, messages: Iterable[Message], *, native: bool = True) -> list[Message]:
        """The messages of the request, with the schema in them if it is to be told in words."""
        place = self._place(native)
        if place is None:
            return [*messages]
        words = self.instructions or json_instructions(self.output_type.json_schema)
        return with_system_text(messages, words) if place == "system" else with_user_text(messages, words)

    # -- asking two models

    def asking_in_words(self, messages: Iterable[Message]) -> list[Message]:
        """The messages for the first model, which answers in its own words."""
        return with_system_text(messages, answer_instructions(self.output_type.json_schema))

    def structuring(self, content: Sequence[MessagePart]) -> list[Message]:
        """The messages for the second model, which makes the object of what the first one did."""
        instructions = self.instructions or structuring_instructions(self.output_type.json_schema)
        return [SystemMessage(instructions), UserMessage([TextPart(structuring_prompt(content))])]

    def _place(self, native: bool) -> Literal["system", "inline"] | None:
        match self.prompt_injection:
            case False:
                return None
            case True | "system":
                return "system"
            case "inline":
                return "inline"
            case "auto":
                return None if native else "inline"


# -- what cannot work (Any: callers may give anything)

_STRATEGIES = ("strict", "warn", "fallback")
_PLACES = (False, True, "system", "inline", "auto")


def _check(settings: Any) -> None:
    _check_choices(settings)
    _check_model(settings)
    _check_fallback(settings)


def _check_choices(settings: Any) -> None:
    strategy = settings.error_strategy
    if strategy not in _STRATEGIES:
        raise ConfigError(f"error_strategy is one of {', '.join(_STRATEGIES)}, not {strategy!r:.80}")
    place = settings.prompt_injection
    if not isinstance(place, bool | str) or place not in _PLACES:
        raise ConfigError(f"prompt_injection is True, False, 'system', 'inline' or 'auto', not {place!r:.80}")


def _check_model(settings: Any) -> None:
    instructions = settings.instructions
    if instructions is not None and not (isinstance(instructions, str) and instructions.strip()):
        raise ConfigError(f"instructions are a text that is not empty, not {instructions!r:.80}")
    model = settings.model
    if model is not None and not isinstance(model, str) and not hasattr(model, "stream"):
        raise ConfigError(f"model is a model or the name of one, not {model!r:.80}")
    options = settings.provider_options
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"provider_options is a mapping of providers' names to options, not {options!r:.80}")


def _check_fallback(settings: Any) -> None:
    is_given = settings.fallback_value is not UNSET
    if is_given != (settings.error_strategy == "fallback"):
        raise ConfigError("fallback_value and error_strategy='fallback' belong together: give both or neither")
    if not is_given or settings.fallback_value is None:
        return
    try:
        settings.output_type.check(settings.fallback_value)
    except (Mismatch, TypeError) as error:
        raise ConfigError(f"fallback_value: {error}") from error
