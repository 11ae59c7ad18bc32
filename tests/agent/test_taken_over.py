"""Runs that another process may have by now: nothing that it wrote is written over, and nothing is lost at an end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from riverrun import Agent, ToolContext, tool
from riverrun.agent import Memory
from riverrun.chunks import ErrorChunk
from riverrun.errors import StoreError
from riverrun.models import ScriptedModel
from riverrun.models.scripted import Call
from riverrun.processors import Processor, ProcessorContext
from riverrun.store import InMemoryStore, StoredMessage
from tests.agent.scripts import HANG, calls, of, read, read_until, says, text, types

WHOSE = {"thread_id": "t", "resource_id": "u"}


@tool
async def ask(ctx: ToolContext) -> str:
    return str(await ctx.suspend())


def remembers(store: InMemoryStore, *answers: Call | list[object], save_per_step: bool = False) -> Agent:
    model = ScriptedModel([*answers])  # pyright: ignore[reportArgumentType]
    return Agent("x", model=model, tools=[ask], store=store, memory=Memory(save_per_step=save_per_step))


async def said(store: InMemoryStore) -> list[str]:
    return [item.message.role for item in (await store.messages("t")).items]


async def waiting(store: InMemoryStore) -> None:
    run = remembers(store, calls("ask")).stream("hi", run_id="r", **WHOSE)
    await read(run)
    assert run.status == "suspended"


async def test_a_step_is_not_saved_by_one_that_has_lost_the_run() -> None:
    store = InMemoryStore()
    await waiting(store)
    first = await remembers(store, says("of the first"), save_per_step=True).resume_stream(1, run_id="r", detached=True)
    held = await store.get_snapshot("r")
    assert held is not None
    assert await store.finish("r", held.attempt)  # as another would that took it over
    kept = (await store.messages("t")).items
    chunks = await read(first)
    assert "taken over by another process" in str(of(ErrorChunk, chunks)[0].payload.error)
    assert (await store.messages("t")).items == kept


async def test_a_resumed_run_waits_again_when_the_program_ends() -> None:
    store = InMemoryStore()
    await waiting(store)
    before = (await store.messages("t")).items
    run = await remembers(store, [*text("half an"), HANG]).resume_stream(1, run_id="r")
    await read_until(run, "text-delta")
    for task in asyncio.all_tasks() - {asyncio.current_task()}:  # as asyncio.run does when it is left
        task.cancel()
    assert types(await read(run))[-2:] == ["abort", "finish"]
    assert (await store.messages("t")).items == before
    again = await remembers(store, says("a whole answer")).resume_stream(1, run_id="r")
    assert await again.text == "a whole answer"
    assert await said(store) == ["user", "assistant", "tool", "assistant"]


async def test_a_run_with_the_id_of_one_that_waits_leaves_nothing_of_its_own() -> None:
    store = InMemoryStore()
    await waiting(store)
    before = (await store.messages("t")).items
    chunks = await read(remembers(store, calls("ask")).stream("hi again", run_id="r", **WHOSE))
    assert "suspended already" in str(of(ErrorChunk, chunks)[0].payload.error)
    assert (await store.messages("t")).items == before
    assert await (await remembers(store, says("done")).resume_stream(1, run_id="r")).text == "done"


@pytest.mark.parametrize("save_per_step", [False, True])
async def test_what_a_run_saved_on_its_way_is_there_once(save_per_step: bool) -> None:
    store = InMemoryStore()
    await waiting(store)
    agent = remembers(store, calls("ask"), says("done"), save_per_step=save_per_step)
    await read(await agent.resume_stream(1, run_id="r"))
    assert await (await agent.resume_stream(2, run_id="r")).text == "done"
    assert await said(store) == ["user", "assistant", "tool", "assistant", "tool", "assistant"]


class Unforgetting(InMemoryStore):
    """Cannot forget a run."""

    async def finish(self, run_id: str, attempt: int, messages: Sequence[StoredMessage] = ()) -> bool:
        raise StoreError("the disk is full")


class Guard(Processor):
    def process_output_stream(self, chunk: Any, ctx: ProcessorContext) -> Any:
        return ctx.abort("no") if chunk.type == "text-end" else chunk


async def test_a_tripwire_ends_the_stream_though_the_store_fails(caplog: pytest.LogCaptureFixture) -> None:
    store = Unforgetting()
    await waiting(store)
    agent = remembers(store, says("the secret"))
    run = await agent.resume_stream(1, run_id="r", processors=[Guard()])
    assert types(await read(run))[-1] == "tripwire"
    assert "could not be taken back" in caplog.text
