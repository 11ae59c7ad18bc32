"""Token counts of a message → Usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks import Usage
from riverrun.chunks.envelope import mapping


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """The provider's `usage` object as Usage; counts that are missing or no whole numbers are None.

    Anthropic counts the tokens that were read from a cache, or written to one, beside `input_tokens`; here they are
    part of them.
    """
    uncached, cached, created, output = (
        _count(raw.get(name))
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    )
    by_lifetime = mapping(raw.get("cache_creation"))
    given = _sum(uncached, cached, created)
    return Usage(
        input_tokens=given,
        output_tokens=output,
        total_tokens=_sum(given, output),
        reasoning_tokens=_count(mapping(raw.get("output_tokens_details")).get("thinking_tokens")),
        cached_input_tokens=cached,
        cache_creation_input_tokens=created,
        cache_creation_input_tokens5m=_count(by_lifetime.get("ephemeral_5m_input_tokens")),
        cache_creation_input_tokens1h=_count(by_lifetime.get("ephemeral_1h_input_tokens")),
        raw=dict(raw),
    )


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value) if int(value) == value else None
