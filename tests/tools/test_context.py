"""What a running tool knows, and how it writes into the stream."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from riverrun.chunks import ChunkType, TextDeltaChunk, TextDeltaPayload, to_value
from riverrun.tools import ToolContext

Contexts = Callable[..., ToolContext[Any]]


async def test_a_written_value_is_a_tool_output_from_the_user(context: Contexts, stream: list[ChunkType]) -> None:
    await context().write({"type": "progress", "n": 1})
    assert [to_value(chunk) for chunk in stream] == [
        {
            "type": "tool-output",
            "runId": "run-1",
            "from": "USER",
            "payload": {"output": {"type": "progress", "n": 1}, "toolCallId": "c1", "toolName": "w"},
        }
    ]


async def test_a_written_chunk_stays_a_chunk(context: Contexts, stream: list[ChunkType]) -> None:
    inner = TextDeltaChunk(TextDeltaPayload("t1", "x"), run_id="inner", from_="AGENT")
    await context().write(inner)
    assert stream[0].payload.output is inner  # type: ignore[union-attr]


async def test_what_is_written_does_not_change_later(context: Contexts, stream: list[ChunkType]) -> None:
    ctx = context()
    state: dict[str, Any] = {"done": [0]}
    await ctx.write(state)
    await ctx.emit("state", state)
    state["done"].append(1)
    assert [stream[0].payload.output, stream[1].data] == [{"done": [0]}] * 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "chunk"),
    [
        ({"name": "progress", "data": {"pct": 50}}, {"type": "data-progress", "data": {"pct": 50}}),
        ({"name": "data-progress", "data": 1}, {"type": "data-progress", "data": 1}),
        ({"name": "x"}, {"type": "data-x"}),
        ({"name": "x", "data": None}, {"type": "data-x", "data": None}),
        (
            {"name": "x", "data": [], "id": "d1", "transient": True},
            {"type": "data-x", "data": [], "id": "d1", "transient": True},
        ),
    ],
)
async def test_emitted_data_is_a_chunk_of_its_own_name(
    context: Contexts, stream: list[ChunkType], arguments: dict[str, Any], chunk: dict[str, Any]
) -> None:
    await context().emit(**arguments)
    context().emit_sync(**arguments)
    assert [to_value(found) for found in stream] == [{**chunk, "runId": "run-1"}] * 2


async def test_a_value_without_a_json_form_raises_where_it_is_written(
    context: Contexts, stream: list[ChunkType]
) -> None:
    ctx = context()
    with socket.socket() as connection:
        with pytest.raises(TypeError, match=r'What tool "w" wrote has no JSON form: at a\.0, .* socket\.socket'):
            await ctx.write({"a": [connection]})
        with pytest.raises(TypeError, match='The data that tool "w" emitted has no JSON form'):
            await ctx.emit("x", connection)
        with pytest.raises(TypeError, match="no JSON form"):
            ctx.write_sync(connection)
    assert stream == []


async def test_a_writer_waits_until_the_stream_has_room(context: Contexts, stream: list[ChunkType]) -> None:
    room = asyncio.Event()

    async def wait() -> None:
        await room.wait()

    writing = asyncio.create_task(context(room=wait).write(1))
    await asyncio.sleep(0)
    assert stream == []
    room.set()
    await writing
    assert len(stream) == 1


async def test_a_thread_writes_in_its_order_and_waits_for_room(context: Contexts, stream: list[ChunkType]) -> None:
    async def wait() -> None:
        await asyncio.sleep(0)

    ctx = context(room=wait)

    def work() -> None:
        for number in range(5):
            ctx.write_sync(number)
            assert len(stream) == 2 * number + 1
            ctx.emit_sync("n", number)

    await asyncio.to_thread(work)
    assert [chunk.type for chunk in stream] == ["tool-output", "data-n"] * 5


async def test_the_loop_itself_may_use_the_plain_methods(context: Contexts, stream: list[ChunkType]) -> None:
    context().write_sync(1)
    assert len(stream) == 1


def test_a_context_that_was_made_without_a_loop_writes_at_once(context: Contexts, stream: list[ChunkType]) -> None:
    context().write_sync(1)
    assert len(stream) == 1


async def test_after_its_end_a_call_can_write_no_more(context: Contexts, stream: list[ChunkType]) -> None:
    ctx = context()
    ctx.end()
    for write in (ctx.write(1), ctx.emit("x", 1), asyncio.to_thread(ctx.write_sync, 1)):
        with pytest.raises(RuntimeError, match='the call of tool "w" has ended'):
            await write
    assert stream == []


async def test_a_thread_that_waits_for_room_is_let_go_when_the_call_ends(
    context: Contexts, stream: list[ChunkType]
) -> None:
    waiting = asyncio.Event()

    async def wait() -> None:
        waiting.set()
        await asyncio.Event().wait()

    ctx = context(room=wait)
    writing = asyncio.gather(asyncio.to_thread(ctx.write_sync, 1), return_exceptions=True)
    await waiting.wait()
    ctx.end()
    (error,) = await writing
    assert str(error) == 'the call of tool "w" has ended: it can write no more'
    assert stream == []


async def test_a_tool_sees_that_its_run_is_cancelled(context: Contexts) -> None:
    event = asyncio.Event()
    ctx = context(cancelled_event=event)
    waiting = asyncio.create_task(ctx.wait_cancelled())
    await asyncio.sleep(0)
    assert not ctx.cancelled
    assert not waiting.done()
    event.set()
    await waiting
    assert ctx.cancelled


def test_a_context_shows_its_call_and_not_the_conversation(context: Contexts) -> None:
    assert repr(context(deps=7)) == (
        "ToolContext(run_id='run-1', agent_id='main', tool_call_id='c1', tool_name='w', deps=7)"
    )
