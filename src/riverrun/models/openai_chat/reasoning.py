"""`reasoning_details` (OpenRouter and its like): pieces of reasoning with signatures and encrypted parts.

They are put together for the way back: a server that gave them wants them again with the next request, in its order
and byte for byte.
"""

from __future__ import annotations

from typing import Any, cast

_GROWING = ("text", "summary")
_TOLD = (*_GROWING, "data", "signature")
"""A detail without any of these says nothing."""


class ReasoningDetails:
    """The details of one block of reasoning. True when it holds any."""

    def __init__(self) -> None:
        self._details: list[dict[str, Any]] = []
        self._pieces: dict[str, list[str]] = {}  # of the last detail, by member

    def __bool__(self) -> bool:
        return bool(self._details)

    def add(self, pieces: list[Any]) -> str:
        """Take the details of one delta, but what is no object; gives the text in them that is to be shown."""
        shown = ""
        for detail in pieces:
            if isinstance(detail, dict):
                members = cast("dict[str, Any]", detail)
                if any(map(members.get, _TOLD)):
                    self._put(members)
                text = members.get("text") or members.get("summary")
                if isinstance(text, str):
                    shown += text
        return shown

    def take(self) -> tuple[list[dict[str, Any]], str | None]:
        """All details, and the last signature among them; none are left."""
        self._join()
        details, self._details = self._details, []
        signatures = [detail.get("signature") for detail in details]
        return details, next((signature for signature in reversed(signatures) if isinstance(signature, str)), None)

    def _put(self, detail: dict[str, Any]) -> None:
        if not (self._details and _continues(self._details[-1], detail)):
            self._join()
            self._details.append({})
        last = self._details[-1]
        for name, value in detail.items():
            if name in _GROWING and isinstance(value, str):
                self._pieces.setdefault(name, []).append(value)
                last.setdefault(name, "")
            elif value is not None or name not in last:
                last[name] = value

    def _join(self) -> None:
        for name, pieces in self._pieces.items():
            self._details[-1][name] = "".join(pieces)
        self._pieces = {}


def _continues(last: dict[str, Any], detail: dict[str, Any]) -> bool:
    """Whether a detail goes on with the last one. One with data is whole."""
    if detail.get("data") or last.get("data"):
        return False
    return last.get("type") == detail.get("type") and last.get("index") == detail.get("index")
