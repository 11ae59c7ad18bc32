"""What InMemoryStore can that a Store cannot: be made without waiting, and be shared by event loops and threads."""

from __future__ import annotations

import asyncio
import threading

from riverrun.store import InMemoryStore, Snapshot, StoredMessage, Thread
from tests.store.test_store import said, texts, waiting


def test_one_store_is_used_in_one_event_loop_after_the_other() -> None:
    store = InMemoryStore()
    asyncio.run(store.suspend(waiting()))
    taken = asyncio.run(store.claim("r", lease=10))
    assert taken is not None
    assert taken.attempt == 1


def test_of_the_claims_of_several_threads_exactly_one_wins() -> None:
    store = InMemoryStore()
    for number in range(50):
        run_id = f"r{number}"
        asyncio.run(store.suspend(Snapshot(run_id=run_id, agent_id="a")))
        assert sum(taken is not None for taken in in_threads(lambda id=run_id: store.claim(id, lease=60))) == 1


def test_messages_saved_by_several_threads_are_all_there() -> None:
    store = InMemoryStore()
    asyncio.run(store.save_thread(Thread(id="t", resource_id="user")))

    async def save() -> None:
        name = threading.current_thread().name
        for number in range(50):
            await store.save_messages([said(f"{name}/{number}/{place}") for place in range(2)])

    in_threads(save)
    assert asyncio.run(store.messages("t")).total == 4 * 50 * 2


async def test_it_says_what_it_holds() -> None:
    async with InMemoryStore() as store:
        await store.save_thread(Thread(id="t", resource_id="user"))
        assert repr(store) == "<InMemoryStore 1 threads, 0 suspended runs>"


async def test_records_stay_when_it_is_closed() -> None:
    store = InMemoryStore()
    async with store:
        await store.save_thread(Thread(id="t", resource_id="user"))
        await store.save_messages([StoredMessage(id="m", thread_id="t", message=said("m", "kept").message)])
    assert texts(await store.last_messages("t", 1)) == ["kept"]


def in_threads(work) -> list[object]:  # type: ignore[no-untyped-def]
    """What the coroutine function gives in each of four threads."""
    given: list[object] = []
    threads = [threading.Thread(target=lambda: given.append(asyncio.run(work()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == 4
    return given
