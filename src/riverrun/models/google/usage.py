"""Token counts of generateContent → Usage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks import Usage


def read_usage(raw: Mapping[str, Any]) -> Usage:
    """The provider's `usageMetadata` as Usage; counts that are missing or no whole numbers are None.

    Thoughts stand beside the candidates' tokens, and what server-side tools read stands beside the prompt's; where the
    total is too small for that, they are in them already.
    """
    prompt, tools, candidates, thoughts, total, cached = (
        _count(raw.get(f"{name}TokenCount"))
        for name in ("prompt", "toolUsePrompt", "candidates", "thoughts", "total", "cachedContent")
    )
    given, made = _sum(prompt, tools), _sum(candidates, thoughts)
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
        total_tokens=total if total is not None else _sum(given, made),
        reasoning_tokens=thoughts,
        cached_input_tokens=cached,
        raw=dict(raw),
    )


def holds_counts(raw: Mapping[str, Any]) -> bool:
    """Whether a `usageMetadata` says more than the traffic type."""
    return any(name.endswith("TokenCount") for name in raw)


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**63:
        return None
    return int(value) if int(value) == value else None
