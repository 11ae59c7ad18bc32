"""Token counts of a chat completion and of its many dialects → Usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks import Usage
from riverrun.chunks.envelope import mapping
from riverrun.models.counts import count, sum_of


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """The provider's `usage` object as Usage; counts that are missing or no whole numbers are None.

    Some servers (xAI) count reasoning beside `completion_tokens` instead of in it; the total tells.
    """
    given, completion, total = (count(raw.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    prompt_details = mapping(raw.get("prompt_tokens_details"))
    reasoning = count(mapping(raw.get("completion_tokens_details")).get("reasoning_tokens"))
    if reasoning and total is not None and total == (given or 0) + (completion or 0) + reasoning:
        completion = (completion or 0) + reasoning
    return Usage(
        input_tokens=given,
        output_tokens=completion,
        total_tokens=sum_of(given, completion) if total is None else total,
        reasoning_tokens=reasoning,
        cached_input_tokens=_first(
            prompt_details.get("cached_tokens"), raw.get("prompt_cache_hit_tokens"), raw.get("cached_tokens")
        ),
        cache_creation_input_tokens=_first(
            prompt_details.get("cache_write_tokens"), raw.get("cache_creation_input_tokens")
        ),
        raw=dict(raw),
    )


def _first(*values: object) -> int | None:
    counts = (count(value) for value in values)
    return next((known for known in counts if known is not None), None)
