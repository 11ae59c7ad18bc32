"""What a process does: carry all orders to their end, beside another process that does the same."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, event

from riverrun import Agent, ConfigError, Run, RunError
from riverrun.store import Snapshot, Store, StoreError
from tests.kill.shop import LEASE, WISH, WORDS, Clerk, Order, shop


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a process is told. `starts`: it also starts orders, which only one of those alive may do. `dies_at`: before
    which of its statements and commits it kills itself; 0: none. `reports` is where it writes what it got done.
    """

    url: str
    orders: Sequence[Order]
    reports: Path
    starts: bool
    dies_at: int = 0


def work(job: Job) -> None:
    """The main function of a process."""
    if job.dies_at:
        _die_at(job.dies_at)
    asyncio.run(_work(job))


async def _work(job: Job) -> None:
    async with await Store.open(job.url) as store, asyncio.TaskGroup() as tasks:
        clerk = Clerk()
        carrier = _Carrier(job, store, shop(store, clerk), clerk)
        for order in job.orders:
            tasks.create_task(carrier.carry(order))


@dataclass(frozen=True, slots=True)
class _Carrier:
    job: Job
    store: Store
    agent: Agent
    clerk: Clerk

    async def carry(self, order: Order) -> None:
        """Take the order up again and again until it is done, or until nobody starts it."""
        looks = 0
        while looks < 20:
            snapshot = await self._waiting(order)
            if snapshot is None and await self._is_done(order):
                return
            run = await self._taken_up(order, snapshot)
            if run is None or not await self._is_carried(run):
                looks += snapshot is None
                await asyncio.sleep(LEASE / 10)

    async def _waiting(self, order: Order) -> Snapshot | None:
        page = await self.agent.list_suspended_runs(thread_id=order.thread_id)
        return next((snapshot for snapshot in page.items if snapshot.run_id == order.run_id), None)

    async def _is_done(self, order: Order) -> bool:
        page = await self.store.messages(order.thread_id, limit=1000)
        return any(f"{WORDS[-1]} {order.run_id} " in repr(stored.message) for stored in page.items)

    async def _taken_up(self, order: Order, snapshot: Snapshot | None) -> Run | None:
        """The run, going on; None: another has it."""
        if snapshot is None:
            if not self.job.starts:
                return None
            given = {"run_id": order.run_id, "thread_id": order.thread_id, "resource_id": "customer"}
            return self.agent.stream(f"I am {order.run_id}", **given)  # type: ignore[arg-type]
        (call,) = snapshot.calls
        try:
            if call.kind == "approval":
                return await self.agent.approve_tool_call(run_id=order.run_id, tool_call_id=call.tool_call_id)
            return await self.agent.resume_stream(WISH, run_id=order.run_id, tool_call_id=call.tool_call_id)
        except ConfigError:  # held, over, or one call further: another was faster
            return None

    async def _is_carried(self, run: Run) -> bool:
        """Whether the run came as far as it could, and then nobody may undo what it said."""
        try:
            result = await run.result()
        except RunError as error:
            if isinstance(error.__cause__, StoreError) and "taken over" in str(error.__cause__):
                return False
            raise
        if result.status not in ("suspended", "success"):
            return False
        with self.job.reports.open("a") as reports:
            reports.write(f"{self.clerk.said[run.run_id]}\n")
        return True


def _die_at(number: int) -> None:
    numbers = itertools.count(1)

    def count(*_: object) -> None:
        if next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)
