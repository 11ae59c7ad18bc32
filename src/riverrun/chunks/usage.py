"""Token counts of model calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from riverrun.chunks.envelope import Json, Maybe, Record

_COUNTS = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "reasoning_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
    "cache_creation_input_tokens5m",
    "cache_creation_input_tokens1h",
)


class Usage(Record, frozen=True, kw_only=True):
    """Tokens of one model call, or of several added up. None: the provider did not say.

    `output_tokens` includes `reasoning_tokens`; `input_tokens` includes the cached ones. `raw` is the provider's
    own object.
    """

    input_tokens: Maybe[int] = None
    output_tokens: Maybe[int] = None
    total_tokens: Maybe[int] = None
    reasoning_tokens: Maybe[int] = None
    cached_input_tokens: Maybe[int] = None
    cache_creation_input_tokens: Maybe[int] = None
    cache_creation_input_tokens5m: Maybe[int] = None
    cache_creation_input_tokens1h: Maybe[int] = None
    raw: Maybe[Json] = None


def sum_usage(parts: Iterable[Usage]) -> Usage:
    """Add counts up; a count that nobody gave stays None, `raw` is the last one given."""
    totals: dict[str, Any] = {}
    raw: Any = None
    for part in parts:
        for name in _COUNTS:
            count: int | None = getattr(part, name)
            if count is not None:
                totals[name] = totals.get(name, 0) + count
        raw = part.raw if part.raw is not None else raw
    return Usage(**totals, raw=raw)


def run_usage(parts: Iterable[Usage]) -> Usage:
    """The run's usage as `finish` carries it: the three totals are numbers, cache creation is not split by lifetime."""
    total = sum_usage(parts)
    return msgspec.structs.replace(
        total,
        input_tokens=total.input_tokens or 0,
        output_tokens=total.output_tokens or 0,
        total_tokens=total.total_tokens or 0,
        cache_creation_input_tokens5m=None,
        cache_creation_input_tokens1h=None,
    )


def total_usage(usage: Usage) -> Usage:
    """The same with `total_tokens`: input, output and reasoning where the provider gave no total."""
    if usage.total_tokens is not None:
        return usage
    parts = (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens)
    return msgspec.structs.replace(usage, total_tokens=sum(count or 0 for count in parts))
