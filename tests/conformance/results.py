"""What a run came to, in the form of the recordings: `final`, `early`, `fullOutput`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from riverrun import Result, Run, RunError
from tests.conformance.values import dump

PROMISES = {
    "text": "text",
    "reasoningText": "reasoning_text",
    "reasoning": "reasoning",
    "toolCalls": "tool_calls",
    "toolResults": "tool_results",
    "usage": "usage",
    "totalUsage": "total_usage",
    "finishReason": "finish_reason",
    "object": "object",
    "warnings": "warnings",
    "providerMetadata": "provider_metadata",
    "sources": "sources",
    "files": "files",
    "response": "response",
    "request": "request",
    "suspendPayload": "suspend_payload",
    "steps": "steps",
}
"""The recordings' name of each promise → riverrun's name of it."""

STATUS = {"tripwire": "running"}
"""riverrun's word for how a run stands → the recordings'. There, a run whose stream a tripwire ended is never over."""


def fulfilled(value: Any) -> dict[str, Any]:
    """A promise that was kept; undefined has no `value`."""
    return {} if value is None else {"value": dump(value)}


def rejected(error: BaseException) -> dict[str, Any]:
    """A promise that was broken, with the error that broke it."""
    return {"rejected": dump(cause(error))}


def cause(error: BaseException) -> BaseException:
    """What made a run fail: RunError stands for it."""
    return error.__cause__ if isinstance(error, RunError) and error.__cause__ is not None else error


async def settled(promise: Awaitable[Any]) -> dict[str, Any]:
    """Wait for a promise and say how it ended."""
    try:
        return fulfilled(await promise)
    except Exception as error:
        return rejected(error)


async def promise(run: Run, name: str) -> dict[str, Any]:
    """Wait for one of the recordings' promises and say how it ended."""
    ours = PROMISES[name]
    if hasattr(run, ours):
        return await settled(getattr(run, ours))
    try:
        return fulfilled(getattr(await run.result(), ours))
    except Exception as error:
        return rejected(error)


async def final(run: Run) -> dict[str, Any]:
    """All promises of a run that is over, read from `run.partial`, and its state.

    Only `object` is awaited: it is the one promise that the recorded system breaks when a run fails.
    """
    partial = run.partial
    out: dict[str, Any] = {
        name: fulfilled(getattr(partial, ours)) for name, ours in PROMISES.items() if name != "steps"
    }
    out["object"] = await settled(run.object)
    out["resumeSchema"] = {}
    out["stepsCount"] = len(partial.steps)
    out["steps"] = dump(partial.steps)
    out["error"] = fulfilled(run.error)
    out["tripwire"] = fulfilled(run.tripwire)
    out["status"] = STATUS.get(run.status, run.status)
    return out


def full_output(result: Result) -> dict[str, Any]:
    """A whole result as one object; undefined members are left out."""
    members = {name: getattr(result, ours) for name, ours in PROMISES.items()}
    members |= {"runId": result.run_id, "error": result.error, "tripwire": result.tripwire}
    return {name: dump(member) for name, member in members.items() if member is not None}
