"""The items of one response, by their places in it: events → the items that they are about.

An item is known by its output index. Its id is not reliable: some servers give another one in each event. The final
response tells all items again, and is where to find those that were never streamed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from riverrun.chunks.envelope import mapping
from riverrun.models.openai_responses.items.kinds import kind_about, make_item
from riverrun.models.openai_responses.items.scope import Item, Members, Scope, text
from riverrun.models.openai_responses.sources import objects

Key: TypeAlias = int | str
"""An item's place: its output index or, where a server gives none, its id."""


@dataclass(slots=True)
class _Slot:
    """An item. `done` once it came whole; `id` is the first that it was given."""

    kind: str
    id: str
    item: Item
    done: bool = False

    def may_be(self, item: Members) -> bool:
        """Whether a whole item is this one, or this one told again."""
        return self.kind == item.get("type") and (not self.done or self.id in ("", item.get("id")))

    def is_told_again(self, item: Members) -> bool:
        """Whether an item that begins is this one, which has begun."""
        return not self.done and self.kind == item.get("type") and self.id in ("", item.get("id"))

    def finish(self, item: Members) -> None:
        """Take the whole item, unless it came before."""
        if not self.done:
            self.done = True
            self.item.finish(item)

    def close(self) -> None:
        """The whole item does not come."""
        if not self.done:
            self.done = True
            self.item.close()


class Items:
    """All items of an answer, response after response. True while a response has items and is not over."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._slots: dict[Key, _Slot] = {}
        self._all: list[_Slot] = []  # of the response, also those whose place another item took
        self._last: Key = 0

    def __bool__(self) -> bool:
        return bool(self._all)

    def grow(self, kind: str, key: Key, index: int, piece: str) -> None:
        """A piece of an item: an event's type, the item's place, the part that it is of, and its delta."""
        slot = self._slots.get(key) or self._inferred(kind, key, {})
        if slot is not None and not slot.done:
            slot.item.grow(kind, index, piece)

    def event(self, kind: str, event: Members) -> None:
        """Any other event about an item."""
        key = self.place(event)
        slot = self._slots.get(key) or self._inferred(kind, key, event)
        if slot is not None and not slot.done:
            slot.item.event(kind, event)

    def begin(self, event: Members) -> None:
        """An item begins."""
        item = mapping(event.get("item"))
        key = self.place(event)
        slot = self._slots.get(key)
        if slot is None or not slot.is_told_again(item):
            self._open(key, item)

    def finish(self, event: Members) -> None:
        """An item is whole."""
        item = mapping(event.get("item"))
        key = self.place(event)
        slot = self._slots.get(key)
        if slot is None or not slot.may_be(item):
            slot = self._open(key, item)
        if slot is not None:
            slot.finish(item)

    def settle(self, output: object) -> None:
        """The response is over. `output` are its items: give what of them was not streamed, and end the others."""
        items = objects(output)
        ids = {text(item.get("id")) for item in items}
        for item in items:
            slot = self._streamed(item, ids) or self._made(item)
            if slot is not None:
                slot.finish(item)
                self._all.remove(slot)
        for slot in self._all:
            slot.close()
        self._slots.clear()
        self._all.clear()

    def place(self, event: Members) -> Key:
        """The place of the item that an event is about; the last one that began if it does not say."""
        index = event.get("output_index")
        if isinstance(index, int) and not isinstance(index, bool):
            return index
        item_id = text(event.get("item_id")) or text(mapping(event.get("item")).get("id"))
        known = (key for key, slot in self._slots.items() if slot.id == item_id)
        return next(known, item_id) if item_id else self._last

    def _streamed(self, item: Members, ids: set[str]) -> _Slot | None:
        """The streamed item that an item of the final response is: of the same id, else the next of its kind."""
        item_id = text(item.get("id"))
        same = (slot for slot in self._all if item_id and slot.id == item_id and slot.kind == item.get("type"))
        alike = (slot for slot in self._all if slot.kind == item.get("type") and slot.id not in ids - {""})
        return next(same, None) or next(alike, None)

    def _inferred(self, kind: str, key: Key, event: Members) -> _Slot | None:
        """The item that an event is about, though nothing said that it begins."""
        item_kind = kind_about(kind, event)
        return None if item_kind is None else self._open(key, {"type": item_kind, "id": event.get("item_id")})

    def _open(self, key: Key, item: Members) -> _Slot | None:
        if (before := self._slots.get(key)) is not None:
            before.close()
        slot = self._made(item)
        if slot is not None:
            self._slots[key] = slot
            self._last = key
        return slot

    def _made(self, item: Members) -> _Slot | None:
        kind = text(item.get("type"))
        if not kind:
            return None
        slot = _Slot(kind, text(item.get("id")), make_item(self._scope, item))
        self._all.append(slot)
        return slot
