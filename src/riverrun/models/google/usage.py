"""Token counts of generateContent → Usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks import Usage
from riverrun.models.counts import count, sum_of


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """The provider's `usageMetadata` as Usage; counts that are missing or no whole numbers are None.

    Thoughts stand beside the candidates' tokens, and what server-side tools read stands beside the prompt's; where the
    total is too small for that, they are in them already.
    """
    prompt, tools, candidates, thoughts, total, cached = (
        count(raw.get(f"{name}TokenCount"))
        for name in ("prompt", "toolUsePrompt", "candidates", "thoughts", "total", "cachedContent")
    )
    given, made = sum_of(prompt, tools), sum_of(candidates, thoughts)
    surplus = 0 if total is None else (given or 0) + (made or 0) - total
    if 0 < surplus == thoughts and surplus <= (candidates or 0):
        made = candidates
    elif 0 < surplus == tools:
        given = prompt
    if made is None and given is not None and total is not None:  # zeros are not sent
        made = max(0, total - given)
    return Usage(
        input_tokens=given,
        output_tokens=made,
        total_tokens=sum_of(given, made) if total is None else total,
        reasoning_tokens=thoughts,
        cached_input_tokens=cached,
        raw=dict(raw),
    )


def holds_counts(raw: Mapping[str, Any]) -> bool:
    """Whether a `usageMetadata` says more than the traffic type."""
    return any(name.endswith("TokenCount") for name in raw)
