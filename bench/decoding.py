"""What reading a provider's stream costs, for each API: our chunks, and the SDK's own event objects beside them.

python bench/decoding.py

Both read the same bytes from memory, in reads of 4 KiB: text, reasoning and the arguments of a tool call, a third of
the deltas each. CPU of the whole process, best of three, one run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2

from riverrun.models.apis import Api, decoder_of
from riverrun.models.sse import SseReader

N = 6_000
"""Deltas of a stream."""
KEY = "none"


def chat() -> bytes:
    """A stream of chat completions."""

    def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": "m",
            "system_fingerprint": "fp",
            "choices": [choice],
            "usage": None,
        }

    def call(**function: str) -> dict[str, Any]:
        return {"tool_calls": [{"index": 0, "function": function}]}

    begun = {
        "tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":"'}}]
    }
    events = [event({"role": "assistant", "content": ""})]
    events += [event({"reasoning_content": "thought "})] * (N // 3)
    events += [event({"content": "token "})] * (N // 3)
    events += [event(begun), *[event(call(arguments="piece "))] * (N // 3), event(call(arguments='"}'))]
    events += [event({}, "tool_calls")]
    return b"".join(_sse(item) for item in events) + b"data: [DONE]\n\n"


def responses() -> bytes:
    """A stream of Responses."""
    number = iter(range(10 * N))

    def event(kind: str, index: int, **members: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}", "sequence_number": next(number), "output_index": index, **members}

    def delta(kind: str, index: int, text: str, **members: Any) -> dict[str, Any]:
        return event(kind, index, item_id=f"item_{index}", delta=text, obfuscation="a1b2c3", **members)

    thought = {"id": "item_0", "type": "reasoning", "summary": []}
    said = {"id": "item_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    call = {
        "id": "item_2",
        "type": "function_call",
        "status": "in_progress",
        "call_id": "c",
        "name": "f",
        "arguments": "",
    }
    arguments = '{"a":"' + "piece " * (N // 3) + '"}'
    about = {"id": "resp_1", "object": "response", "created_at": 1700000000, "model": "m", "output": []}
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    events = [
        {"type": "response.created", "sequence_number": next(number), "response": {**about, "status": "in_progress"}},
        event("output_item.added", 0, item=thought),
        event(
            "reasoning_summary_part.added",
            0,
            item_id="item_0",
            summary_index=0,
            part={"type": "summary_text", "text": ""},
        ),
        *(delta("reasoning_summary_text.delta", 0, "thought ", summary_index=0) for _ in range(N // 3)),
        event("output_item.done", 0, item=thought),
        event("output_item.added", 1, item=said),
        event("content_part.added", 1, item_id="item_1", content_index=0, part=part),
        *(delta("output_text.delta", 1, "token ", content_index=0, logprobs=[]) for _ in range(N // 3)),
        event("output_item.done", 1, item={**said, "status": "completed"}),
        event("output_item.added", 2, item=call),
        delta("function_call_arguments.delta", 2, '{"a":"'),
        *(delta("function_call_arguments.delta", 2, "piece ") for _ in range(N // 3)),
        delta("function_call_arguments.delta", 2, '"}'),
        event("output_item.done", 2, item={**call, "arguments": arguments, "status": "completed"}),
        {
            "type": "response.completed",
            "sequence_number": next(number),
            "response": {**about, "status": "completed", "usage": usage},
        },
    ]
    return b"".join(_sse(item, name=True) for item in events)


def messages() -> bytes:
    """A stream of Anthropic's messages."""

    def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
        events = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        first = {"type": "content_block_start", "index": index, "content_block": start}
        return [first, *events, {"type": "content_block_stop", "index": index}]

    def args(text: str) -> dict[str, Any]:
        return {"type": "input_json_delta", "partial_json": text}

    usage = {"input_tokens": 1, "output_tokens": 1}
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    events = [
        {"type": "message_start", "message": {**about, "stop_reason": None, "stop_sequence": None}},
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            *[{"type": "thinking_delta", "thinking": "thought "}] * (N // 3),
        ),
        *block(1, {"type": "text", "text": ""}, *[{"type": "text_delta", "text": "token "}] * (N // 3)),
        *block(
            2,
            {"type": "tool_use", "id": "c", "name": "f", "input": {}},
            args('{"a":"'),
            *[args("piece ")] * (N // 3),
            args('"}'),
        ),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": N},
        },
        {"type": "message_stop"},
    ]
    return b"".join(_sse(item, name=True) for item in events)


def content() -> bytes:
    """A stream of Gemini's content. It gives the arguments of a call whole, so half of the deltas are text."""

    def event(part: dict[str, Any], **members: Any) -> dict[str, Any]:
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "totalTokenCount": 6}
        candidate = {"content": {"parts": [part], "role": "model"}, "index": 0, **members}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"}

    events = [
        *[event({"text": "thought ", "thought": True})] * (N // 2),
        *[event({"text": "token "})] * (N // 2),
        event({"functionCall": {"name": "f", "args": {"a": "piece"}}}, finishReason="STOP"),
    ]
    return b"".join(_sse(item) for item in events)


def _sse(value: dict[str, Any], *, name: bool = False) -> bytes:
    head = f"event: {value['type']}\n" if name else ""
    return f"{head}data: {json.dumps(value, separators=(',', ':'))}\n\n".encode()


def ours(api: Api, stream: bytes) -> int:
    """Decode with our adapter; gives the number of chunks."""
    reader = SseReader()
    decoder = decoder_of(api, "run")
    count = 0
    for begin in range(0, len(stream), 4096):
        for event in reader.feed(stream[begin : begin + 4096]):
            count += len(decoder.feed(event.data, event.event))
    for event in reader.close():
        count += len(decoder.feed(event.data, event.event))
    count += len(decoder.close())
    assert decoder.error is None, decoder.error
    return count


def _http(stream: bytes) -> httpx2.Client:
    """A client whose every answer is the stream."""

    class Pieces(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for begin in range(0, len(stream), 4096):
                yield stream[begin : begin + 4096]

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces())

    return httpx2.Client(transport=httpx2.MockTransport(answer))


def sdk_chat(stream: bytes) -> int:
    from openai import OpenAI

    client = OpenAI(api_key=KEY, http_client=_http(stream))
    made = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
    return sum(1 for _ in made)


def sdk_responses(stream: bytes) -> int:
    from openai import OpenAI

    return sum(1 for _ in OpenAI(api_key=KEY, http_client=_http(stream)).responses.create(input="x", stream=True))


def sdk_messages(stream: bytes) -> int:
    from anthropic import Anthropic

    client = Anthropic(api_key=KEY, http_client=_http(stream))
    made = client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}], stream=True)
    return sum(1 for _ in made)


def sdk_content(stream: bytes) -> int:
    from google.genai import Client
    from google.genai.types import HttpOptions

    client = Client(api_key=KEY, http_options=HttpOptions(httpx_client=_http(stream)))
    return sum(1 for _ in client.models.generate_content_stream(model="m", contents="x"))


CASES: list[tuple[Api, Callable[[], bytes], Callable[[bytes], int]]] = [
    ("openai-chat", chat, sdk_chat),
    ("openai-responses", responses, sdk_responses),
    ("anthropic-messages", messages, sdk_messages),
    ("google-generate-content", content, sdk_content),
]


def cost(work: Callable[[], int]) -> float:
    """Microseconds of CPU for each delta: the best of three runs after one to warm up."""
    times: list[float] = []
    for _ in range(4):
        begun = time.process_time()
        assert work() >= N
        times.append(time.process_time() - begun)
    return min(times[1:]) / N * 1e6


def main() -> None:
    print(f"{'µs per delta':<26}{'ours':>8}{'SDK':>8}{'ratio':>8}")
    for api, make, sdk in CASES:
        stream = make()
        mine = cost(lambda api=api, stream=stream: ours(api, stream))
        theirs = cost(lambda sdk=sdk, stream=stream: sdk(stream))
        print(f"{api:<26}{mine:>8.2f}{theirs:>8.1f}{theirs / mine:>7.0f}x")


if __name__ == "__main__":
    main()
