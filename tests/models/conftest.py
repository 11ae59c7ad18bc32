"""What the tests of all models are kept from: the keys and servers of whoever runs them."""

from __future__ import annotations

import os

import pytest

_PREFIXES = ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(_PREFIXES)]:
        monkeypatch.delenv(name)
