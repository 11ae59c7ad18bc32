"""A loopback server that streams canned chat completions as fast as the socket takes them.

    python bench/server.py PORT

The model's name says what: text-N streams N deltas; tools-K-N asks K times for the tool `add`, then streams N deltas.
An answer is made once and written in one go, so that the server's own cost stays out of the figures.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n"


@cache
def answer(model: str, turn: int) -> bytes:
    """The whole response to turn number `turn` of a conversation with `model`."""
    kind, *numbers = model.split("-")
    turns = int(numbers[0]) if kind == "tools" else 0
    events = tool_call(turn) if turn < turns else text(int(numbers[-1]))
    body = b"".join(b"data: " + json.dumps(event | {"model": model}).encode() + b"\n\n" for event in events)
    body += b"data: [DONE]\n\n"
    return HEAD % len(body) + body


def text(deltas: int) -> Iterator[dict[str, Any]]:
    yield event({"role": "assistant", "content": ""})
    for number in range(deltas):
        yield event({"content": f"tok{number % 1000} "})
    yield event({}, "stop")
    yield usage(deltas)


def tool_call(turn: int) -> Iterator[dict[str, Any]]:
    call = {"index": 0, "id": f"call_{turn}", "type": "function", "function": {"name": "add", "arguments": ""}}
    yield event({"role": "assistant", "content": None, "tool_calls": [call]})
    for piece in ('{"a"', ": 1,", ' "b": ', "2}"):
        yield event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield event({}, "tool_calls")
    yield usage(5)


def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "choices": [choice]}


def usage(output: int) -> dict[str, Any]:
    counts = {"prompt_tokens": 10, "completion_tokens": output, "total_tokens": 10 + output}
    return event({}) | {"choices": [], "usage": counts}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            request = json.loads(await reader.readexactly(length))
            writer.write(answer(request["model"], sum(item["role"] == "tool" for item in request["messages"])))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main(port: int) -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=1 << 24)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
