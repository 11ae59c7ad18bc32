"""Streams in short words, for tests that are about order alone.

A word is `type[:id[:note]][@run](inner)`: `tool-call:c1`, `tool-call:c1:remote`, `text-delta:t1@r2`,
`tool-output:c1(start@sub)`. The run is r1 unless said; `@` alone: no run id. `step-finish:go` says that a step follows.
"""

from __future__ import annotations

import re
from typing import Any

from riverrun.chunks import ChunkType, from_value

_WORD = re.compile(r"(?P<type>[a-z-]+)(:(?P<id>[\w.]+))?(:(?P<note>[a-z]+))?(?P<at>@(?P<run>\w*))?(\((?P<inner>.*)\))?")

_CALLS = ("tool-call", "tool-result", "tool-error", "tool-output", "background-task")


def stream(words: str) -> list[ChunkType]:
    """The chunks that the words stand for."""
    return [from_value(wire(word)) for word in words.split()]


def wire(word: str) -> dict[str, Any]:
    """The JSON of one word."""
    match = _WORD.fullmatch(word)
    assert match is not None, word
    type_, id, note = match["type"], match["id"], match["note"]
    chunk: dict[str, Any] = {"type": type_}
    run_id = match["run"] if match["at"] else _no_run(type_)
    if run_id:
        chunk["runId"] = run_id
    if type_.startswith("object"):
        return {**chunk, "object": {}}
    if type_.startswith("data-"):
        return {**chunk, "data": 1}
    if type_ == "my-own" or note == "bare":
        return chunk
    inner = wire(match["inner"]) if match["inner"] else 1
    return {**chunk, "payload": _payload(type_, id, note, inner)}


def _no_run(type_: str) -> str:
    manager = type_.startswith("background-task-") and type_ != "background-task-started"
    return "" if manager or type_.startswith("data-") else "r1"


def _payload(type_: str, id: str | None, note: str | None, inner: object) -> dict[str, Any]:
    if type_ in ("step-finish", "finish"):
        reason = id if id in ("error", "retry", "tripwire") else "stop"
        goes_on = None if id == "open" else id == "go" or note == "go"
        return {"stepResult": {"reason": reason, **({} if goes_on is None else {"isContinued": goes_on})}}
    if type_ == "tripwire":
        return {"reason": "no"}
    if type_ == "error":
        return {"error": {"message": "no"}}
    if type_ == "workflow-finish":
        return {"workflowStatus": id}
    if type_.startswith("workflow-step") or type_ == "step-output":
        name = (id or "a").rpartition(".")[2]
        return {"id": id or "a", "stepName": name, "stepCallId": note, "output": inner}
    if type_.startswith(_CALLS):
        return _call_payload(type_, id, note, inner)
    return {"id": id, "text": "x", "signature": "s", "data": "", "mimeType": "", "sourceType": "url", "title": ""}


def _call_payload(type_: str, id: str | None, note: str | None, inner: object) -> dict[str, Any]:
    payload: dict[str, Any] = {"toolName": "t", "argsTextDelta": "x"}
    if id is not None:
        payload |= {"toolCallId": id, "taskId": f"task-{id}"}
    if note == "remote":
        payload["providerExecuted"] = True
    elif note is not None:
        payload["providerMetadata"] = {"mastra": {"backgroundTask": {"taskId": f"task-{id}", "status": note}}}
    if type_ == "tool-output":
        payload["output"] = inner
    elif type_ == "background-task-output":
        payload["payload"] = inner
    elif type_ == "tool-error":
        payload["error"] = {"message": "no"}
    else:
        payload["result"] = "x"
    return payload
