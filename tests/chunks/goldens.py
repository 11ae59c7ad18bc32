"""The oracle's recorded streams, in the form that they have on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

NORMALISED = {"<ms>": 1704164645000, "<dur>": 12, "<now>": "2024-01-02T03:04:05.000Z"}
"""What stands in the recordings for values that differ from run to run."""


@dataclass(frozen=True)
class GoldenStream:
    """One recorded stream. `deviating`: riverrun means to do better than what was recorded."""

    scenario: str
    action: int
    ended_by: str | None
    deviating: bool
    chunks: list[dict[str, Any]]

    def __str__(self) -> str:
        return f"{self.scenario}[{self.action}]"


@cache
def golden_streams(shared: Path) -> list[GoldenStream]:
    """All recorded streams that have chunks."""
    return list(_read(shared))


def _read(shared: Path) -> Iterator[GoldenStream]:
    oracle = shared / "oracle"
    deviations = json.loads((oracle / "deviations.json").read_text("utf-8"))
    for path in sorted((oracle / "golden").glob("*.json")):
        golden = json.loads(path.read_text("utf-8"))
        for number, action in enumerate(golden["actions"]):
            if action.get("chunks"):
                chunks = [_on_the_wire(chunk) for chunk in action["chunks"]]
                yield GoldenStream(path.stem, number, action.get("endedBy"), path.stem in deviations, chunks)


def _on_the_wire(value: Any) -> Any:
    """The recordings say {"$date": …}, {"$bytes": …}, {"$error": …}; the wire has the value alone."""
    if isinstance(value, dict):
        marked = len(value) == 1 and next(iter(value)) in ("$date", "$bytes", "$error")
        if marked:
            return _on_the_wire(next(iter(value.values())))
        return {name: _on_the_wire(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_on_the_wire(member) for member in value]
    return NORMALISED.get(value, value) if isinstance(value, str) else value
