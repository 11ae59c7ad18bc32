"""The values of scenarios and recordings: JSON with `{"$date"}`, `{"$bytes"}`, `{"$error"}` and `{"$undefined"}`.

`load` makes Python values of them, `dump` writes Python values (chunks and results too) in that form.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import msgspec
from msgspec import UNSET

from riverrun.chunks import Timestamp
from riverrun.errors import ModelError


class Undefined:
    """JavaScript's undefined: no member of an object, null in a list."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


class ScriptedError(Exception):
    """An error that a scenario asks a tool to raise or to return."""

    def __init__(self, message: str, details: Mapping[str, Any]) -> None:
        self.details = details
        super().__init__(message)


class ScriptedModelError(ModelError):
    """An error that a scenario asks a model to fail with."""

    def __init__(self, message: str, details: Mapping[str, Any], *, retryable: bool) -> None:
        self._details = details
        super().__init__(message, status=details.get("statusCode"), code=details.get("code"), retryable=retryable)

    @property
    def details(self) -> Mapping[str, object]:
        return self._details


def tool_error(spec: str | Mapping[str, Any]) -> ScriptedError:
    """The error of `raises`: a message, or {message, name, and other members}."""
    name, message, details = _error_members(spec)
    error: ScriptedError = type(name, (ScriptedError,), {})(message, details)
    return error


def model_error(spec: str | Mapping[str, Any], *, retryable: bool) -> ScriptedModelError:
    """The error of `throws`, `error` parts and `$stream_error`; `retryable` is for one that does not say it itself."""
    name, message, details = _error_members(spec)
    retryable = bool(details.get("isRetryable", retryable))
    error: ScriptedModelError = type(name, (ScriptedModelError,), {})(message, details, retryable=retryable)
    return error


def _error_members(spec: str | Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    if isinstance(spec, str):
        return "Error", spec, {}
    members = spec.get("$error", spec)
    rest = {name: load(member) for name, member in members.items() if name not in ("name", "message")}
    return str(members.get("name", "Error")), str(members.get("message", "")), rest


def load(value: Any) -> Any:
    """A scenario's value as a Python value; an undefined one is UNDEFINED."""
    if isinstance(value, dict):
        if len(value) == 1:
            match value:
                case {"$date": str(text)}:
                    return Timestamp.parse(text)
                case {"$bytes": str(text)}:
                    return base64.b64decode(text)
                case {"$error": spec}:
                    return tool_error(spec)
                case {"$undefined": _}:
                    return UNDEFINED
        members = {name: load(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not UNDEFINED}
    if isinstance(value, list):
        return [None if item is UNDEFINED else item for item in map(load, value)]
    return value


def dump(value: Any) -> Any:
    """A Python value in the form of the recordings. Raises TypeError for a value that has no such form."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case datetime() | date():
            return {"$date": _date_text(value)}
        case bytes() | bytearray():
            return {"$bytes": base64.b64encode(value).decode()}
        case BaseException():
            return {"$error": _dump_error(value)}
        case msgspec.Struct():
            return _dump_struct(value)
        case Mapping():
            return {str(name): dump(member) for name, member in value.items() if member is not UNSET}
        case list() | tuple() | set() | frozenset():
            return [dump(item) for item in value]
        case Undefined():
            return None
    raise TypeError(f"{type(value).__name__} has no form in a recording")


def _date_text(moment: date) -> str:
    if isinstance(moment, Timestamp):
        return moment.wire()
    if not isinstance(moment, datetime):
        return moment.isoformat()
    return Timestamp.of(moment if moment.tzinfo else moment.replace(tzinfo=UTC)).wire()


def _dump_error(error: BaseException) -> dict[str, Any]:
    members: dict[str, Any] = {"name": type(error).__name__, "message": str(error)}
    members.update(dump(dict(getattr(error, "details", {}))))
    if error.__cause__ is not None:
        members["cause"] = dump(error.__cause__)
    return members


def _dump_struct(struct: msgspec.Struct) -> dict[str, Any]:
    out: dict[str, Any] = {}
    config = struct.__struct_config__
    if config.tag_field is not None:
        out[config.tag_field] = config.tag
    for field in msgspec.structs.fields(type(struct)):
        member = getattr(struct, field.name)
        if member is UNSET or (member is None and field.default is None):
            continue
        if field.name == "extra":
            out.update(dump(member))
        else:
            out[field.encode_name] = dump(member)
    return out
