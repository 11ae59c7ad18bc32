"""What all chunks and payloads share: the envelope, wire names, members that the format does not know, times.

A member that may be missing is annotated `Maybe[T]`: `T | None` for type checkers. At run time it is `T`, so that the
fast decoder refuses an explicit JSON null, and the careful one keeps it (see codec.py). That is how a decoded chunk
is written again exactly as it came. `Json` is any value but null, for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard, TypeVar

import msgspec

if TYPE_CHECKING:
    _T = TypeVar("_T")
    Maybe: TypeAlias = _T | None
    Json: TypeAlias = Any
    TextOrBytes: TypeAlias = str | bytes
else:
    Json = bool | int | float | str | list[Any] | dict[str, Any]
    TextOrBytes = str

    class Maybe:
        """Stands for its parameter at run time."""

        def __class_getitem__(cls, item: Any) -> Any:
            return item


ChunkFrom = Literal["AGENT", "USER", "SYSTEM", "WORKFLOW", "NETWORK"]
"""Where a chunk comes from (page: `from`)."""


class Extra(Mapping[str, Any]):
    """Members of a JSON object that the format does not name; written back beside the named ones."""

    __slots__ = ("_members",)

    def __init__(self, members: Mapping[str, Any]) -> None:
        self._members = dict(members)

    def __getitem__(self, key: str) -> Any:
        return self._members[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __hash__(self) -> int:
        return hash(frozenset(self._members))

    def __repr__(self) -> str:
        return f"Extra({self._members!r})"


class Timestamp(datetime):
    """An aware datetime that is written as JavaScript writes dates: milliseconds and `Z`.

    One that was read keeps its text when that differs from the usual form.
    """

    text: str | None = None

    @classmethod
    def of(cls, moment: datetime) -> Timestamp:
        """The same moment (aware) as a Timestamp in UTC."""
        utc = moment.astimezone(UTC)
        return cls.combine(utc.date(), utc.time(), UTC)

    @classmethod
    def current(cls) -> Timestamp:
        """This moment, to the millisecond."""
        now = cls.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    @classmethod
    def parse(cls, text: str) -> Timestamp:
        """Read an ISO 8601 date and time with an offset; ValueError for anything else."""
        moment = cls.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError(f"a time needs an offset: {text!r}")
        try:
            if moment.wire() != text:
                moment.text = text
        except OverflowError as error:  # in UTC it lies before the year 1 or after 9999
            raise ValueError(f"a time out of range: {text!r}") from error
        return moment

    def wire(self) -> str:
        """The text on the wire."""
        if self.text is not None:
            return self.text
        precision = "microseconds" if self.microsecond % 1000 else "milliseconds"
        return self.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


def mapping(value: object) -> dict[str, Any]:
    """The members of a JSON object; none for any other value."""
    return value if is_object(value) else {}


def wire_name(name: str) -> str:
    """`run_id` → `runId`; `from_` → `from`; `extra` gets a name that no JSON of the format uses."""
    if name == "extra":
        return "*"
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def type_name(class_name: str) -> str:
    """`TextDeltaChunk` → `text-delta`, `ToolCallPart` → `tool-call`."""
    stem = re.sub(r"(Chunk|Part)$", "", class_name)
    return re.sub(r"(?<!^)(?=[A-Z])", "-", stem).lower()


class Record(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=wire_name, forbid_unknown_fields=True
):
    """An object on the wire. Members that are None are not written; unknown members are in `extra`."""

    extra: Maybe[Extra] = None


class Envelope(Record, frozen=True, kw_only=True):
    """The members that every chunk may carry (page: base properties)."""

    run_id: Maybe[str] = None
    from_: Maybe[ChunkFrom] = None
    metadata: Maybe[dict[str, Any]] = None


class Chunk(Envelope, frozen=True, kw_only=True, tag_field="type", tag=type_name):
    """Base of the chunks whose type is their class."""
