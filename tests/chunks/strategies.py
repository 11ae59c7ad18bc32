"""Hypothesis strategies for chunks, made from the definitions of the chunks themselves.

`chunks()` gives values of every class; `wire_chunks()` gives JSON values as a foreign sender may write them: members
missing, null, unknown or of another type, at every level.
"""

from __future__ import annotations

import json
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from riverrun.chunks import CHUNK_CLASSES, ChunkType, DataChunk, Extra, Record, Timestamp, UnknownChunk
from riverrun.chunks.message import MessageBase, Part, UnknownMessage, UnknownPart
from riverrun.chunks.tools import ToolOutputPayload
from riverrun.chunks.workflow import StepOutputPayload, WorkflowStepOutputPayload

CLASSES: list[type[Record]] = [*CHUNK_CLASSES.values(), DataChunk, UnknownChunk]
"""Every class of ChunkType."""

CARRIERS = {"tool-output", "step-output", "workflow-step-output", "background-task-output"}

TIMES = [
    "2024-01-02T03:04:05.000Z",
    "2024-01-02T03:04:05Z",
    "2024-01-02T03:04:05.1Z",
    "2024-01-02T03:04:05.123456Z",
    "2024-01-02T03:04:05.123456789Z",
    "2024-01-02T03:04:05+02:00",
    "2024-01-02T03:04:05.000+00:00",
    "2024-01-02T03:04:05,5-11:30",
    "2024-01-02 03:04:05Z",
    "20240102T030405Z",
    "2024-W01-2T03:04Z",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "9999-12-31T23:59:59.999999Z",
]
"""Times with an offset, in forms that senders use and in forms that they may use."""

NO_TIMES = ["", "now", "2024-01-02", "2024-01-02T03:04:05", "2024-01-02T03:04:60Z", "+002024-01-02T03:04:05.000Z"]
"""Texts in the place of a time that are none."""

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(["", "\0", "é", "😀", '"\\\n'])
names = (
    st.sampled_from(["x", "*", "extra", "type", "payload", "id", "from", "run_id", "output", "", "é", "$ref"]) | texts
)
whole_numbers = st.integers() | st.sampled_from([0, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**30])
numbers = whole_numbers | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0, -0.0, 1e300])
scalars = st.none() | st.booleans() | numbers | texts
json_values: SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
json_objects = st.dictionaries(names, json_values, max_size=3)
plain_objects = st.dictionaries(names.filter(lambda name: name != "type"), json_values, max_size=3)
"""Objects that nobody takes for a chunk or a part."""
times = st.sampled_from(TIMES[:-4]).map(Timestamp.parse)
unknown_types = st.sampled_from(["my-own", "", "routing-agent-start", "data", "Text-Delta"])


def same_json(one: object, other: object) -> bool:
    """Whether two JSON values are the same; 1, 1.0 and true are three values."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def members(cls: type[Record]) -> dict[str, msgspec.structs.FieldInfo]:
    """The members of a class, by their names on the wire."""
    return {field.encode_name: field for field in msgspec.structs.fields(cls) if field.name != "extra"}


# -- values


@cache
def chunks() -> SearchStrategy[ChunkType]:
    """Any chunk, with nested chunks where they stand."""
    return st.sampled_from(CLASSES).flatmap(records)


@cache
def records(cls: type[Record]) -> SearchStrategy[Any]:
    """Values of one class, with unknown members beside the known ones."""
    required: dict[str, SearchStrategy[Any]] = {}
    optional: dict[str, SearchStrategy[Any]] = {"extra": extras(cls)}
    for field in members(cls).values():
        (required if field.required else optional)[field.name] = _member(cls, field.name, field.type)
    return st.fixed_dictionaries(required, optional=optional).map(lambda given: cls(**given))


@cache
def extras(cls: type[Record]) -> SearchStrategy[Extra]:
    """Members that the class does not name."""
    taken = {*members(cls), cls.__struct_config__.tag_field}
    return st.dictionaries(names.filter(lambda name: name not in taken), json_values, min_size=1, max_size=2).map(Extra)


def _member(cls: type[Record], name: str, type_: Any) -> SearchStrategy[Any]:
    if cls is DataChunk and name == "type":
        return st.sampled_from(["data-x", "data-", "data-text-delta"])
    if cls is UnknownChunk and name == "type":
        return unknown_types
    if cls in (UnknownPart, UnknownMessage) and name in ("type", "role"):
        return st.sampled_from(["image-url", "developer", ""])
    if cls in (ToolOutputPayload, StepOutputPayload, WorkflowStepOutputPayload) and name == "output":
        return scalars | plain_objects | nested_chunks
    if cls.__name__ == "BackgroundTaskOutputPayload" and name == "payload":
        return plain_objects | nested_chunks
    return values(type_)


@cache
def values(type_: Any) -> SearchStrategy[Any]:
    """Values of a member's type."""
    if type_ is Any or type_ is object:
        return json_values
    if type_ is Timestamp:
        return times
    if type_ is int:
        return st.integers(-(2**63), 2**63 - 1)
    if isinstance(type_, type) and issubclass(type_, Record):
        return st.deferred(lambda: records(type_))
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of([values(each) for each in _with_unknown(arguments)])
    if origin is list:
        return st.lists(values(arguments[0]), max_size=2)
    if origin is dict:
        return json_objects if arguments[1] is Any else st.dictionaries(names, values(arguments[1]), max_size=2)
    return {bool: st.booleans(), float: st.floats(allow_nan=False, allow_infinity=False), str: texts}[type_]


def _with_unknown(classes: tuple[Any, ...]) -> list[Any]:
    """The open families have a class for what they do not know, which only type checkers see in the union."""
    first = classes[0]
    if isinstance(first, type) and issubclass(first, Part):
        return [*classes, UnknownPart]
    if isinstance(first, type) and issubclass(first, MessageBase):
        return [*classes, UnknownMessage]
    return list(classes)


_with_body = [cls for cls in CLASSES if cls not in (DataChunk, UnknownChunk)]
nested_chunks: SearchStrategy[Any] = st.deferred(lambda: st.sampled_from(_with_body).flatmap(records))
"""Chunks that are recognised inside others: those with a payload or an object."""


# -- JSON as foreign senders write it


@cache
def wire_chunks() -> SearchStrategy[dict[str, Any]]:
    """JSON values with a type, mostly of the form of a known chunk."""
    known = st.sampled_from(list(CHUNK_CLASSES.values())).flatmap(_wire_record)
    return known | _wire_record(DataChunk) | st.builds(_typed, json_objects, unknown_types)


def _typed(value: dict[str, Any], type_: str) -> dict[str, Any]:
    return {**value, "type": type_}


@cache
def _wire_record(cls: type[Record]) -> SearchStrategy[dict[str, Any]]:
    config = cls.__struct_config__
    tag = {} if config.tag is None else {config.tag_field: st.just(config.tag)}
    if cls is DataChunk:
        tag = {"type": st.sampled_from(["data-x", "data-"])}
    known = {
        name: _loosely(values_on_wire(field.type), keep=9 if field.required else 4)
        for name, field in members(cls).items()
        if name not in tag
    }
    fixed = st.fixed_dictionaries(tag, optional=known)  # required ones may be missing too
    full = st.fixed_dictionaries({**tag, **known})
    return st.builds(lambda unknown, given: {**unknown, **given}, json_objects, full | fixed)


def _loosely(proper: SearchStrategy[Any], *, keep: int) -> SearchStrategy[Any]:
    """Mostly the proper value, now and then null or anything."""
    return st.sampled_from([st.none(), json_values] + [proper] * keep).flatmap(lambda chosen: chosen)


@cache
def values_on_wire(type_: Any) -> SearchStrategy[Any]:
    """JSON of a member's type."""
    if type_ is Timestamp:
        return st.sampled_from([*TIMES, *NO_TIMES])
    if type_ is Any or type_ is object:
        return json_values | st.deferred(lambda: wire_chunks())
    if isinstance(type_, type) and issubclass(type_, Record):
        return st.deferred(lambda: _wire_record(type_))
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):
        return st.one_of([values_on_wire(each) for each in arguments])
    if origin is list:
        return st.lists(_loosely(values_on_wire(arguments[0]), keep=6), max_size=2)
    return values(type_)
