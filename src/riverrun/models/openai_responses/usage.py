"""Token counts of a response → Usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks import Usage
from riverrun.chunks.envelope import mapping
from riverrun.models.counts import count, sum_of


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """The provider's `usage` object as Usage; counts that are missing or no whole numbers are None."""
    given, made, total = (count(raw.get(name)) for name in ("input_tokens", "output_tokens", "total_tokens"))
    read = mapping(raw.get("input_tokens_details"))
    written = mapping(raw.get("output_tokens_details"))
    return Usage(
        input_tokens=given,
        output_tokens=made,
        total_tokens=sum_of(given, made) if total is None else total,
        reasoning_tokens=count(written.get("reasoning_tokens")),
        cached_input_tokens=count(read.get("cached_tokens")),
        cache_creation_input_tokens=count(read.get("cache_write_tokens")),
        raw=dict(raw),
    )
