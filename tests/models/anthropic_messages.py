"""What the tests of anthropic-messages share: wires from short notation, decoding, messages and their requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riverrun.chunks import (
    AssistantMessage,
    Message,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)
from riverrun.models.anthropic import StreamDecoder
from riverrun.models.anthropic.request import anthropic_request
from riverrun.models.http import WireRequest
from riverrun.types import ModelRequest, ToolSpec
from tests.models.decoding import RUN, Decoded, decoded

FIXTURES = Path(__file__).parent / "fixtures" / "anthropic_messages"
_ABOUT = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 25, "output_tokens": 1},
}
_DELTAS = {
    "text": "text_delta",
    "thinking": "thinking_delta",
    "signature": "signature_delta",
    "partial_json": "input_json_delta",
    "citation": "citations_delta",
}


def data(value: Any, name: str | None = None) -> bytes:
    """One event that holds this JSON, named by its type as Anthropic does."""
    kind = name or (value.get("type") if isinstance(value, dict) else None)
    head = f"event: {kind}\n" if isinstance(kind, str) else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def begin(**members: Any) -> bytes:
    """A message begins."""
    return data({"type": "message_start", "message": {**_ABOUT, **members}})


def start(index: int, **block: Any) -> bytes:
    """A block begins."""
    return data({"type": "content_block_start", "index": index, "content_block": block})


def delta(index: int, **members: Any) -> bytes:
    """A block goes on; the type of the delta may be left to its member."""
    kind = _DELTAS.get(next(iter(members), ""))
    return data(
        {"type": "content_block_delta", "index": index, "delta": {**({"type": kind} if kind else {}), **members}}
    )


def stop(index: int) -> bytes:
    """A block ends."""
    return data({"type": "content_block_stop", "index": index})


def end(reason: str | None = "end_turn", *, usage: Any = None, **members: Any) -> bytes:
    """The message ends."""
    last = {"stop_reason": reason, "stop_sequence": None, **members}
    told = {"type": "message_delta", "delta": last, "usage": {"output_tokens": 15} if usage is None else usage}
    return data(told) + data({"type": "message_stop"})


def text(index: int, *pieces: str) -> bytes:
    """A whole block of text."""
    return block(index, {"type": "text", "text": ""}, *({"text": piece} for piece in pieces))


def block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    """A whole block."""
    return b"".join([start(index, **begun), *(delta(index, **members) for members in deltas), stop(index)])


def wire(events: Sequence[Any]) -> bytes:
    """A fixture's events: a text as it is, the short forms of `_FORMS`, all else as its JSON."""
    return b"".join(_event(item) for item in events)


def _event(item: Any) -> bytes:
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, dict) and "type" not in item:
        match item:
            case {"begin": members}:
                return begin(**members)
            case {"start": begun, "at": index}:
                return start(index, **begun)
            case {"delta": members, "at": index}:
                return delta(index, **members)
            case {"stop": index}:
                return stop(index)
            case {"block": begun, "at": index, **rest}:
                return block(index, begun, *rest.get("deltas", ()))
            case {"end": reason, **rest}:
                return end(reason, **rest)
    return data(item)


def decode(*pieces: bytes, **options: Any) -> Decoded:
    """Read a stream, given as the network cut it, and check that its chunks are in order."""
    return decoded(StreamDecoder(RUN, prefix="p", **options), *pieces)


@dataclass(frozen=True, slots=True)
class Case:
    """A fixture: what a server sends and what has to come of it."""

    id: str
    stream: bytes
    expect: dict[str, Any]


def cases() -> list[Case]:
    """All fixtures: the quirks by group, and the inputs of public bug reports."""
    found: list[Case] = []
    for path in sorted(FIXTURES.glob("*.json")):
        for item in json.loads(path.read_text("utf-8")):
            found.append(Case(f"{path.stem}: {item['case']}", wire(item["events"]), item["expect"]))  # noqa: PERF401
    return found


# -- requests

CACHE = {"type": "ephemeral"}
ADD = ToolSpec(
    name="add", description="Adds.", input_schema={"type": "object", "properties": {"a": {"type": "integer"}}}
)


def built(
    *messages: Message,
    model_id: str = "claude-sonnet-4-5",
    provider: str = "anthropic",
    official: bool = True,
    **members: Any,
) -> WireRequest:
    """The request for these messages, or for a plain one."""
    request = ModelRequest(messages=messages or (user("hi"),), run_id=RUN, **members)
    return anthropic_request(request, model_id=model_id, provider=provider, official=official)


def sent(*messages: Message, **members: Any) -> list[dict[str, Any]]:
    """These messages as they are sent."""
    return built(*messages, **members).body["messages"]


def user(text: str, **members: Any) -> UserMessage:
    return UserMessage(content=[TextPart(text=text)], **members)


def assistant(*parts: Any, **members: Any) -> AssistantMessage:
    return AssistantMessage(content=list(parts), **members)


def call(call_id: str = "c1", name: str = "add", **members: Any) -> ToolCallPart:
    return ToolCallPart(tool_call_id=call_id, tool_name=name, **members)


def result(kind: str, value: Any, call_id: str = "c1", **members: Any) -> ToolMessage:
    part = ToolResultPart(tool_call_id=call_id, tool_name="add", output=ToolOutput(kind, value), **members)
    return ToolMessage(content=[part])


def said(text: str, **members: Any) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": text, **members}


def options(**members: Any) -> dict[str, Any]:
    return {"anthropic": members}


def warned(*settings: str) -> list[dict[str, Any]]:
    """Warnings of settings that are not sent."""
    return [{"type": "unsupported-setting", "setting": setting} for setting in settings]
