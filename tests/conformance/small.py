"""Small scenarios for the tests of the runner."""

from __future__ import annotations

from typing import Any

from tests.conformance.run import run_scenario

USAGE = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}


def text(*pieces: str, finish: str = "stop") -> list[dict[str, Any]]:
    """Parts of an answer in pieces of text."""
    deltas = [{"type": "text-delta", "id": "t", "delta": piece} for piece in pieces]
    return [{"type": "text-start", "id": "t"}, *deltas, {"type": "text-end", "id": "t"}, end(finish)]


def end(reason: str) -> dict[str, Any]:
    """The last part of an answer."""
    return {"type": "finish", "finishReason": reason, "usage": USAGE}


def calls(*names: str, arguments: str = '{"n":2}') -> list[dict[str, Any]]:
    """Parts of an answer that calls tools."""
    made = [
        {"type": "tool-call", "toolCallId": f"call-{number}", "toolName": name, "input": arguments}
        for number, name in enumerate(names)
    ]
    return [*made, end("tool-calls")]


def agent(*answers: list[dict[str, Any]] | dict[str, Any], **more: Any) -> dict[str, Any]:
    """An agent whose model gives these answers: lists of parts, or whole calls."""
    return {"model": [{"parts": answer} if isinstance(answer, list) else answer for answer in answers], **more}


def tool(*ops: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A tool that does these operations."""
    return {"description": "d", "execute": list(ops), **more}


def scenario(main_agent: dict[str, Any], *actions: dict[str, Any], **others: dict[str, Any]) -> dict[str, Any]:
    """A scenario of `main` and other agents; an action streams unless it says what it does."""
    listed = actions or ({},)
    return {
        "name": "one",
        "agents": {"main": main_agent, **others},
        "actions": [{"op": "stream", "input": "Hi", **action} for action in listed],
    }


async def perform(main_agent: dict[str, Any], *actions: dict[str, Any], **others: dict[str, Any]) -> dict[str, Any]:
    """The result of a scenario; nothing of it may go on."""
    result = await run_scenario(scenario(main_agent, *actions, **others))
    assert "tasksLeft" not in result
    return result


def types(record: dict[str, Any]) -> list[str]:
    """The chunk types of an action's record."""
    return [chunk["type"] for chunk in record["chunks"]]
