"""What the tests of openai-responses share: wires from short notation, decoding, and what the chunks come to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riverrun.models.openai_responses import StreamDecoder
from riverrun.types import ToolSpec
from tests.models.decoding import RUN, Decoded, decoded

FIXTURES = Path(__file__).parent / "fixtures" / "openai_responses"
_ABOUT = {"id": "resp_1", "object": "response", "created_at": 1700000000, "model": "m-1"}
_STATES = {"created": "in_progress", "completed": "completed", "incomplete": "incomplete", "failed": "failed"}


def event(item: Any) -> dict[str, Any]:
    """A fixture's event, written out.

    {"created": {…}} (completed, incomplete, failed) is an event with a response that has these members beside the usual
    ones; {"added": {…}, "on": 1} (done) one about the item at this place; {"output_text": "a", "on": 1, "part": 0} and
    the like a delta. All else is the event itself; its type may leave "response." out.
    """
    for name, status in _STATES.items():
        if name in item:
            return {"type": f"response.{name}", "response": {**_ABOUT, "status": status, **item[name]}}
    for name in ("added", "done"):
        if name in item:
            return {"type": f"response.output_item.{name}", "output_index": item.get("on", 0), "item": item[name]}
    if "type" in item:
        whole = item["type"].startswith("response.") or item["type"] == "error"
        return item if whole else {**item, "type": f"response.{item['type']}"}
    ((name, piece),) = ((name, value) for name, value in item.items() if name not in ("on", "part"))
    part = "summary_index" if name == "reasoning_summary_text" else "content_index"
    where = {"output_index": item.get("on", 0), part: item.get("part", 0)}
    return {"type": f"response.{name}.delta", **where, "item_id": "x", "delta": piece}


def frame(value: Any) -> bytes:
    """One event that holds this JSON, named as OpenAI names it."""
    name = f"event: {value['type']}\n" if isinstance(value, dict) and isinstance(value.get("type"), str) else ""
    return f"{name}data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def wire(events: Iterable[Any]) -> bytes:
    """A fixture's events as they come: a text as it is, all else written out and framed."""
    return b"".join(item.encode() if isinstance(item, str) else frame(event(item)) for item in events)


def decode(*pieces: bytes, **options: Any) -> Decoded:
    """Read a stream, given as the network cut it, and check that its chunks are in order."""
    return decoded(StreamDecoder(RUN, prefix="p", **options), *pieces)


def offered(*ids: str) -> list[ToolSpec]:
    """Tools of the API's own: "openai.shell", or with a name of its own "openai.custom=write_sql"."""
    return [
        ToolSpec(
            name=id.partition("=")[2] or id.partition(".")[2],
            description="",
            input_schema={},
            provider_id=id.partition("=")[0],
        )
        for id in ids
    ]


@dataclass(frozen=True, slots=True)
class Case:
    """A fixture: what a server sends and what has to come of it."""

    id: str
    events: Sequence[Any]
    expect: dict[str, Any]
    options: dict[str, Any]

    @property
    def whole(self) -> bytes:
        return wire(self.events)


def cases() -> list[Case]:
    """All fixtures: the quirks by group, and the inputs of public bug reports."""
    found: list[Case] = []
    for path in sorted(FIXTURES.glob("*.json")):
        for item in json.loads(path.read_text("utf-8")):
            options = {name: item[name] for name in ("provider", "owed", "headers") if name in item}
            options["tools"] = offered(*item.get("offered", ()))
            found.append(Case(f"{path.stem}: {item['case']}", item["events"], item["expect"], options))
    return found
