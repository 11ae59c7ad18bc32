"""Results of tool calls → the items that answer them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from riverrun.chunks import ToolOutput
from riverrun.chunks.codec import json_text, json_value
from riverrun.chunks.envelope import is_list, is_object, mapping
from riverrun.models.files import exact_media_type, output_file
from riverrun.models.openai_responses.files import file_content

_NO_OUTPUT = "(no output)"


def output_item(call_id: str, output: ToolOutput, call: Mapping[str, Any]) -> dict[str, Any]:
    """The item that tells what a call came to. `call` is the call's provider metadata: it says what was called."""
    item = mapping(call.get("item"))
    make = _MAKERS.get(str(item.get("type")))
    members = _function(output) if make is None else make(output, item)
    answered = {"call_id": item.get("call_id") or call_id} if "id" not in members else {}
    caller = item.get("caller") or call.get("caller")
    return members | answered | ({"caller": caller} if caller else {})


def approval(request_id: str, output: ToolOutput) -> dict[str, Any]:
    """The answer to a request for approval: yes for {"approved": true}, true, or a text such as "yes"."""
    value = json_value(output.value)
    said = value.get("approved", value.get("approve")) if is_object(value) else value
    agreed = said.strip().lower() in ("approved", "approve", "yes", "true") if isinstance(said, str) else said is True
    reason = value.get("reason") if is_object(value) else None
    return {
        "type": "mcp_approval_response",
        "approval_request_id": request_id,
        "approve": agreed and not _failed(output),
        **({"reason": reason} if isinstance(reason, str) and reason else {}),
    }


def _function(output: ToolOutput) -> dict[str, Any]:
    return {"type": "function_call_output", "output": _told(output)}


def _told(output: ToolOutput) -> str | list[dict[str, Any]]:
    """What the model is told: a text, or a list of texts, images and files."""
    value = json_value(output.value) if output.type == "content" else None
    return [_content(item) for item in value] if is_list(value) and value else _text(output)


def _text(output: ToolOutput) -> str:
    if output.type == "content" and not output.value:
        return _NO_OUTPUT
    return (output.value if isinstance(output.value, str) else json_text(output.value)) or _NO_OUTPUT


def _content(item: Any) -> dict[str, Any]:
    members = mapping(item)
    if members.get("type") == "text":
        return {"type": "input_text", "text": str(members.get("text", ""))}
    file = output_file(members)
    if file is not None and not exact_media_type(file).startswith("audio/"):  # the API takes no sound here
        return file_content(file)
    return {"type": "input_text", "text": msgspec.json.encode(item).decode()}


def _failed(output: ToolOutput) -> bool:
    return output.type.startswith("error")


# -- tools of the API's own


def _custom(output: ToolOutput, call: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "custom_tool_call_output", "output": _told(output)}


def _patch(output: ToolOutput, call: Mapping[str, Any]) -> dict[str, Any]:
    """A result says {status, output} itself, or is the log of a patch that was applied."""
    value = mapping(json_value(output.value))
    status = "failed" if _failed(output) else value.get("status", "completed")
    log = value.get("output") if "status" in value else _text(output)
    return {"type": "apply_patch_call_output", "status": status} | ({} if log is None else {"output": log})


def _local_shell(output: ToolOutput, call: Mapping[str, Any]) -> dict[str, Any]:
    """The API names the call by `id` here."""
    return {"type": "local_shell_call_output", "id": call.get("call_id"), "output": _text(output)}


def _shell(output: ToolOutput, call: Mapping[str, Any]) -> dict[str, Any]:
    """A result is a list of {stdout, stderr, outcome}, an object with this list as `output`, or a text."""
    value = json_value(output.value)
    listed = value.get("output") if is_object(value) else value
    if not is_list(listed):
        stream, code = ("stderr", 1) if _failed(output) else ("stdout", 0)
        outcome = {"type": "exit", "exit_code": code}
        listed = [{"stdout": "", "stderr": "", "outcome": outcome, stream: _text(output)}]
    item: dict[str, Any] = {"type": "shell_call_output", "output": listed}
    limit = mapping(call.get("action")).get("max_output_length")
    return item if limit is None else item | {"max_output_length": limit}


def _computer(output: ToolOutput, call: Mapping[str, Any]) -> dict[str, Any]:
    """A result is a screenshot: as content, or as the item's members."""
    value = json_value(output.value)
    members = {name: member for name, member in value.items() if name in _SCREEN} if is_object(value) else {}
    files = [file for entry in value if (file := output_file(mapping(entry)))] if is_list(value) else []
    if files:
        shown = {name: member for name, member in file_content(files[0]).items() if name != "type"}
        members["output"] = {"type": "computer_screenshot", **shown}
    elif "output" not in members:
        members["output"] = {"type": "computer_screenshot", "image_url": _text(output)}
    return {"type": "computer_call_output"} | members


_SCREEN = ("output", "acknowledged_safety_checks")


def _tool_search(output: ToolOutput, call: Mapping[str, Any]) -> dict[str, Any]:
    """A result is a list of tools, or an object with this list as `tools`."""
    value = json_value(output.value)
    tools = value.get("tools") if is_object(value) else value
    return {
        "type": "tool_search_output",
        "execution": "client",
        "status": "completed",
        "tools": tools if is_list(tools) else [],
    }


_MAKERS: dict[str, Callable[[ToolOutput, Mapping[str, Any]], dict[str, Any]]] = {
    "custom_tool_call": _custom,
    "apply_patch_call": _patch,
    "local_shell_call": _local_shell,
    "shell_call": _shell,
    "computer_call": _computer,
    "tool_search_call": _tool_search,
}
