"""A clock that does not make anybody wait, and a collector that looks at nothing but what the tests make."""

from __future__ import annotations

import gc

import pytest

from tests.agent.scripts import noted_sleeps


@pytest.fixture(scope="session", autouse=True)
def _frozen_imports() -> None:
    """Each test collects garbage at its end; what was imported is not worth looking through every time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every sleep of some length takes no time and is noted here."""
    return noted_sleeps(monkeypatch)
