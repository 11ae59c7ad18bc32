"""Which scenarios the runner performs, and how it names what it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.vocabulary import unsupported

CALL = {"parts": [{"type": "finish", "finishReason": "stop", "usage": {}}]}


def scenario(agent: dict[str, Any] | None = None, action: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A scenario of one agent and one action, with what the test adds."""
    return {
        "name": "one",
        "agents": {"main": {"model": [CALL], **(agent or {})}},
        "actions": [{"op": "stream", "input": "Hi", **(action or {})}],
        **more,
    }


def test_a_plain_scenario_is_performed_whole() -> None:
    tool = {"description": "d", "execute": [{"sleep_ms": 1}, {"returns": 1}]}
    options = {"runId": "r", "abort": {"before": True}, "modelSettings": {"timeout": {"stepMs": 1}}}
    assert unsupported(scenario({"tools": {"t": tool}}, {"options": options}, mastra=False)) == []


@pytest.mark.parametrize(
    ("agent", "action", "feature"),
    [
        ({"memory": True}, {}, "memory"),
        ({"goal": {"judge": []}}, {}, "goals"),
        ({"outputProcessors": [{"id": "p"}]}, {}, "processors"),
        ({"agents": ["sub"]}, {}, "subagents"),
        ({"durable": True}, {}, "durable agents"),
        ({"tools": {"t": {"execute": [{"suspends": {}}]}}}, {}, "suspension"),
        ({"tools": {"t": {"execute": [{"calls_agent": {"agent": "a"}}]}}}, {}, "subagents"),
        ({"tools": {"t": {"background": {"enabled": True}}}}, {}, "background tasks"),
        ({}, {"options": {"structuredOutput": {"schema": {}}}}, "structured output"),
        ({}, {"also_read": ["objectStream"]}, "structured output"),
        ({}, {"hooks": [{"on_type": "x", "do": "cancel_task"}]}, "background tasks"),
        ({}, {"op": "workflow_run"}, "workflows"),
        ({}, {"op": "recall"}, "memory"),
        ({}, {"op": "resumeStream"}, "suspension"),
    ],
)
def test_a_part_for_later_is_named(agent: dict[str, Any], action: dict[str, Any], feature: str) -> None:
    assert unsupported(scenario(agent, action)) == [feature]


def test_a_word_that_is_not_in_the_vocabulary_is_named_with_its_place() -> None:
    assert unsupported(scenario({"mood": "good"}, {"options": {"speed": 2}})) == ["agent mood", "option speed"]
    pseudo = {"model": [{"parts": [{"type": "$explode"}]}]}
    assert unsupported(scenario(pseudo)) == ["pseudo part $explode"]


def test_what_is_switched_off_asks_for_nothing() -> None:
    off = {"memory": False, "durable": False, "agents": [], "outputProcessors": []}
    assert unsupported(scenario(off)) == []


def test_every_shared_scenario_is_performed_or_named_with_a_feature(shared: Path) -> None:
    """No shared scenario holds a word that the vocabulary does not know."""
    for path in (shared / "oracle" / "scenarios").glob("*.json"):
        for feature in unsupported(json.loads(path.read_text())):
            assert not feature.startswith(("agent ", "option ", "tool ", "action ", "member ", "hook ", "scenario "))
