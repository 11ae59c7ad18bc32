"""Logs, their readers, room for producers, and work side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from riverrun import Agent
from riverrun.streams import LOOK_AHEAD, Log, Reader, reading, run_all, spawn
from riverrun.testing import ScriptedModel
from tests.agent.scripts import HANG, read, turns


def log_of(*items: int, look_ahead: int | None = LOOK_AHEAD, closed: bool = False) -> Log[int]:
    log: Log[int] = Log(look_ahead=look_ahead)
    for item in items:
        log.write(item)
    if closed:
        log.close()
    return log


async def produce(log: Log[int], count: int) -> None:
    for number in range(count):
        if log.write(number):
            await log.room()
    log.close()


# -- readers


async def test_a_reader_gets_every_item_in_order_and_then_ends() -> None:
    log: Log[int] = Log()
    reading = spawn(read(Reader(log)))
    for number in range(5):
        log.write(number)
        await turns(2)
    log.close()
    assert await reading == [0, 1, 2, 3, 4]


async def test_positions_are_dense_and_say_what_comes_next() -> None:
    reader = Reader(log_of(10, 11, 12, closed=True))
    seen = [(reader.position, item) async for item in reader]
    assert seen == [(1, 10), (2, 11), (3, 12)]
    assert reader.position == 3


async def test_a_reader_that_comes_after_the_end_gets_everything() -> None:
    log = log_of(1, 2, 3, closed=True)
    assert await read(Reader(log)) == [1, 2, 3]
    assert await read(Reader(log)) == [1, 2, 3]


async def test_a_reader_may_begin_at_any_position() -> None:
    log = log_of(0, 1, 2, 3, closed=True)
    assert [await read(Reader(log, position)) for position in (0, 2, 4, 9)] == [[0, 1, 2, 3], [2, 3], [], []]


async def test_a_reader_ahead_of_the_log_waits_for_its_position() -> None:
    log = log_of(0)
    reading = spawn(read(Reader(log, 2)))
    for number in (1, 2, 3):
        await turns(2)
        log.write(number)
    log.close()
    assert await reading == [2, 3]


async def test_an_ended_reader_stays_ended() -> None:
    reader = Reader(log_of(1, closed=True))
    assert await read(reader) == [1]
    assert await read(reader) == []


async def test_many_readers_do_not_take_items_from_each_other() -> None:
    log: Log[int] = Log()
    readings = [spawn(read(Reader(log))) for _ in range(20)]
    await turns(2)
    await produce(log, 50)
    assert [await reading for reading in readings] == [list(range(50))] * 20


async def test_one_write_wakes_all_who_wait() -> None:
    log: Log[int] = Log()
    waits = [spawn(anext(Reader(log))) for _ in range(3)]
    await turns(2)
    log.write(7)
    assert await asyncio.gather(*waits) == [7, 7, 7]


async def test_an_empty_log_that_is_closed_ends_its_readers() -> None:
    log: Log[int] = Log()
    reading = spawn(read(Reader(log)))
    await turns(2)
    log.close()
    assert await reading == []


async def test_a_cancelled_reader_leaves_no_trace() -> None:
    """Heartbeats wait for a chunk with a time limit, again and again, while a log is silent for hours."""
    log: Log[int] = Log()
    for _ in range(5):
        waiting = spawn(anext(Reader(log)))
        await turns(2)
        waiting.cancel()
        await asyncio.wait([waiting])
    assert log._waiting == []
    log.write(1)
    assert await anext(Reader(log)) == 1


async def test_a_reader_that_is_cancelled_as_it_is_woken_loses_nothing() -> None:
    log: Log[int] = Log()
    reader = Reader(log)
    waiting = spawn(anext(reader))
    await turns(2)
    log.write(1)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert await anext(reader) == 1


async def test_other_readers_go_on_when_one_is_cancelled() -> None:
    log: Log[int] = Log()
    left, stays = spawn(read(Reader(log))), spawn(read(Reader(log)))
    await turns(2)
    left.cancel()
    await asyncio.wait([left])
    await produce(log, 3)
    assert await stays == [0, 1, 2]


# -- room


async def test_a_log_is_full_when_the_producer_is_as_far_ahead_as_it_may_be() -> None:
    log = log_of(look_ahead=3)
    assert [log.write(number) for number in range(4)] == [False, False, True, True]
    assert log.full


async def test_reading_makes_a_log_less_full() -> None:
    log = log_of(0, 1, 2, look_ahead=3)
    assert log.full
    await anext(Reader(log))
    assert not log.full


async def test_nobody_waits_for_room_in_a_log_that_is_not_full() -> None:
    await log_of(0, 1, look_ahead=3).room()


async def test_a_producer_waits_until_a_reader_has_come_half_way() -> None:
    log = log_of(*range(8), look_ahead=8)
    waiting = spawn(log.room())
    await turns(2)
    reader = Reader(log)
    for _ in range(3):
        await anext(reader)
        await turns(2)
        assert not waiting.done()
    await anext(reader)
    await waiting


async def test_producer_and_reader_do_not_take_turns_at_every_item() -> None:
    log: Log[int] = Log(look_ahead=8)
    waits = 0

    async def counted() -> None:
        nonlocal waits
        for number in range(80):
            if log.write(number):
                waits += 1
                await log.room()
        log.close()

    producing = spawn(counted())
    assert await read(Reader(log)) == list(range(80))
    await producing
    assert waits <= 80 / 4


async def test_a_producer_is_never_further_ahead_than_it_may_be() -> None:
    log: Log[int] = Log(look_ahead=4)
    producing = spawn(produce(log, 50))
    reader, ahead = Reader(log), [0]
    async for _ in reader:
        await turns(3)
        ahead.append(len(log.items) - reader.position)
    await producing
    assert max(ahead) <= 4
    assert log.items == list(range(50))


async def test_the_reader_that_is_furthest_on_counts() -> None:
    log = log_of(0, 1, 2, 3, look_ahead=4)
    waiting = spawn(log.room())
    await turns(2)
    slow, fast = Reader(log), Reader(log)
    await anext(slow)
    await turns(2)
    assert not waiting.done()
    for _ in range(3):
        await anext(fast)
    await waiting
    assert await anext(slow) == 1


async def test_the_smallest_look_ahead_lets_both_go_on() -> None:
    log: Log[int] = Log(look_ahead=1)
    producing = spawn(produce(log, 10))
    assert await read(Reader(log)) == list(range(10))
    await producing


async def test_several_producers_wait_for_room_and_lose_nothing() -> None:
    log: Log[str] = Log(look_ahead=4)

    async def produce_as(name: str) -> None:
        for number in range(20):
            if log.full:
                await log.room()
            log.write(f"{name}{number}")

    producing = [spawn(produce_as(name)) for name in "abc"]
    await turns()
    assert len(log.items) <= 4
    reader = Reader(log)
    items = [await anext(reader) for _ in range(60)]
    await asyncio.gather(*producing)
    for name in "abc":
        assert [item for item in items if item[0] == name] == [f"{name}{number}" for number in range(20)]


async def test_a_log_without_look_ahead_is_never_full() -> None:
    log: Log[int] = Log(look_ahead=None)
    await produce(log, LOOK_AHEAD * 3)
    assert len(log.items) == LOOK_AHEAD * 3


async def test_an_unbound_log_lets_a_waiting_producer_run_to_the_end() -> None:
    log: Log[int] = Log(look_ahead=2)
    producing = spawn(produce(log, 100))
    await turns()
    assert len(log.items) == 2
    log.unbind()
    await producing
    assert len(log.items) == 100


async def test_closing_a_log_frees_whoever_waits_for_room() -> None:
    log = log_of(0, 1, look_ahead=2)
    waiting = [spawn(log.room()) for _ in range(2)]
    await turns(2)
    log.close()
    await asyncio.gather(*waiting)


async def test_a_producer_that_is_cancelled_while_it_waits_for_room_leaves_others_waiting() -> None:
    log = log_of(0, 1, look_ahead=2)
    left, stays = spawn(log.room()), spawn(log.room())
    await turns(2)
    left.cancel()
    await turns(2)
    assert not stays.done()
    await anext(Reader(log))
    await stays


# -- work side by side


class Crowd:
    """Works that note how many run at once and in which order they begin and end."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.begun: list[int] = []
        self.ended: list[int] = []

    def work(self, number: int, turns_taken: int = 2):  # type: ignore[no-untyped-def]
        async def run() -> None:
            self.running += 1
            self.most = max(self.most, self.running)
            self.begun.append(number)
            try:
                await turns(turns_taken)
            finally:
                self.running -= 1
                self.ended.append(number)

        return run


async def forever() -> None:
    await asyncio.get_running_loop().create_future()


async def fail(message: str) -> None:
    await turns(1)
    raise ValueError(message)


async def test_works_run_side_by_side() -> None:
    crowd = Crowd()
    await run_all([crowd.work(0, 9), crowd.work(1, 1)], limit=10)
    assert crowd.ended == [1, 0]


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_no_more_works_run_at_once_than_the_limit_says(limit: int) -> None:
    crowd = Crowd()
    await run_all([crowd.work(number, 1 + number % 3) for number in range(12)], limit=limit)
    assert crowd.most == limit
    assert crowd.begun == list(range(12))
    assert sorted(crowd.ended) == list(range(12))


async def test_one_work_at_a_time_keeps_the_order() -> None:
    crowd = Crowd()
    await run_all([crowd.work(number, 3 - number) for number in range(3)], limit=1)
    assert crowd.ended == [0, 1, 2]


async def test_no_work_is_done_at_once() -> None:
    await run_all([], limit=3)


async def test_all_works_have_ended_when_one_fails() -> None:
    crowd = Crowd()
    with pytest.raises(ValueError, match="one"):
        await run_all([lambda: fail("one"), crowd.work(1, 20)], limit=5)
    assert crowd.ended == [1]


async def test_the_first_of_several_failures_is_raised_and_none_is_left_unseen() -> None:
    """The test's event loop complains of an exception that nobody looked at."""
    with pytest.raises(ValueError, match="one"):
        await run_all([lambda: fail("one"), lambda: fail("two"), lambda: fail("three")], limit=5)


@pytest.mark.parametrize("count", [1, 3])
async def test_a_cancellation_is_passed_on_and_nothing_is_left(count: int) -> None:
    crowd = Crowd()
    working = spawn(run_all([crowd.work(number, 10**6) for number in range(count)], limit=2))
    await turns(4)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert crowd.running == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_works_that_wait_for_their_turn_never_begin_after_a_cancellation() -> None:
    crowd = Crowd()
    working = spawn(run_all([forever, crowd.work(1)], limit=1))
    await turns(3)
    working.cancel()
    await asyncio.wait([working])
    assert crowd.begun == []


async def test_a_second_cancellation_does_not_leave_works_behind() -> None:
    """A work takes its time to end; meanwhile whoever waits is cancelled again."""
    ended: list[str] = []

    async def slow_to_end() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            for _ in range(5):
                try:
                    await turns(2)
                except asyncio.CancelledError:
                    ended.append("asked again")
            ended.append("ended")

    working = spawn(run_all([slow_to_end, forever], limit=2))
    await turns(3)
    working.cancel()
    await turns(3)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert ended == ["asked again", "ended"]


async def test_a_failure_while_works_are_cancelled_is_seen_and_the_cancellation_counts() -> None:
    async def fails_when_cancelled() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            raise ValueError("while ending") from None

    working = spawn(run_all([fails_when_cancelled, forever], limit=2))
    await turns(3)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


# -- streams that are left


async def test_a_generator_that_is_left_is_closed() -> None:
    ended: list[str] = []

    async def numbers() -> AsyncGenerator[int, None]:
        try:
            yield 1
            yield 2
        finally:
            await turns(1)
            ended.append("closed")

    async with reading(numbers()) as stream:
        assert await anext(stream) == 1
    assert ended == ["closed"]


async def test_what_is_a_context_manager_ends_as_it_does_when_it_is_left() -> None:
    run = Agent("a", model=ScriptedModel([[HANG]])).stream("hi")
    async with reading(run) as stream:
        assert (await anext(stream)).type == "start"
    assert run.status == "canceled"


@pytest.mark.parametrize("waits", [False, True])
async def test_any_other_stream_is_cancelled(waits: bool) -> None:
    ended: list[str] = []

    class Remote:
        def __aiter__(self) -> AsyncIterator[int]:
            return Reader(log_of(1, 2, closed=True))

        def cancel(self) -> object:
            async def told() -> None:
                ended.append("cancelled")

            if waits:
                return told()
            ended.append("cancelled")
            return None

    async with reading(Remote()) as stream:
        assert await anext(stream) == 1
    assert ended == ["cancelled"]
