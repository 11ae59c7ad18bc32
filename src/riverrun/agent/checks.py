"""Options as callers give them: looked at where they are given, so that a mistake is told there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from riverrun.agent.completion import TaskComplete
from riverrun.agent.keeping import Memory
from riverrun.agent.source_tool import is_source
from riverrun.chunks import Message
from riverrun.errors import ConfigError
from riverrun.numbers import is_whole
from riverrun.processors import Processor
from riverrun.store.checks import check_id
from riverrun.tools import Tool
from riverrun.types import Settings, Timeout

Check: TypeAlias = Callable[[object], bool]


def check_options(options: Mapping[str, object]) -> None:
    """Raises ConfigError for the first option that has a value it cannot have. None is no value."""
    for name, value in options.items():
        if value is not None and name in _IDS:
            check_id(name, value)
        elif value is not None and name in _CHECKS:
            wanted, fits = _CHECKS[name]
            if not fits(value):
                raise ConfigError(f"{name} is {wanted}, not {value!r:.80}")


def check_message_ids(messages: Sequence[Message]) -> None:
    """Raises ConfigError for an id under which a message cannot be kept in its thread."""
    for message in messages:
        id = getattr(message, "id", None)
        if isinstance(id, str) and id:  # without one it is kept under an id of the run's
            check_id("the id of a message", id)


def _list_of(fits: Check) -> Check:
    def check(value: object) -> bool:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            return False
        return all(fits(item) for item in cast("Sequence[object]", value))

    return check


def _one_or_more(fits: Check) -> Check:
    several = _list_of(fits)
    return lambda value: fits(value) or several(value)


def _at_least(least: int) -> Check:
    return lambda value: is_whole(value, least=least)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _are_provider_options(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        _is_mapping(item) for item in cast("Mapping[object, object]", value).values()
    )


def _is_tool(value: object) -> bool:
    return isinstance(value, Tool) or is_source(value) or (callable(value) and not isinstance(value, type))


def _is_processor(value: object) -> bool:
    return isinstance(value, Processor)


def _is_string(value: object) -> bool:
    return isinstance(value, str)


_TEXTS = ("a text or a list of texts", _one_or_more(_is_string))
_FUNCTION: tuple[str, Check] = ("a function", callable)
_IDS = ("name", "run_id", "thread_id", "resource_id")
"""What stores have as keys, an agent's name among them: a run may have to be kept at any time."""
_CHECKS: dict[str, tuple[str, Check]] = {
    "instructions": _TEXTS,
    "system": _TEXTS,
    "tools": ("a list of functions, Tools, Agents and other Sources", _list_of(_is_tool)),
    "active_tools": ("a list of tool names", _list_of(_is_string)),
    "max_steps": ("a whole number from 1 on", _at_least(1)),
    "max_retries": ("a whole number from 0 on", _at_least(0)),
    "max_processor_retries": ("a whole number from 0 on", _at_least(0)),
    "tool_concurrency": ("a whole number from 1 on", _at_least(1)),
    "stop_when": ("a function of the steps, or a list of these", _one_or_more(callable)),
    "prepare_step": _FUNCTION,
    "on_iteration": _FUNCTION,
    "processors": ("a list of Processors, made and not only their classes", _list_of(_is_processor)),
    "task_complete": ("TaskComplete(scorers=[…])", lambda value: isinstance(value, TaskComplete)),
    "memory": ("Memory(…)", lambda value: isinstance(value, Memory)),
    "settings": ("Settings(…)", lambda value: isinstance(value, Settings)),
    "timeout": ("Timeout(total=…, step=…, first_chunk=…)", lambda value: isinstance(value, Timeout)),
    "provider_options": ("a dict of dicts by provider, as {'openai': {…}}", _are_provider_options),
}
