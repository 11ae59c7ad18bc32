"""Asking a caller's hook."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

from riverrun.errors import ConfigError

A = TypeVar("A")
R = TypeVar("R")


async def asked(hook: Callable[[A], object], question: A, kind: type[R]) -> R | None:
    """A hook's answer, whether the hook is a coroutine function or not. Raises ConfigError for one of another kind."""
    answer = hook(question)
    if inspect.isawaitable(answer):
        answer = await answer
    if answer is None or isinstance(answer, kind):
        return answer
    name = getattr(hook, "__name__", "the hook")
    raise ConfigError(f"{name} must give {kind.__name__} or None, not {type(answer).__name__}")
