"""Options in layers: the agent's, over them a run's, over these a step's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TypeVar

from riverrun.types import Settings, Timeout

T = TypeVar("T", Settings, Timeout)


def laid_over(base: T, over: T | None) -> T:
    """`base` with what `over` sets in place of its own."""
    if over is None:
        return base
    given = {item.name: getattr(over, item.name) for item in fields(over) if getattr(over, item.name) is not None}
    return replace(base, **given)


def merged(
    base: Mapping[str, Mapping[str, object]], over: Mapping[str, Mapping[str, object]] | None
) -> dict[str, Mapping[str, object]]:
    """Provider options, member by member."""
    over = over or {}
    return {name: {**base.get(name, {}), **over.get(name, {})} for name in {**base, **over}}
