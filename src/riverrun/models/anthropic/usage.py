"""Token counts of a message → Usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks import Usage
from riverrun.chunks.envelope import mapping
from riverrun.models.counts import count, sum_of


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """The provider's `usage` object as Usage; counts that are missing or no whole numbers are None.

    Anthropic counts the tokens that were read from a cache, or written to one, beside `input_tokens`; here they are
    part of them.
    """
    uncached, cached, created, output = (
        count(raw.get(name))
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    )
    by_lifetime = mapping(raw.get("cache_creation"))
    given = sum_of(uncached, cached, created)
    return Usage(
        input_tokens=given,
        output_tokens=output,
        total_tokens=sum_of(given, output),
        reasoning_tokens=count(mapping(raw.get("output_tokens_details")).get("thinking_tokens")),
        cached_input_tokens=cached,
        cache_creation_input_tokens=created,
        cache_creation_input_tokens5m=count(by_lifetime.get("ephemeral_5m_input_tokens")),
        cache_creation_input_tokens1h=count(by_lifetime.get("ephemeral_1h_input_tokens")),
        raw=dict(raw),
    )
