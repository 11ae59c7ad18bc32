"""Which scenarios the runner performs, and how it names what it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.vocabulary import LATER, unsupported

FEATURES = {feature for words in LATER.values() for feature in words.values()}
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
        ({"goal": {"judge": []}}, {}, "goals"),
        ({"durable": True}, {}, "durable agents"),
        ({"backgroundTasks": {"enabled": True}}, {}, "background tasks"),
        ({"tools": {"t": {"execute": [{"bail": 1}]}}}, {}, "workflows"),
        ({"tools": {"t": {"background": {"enabled": True}}}}, {}, "background tasks"),
        ({}, {"hooks": [{"on_type": "x", "do": "cancel_task"}]}, "background tasks"),
        ({}, {"op": "workflow_run"}, "workflows"),
        ({}, {"op": "setObjective"}, "goals"),
        ({}, {"op": "resumeStream", "options": {"untilIdle": True}}, "background tasks"),
    ],
)
def test_a_part_for_later_is_named(agent: dict[str, Any], action: dict[str, Any], feature: str) -> None:
    assert unsupported(scenario(agent, action)) == [feature]


@pytest.mark.parametrize(
    ("agent", "action"),
    [
        ({"memory": True}, {"op": "recall", "thread": "th", "resource": "u"}),
        ({"memory": {"lastMessages": 1}}, {"options": {"memory": {"thread": "th", "resource": "u"}}}),
        ({"inputProcessors": [{"id": "p", "input": {"replace": ["a", "b"]}}]}, {}),
        ({"tools": {"t": {"requires_approval": True}}}, {"op": "declineToolCall", "options": {"reason": "no"}}),
        ({"tools": {"t": {"execute": [{"suspends": {}}], "resumeSchema": {}}}}, {"op": "resumeStream"}),
        ({"tools": {"t": {"execute": [{"calls_agent": {"agent": "main", "input": "x"}}]}}}, {}),
        ({}, {"options": {"structuredOutput": {"schema": {}, "model": [CALL]}}, "also_read": ["elementStream"]}),
        ({}, {"options": {"task_complete_if_text_contains": "DONE"}}),
    ],
)
def test_what_needs_more_than_a_model_and_tools_is_performed_too(agent: dict[str, Any], action: dict[str, Any]) -> None:
    assert unsupported(scenario(agent, action)) == []


@pytest.mark.parametrize(
    ("agent", "options", "word"),
    [
        ({"memory": {"semanticRecall": True}}, {}, "memory semanticRecall"),
        ({"outputProcessors": [{"id": "p", "dreams": {"of": "sheep"}}]}, {}, "processor dreams"),
        ({"outputProcessors": [{"id": "p", "output_stream": {"sings": True}}]}, {}, "processor output_stream sings"),
        ({}, {"inputProcessors": [{"id": "p", "input": {"sings": True}}]}, "processor input sings"),
        ({}, {"memory": {"thread": "th", "options": {"readOnly": True}}}, "memory option options"),
        ({}, {"structuredOutput": {"schema": {}, "useAgent": True}}, "structured output useAgent"),
        ({}, {"structuredOutput": {"schema": {}, "model": [{"mood": 1}]}}, "call mood"),
    ],
)
def test_a_word_inside_a_part_is_named_too(agent: dict[str, Any], options: dict[str, Any], word: str) -> None:
    assert unsupported(scenario(agent, {"options": options})) == [word]


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
            assert feature in FEATURES, f"{path.stem}: {feature}"
