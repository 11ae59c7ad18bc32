"""What the tests of structured output share: types, recorded answers, and reading an answer piece by piece."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from typing_extensions import TypedDict

from riverrun.chunks import ChunkType, ObjectChunk, to_value
from riverrun.structured import ObjectReader, Outcome, StructuredOutput

PERSON_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "number"}},
    "required": ["name", "age"],
}


class Person(BaseModel):
    name: str
    age: int


class Weather(enum.Enum):
    SUNNY = "sunny"
    RAINY = "rainy"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Options(TypedDict, total=False):
    verbose: bool


def read(
    settings: StructuredOutput[Any], deltas: Sequence[str], reason: str | None = "stop", **options: Any
) -> tuple[list[Any], Outcome[Any]]:
    """What was told of an answer while it came, and what it came to."""
    reader = ObjectReader(settings, run_id="run-1", **options)
    told: list[ChunkType] = [chunk for delta in deltas for chunk in reader.feed(delta)]
    outcome = reader.finish(reason)
    return [chunk.object for chunk in [*told, *outcome.chunks] if isinstance(chunk, ObjectChunk)], outcome


def cut(text: str, size: int) -> list[str]:
    """The text in pieces of `size` characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


# -- the recordings


@dataclasses.dataclass(frozen=True)
class Recorded:
    """A recorded answer: what was asked for, the model's pieces of text, and the chunks that were made of them."""

    name: str
    settings: StructuredOutput[Any]
    deltas: list[str]
    reason: str
    chunks: list[dict[str, Any]]


def recorded(shared: Path) -> Iterator[Recorded]:
    """The recorded answers; of scenarios with two models, the second one's."""
    for path in sorted((shared / "oracle/scenarios").glob("object_*.json")):
        scenario = json.loads(path.read_text("utf-8"))
        golden = json.loads((shared / "oracle/golden" / path.name).read_text("utf-8"))
        given = scenario["actions"][0]["options"]["structuredOutput"]
        calls = given.get("model") or scenario["agents"]["main"]["model"]
        parts = calls[0]["parts"]
        yield Recorded(
            name=path.stem,
            settings=_settings(given),
            deltas=[part["delta"] for part in parts if part["type"] == "text-delta"],
            reason=parts[-1]["finishReason"],
            chunks=[_comparable(chunk) for chunk in golden["actions"][0]["chunks"] if _is_ours(chunk)],
        )


def _settings(given: dict[str, Any]) -> StructuredOutput[Any]:
    names = {"errorStrategy": "error_strategy", "fallbackValue": "fallback_value"}
    options: dict[str, Any] = {ours: given[theirs] for theirs, ours in names.items() if theirs in given}
    return StructuredOutput(given["schema"], **options)


def _is_ours(chunk: dict[str, Any]) -> bool:
    return chunk["type"] in ("object", "object-result", "error")


def comparable(chunks: Sequence[ChunkType]) -> list[dict[str, Any]]:
    """Chunks in the form in which `Recorded` has them."""
    return [_comparable(to_value(chunk)) for chunk in chunks]


def _comparable(chunk: dict[str, Any]) -> dict[str, Any]:
    """Type, object, fallback, and of errors the message, id and details."""
    out = {name: chunk[name] for name in ("type", "from", "object") if name in chunk}
    if (chunk.get("metadata") or {}).get("fallback"):
        out["fallback"] = True
    if chunk["type"] == "error":
        error = chunk["payload"]["error"]
        error = error.get("$error", error)
        out["error"] = {name: error[name] for name in ("message", "id", "details")}
    return out


def reported(shared: Path, name: str) -> dict[str, Any]:
    """A fault that users of another library reported."""
    lines = (shared / "bugs.jsonl").read_text("utf-8").splitlines()
    (report,) = [report for line in lines if (report := json.loads(line))["id"] == name]
    assert isinstance(report, dict)
    return report
