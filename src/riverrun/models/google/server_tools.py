"""Tools that the provider runs itself, their calls and results in its stream → chunks marked `provider_executed`.

What has to go back with a call or a result is its metadata: `serverToolType`, `serverToolCallId` when the provider gave
an id, and what stood beside it in its part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riverrun.models.answer import AnswerWriter, StreamedCall
from riverrun.models.google.calls import give_whole
from riverrun.types import ToolSpec

CODE_EXECUTION = "CODE_EXECUTION"
"""The type of code execution, whose calls and results have parts of their own."""

_NAMES = {"GOOGLE_SEARCH_WEB": "google_search", "GOOGLE_SEARCH_IMAGE": "google_search"}
_OK = "OUTCOME_OK"


@dataclass(frozen=True, slots=True)
class _Running:
    """A call whose result has not come."""

    type: str
    given_id: object
    call: StreamedCall


class ServerTools:
    """The calls of one answer. A tool that was offered under a name of the caller's own is called by that name."""

    def __init__(self, writer: AnswerWriter, tools: Sequence[ToolSpec]) -> None:
        self._writer = writer
        self._names = {tool.provider_id.rpartition(".")[2]: tool.name for tool in tools if tool.provider_id}
        self._running: list[_Running] = []

    def code(self, code: Mapping[str, Any], beside: Mapping[str, Any]) -> None:
        """Take an `executableCode`."""
        args = {name: value for name, value in code.items() if name != "id"}
        self._call(CODE_EXECUTION, code.get("id"), args, beside)

    def code_result(self, result: Mapping[str, Any], beside: Mapping[str, Any]) -> bool:
        """Take a `codeExecutionResult`; False when it belongs to no code of this answer."""
        told = {name: value for name, value in result.items() if name != "id"}
        failed = result.get("outcome") not in (_OK, None)
        return self._result(CODE_EXECUTION, result.get("id"), told, beside, is_error=failed)

    def call(self, call: Mapping[str, Any], beside: Mapping[str, Any]) -> bool:
        """Take a `toolCall`; False when it does not say of which tool."""
        kind = call.get("toolType")
        if not isinstance(kind, str) or not kind:
            return False
        self._call(kind, call.get("id"), call.get("args") or {}, beside)
        return True

    def response(self, response: Mapping[str, Any], beside: Mapping[str, Any]) -> bool:
        """Take a `toolResponse`; False when it belongs to no call of this answer."""
        kind = response.get("toolType")
        return self._result(str(kind), response.get("id"), response.get("response") or {}, beside)

    def _call(self, kind: str, given_id: object, args: object, beside: Mapping[str, Any]) -> None:
        call = StreamedCall(
            self._writer.call_id(given_id),
            self._name(kind),
            provider_executed=True,
            metadata=_metadata(kind, given_id, beside),
        )
        give_whole(self._writer, call, args)
        self._running.append(_Running(kind, given_id, call))

    def _result(
        self, kind: str, given_id: object, result: object, beside: Mapping[str, Any], *, is_error: bool = False
    ) -> bool:
        running = self._of(kind, given_id)
        if running is None:
            return False
        self._running.remove(running)
        metadata = _metadata(kind, given_id, beside)
        self._writer.call_result(running.call, result, is_error=is_error, metadata=metadata)
        return True

    def _of(self, kind: str, given_id: object) -> _Running | None:
        """The call that a result belongs to: by its id, else by the order of those that wait."""
        waiting = [running for running in self._running if running.type == kind]
        named = [running for running in waiting if given_id and running.given_id == given_id]
        return next(iter(named or [running for running in waiting if not (given_id and running.given_id)]), None)

    def _name(self, kind: str) -> str:
        usual = _NAMES.get(kind, kind.lower())
        return self._names.get(usual, usual)


def _metadata(kind: str, given_id: object, beside: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {"serverToolType": kind, **beside}
    if isinstance(given_id, str) and given_id:
        metadata["serverToolCallId"] = given_id
    return metadata
