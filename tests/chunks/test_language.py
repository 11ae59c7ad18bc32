"""The chunk classes: what they are called here and on the wire, and how they behave as values.

The names on the wire are kept in wire_names.json: a change there is a change of the format. When it is meant, write the
file anew with `python -m tests.chunks.test_language`.
"""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

import riverrun.chunks
from riverrun.chunks import (
    CHUNK_CLASSES,
    ChunkFrom,
    ChunkType,
    DataChunk,
    Extra,
    ObjectChunk,
    Record,
    StepOutput,
    TextDeltaChunk,
    TextDeltaPayload,
    Timestamp,
    UnknownChunk,
    Usage,
    decode,
    encode,
    to_value,
)
from riverrun.chunks.envelope import type_name, wire_name
from riverrun.chunks.message import KnownMessage, KnownPart, UnknownMessage, UnknownPart
from tests.chunks.strategies import CLASSES, members

SNAPSHOT = Path(__file__).with_name("wire_names.json")

WITHOUT_PAYLOAD = {"object", "object-result"}


# -- the classes that the language is made of


def language() -> list[type[Record]]:
    """Every record that can be part of a chunk."""
    found: dict[type[Record], None] = {}
    todo: list[Any] = [*CLASSES, *get_args(KnownPart), UnknownPart, *get_args(KnownMessage), UnknownMessage]
    while todo:
        type_ = todo.pop(0)
        todo += get_args(type_)
        if isinstance(type_, type) and issubclass(type_, Record) and type_ not in found:
            found[type_] = None
            todo += [field.type for field in members(type_).values()]
    return list(found)


def wire_names() -> dict[str, Any]:
    """Class → its type on the wire and the names of its members."""
    names: dict[str, Any] = {}
    for cls in language():
        config = cls.__struct_config__
        fields = members(cls)
        names[cls.__name__] = {
            **({config.tag_field: config.tag} if config.tag else {}),
            "required": [name for name, field in fields.items() if field.required],
            "optional": sorted(name for name, field in fields.items() if not field.required),
        }
    return dict(sorted(names.items()))


def payload_class(cls: type[Record]) -> type[Record] | None:
    payload = members(cls)["payload"].type
    return payload if isinstance(payload, type) and issubclass(payload, Record) else None


PAYLOADS = {cls: payload_class(cls) for type_, cls in CHUNK_CLASSES.items() if type_ not in WITHOUT_PAYLOAD}


# -- the page


def page_chunks(page: str) -> dict[str, set[str]]:
    """Chunk type → the members that the page names: `payload.text` or, without a payload, `object`."""
    found: dict[str, set[str]] = {}
    for section in re.split(r"^#{2,3} ", page, flags=re.MULTILINE)[1:]:
        named = re.findall(r"^\*\*([\w.\[\]\\: ]+)\*\* \(`(.*)`\)", section, flags=re.MULTILINE)
        if named and named[0][0] == "type" and named[0][1].startswith('"'):
            type_ = named[0][1].strip('"')
            found[type_] = {name for name, _ in named[1:] if name != "payload" and "[" not in name}
    return found


def pages(shared: Path) -> Iterator[dict[str, set[str]]]:
    for path in sorted((shared / "reference").glob("*.txt")):
        yield page_chunks(path.read_text("utf-8"))


def test_every_chunk_of_the_page_has_a_class_with_every_member_that_the_page_names(shared: Path):
    for page in pages(shared):
        assert len(page) == 38
        for type_, named in page.items():
            cls = CHUNK_CLASSES[type_]
            payload = PAYLOADS.get(cls)
            known = {f"payload.{name}" for name in members(payload)} if payload else set()
            assert named <= known | set(members(cls)), type_


def test_the_page_says_the_same_in_every_language(shared: Path):
    first, *others = pages(shared)
    assert others
    assert all(other == first for other in others)


def test_the_classes_are_called_as_on_the_page(shared: Path):
    page = (shared / "reference" / "000_c3a5aa0d1a4cdca9.txt").read_text("utf-8")
    named = set(re.findall(r"^\*\*payload\*\* \(`(\w+)`\)", page, flags=re.MULTILINE))
    classes = {cls.__name__ for cls in language()}
    assert named - classes == {"RawPayload", "GoalEvaluationPayload"}  # a raw payload is any value


def test_the_origins_of_the_page_are_known(shared: Path):
    page = (shared / "reference" / "000_c3a5aa0d1a4cdca9.txt").read_text("utf-8")
    assert set(re.findall(r"^\*\*from\.(\w+)\*\*", page, flags=re.MULTILINE)) <= set(get_args(ChunkFrom))


# -- names


def test_the_names_on_the_wire_are_those_of_the_snapshot():
    assert wire_names() == json.loads(SNAPSHOT.read_text("utf-8")), (
        "names on the wire changed; if that is meant: python -m tests.chunks.test_language"
    )


def test_every_class_of_the_union_is_in_the_table_of_types():
    union = set(get_args(ChunkType))
    assert union == {*CHUNK_CLASSES.values(), DataChunk, UnknownChunk}
    assert len(CHUNK_CLASSES) == len(union) - 2


@pytest.mark.parametrize("type_", CHUNK_CLASSES)
def test_the_type_of_a_class_is_its_tag_and_its_name(type_: str):
    cls = CHUNK_CLASSES[type_]
    assert cls.type == cls.__struct_config__.tag == type_name(cls.__name__) == type_  # type: ignore[attr-defined]
    assert cls.__struct_config__.tag_field == "type"


@pytest.mark.parametrize("cls", language(), ids=lambda cls: cls.__name__)
def test_members_are_camel_case_on_the_wire_by_one_rule(cls: type[Record]):
    for field in msgspec.structs.fields(cls):
        assert field.encode_name == wire_name(field.name)
        assert re.fullmatch(r"[a-z][A-Za-z0-9]*|\*", field.encode_name)


def test_chunks_and_payloads_are_exported_under_their_names():
    exported = riverrun.chunks.__all__
    assert list(exported) == sorted(exported, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    for cls in [*CLASSES, *filter(None, PAYLOADS.values())]:
        assert cls.__name__ in exported
        assert getattr(riverrun.chunks, cls.__name__) is cls


# -- values


@pytest.mark.parametrize("cls", language(), ids=lambda cls: cls.__name__)
def test_nothing_can_be_changed(cls: type[Record]):
    assert cls.__struct_config__.frozen
    assert cls.__struct_config__.omit_defaults
    assert cls.__struct_config__.forbid_unknown_fields


@pytest.mark.parametrize("type_", CHUNK_CLASSES)
def test_the_payload_is_the_first_positional_pattern(type_: str):
    assert CHUNK_CLASSES[type_].__match_args__[0] == ("object" if type_ in WITHOUT_PAYLOAD else "payload")


def test_a_match_reads_the_payload():
    chunk: ChunkType = TextDeltaChunk(TextDeltaPayload("t1", "hello"), run_id="r")
    match chunk:
        case TextDeltaChunk(p):
            assert (p.id, p.text) == ("t1", "hello")
        case _:
            pytest.fail("no match")
    match ObjectChunk({"a": 1}):
        case ObjectChunk(value):
            assert value == {"a": 1}


def test_a_chunk_cannot_be_changed():
    chunk = TextDeltaChunk(TextDeltaPayload("t1", "hello"))
    with pytest.raises(AttributeError):
        chunk.run_id = "r"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        chunk.payload.text = "bye"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Extra({"a": 1})["a"] = 2  # type: ignore[index]


def test_equal_chunks_are_equal_and_hash_alike():
    one, other = (TextDeltaChunk(TextDeltaPayload("t1", "hello"), extra=Extra({"a": 1})) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != msgspec.structs.replace(one, extra=Extra({"a": 2}))
    assert one != TextDeltaChunk(TextDeltaPayload("t1", "hello"))


def test_unknown_members_survive_replace_copy_and_pickle():
    line = b'{"type":"text-delta","payload":{"id":"t1","text":"a","new":[null]},"runId":"r","newer":{"b":1}}'
    chunk = decode(line)
    for same in (copy.copy(chunk), copy.deepcopy(chunk), pickle.loads(pickle.dumps(chunk))):
        assert same == chunk
        assert json.loads(encode(same)) == json.loads(line)
    assert isinstance(chunk, TextDeltaChunk)
    other = msgspec.structs.replace(chunk, run_id="s", payload=msgspec.structs.replace(chunk.payload, text="b"))
    assert to_value(other) == {
        "type": "text-delta",
        "runId": "s",
        "payload": {"id": "t1", "text": "b", "new": [None]},
        "newer": {"b": 1},
    }


def test_a_member_that_is_none_is_not_written():
    assert to_value(TextDeltaChunk(TextDeltaPayload("t1", ""), from_="AGENT")) == {
        "type": "text-delta",
        "from": "AGENT",
        "payload": {"id": "t1", "text": ""},
    }
    assert msgspec.to_builtins(StepOutput(text="", usage=Usage(input_tokens=0))) == {
        "text": "",
        "usage": {"inputTokens": 0},
    }


def test_the_current_time_is_written_as_javascript_writes_it():
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", Timestamp.current().wire())


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(wire_names(), indent=1) + "\n", "utf-8")
