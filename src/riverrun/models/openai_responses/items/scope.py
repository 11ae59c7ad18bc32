"""What the items of one answer share, and what an item is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import msgspec

from riverrun.models.answer import AnswerWriter, StreamedCall
from riverrun.models.openai_responses.answer import Facts
from riverrun.models.openai_responses.offered import Offered

Members: TypeAlias = Mapping[str, Any]
"""The members of a JSON object: of an event, or of an item."""


@dataclass(slots=True)
class Scope:
    """One answer. `running` are the provider's calls whose outcome comes as an item of its own, by call id;
    `owed` the ids of such calls in earlier answers.
    """

    writer: AnswerWriter
    facts: Facts
    offered: Offered
    owed: Collection[str] = ()
    running: dict[str, StreamedCall] = field(default_factory=dict[str, StreamedCall])


class Item(Protocol):
    """An item while it comes. Only `finish` or `close` is called at its end, and only once."""

    def grow(self, kind: str, index: int, piece: str) -> None:
        """A piece of the item: an event's type, the part that it is of, and its delta."""
        ...

    def event(self, kind: str, event: Members) -> None:
        """Any other event about the item."""
        ...

    def finish(self, item: Members) -> None:
        """The item as a whole: give what was not given yet."""
        ...

    def close(self) -> None:
        """The response ended without the whole item: end what has begun."""
        ...


class Whole:
    """What items do with events that do not concern them: nothing."""

    def grow(self, kind: str, index: int, piece: str) -> None:
        pass

    def event(self, kind: str, event: Members) -> None:
        pass

    def close(self) -> None:
        pass


def text(value: object) -> str:
    """A text; "" for any other value."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """A whole number; 0 for any other value."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def arguments_text(value: object) -> str | None:
    """Arguments are JSON text; some servers give the object itself. None: there are none."""
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return value if isinstance(value, str) else None


def rest_of(whole: str, pieces: list[str]) -> str:
    """What of a whole text did not come in pieces; nothing when the pieces are no beginning of it."""
    told = "".join(pieces)
    return whole[len(told) :] if whole.startswith(told) else ""


def identity(item: Members) -> dict[str, Any]:
    """The id of an item, as provider metadata has it."""
    return {"itemId": item["id"]} if text(item.get("id")) else {}


def with_status(about: dict[str, Any], status: str) -> dict[str, Any]:
    """Provider metadata that says of its item that it did not come whole; the same for the status ""."""
    return about | {"status": status} if status and "itemId" in about else dict(about)


def cut_off(item: Members) -> str:
    """The status of a whole item that the model did not finish; "" for any other."""
    return "incomplete" if item.get("status") == "incomplete" else ""
