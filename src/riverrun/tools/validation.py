"""What may go into a tool and come out of it: arguments that fit, results that have a JSON form, and what the model is
told when they do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, TypeGuard, cast

import msgspec

from riverrun.chunks import Envelope, ToolOutputChunk, ToolOutputPayload, encode
from riverrun.chunks.codec import plain
from riverrun.chunks.envelope import is_list
from riverrun.schema import Fault, Mismatch, Validator

_MOST_LINES = 20
_LONGEST_LINE = 300
_LONGEST_VALUE = 2_000


def validated(validator: Validator, value: object) -> Any:
    """The validated value. Raises Mismatch.

    Models write null for what they leave out: a member that may be missing but not null is taken as missing.
    """
    try:
        return validator.validate(value)
    except Mismatch as mismatch:
        lighter = value
        for fault in mismatch.faults:
            lighter = _without_null(lighter, fault.path)
        if lighter is value:
            raise
        try:
            return validator.validate(lighter)
        except Mismatch as rest:
            raise (rest if len(rest.faults) < len(mismatch.faults) else mismatch) from None


def _without_null(value: Any, path: tuple[str | int, ...]) -> Any:
    """A copy without the null at `path`, or the value itself. A path may name union members, which are no keys."""
    for at, key in enumerate(path):
        rest = path[at + 1 :]
        if _is_object(value) and key in value:
            if value[key] is None:
                return {name: member for name, member in value.items() if name != key}
            lighter = _without_null(value[key], rest)
            return value if lighter is value[key] else {**value, key: lighter}
        if is_list(value) and isinstance(key, int) and key < len(value):
            lighter = _without_null(value[key], rest)
            return value if lighter is value[key] else [*value[:key], lighter, *value[key + 1 :]]
    return value


def _is_object(value: object) -> TypeGuard[dict[str | int, Any]]:
    return isinstance(value, dict)


# -- failures, as results that the model can correct


def failure(kind: Literal["input", "output"], name: str, mismatch: Mismatch, value: object) -> dict[str, Any]:
    """The result of a call whose arguments or output do not fit: {error, message, validationErrors}."""
    begin, end = {
        "input": ("Please fix the following errors and try again:", "Provided arguments: "),
        "output": ("The tool returned invalid output:", "Returned output: "),
    }[kind]
    return {
        "error": True,
        "message": f"Tool {kind} validation failed for {name}. {begin}\n{_lines(mismatch)}\n\n{end}{_shown(value)}",
        "validationErrors": _tree(mismatch.faults),
    }


def is_failure(result: object) -> bool:
    """Whether a result is one that `failure` made."""
    return isinstance(result, dict) and result.keys() == {"error", "message", "validationErrors"}


def _lines(mismatch: Mismatch) -> str:
    lines = [f"- {_cut(str(fault), _LONGEST_LINE)}" for fault in mismatch.faults[:_MOST_LINES]]
    more = len(mismatch.faults) - _MOST_LINES
    return "\n".join([*lines, f"- and {more} more"] if more > 0 else lines)


def _shown(value: object) -> str:
    return _cut(msgspec.json.format(msgspec.json.encode(value), indent=2).decode(), _LONGEST_VALUE)


def _cut(text: str, longest: int) -> str:
    more = len(text) - longest
    return text if more <= 0 else f"{text[:longest]}… ({more} more characters)"


def _tree(faults: Iterable[Fault]) -> dict[str, Any]:
    """Faults by the members they are in: {errors: [text], fields: {name: the same again}}."""
    root: dict[str, Any] = {"errors": [], "fields": {}}
    for fault in faults:
        place = root
        for key in fault.path:
            place = place["fields"].setdefault(str(key), {"errors": [], "fields": {}})
        place["errors"].append(_cut(fault.message, _LONGEST_LINE))
    return root


# -- values without a JSON form


def check_json(value: object, *, what: str) -> None:
    """Raise TypeError when `value` cannot be written as JSON; it names `what`, the place in the value and the type."""
    error = _encoding_error(value)
    if error is not None:
        path, reason = _culprit(value, error)
        where = f"at {'.'.join(map(str, path))}, " if path else ""
        raise TypeError(f"{what} has no JSON form: {where}{reason}") from error


def snapshot(value: object, *, what: str) -> Any:
    """The value as it is now: its dicts and lists are copied, since its maker may go on to change them.

    Raises TypeError as `check_json` does.
    """
    check_json(value, what=what)
    return value if isinstance(value, Envelope) else plain(value)


def _encoding_error(value: object) -> Exception | None:
    try:
        encode(ToolOutputChunk(ToolOutputPayload(output=value)))
    except Exception as error:  # from the encoder, or from a value that encodes itself
        return error
    return None


def _culprit(value: object, error: Exception, above: tuple[int, ...] = ()) -> tuple[tuple[object, ...], str]:
    """Where the first part is that cannot be encoded, and what it is. `above` are the containers that it is in."""
    if id(value) in above:
        return (), f"a {_type(value)} that contains itself"
    if len(above) == _DEEPEST:
        return (), f"a {_type(value)} too deep inside others"
    is_mapping = isinstance(cast("Any", value), Mapping)
    for key, member in _members(value):
        if is_mapping and _encoding_error({key: None}) is not None:
            return (), f"a key of type {_type(key)}"
        inner = _encoding_error(member)
        if inner is not None:
            path, reason = _culprit(member, inner, (*above, id(value)))
            return (key, *path)[:_LONGEST_PATH], reason
    said = "" if isinstance(error, TypeError) else f" ({_cut(str(error), _LONGEST_LINE)})"
    return (), f"a value of type {_type(value)}{said}"


_DEEPEST = 100
_LONGEST_PATH = 10


def _members(value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, Mapping):
        return cast("Mapping[object, object]", value).items()
    if isinstance(value, list | tuple | set | frozenset):
        return enumerate(cast("Iterable[object]", value))
    if is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    return []


def _type(value: object) -> str:
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
