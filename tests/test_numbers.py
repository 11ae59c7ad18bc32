"""What counts as a number."""

from __future__ import annotations

import math

import pytest

from riverrun.numbers import is_number, is_whole


@pytest.mark.parametrize("value", [True, "5", None, 1j, [1]])
def test_what_only_looks_like_a_number_is_none(value: object) -> None:
    assert not is_number(value)
    assert not is_whole(value, least=0)


def test_a_whole_number_has_no_fraction_and_is_not_too_small() -> None:
    assert is_number(0.5)
    assert is_number(math.inf)
    assert is_whole(3, least=3)
    assert not is_whole(2, least=3)
    assert not is_whole(3.0, least=3)
