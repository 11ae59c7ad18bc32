"""The agent under test: an order waits twice, for the customer's wish and for an approval, and then it is done."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from riverrun import Agent, ModelRequest, ToolContext, tool
from riverrun.agent import Memory
from riverrun.chunks import ChunkType, ToolMessage, UserMessage
from riverrun.models import ScriptedModel
from riverrun.models.scripted import Call
from riverrun.store import AnyStore
from tests.agent.scripts import call, finish, text

LEASE = 0.2
"""Seconds after which the run of a dead process is anybody's."""
PACE = 0.004
"""Seconds between the parts of an answer."""

WORDS = ("asking", "paying", "done")
"""What the model says in the three steps of an order. It calls the tool of the same step, if there is one."""
TOOLS = ("ask", "pay")
WISH = "two of them"
"""The customer's answer."""


@dataclass(frozen=True, slots=True)
class Order:
    """A run, in a thread that may have others."""

    run_id: str
    thread_id: str


class Clerk:
    """A model that knows from the results behind the last question what to say next.

    `said` is its last answer in each run, which no other process gives.
    """

    provider = "scripted"
    model_id = "clerk"

    def __init__(self) -> None:
        self.said: dict[str, str] = {}
        self._numbers = itertools.count(1)

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        step = _results_behind_the_question(request)
        run_id = request.run_id
        words = self.said[run_id] = f"{WORDS[step]} {run_id} #{os.getpid()}.{next(self._numbers)}"
        script = ScriptedModel([Call(parts=_answer(step, words, run_id), pace=PACE)])
        async with aclosing(script.stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk


async def ask(order: str, ctx: ToolContext) -> str:
    """Ask the customer."""
    return f"{order} wants {await ctx.suspend({'what about': order})}"


@tool(requires_approval=True)
async def pay(order: str) -> str:
    """Take the money."""
    return f"{order} is paid"


def shop(store: AnyStore, clerk: Clerk) -> Agent:
    """The agent, in any process."""
    return Agent("shop", model=clerk, tools=[ask, pay], store=store, memory=Memory(last_messages=10), lease=LEASE)


def _results_behind_the_question(request: ModelRequest) -> int:
    count = 0
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            return count
        count += isinstance(message, ToolMessage)
    raise AssertionError("nothing was asked")


def _answer(step: int, words: str, run_id: str) -> list[Any]:
    if step == len(TOOLS):
        return [*text(words), finish()]
    name = TOOLS[step]
    return [*text(words), call(name, f"call-{name}", {"order": run_id}), finish("tool-calls")]
