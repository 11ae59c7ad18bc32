"""What counts as a number among the options that callers give: no bool, and no text that looks like a number."""

from __future__ import annotations

from typing import TypeGuard


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is an int or a float, infinity and NaN among them; NaN is in no range."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object, *, least: int) -> TypeGuard[int]:
    """Whether it is an int, and not less than `least`."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
