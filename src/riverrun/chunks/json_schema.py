"""JSON Schema of the union, as it is on the wire."""

from __future__ import annotations

from types import UnionType
from typing import Any, get_args

import msgspec

from riverrun.chunks.content import DataChunk
from riverrun.chunks.envelope import Record, Timestamp, is_list, is_object
from riverrun.chunks.message import KnownMessage, KnownPart, UnknownMessage, UnknownPart
from riverrun.chunks.union import CHUNK_CLASSES, KnownChunk, UnknownChunk


def json_schema() -> dict[str, Any]:
    """JSON Schema of ChunkType as it is on the wire, in draft 2020-12."""
    schemas, components = msgspec.json.schema_components(
        [KnownChunk, DataChunk, UnknownChunk, UnknownPart, UnknownMessage],
        schema_hook=lambda cls: {"type": "string", "format": "date-time"} if cls is Timestamp else {"type": "object"},
        ref_template="#/$defs/{name}",
    )
    for component in components.values():
        component.pop("additionalProperties", None)
        component.get("properties", {}).pop("*", None)
    components["DataChunk"]["properties"]["type"]["pattern"] = "^data-"
    components["UnknownChunk"]["properties"]["type"]["not"] = {
        "anyOf": [{"enum": [*CHUNK_CLASSES]}, {"pattern": "^data-"}]
    }
    _open(components, KnownPart, UnknownPart)
    _open(components, KnownMessage, UnknownMessage)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ChunkType",
        "anyOf": list(schemas[:3]),
        "$defs": components,
    }


def _open(components: dict[str, Any], known: UnionType, unknown: type[Record]) -> None:
    """Let what is of no known kind stand wherever one of the known kinds may."""
    closed = {f"#/$defs/{cls.__name__}" for cls in get_args(known)}

    def walk(schema: object) -> None:
        if is_object(schema):
            if {each.get("$ref") for each in schema.get("anyOf", ())} == closed:
                schema["anyOf"].append({"$ref": f"#/$defs/{unknown.__name__}"})
                schema.pop("discriminator", None)
            for below in schema.values():
                walk(below)
        elif is_list(schema):
            for below in schema:
                walk(below)

    walk(components)
