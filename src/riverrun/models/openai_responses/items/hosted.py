"""Calls of tools that the provider has and runs itself, with what they came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from riverrun.chunks.arguments import parse_arguments
from riverrun.chunks.envelope import mapping
from riverrun.models.answer import AnswerWriter, StreamedCall
from riverrun.models.openai_responses.items.scope import Members, Scope, Whole, identity, text
from riverrun.models.openai_responses.sources import found_files, found_pages

_FAILED = ("failed", "incomplete")


def picked(item: Members, *names: str) -> dict[str, Any]:
    """These members of an item, but those that are missing or null."""
    return {name: item[name] for name in names if item.get(name) is not None}


def hosted_call(scope: Scope, item: Members, name: str) -> StreamedCall:
    """Begin a call that the provider runs. `name` is its tool's, unless the request offered it under another one."""
    call = StreamedCall(
        scope.writer.call_id(item.get("call_id") or item.get("id")),
        scope.offered.name(name) or name,
        provider_executed=True,
        metadata=identity(item),
    )
    scope.writer.call_start(call)
    return call


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of call whose item says everything: its tool, its arguments, its result, and what it found."""

    tool: str
    args: Callable[[Members], object]
    result: Callable[[Members], object]
    found: Callable[[Members, AnswerWriter], None]


class HostedCall(Whole):
    """A call with its result in one item."""

    def __init__(self, scope: Scope, item: Members, kind: Kind) -> None:
        self._writer = scope.writer
        self._kind = kind
        self._call = hosted_call(scope, item, kind.tool)

    def finish(self, item: Members) -> None:
        """The whole item."""
        self._writer.call_end(self._call, self._kind.args(item))
        self._kind.found(item, self._writer)
        give_result(self._writer, self._call, item, self._kind.result(item))

    def close(self) -> None:
        """The provider did not say what came of it."""
        self._writer.call_end(self._call, {})


def give_result(writer: AnswerWriter, call: StreamedCall, item: Members, result: object) -> None:
    """What a call came to, with its item, from which the next request is written."""
    failed = item.get("status") in _FAILED or item.get("error") is not None
    writer.call_result(call, result, is_error=failed, metadata=identity(item) | {"item": dict(item)})


def _search_args(item: Members) -> object:
    action = mapping(item.get("action"))
    if not action:  # xAI
        return parse_arguments(text(item.get("arguments")))
    return {name: value for name, value in action.items() if name != "sources" and value is not None}


def _search_result(item: Members) -> object:
    return picked(item, "status", "results") | picked(mapping(item.get("action")), "sources")


WEB_SEARCH = Kind("web_search", _search_args, _search_result, found_pages)
FILE_SEARCH = Kind(
    "file_search", lambda item: picked(item, "queries"), lambda item: picked(item, "status", "results"), found_files
)
