"""The types of items → the classes that read them."""

from __future__ import annotations

from collections.abc import Callable

from riverrun.chunks.envelope import mapping
from riverrun.models.openai_responses.items.code import CodeCall
from riverrun.models.openai_responses.items.function import FunctionCall
from riverrun.models.openai_responses.items.hosted import FILE_SEARCH, WEB_SEARCH, HostedCall
from riverrun.models.openai_responses.items.image import ImageCall
from riverrun.models.openai_responses.items.mcp import ApprovalRequest, McpCall
from riverrun.models.openai_responses.items.message import Message
from riverrun.models.openai_responses.items.native import Custom, CustomCall, NativeCall
from riverrun.models.openai_responses.items.reasoning import Reasoning
from riverrun.models.openai_responses.items.running import Outcome, RunningCall
from riverrun.models.openai_responses.items.scope import Item, Members, Scope, text

_MAKERS: dict[str, Callable[[Scope, Members], Item]] = {
    "message": Message,
    "reasoning": Reasoning,
    "function_call": FunctionCall,
    "web_search_call": lambda scope, item: HostedCall(scope, item, WEB_SEARCH),
    "file_search_call": lambda scope, item: HostedCall(scope, item, FILE_SEARCH),
    "image_generation_call": ImageCall,
    "code_interpreter_call": CodeCall,
    "mcp_call": McpCall,
    "mcp_approval_request": ApprovalRequest,
    "program": RunningCall,
    "program_output": Outcome,
    "tool_search_output": Outcome,
    "shell_call_output": Outcome,
    "custom_tool_call": lambda scope, item: _custom_call(scope, item),
}
_NATIVE = {
    "apply_patch_call": "apply_patch",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "computer_call": "computer",
    "tool_search_call": "tool_search",
}
"""Calls that the program runs, and the types of their tools."""

_ABOUT = {
    "response.output_text": "message",
    "response.refusal": "message",
    "response.reasoning_": "reasoning",
    "response.function_call_arguments": "function_call",
}
"""How the types of events begin, and the items that they are about."""


def make_item(scope: Scope, item: Members) -> Item:
    """What reads an item, given as much of it as is known."""
    kind = text(item.get("type"))
    make = _MAKERS.get(kind)
    if make is not None:
        return make(scope, item)
    if _runs_there(item):
        return RunningCall(scope, item)
    name = scope.offered.name(_NATIVE[kind]) if kind in _NATIVE else None
    return Custom(scope, item) if name is None else NativeCall(scope, item, name=name)


def kind_about(event_kind: str, event: Members) -> str | None:
    """The type of the item that an event of this type is about; None when that cannot be told."""
    if event_kind.startswith("response.content_part."):
        return "reasoning" if mapping(event.get("part")).get("type") == "reasoning_text" else "message"
    return next((kind for begin, kind in _ABOUT.items() if event_kind.startswith(begin)), None)


def _runs_there(item: Members) -> bool:
    """Whether the provider runs the call itself."""
    if item.get("type") == "tool_search_call":
        return item.get("execution") == "server"
    return item.get("type") == "shell_call" and text(mapping(item.get("environment")).get("type")).startswith(
        "container"
    )


def _custom_call(scope: Scope, item: Members) -> Item:
    if scope.offered.has_custom(item.get("name")):
        return CustomCall(scope, item)
    return RunningCall(scope, item) if scope.offered.none_custom else Custom(scope, item)
