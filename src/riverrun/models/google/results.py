"""What a tool of the program gave → a function response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks import FilePart, ToolResultPart
from riverrun.chunks.codec import json_text, json_value
from riverrun.chunks.envelope import is_list, mapping
from riverrun.models.files import output_file
from riverrun.models.google.files import file_part
from riverrun.models.google.names import valid_name

_INSIDE = ("image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain")
"""Media types that may stand inside a function response."""


def function_response(
    part: ToolResultPart, call: Mapping[str, Any] | None, *, files_inside: bool
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The part for a result, and the parts that have to follow it. `call` is the call that it answers, as it was sent;
    `files_inside` whether the model takes files inside a response.
    """
    output = part.output
    call = call or {"name": valid_name(part.tool_name)}
    response: dict[str, Any] = {"name": call["name"]}
    if "id" in call:
        response["id"] = call["id"]
    value = json_value(output.value)
    if output.type != "content" or not is_list(value):
        response["response"] = {"error" if output.type.startswith("error") else "output": value}
        return {"functionResponse": response}, []
    texts, files = _content(value)
    sent = [file_part(file) for file in files]
    inside = [file for file in sent if files_inside and _goes_inside(file)]
    outside = [file for file in sent if file not in inside]
    if outside:
        texts.append("(files follow)")
        outside.insert(0, {"text": f"Files from the tool {part.tool_name}:"})
    response["response"] = {"output": "\n".join(text for text in texts if text)}
    if inside:
        response["parts"] = inside
    return {"functionResponse": response}, outside


def _content(items: list[Any]) -> tuple[list[str], list[FilePart]]:
    """The texts and the files of a content output. What is neither is told as JSON."""
    texts: list[str] = []
    files: list[FilePart] = []
    for item in items:
        members = mapping(item)
        if members.get("type") == "text":
            texts.append(str(members.get("text", "")))
        elif (file := output_file(members)) is not None:
            files.append(file)
        else:
            texts.append(json_text(item))
    return texts, files


def _goes_inside(file: Mapping[str, Any]) -> bool:
    return file.get("inlineData", {}).get("mimeType") in _INSIDE
