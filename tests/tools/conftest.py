"""What the tests of tools share: contexts that write into a list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from riverrun.chunks import ChunkType
from riverrun.tools import ToolContext


@pytest.fixture
def stream() -> list[ChunkType]:
    """The run's stream: every chunk that a context writes."""
    return []


@pytest.fixture
def context(stream: list[ChunkType]) -> Callable[..., ToolContext[Any]]:
    """Makes contexts that write into `stream`."""

    def make(**members: Any) -> ToolContext[Any]:
        known: dict[str, Any] = {
            "run_id": "run-1",
            "agent_id": "main",
            "tool_call_id": "c1",
            "tool_name": "w",
            "deps": None,
            "messages": (),
            "emit_chunk": stream.append,
            "cancelled_event": asyncio.Event(),
        }
        return ToolContext[Any](**{**known, **members})

    return make
