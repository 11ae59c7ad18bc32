"""Chunks ↔ JSON, exactly: what was decoded is encoded again as the same JSON value.

Two ways each. The fast one is msgspec's own, and takes nearly every chunk. The careful one keeps what the classes do
not name (unknown members, nulls, values of another type) in `extra`, and a chunk that fits no class in UnknownChunk.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import UNSET

from riverrun.chunks.background import BackgroundTaskOutputChunk
from riverrun.chunks.content import DataChunk
from riverrun.chunks.envelope import Extra, Record, Timestamp, is_list, is_object
from riverrun.chunks.message import MessageBase, Part, UnknownMessage, UnknownPart
from riverrun.chunks.tools import ToolOutputChunk
from riverrun.chunks.union import CHUNK_CLASSES, ChunkType, KnownChunk, UnknownChunk
from riverrun.chunks.workflow import StepOutputChunk, WorkflowStepOutputChunk
from riverrun.errors import DecodeError, RiverrunError


def encode(chunk: ChunkType) -> bytes:
    """One chunk as one line of JSON (UTF-8, no newline in it).

    Exceptions become {name, message} and their plain details; bytes become base64; pydantic models, dataclasses and
    sets become what they hold; a lone surrogate becomes U+FFFD. Raises TypeError for a value that has no JSON form.
    """
    try:
        return _fast_encoder.encode(chunk)
    except (_HasExtra, UnicodeEncodeError, RecursionError):
        return _encoded(chunk)


def decode(data: bytes | str) -> ChunkType:
    """Read one chunk. Raises DecodeError unless `data` is one JSON object with a `type` text."""
    try:
        return _revived(_decoder.decode(data))
    except (msgspec.DecodeError, UnicodeError, RecursionError):  # ValidationError is a DecodeError
        pass
    try:
        return from_value(_json_value(data))
    except RecursionError:
        raise DecodeError("values are nested too deeply") from None


def from_value(value: object) -> ChunkType:
    """Make a chunk of its JSON value (dicts, lists, text, numbers). Raises DecodeError as `decode` does."""
    if not is_object(value) or not isinstance(value.get("type"), str):
        raise DecodeError(f"a chunk is a JSON object with a 'type': {str(value)[:100]}")
    members = value
    cls = CHUNK_CLASSES.get(members["type"])
    if cls is not None:
        rest = {name: member for name, member in members.items() if name != "type"}
        try:
            return _revived(cast("ChunkType", _record(cls, rest)))
        except TypeError:  # a required member is missing or of another kind
            return _record(UnknownChunk, members)
    if members["type"].startswith("data-"):
        return _record(DataChunk, members)
    return _record(UnknownChunk, members)


def to_value(chunk: ChunkType) -> dict[str, Any]:
    """The chunk's JSON value: what `encode` writes, as dicts and lists."""
    return cast("dict[str, Any]", msgspec.json.decode(encode(chunk)))


def json_text(value: object) -> str:
    """Any value that may stand in a chunk, as JSON text. Raises TypeError for one that has no JSON form."""
    return _encoded(value).decode()


def json_value(value: object) -> Any:
    """Any value that may stand in a chunk, as JSON value. Raises TypeError for one that has no JSON form."""
    return msgspec.json.decode(_encoded(value))


def exact_json_value(value: object) -> Any:
    """The same for a value of which nothing may be lost: raises TypeError for NaN and infinity, which become null."""
    encoded = json_value(value)
    if not _is_finite(msgspec.to_builtins(plain(value), enc_hook=_plain_object)):
        raise TypeError("NaN and infinity have no JSON form")
    return encoded


def _is_finite(value: object) -> bool:
    if is_object(value):
        return all(map(_is_finite, value.values()))
    if is_list(value):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


# -- encoding


class _HasExtra(Exception):
    """The fast encoder met members that only the careful one can write."""


def _fast_hook(value: object) -> object:
    if isinstance(value, Extra):
        raise _HasExtra
    return _plain_object(value)


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _encoded(value: object) -> bytes:
    try:
        sound = plain(value)
        try:
            return _careful_encoder.encode(sound)
        except UnicodeEncodeError:
            return _careful_encoder.encode(_well_formed(msgspec.to_builtins(sound, enc_hook=_plain_object)))
    except RecursionError:
        raise TypeError("a value that holds itself, or is nested too deeply, has no JSON form") from None


def _well_formed(value: Any) -> Any:
    """Texts without lone surrogates, which Python and JavaScript have and UTF-8 has not."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if is_object(value):
        return {_well_formed(key): _well_formed(member) for key, member in value.items()}
    if is_list(value):
        return [_well_formed(member) for member in value]
    return value


def _plain_object(value: object) -> object:
    if isinstance(value, Timestamp):
        return value.wire()
    if isinstance(value, BaseException):
        return error_value(value)
    dump: Callable[..., object] | None = getattr(value, "model_dump", None)  # a pydantic model
    if dump is not None:
        return dump(mode="json")
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def error_value(error: BaseException) -> dict[str, Any]:
    """An exception on the wire: name, message and, for riverrun's own, their plain details. Never a stack."""
    details: Mapping[str, object] = error.details if isinstance(error, RiverrunError) else {}
    return {"name": type(error).__name__, "message": str(error), **details}


def plain(value: object) -> Any:
    """Records to dicts, with their `extra` members in place; other values as they are."""
    if isinstance(value, Record):
        out: dict[str, Any] = {}
        config = value.__struct_config__
        if config.tag is not None and config.tag_field is not None:
            out[config.tag_field] = config.tag
        for name, wire, default in _written(type(value)):
            member = getattr(value, name)
            if member is not UNSET and (member is not default or member is True or member is False):
                out[wire] = plain(member)
        if value.extra is not None:
            for name, member in value.extra.items():  # a member that was set later wins over what was read
                out.setdefault(name, plain(member))
        return out
    if isinstance(value, Mapping):
        members = cast("Mapping[Any, object]", value)
        return {key: plain(member) for key, member in members.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(member) for member in cast("list[object]", value)]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


@cache
def _written(cls: type[Record]) -> list[tuple[str, str, object]]:
    fields = msgspec.structs.fields(cls)
    return [(field.name, field.encode_name, field.default) for field in fields if field.name != "extra"]


_fast_encoder = msgspec.json.Encoder(enc_hook=_fast_hook)
_careful_encoder = msgspec.json.Encoder(enc_hook=_plain_object)


# -- decoding


def _decode_hook(cls: type, value: object) -> object:
    if cls is Timestamp and isinstance(value, str):
        return Timestamp.parse(value)
    raise ValueError(f"{cls.__name__} is not read from JSON")


_decoder = msgspec.json.Decoder(KnownChunk, dec_hook=_decode_hook)

_BODIES = {"payload", "object", "data"}
_CARRIERS: dict[type, str] = {
    ToolOutputChunk: "output",
    StepOutputChunk: "output",
    WorkflowStepOutputChunk: "output",
    BackgroundTaskOutputChunk: "payload",
}


def _revived(chunk: ChunkType) -> ChunkType:
    """A chunk inside a chunk is a chunk again."""
    member = _CARRIERS.get(type(chunk))
    if member is None:
        return chunk
    carrier: Any = chunk
    inner: object = getattr(carrier.payload, member)
    if not is_object(inner) or "type" not in inner or _BODIES.isdisjoint(inner):
        return chunk
    try:
        nested = from_value(inner)
    except DecodeError:
        return chunk
    payload = msgspec.structs.replace(carrier.payload, **{member: nested})
    changed: ChunkType = msgspec.structs.replace(carrier, payload=payload)
    return changed


def _json_value(data: bytes | str) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError):
        pass
    try:  # msgspec refuses lone surrogates, which JavaScript writes
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        return _well_formed(json.loads(text, parse_constant=_no_number))
    except ValueError as error:
        raise DecodeError(f"not JSON: {error}") from error


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


R = TypeVar("R", bound=Record)


def _record(cls: type[R], members: dict[str, Any]) -> R:
    """Fill a record from a JSON object; members that do not fit go to `extra`. TypeError: a required one is missing."""
    fields = _fields(cls)
    known: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, member in members.items():
        field = fields.get(name)
        if field is None:
            extra[name] = member
            continue
        try:
            known[field[0]] = _convert(member, field[1])
        except (msgspec.ValidationError, ValueError, TypeError):
            extra[name] = member
    return cls(**known, extra=Extra(extra)) if extra else cls(**known)


@cache
def _fields(cls: type[Record]) -> dict[str, tuple[str, Any]]:
    fields = msgspec.structs.fields(cls)
    return {field.encode_name: (field.name, field.type) for field in fields if field.name != "extra"}


def _convert(value: Any, target: Any) -> Any:
    try:
        return msgspec.convert(value, target, dec_hook=_decode_hook)
    except msgspec.ValidationError:
        if is_object(value):
            return _convert_object(value, target)
        if is_list(value) and get_origin(target) is list:
            (item,) = get_args(target)
            return [_convert(member, item) for member in value]
        raise


def _convert_object(members: dict[str, Any], target: Any) -> Record:
    classes = get_args(target) if get_origin(target) in (Union, UnionType) else (target,)
    records = [cls for cls in classes if isinstance(cls, type) and issubclass(cls, Record)]
    for cls in records:
        config = cls.__struct_config__
        if config.tag_field is None:
            return _record(cls, members)
        if members.get(config.tag_field) == config.tag:
            try:
                return _record(cls, {name: member for name, member in members.items() if name != config.tag_field})
            except TypeError:
                break
    unknown = next((fallback for base, fallback in _UNKNOWN.items() if records and issubclass(records[0], base)), None)
    if unknown is None:
        raise TypeError("no record fits")
    return _record(unknown, members)


_UNKNOWN: dict[type[Record], type[Record]] = {Part: UnknownPart, MessageBase: UnknownMessage}
