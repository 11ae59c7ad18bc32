"""What the tests of generateContent share: wires from short notation, decoding, and what the chunks come to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riverrun.models.google import StreamDecoder
from tests.models.decoding import RUN, Decoded, decoded

FIXTURES = Path(__file__).parent / "fixtures" / "google_content"
_ABOUT = {"modelVersion": "gemini-1", "responseId": "r-1"}


def event(*parts: dict[str, Any], finish: str | None = None, **members: Any) -> bytes:
    """One event with one candidate of these parts."""
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return data({"candidates": [candidate], **_ABOUT, **members})


def data(value: Any) -> bytes:
    """One event that holds this JSON."""
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\r\n\r\n"


def wire(events: Sequence[Any]) -> bytes:
    """A fixture's events: a text as it is, {"parts": […], "finish": …, …} as a usual event, all else as its JSON."""
    return b"".join(_event(item) for item in events)


def _event(item: Any) -> bytes:
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, dict) and "parts" in item:
        rest = {name: value for name, value in item.items() if name not in ("parts", "finish")}
        return event(*item["parts"], finish=item.get("finish"), **rest)
    return data(item)


def decode(*pieces: bytes, **options: Any) -> Decoded:
    """Read a stream, given as the network cut it, and check that its chunks are in order."""
    return decoded(StreamDecoder(RUN, prefix="p", **options), *pieces)


@dataclass(frozen=True, slots=True)
class Case:
    """A fixture: what a server sends and what has to come of it."""

    id: str
    stream: bytes
    expect: dict[str, Any]
    options: dict[str, Any]


def cases() -> list[Case]:
    """All fixtures: the quirks by group, and the inputs of public bug reports."""
    return [
        Case(f"{path.stem}: {item['case']}", wire(item["events"]), item["expect"], item.get("options", {}))
        for path in sorted(FIXTURES.glob("*.json"))
        for item in json.loads(path.read_text("utf-8"))
    ]
