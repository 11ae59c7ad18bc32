"""Counts of tokens, as providers say them."""

from __future__ import annotations


def count(value: object) -> int | None:
    """A count; None for what is missing or no whole number that can be one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**63:
        return None
    return int(value) if int(value) == value else None


def sum_of(*counts: int | None) -> int | None:
    """The sum of the counts that are known; None when none is."""
    known = [number for number in counts if number is not None]
    return sum(known) if known else None
