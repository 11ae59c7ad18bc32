"""Token counts of a response → Usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks import Usage
from riverrun.chunks.envelope import mapping


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """The provider's `usage` object as Usage; counts that are missing or no whole numbers are None."""
    given, made, total = (_count(raw.get(name)) for name in ("input_tokens", "output_tokens", "total_tokens"))
    if total is None and (given is not None or made is not None):
        total = (given or 0) + (made or 0)
    read = mapping(raw.get("input_tokens_details"))
    written = mapping(raw.get("output_tokens_details"))
    return Usage(
        input_tokens=given,
        output_tokens=made,
        total_tokens=total,
        reasoning_tokens=_count(written.get("reasoning_tokens")),
        cached_input_tokens=_count(read.get("cached_tokens")),
        cache_creation_input_tokens=_count(read.get("cache_write_tokens")),
        raw=dict(raw),
    )


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        return None
    whole = int(value) if value < 2**63 else -1
    return whole if whole == value else None
