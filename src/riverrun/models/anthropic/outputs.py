"""What tools of the program gave → the content of tool_result blocks."""

from __future__ import annotations

from typing import Any

import msgspec

from riverrun.chunks import ToolOutput
from riverrun.chunks.codec import json_text, json_value
from riverrun.chunks.envelope import is_list, mapping
from riverrun.models.anthropic.files import file_block
from riverrun.models.anthropic.options import wire_options
from riverrun.models.files import output_file
from riverrun.models.options import merged

_NATIVE = ("image", "document", "search_result", "tool_reference", "browser_state")
"""Blocks that the API takes in a result; they go as they are."""


def output_content(output: ToolOutput, *names: str) -> str | list[dict[str, Any]]:
    """The content for an output: a text or blocks; empty when the tool said nothing.

    `names` are those under which options of the parts are for this provider.
    """
    match output.type:
        case "text" | "error-text" if isinstance(output.value, str):
            return output.value
        case "content" if is_list(items := json_value(output.value)):
            return [block for item in items if (block := _block(item, names)) is not None]
        case _:
            return json_text(output.value)


def _block(item: Any, names: tuple[str, ...]) -> dict[str, Any] | None:
    members = mapping(item)
    kind = members.get("type")
    if kind == "text":
        text = str(members.get("text", ""))
        block = {"type": "text", "text": text} if text.strip() else None
    elif (file := output_file(members)) is not None and (shown := file_block(file)) is not None:
        block = shown
    elif kind in _NATIVE:
        return members
    else:
        block = {"type": "text", "text": msgspec.json.encode(item).decode()}
    if block is None:
        return None
    return merged(block, wire_options(mapping(members.get("providerOptions")), *names))
