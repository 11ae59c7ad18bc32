"""One short stream for each API: reasoning, a text and a tool call, as its provider frames them."""

from __future__ import annotations

import json
from typing import Any

STREAMS: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        {"id": "1", "model": "m", "choices": [{"index": 0, "delta": {"reasoning_content": "Hm."}}]},
        {"id": "1", "model": "m", "choices": [{"index": 0, "delta": {"content": "Let me look."}}]},
        {
            "id": "1",
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"at": "é"}'}}
                        ]
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
        },
    ],
    "openai-responses": [
        {"type": "response.created", "response": {"id": "1", "model": "m", "status": "in_progress"}},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {"id": "r", "type": "reasoning", "summary": []},
        },
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": "Hm."},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {"id": "r", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        },
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {"id": "m", "type": "message", "content": []},
        },
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Let me look."},
        {
            "type": "response.output_item.done",
            "output_index": 1,
            "item": {"id": "m", "type": "message", "content": [{"type": "output_text", "text": "Let me look."}]},
        },
        {
            "type": "response.output_item.done",
            "output_index": 2,
            "item": {"id": "f", "type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "é"}'},
        },
        {
            "type": "response.completed",
            "response": {
                "id": "1",
                "status": "completed",
                "usage": {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
            },
        },
    ],
    "anthropic-messages": [
        {"type": "message_start", "message": {"id": "1", "model": "m", "usage": {"input_tokens": 5}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Let me look."}},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "c1", "name": "look"}},
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"at": "é"}'},
        },
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ],
    "google-generate-content": [
        {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True}]}}], "modelVersion": "m"},
        {"candidates": [{"content": {"parts": [{"text": "Let me look."}]}}]},
        {
            "candidates": [
                {
                    "content": {"parts": [{"functionCall": {"id": "c1", "name": "look", "args": {"at": "é"}}}]},
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12},
        },
    ],
}


def sse(api: str) -> bytes:
    """The stream as server-sent events."""
    frames = "".join(_frame(event) for event in STREAMS[api])
    return (frames + ("data: [DONE]\n\n" if api == "openai-chat" else "")).encode()


def json_lines(api: str) -> bytes:
    """The stream as an event a line."""
    return "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in STREAMS[api]).encode()


def json_array(api: str) -> bytes:
    """The stream as one JSON array in several lines."""
    return json.dumps(STREAMS[api], ensure_ascii=False, indent=1).encode()


def _frame(event: dict[str, Any]) -> str:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n"
