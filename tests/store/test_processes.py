"""Several processes on one database, and what is left when one is killed."""

from __future__ import annotations

import asyncio
import time

from riverrun.store import Snapshot, Store, Thread
from tests.store.children import batch, child, children


async def prepared(url: str, *runs: str) -> None:
    """A thread "t", and suspended runs."""
    async with await Store.open(url) as store:
        await store.save_thread(Thread(id="t", resource_id="user"))
        for run_id in runs:
            await store.suspend(Snapshot(run_id=run_id, agent_id="a"))


async def message_ids(store: Store) -> set[str]:
    found: set[str] = set()
    while True:
        page = await store.messages("t", limit=1000, offset=len(found))
        found |= {message.id for message in page.items}
        if len(found) >= page.total:
            return found


def test_processes_that_open_a_new_database_at_once_all_can(lasting_url: str) -> None:
    with children("opens", lasting_url, 3) as started:
        assert [each.heard() for each in started] == ["opened"] * 3


def test_of_the_claims_of_several_processes_exactly_one_wins(lasting_url: str) -> None:
    asyncio.run(prepared(lasting_url, "r"))
    with children("claims", lasting_url, 2) as started:
        assert sorted(each.heard() for each in started) == ["0", "1"]


def test_processes_that_write_at_once_wait_for_each_other(lasting_url: str) -> None:
    asyncio.run(prepared(lasting_url))
    with children("saves", lasting_url, 2) as started:
        assert [each.heard() for each in started] == ["saved"] * 2

    async def saved() -> int:
        async with await Store.open(lasting_url) as store:
            return len(await message_ids(store))

    assert asyncio.run(saved()) == 2 * 30 * 10


def test_a_process_killed_in_a_transaction_leaves_nothing_of_it_and_no_lock(lasting_url: str) -> None:
    asyncio.run(prepared(lasting_url))
    with child("stops_half_way", lasting_url) as half:
        assert half.heard() == "half"
        half.kill()

    async def left() -> None:
        async with await Store.open(lasting_url) as store:
            begin = time.monotonic()
            await store.save_messages(batch("after"))
            assert time.monotonic() - begin < 5
            assert await store.get_snapshot("half") is None
            assert await message_ids(store) == {message.id for message in batch("after")}

    asyncio.run(left())


def test_processes_killed_at_any_moment_leave_whole_suspensions(lasting_url: str) -> None:
    asyncio.run(prepared(lasting_url))
    said: set[str] = set()
    for rounds in range(2):
        with children("suspends", lasting_url, 2) as started:
            for each in started:
                said |= {each.heard() for _ in range(3 + 4 * rounds)}
                each.kill()

    async def left() -> None:
        async with await Store.open(lasting_url) as store:
            page = await store.list_snapshots(limit=1000)
            kept = {snapshot.run_id for snapshot in page.items}
            assert page.total == len(kept)
            assert said <= kept
            assert await message_ids(store) == {message.id for run_id in kept for message in batch(run_id)}

    asyncio.run(left())
