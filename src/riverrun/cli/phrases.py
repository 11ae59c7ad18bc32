"""Values of chunks in a few words: arguments, results, errors, sources, files, usage. In: payloads; out: text.

The text is not yet harmless to a terminal: who writes it sanitizes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from msgspec import UNSET

from riverrun.chunks import FilePayload, FinishPayload, SourcePayload, UnknownChunk
from riverrun.chunks.codec import error_value, json_value

_LONGEST = 20_000  # characters of a value that are looked at; no line shows that many


def value_text(value: object, *, indent: int | None = None) -> str:
    """A text as it is, anything else as JSON or, having no JSON form, as Python shows it."""
    if value is UNSET:
        return "(nothing)"
    if isinstance(value, str):
        return value[:_LONGEST]
    try:
        return json.dumps(json_value(value), ensure_ascii=False, indent=indent)
    except (TypeError, ValueError, RecursionError):
        return repr(value)[:_LONGEST]


def arguments(args: object) -> str:
    """A call's arguments as in Python: `(city="Paris", days=3)`."""
    if args is None:
        return "(?)"
    if not isinstance(args, Mapping):
        return f"({_json(args)})"
    members = cast("Mapping[object, object]", args)
    return f"({', '.join(f'{name}={_json(member)}' for name, member in members.items())})"


def _json(value: object) -> str:
    return json.dumps(value[:_LONGEST], ensure_ascii=False) if isinstance(value, str) else value_text(value)


def error_text(error: object) -> str:
    """An exception, or its JSON form {name, message, status?}: `ValueError: no such city`."""
    members = _members(error)
    if members is None or "message" not in members:
        return value_text(error)
    name, message = str(members.get("name") or "Error"), value_text(members["message"])
    status = f" (HTTP {members['status']})" if "status" in members else ""
    if name in ("Error", "Exception"):
        return (message or name) + status
    return (f"{name}: {message}" if message else name) + status


def _members(error: object) -> Mapping[str, object] | None:
    if isinstance(error, BaseException):
        return error_value(error)
    return cast("Mapping[str, object]", error) if isinstance(error, Mapping) else None


def warning_text(warning: object) -> str:
    """What a provider ignores of a request."""
    if not isinstance(warning, Mapping):
        return value_text(warning)
    members = cast("Mapping[str, object]", warning)
    kind = members.get("type")
    words = ["" if kind == "other" else kind, *(members.get(name) for name in ("setting", "message", "details"))]
    return ": ".join(str(word) for word in words if word) or value_text(members)


def unknown_text(chunk: UnknownChunk) -> str:
    """What a chunk of an unknown type holds."""
    members = {} if chunk.payload is UNSET else {"payload": chunk.payload}
    members.update(chunk.extra or {})
    return value_text(members["payload"] if list(members) == ["payload"] else members)


def source_text(source: SourcePayload) -> str:
    """Title and place of a source."""
    place = source.url or source.filename or source.mime_type
    return " · ".join(part for part in (source.title, place) if part) or source.id


def file_text(file: FilePayload) -> str:
    """Name, kind and size of a file."""
    name = f"{file.filename} · " if file.filename else ""
    if isinstance(file.data, bytes):
        return f"{name}{file.mime_type} · {size_text(len(file.data))}"
    if file.data.startswith(("http://", "https://")):
        return f"{name}{file.mime_type} · {file.data[:_LONGEST]}"
    encoded = file.data.rpartition("base64,")[2]
    return f"{name}{file.mime_type} · {size_text(len(encoded.rstrip('=')) * 3 // 4)}"


def size_text(size: float) -> str:
    """A number of bytes with a unit people read."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


def finish_reason(finish: FinishPayload) -> str:
    """Why the run ended, in the format's word."""
    return (finish.step_result.reason if finish.step_result is not None else None) or "finished"


def model_name(finish: FinishPayload) -> str:
    """The model that answered, as far as it is known."""
    if finish.metadata is not None:
        asked = finish.metadata.model_metadata
        if finish.metadata.model_id or asked is not None:
            return finish.metadata.model_id or (asked and asked.model_id) or ""
    return (finish.response.model_id if finish.response is not None else None) or ""


def tokens_text(finish: FinishPayload) -> str:
    """The run's tokens; nothing when the provider did not tell them."""
    usage = finish.output.usage if finish.output is not None else None
    if usage is None or not (usage.input_tokens or usage.output_tokens):
        return ""
    cached = f" ({usage.cached_input_tokens:,} cached)" if usage.cached_input_tokens else ""
    thought = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
    return f"tokens: {_count(usage.input_tokens)} in{cached}, {_count(usage.output_tokens)} out{thought}"


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens:,}"
