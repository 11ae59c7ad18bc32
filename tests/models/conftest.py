"""For the tests of all models: no key or server of whoever runs them, and garbage collection that costs little."""

from __future__ import annotations

import gc
import os

import pytest

_PREFIXES = ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(_PREFIXES)]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True, scope="session")
def _frozen() -> None:
    """Each coroutine test collects garbage at its end, and the SDKs' modules make that take a tenth of a second."""
    gc.collect()
    gc.freeze()
