"""The ids of tool calls in one request, as the API takes them: of certain characters, and none twice."""

from __future__ import annotations

import re


class CallIds:
    """Names the calls of a conversation, in its order."""

    def __init__(self) -> None:
        self._sent: dict[str, str] = {}  # by the program's id: that of the last call of this id
        self._used: set[str] = set()
        self._left_out: set[str] = set()

    def of_call(self, call_id: str) -> str:
        """The id for a call. An id may come again in a later turn; then it gets a number."""
        wanted = sent = _valid(call_id)
        number = 1
        while sent in self._used:
            number += 1
            sent = f"{wanted}_{number}"
        self._used.add(sent)
        self._sent[call_id] = sent
        return sent

    def leave_out(self, sent: str) -> None:
        """The call that was named so is not sent after all."""
        self._left_out.add(sent)

    def of_result(self, call_id: str) -> str | None:
        """The id for the result of a call; None when the call is not sent."""
        sent = self._sent.get(call_id) or _valid(call_id)
        return None if sent in self._left_out else sent


def _valid(call_id: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", call_id) or "call"
