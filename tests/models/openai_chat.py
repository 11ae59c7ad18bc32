"""What the tests of openai-chat share: wires from short notation, decoding, and what the chunks come to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riverrun.models.openai_chat import StreamDecoder
from riverrun.types import ToolSpec
from tests.models.decoding import RUN, Decoded, decoded

FIXTURES = Path(__file__).parent / "fixtures" / "openai_chat"
DONE = b"data: [DONE]\n\n"
_ABOUT = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "m-1"}


def event(delta: dict[str, Any], finish: str | None = None, **members: Any) -> bytes:
    """One event with one choice."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return data({**_ABOUT, "choices": [choice], **members})


def data(value: Any) -> bytes:
    """One event that holds this JSON."""
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def wire(events: Sequence[Any]) -> bytes:
    """A fixture's events: a text as it is, {"delta": …, "finish": …, …} as a usual event, all else as its JSON."""
    return b"".join(_event(item) for item in events)


def _event(item: Any) -> bytes:
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, dict) and "delta" in item:
        rest = {name: value for name, value in item.items() if name not in ("delta", "finish")}
        return event(item["delta"], item.get("finish"), **rest)
    return data(item)


def decode(*pieces: bytes, tool_names: Sequence[str] = (), **options: Any) -> Decoded:
    """Read a stream, given as the network cut it, and check that its chunks are in order."""
    tools = [ToolSpec(name=name, description="", input_schema={}) for name in tool_names]
    return decoded(StreamDecoder(RUN, prefix="p", tools=tools, **options), *pieces)


@dataclass(frozen=True, slots=True)
class Case:
    """A fixture: what a server sends and what has to come of it."""

    id: str
    pieces: list[bytes]
    expect: dict[str, Any]
    options: dict[str, Any]


def cases() -> list[Case]:
    """All fixtures: the quirks by group, and the inputs of public bug reports."""
    found: list[Case] = []
    for path in sorted(FIXTURES.glob("*.json")):
        for item in json.loads(path.read_text("utf-8")):
            pieces = [bytes.fromhex(read) for read in item.get("reads_hex", ())] or [wire(item["events"])]
            found.append(Case(f"{path.stem}: {item['case']}", pieces, item["expect"], item.get("options", {})))
    return found
