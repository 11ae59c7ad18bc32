"""Token counts of model calls."""

from __future__ import annotations

from collections.abc import Iterable

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
    totals: dict[str, int] = {}
    raw: Maybe[Json] = None
    for part in parts:
        for name in _COUNTS:
            count: int | None = getattr(part, name)
            if count is not None:
                totals[name] = totals.get(name, 0) + count
        raw = part.raw if part.raw is not None else raw
    return Usage(**totals, raw=raw)
