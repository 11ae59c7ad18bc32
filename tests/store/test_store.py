"""What every store does: Store on SQLite in a file and in memory and on PostgreSQL, and InMemoryStore."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from riverrun.chunks import (
    AssistantMessage,
    Extra,
    FilePart,
    Message,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UnknownMessage,
    UnknownPart,
    UserMessage,
)
from riverrun.errors import ConfigError
from riverrun.store import UNSAVED, AnyStore, PendingCall, Snapshot, Store, StoredMessage, StoreError, Thread
from tests.store.conftest import Clock, opened

START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
"""What a new Clock says."""


def said(
    id: str, text: str = "hi", *, thread_id: str = "t", metadata: dict[str, object] | None = None
) -> StoredMessage:
    return StoredMessage(id=id, thread_id=thread_id, message=UserMessage([TextPart(text)]), metadata=metadata)


def texts(stored: list[StoredMessage]) -> list[str]:
    return [part.text for each in stored for part in each.message.content]  # type: ignore[union-attr,misc]


def ids(stored: list[StoredMessage]) -> list[str]:
    return [each.id for each in stored]


async def with_threads(store: AnyStore, *thread_ids: str) -> None:
    for thread_id in thread_ids:
        await store.save_thread(Thread(id=thread_id, resource_id="user"))


def waiting(run_id: str = "r", **members: object) -> Snapshot:
    given = {"agent_id": "a", "state": {"step": 1}, **members}
    return Snapshot(run_id=run_id, **given)  # type: ignore[arg-type]


async def suspended(store: AnyStore, run_id: str = "r", **members: object) -> None:
    assert await store.suspend(waiting(run_id, **members))


async def claimed(store: AnyStore, run_id: str = "r", *, lease: float = 10) -> Snapshot:
    snapshot = await store.claim(run_id, lease=lease)
    assert snapshot is not None
    return snapshot


# -- threads


async def test_a_thread_is_kept_as_it_was_given(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        given = Thread(id="t", resource_id="user", title="Weather", metadata={"pinned": True, "tags": ["a", None, 1.5]})
        kept = await store.save_thread(given)
        assert kept == replace(given, created_at=START, updated_at=START)
        assert await store.get_thread("t") == kept


async def test_there_is_no_thread_that_was_not_saved(any_url: str) -> None:
    async with await opened(any_url) as store:
        assert await store.get_thread("t") is None


async def test_saving_a_thread_again_replaces_title_and_metadata(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        first = await store.save_thread(Thread(id="t", resource_id="user", metadata={"a": 1}))
        clock.now += 60
        second = await store.save_thread(replace(first, title="Weather", metadata=None, created_at=UNSAVED))
        assert second == replace(first, title="Weather", metadata=None, updated_at=START + timedelta(seconds=60))


async def test_a_thread_stays_with_its_resource(any_url: str) -> None:
    async with await opened(any_url) as store:
        kept = await store.save_thread(Thread(id="t", resource_id="user", title="mine"))
        with pytest.raises(StoreError, match="thread t belongs to another resource than thief"):
            await store.save_thread(Thread(id="t", resource_id="thief", title="mine now"))
        assert await store.get_thread("t") == kept


async def test_a_thread_may_bring_its_time(any_url: str) -> None:
    there = datetime(2020, 1, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    async with await opened(any_url) as store:
        kept = await store.save_thread(Thread(id="t", resource_id="user", created_at=there))
        assert kept.created_at == there
        assert kept.created_at.tzinfo is UTC


async def test_a_title_loses_only_what_no_database_keeps(any_url: str) -> None:
    async with await opened(any_url) as store:
        kept = await store.save_thread(Thread(id="t", resource_id="user", title="a\0b\ud800c é 😀 '; --"))
        assert kept.title == "a\ufffdb\ufffdc é 😀 '; --"


async def test_threads_are_listed_newest_first_with_how_many_there_are(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        for number in range(5):
            await store.save_thread(Thread(id=f"t{number}", resource_id="user"))
            clock.now += 1
        await store.save_thread(Thread(id="other", resource_id="somebody"))
        await store.save_thread(Thread(id="t0", resource_id="user", title="changed last"))
        first = await store.list_threads("user", limit=2)
        assert ([thread.id for thread in first.items], first.total) == (["t4", "t3"], 5)
        rest = await store.list_threads("user", limit=10, offset=2)
        assert ([thread.id for thread in rest.items], rest.total) == (["t2", "t1", "t0"], 5)
        beyond = await store.list_threads("user", offset=9)
        assert (beyond.items, beyond.total) == ([], 5)


async def test_deleting_a_thread_deletes_its_messages_and_no_others(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t", "u")
        await store.save_messages([said("m"), said("m", thread_id="u")])
        assert await store.delete_thread("t") is True
        assert await store.delete_thread("t") is False
        await with_threads(store, "t")
        assert (await store.messages("t")).total == 0
        assert (await store.messages("u")).total == 1


# -- messages


async def test_messages_come_in_the_order_of_saving_not_of_their_times(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        early = replace(said("z", "second"), created_at=START - timedelta(days=1))
        await store.save_messages([replace(said("b", "first"), created_at=START), early])
        await store.save_messages([said("a", "third")])
        page = await store.messages("t")
        assert texts([*page.items]) == ["first", "second", "third"]
        assert page.items[1].created_at == early.created_at


async def test_the_last_messages_are_the_newest_in_their_order(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t", "u")
        await store.save_messages([said(f"m{number}") for number in range(5)])
        await store.save_messages([said("m9", thread_id="u")])
        assert ids(await store.last_messages("t", 2)) == ["m3", "m4"]
        assert ids(await store.last_messages("t", 9)) == ["m0", "m1", "m2", "m3", "m4"]
        assert await store.last_messages("t", 0) == []
        assert await store.last_messages("nobody's", 9) == []


async def test_messages_are_read_in_pages(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        await store.save_messages([said(f"m{number}") for number in range(5)])
        page = await store.messages("t", limit=2, offset=1)
        assert (ids([*page.items]), page.total) == (["m1", "m2"], 5)
        beyond = await store.messages("t", limit=2, offset=5)
        assert (beyond.items, beyond.total) == ([], 5)


async def test_saving_a_message_again_replaces_it_where_it_stands(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        await with_threads(store, "t")
        await store.save_messages([said("a", "one"), said("b", "two", metadata={"draft": True})])
        clock.now += 60
        await store.save_messages([said("c", "three"), said("a", "ONE", metadata={"edited": True}), said("b", "TWO")])
        stored = await store.last_messages("t", 9)
        assert texts(stored) == ["ONE", "TWO", "three"]
        assert [each.metadata for each in stored] == [{"edited": True}, None, None]
        assert [each.created_at for each in stored] == [START, START, START + timedelta(seconds=60)]


async def test_of_two_messages_with_one_id_the_later_is_kept(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        await store.save_messages([said("a", "old"), said("b"), said("a", "new")])
        assert texts(await store.last_messages("t", 9)) == ["new", "hi"]


async def test_a_message_that_comes_after_deleted_ones_is_still_the_last(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t", "u")
        await store.save_messages([said("a"), said("b"), said("c"), said("c", thread_id="u")])
        assert await store.delete_messages("t", ["b", "c", "never there"]) == 2
        await store.save_messages([said("b")])
        assert ids(await store.last_messages("t", 9)) == ["a", "b"]
        assert ids(await store.last_messages("u", 9)) == ["c"]
        assert await store.delete_messages("t", []) == 0


async def test_messages_of_several_threads_are_saved_together_or_not_at_all(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "a", "z")
        with pytest.raises(StoreError, match="there is no thread m: save the thread before its messages"):
            await store.save_messages([said("1", thread_id="a"), said("2", thread_id="m"), said("3", thread_id="z")])
        assert await store.last_messages("a", 9) == []
        await store.save_messages([said("1", thread_id="z"), said("2", thread_id="a"), said("3", thread_id="z")])
        assert ids(await store.last_messages("z", 9)) == ["1", "3"]


async def test_a_thread_with_new_messages_was_updated(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        await with_threads(store, "t")
        clock.now += 60
        await store.save_messages([said("a")])
        thread = await store.get_thread("t")
        assert thread is not None
        assert (thread.created_at, thread.updated_at) == (START, START + timedelta(seconds=60))


async def test_saving_no_messages_needs_no_thread(any_url: str) -> None:
    async with await opened(any_url) as store:
        await store.save_messages([])


async def test_messages_saved_at_once_by_many_are_all_there(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t", "u")
        pairs = [
            [said(f"{number}-1", thread_id=first), said(f"{number}-2", thread_id=second)]
            for number in range(20)
            for first, second in [("t", "u") if number % 2 else ("u", "t")]
        ]
        await asyncio.gather(*(store.save_messages(pair) for pair in pairs))
        assert (await store.messages("t")).total == 20
        assert (await store.messages("u")).total == 20


MESSAGES: list[Message] = [
    SystemMessage("be brief", id="s", provider_options={"anthropic": {"cacheControl": {"type": "ephemeral"}}}),
    UserMessage([TextPart("é \0 😀 \u2028 \\ \" '"), FilePart(data=b"\x00\xff\x10", media_type="image/png")]),
    UserMessage(
        [
            FilePart(data="aGk=", media_type="text/plain"),
            FilePart(data=b"", media_type="text/plain", filename="empty", provider_options={"x": {"y": None}}),
            FilePart(data="https://example.com/cat.png", media_type="image/*"),
        ]
    ),
    AssistantMessage(
        [
            ReasoningPart("hm", provider_options={"anthropic": {"signature": "c2ln"}}),
            ToolCallPart(tool_call_id="c", tool_name="look", input={"deep": [1, 2.0, True, None, {"": -0.0}]}),
        ],
        id="m",
    ),
    ToolMessage([ToolResultPart(tool_call_id="c", tool_name="look", output=ToolOutput("json", [None]), input="raw")]),
    AssistantMessage(
        [UnknownPart(type="image-url", extra=Extra({"url": "x", "nothing": None}))], extra=Extra({"n": None})
    ),
    UnknownMessage(role="developer", extra=Extra({"content": "do", "more": [1]})),
    UserMessage([]),
]


async def test_messages_come_back_as_they_were(any_url: str) -> None:
    given = [
        StoredMessage(id=f"m{place}", thread_id="t", message=message, metadata={"a": {"b": [None]}}, created_at=START)
        for place, message in enumerate(MESSAGES)
    ]
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        await store.save_messages(given)
        assert await store.last_messages("t", len(given)) == given


async def test_bytes_give_way_to_text_when_a_message_is_replaced(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        file = FilePart(data=b"hi", media_type="text/plain")
        for data in (b"hi", "aGk="):
            message = UserMessage([replace_data(file, data)])
            await store.save_messages([StoredMessage(id="m", thread_id="t", message=message)])
            (stored,) = await store.last_messages("t", 1)
            assert stored.message == message


def replace_data(file: FilePart, data: str | bytes) -> FilePart:
    return FilePart(data=data, media_type=file.media_type)


async def test_a_kept_record_does_not_change_with_what_was_given_or_read(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        given = StoredMessage(id="m", thread_id="t", message=UserMessage([TextPart("hi")]), metadata={"a": [1]})
        snapshot = waiting(state={"steps": [1]})
        await store.suspend(snapshot, [given])
        changed(given, snapshot)
        for _ in range(2):
            (stored,) = await store.last_messages("t", 1)
            kept = await store.get_snapshot("r")
            assert kept is not None
            assert (texts([stored]), stored.metadata, kept.state) == (["hi"], {"a": [1]}, {"steps": [1]})
            changed(stored, kept)


def changed(stored: StoredMessage, snapshot: Snapshot) -> None:
    for own in (stored.message.content, stored.metadata, snapshot.state):  # type: ignore[union-attr]
        own.clear()  # type: ignore[union-attr]


async def test_what_is_no_json_is_refused_and_nothing_is_saved(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        bad = said("m2", metadata={"x": object()})
        with pytest.raises(ConfigError, match="the metadata of message m2 must be JSON: object has no JSON form"):
            await store.save_messages([said("m1"), bad])
        with pytest.raises(ConfigError, match="the metadata of thread t must be JSON"):
            await store.save_thread(Thread(id="t", resource_id="user", metadata={"x": object()}))
        with pytest.raises(ConfigError, match="the state of run r must be JSON"):
            await store.suspend(waiting(state={"x": object()}), [said("m1")])
        assert (await store.messages("t")).total == 0
        assert await store.get_snapshot("r") is None


# -- suspended runs

CALLS = [
    PendingCall(tool_call_id="c1", tool_name="pay", kind="approval", payload={"args": {"euro": 3}, "note": None}),
    PendingCall(tool_call_id="c2", tool_name="ask", kind="suspension"),
]


async def test_a_suspended_run_is_kept_with_its_messages(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        await with_threads(store, "t")
        given = Snapshot(
            run_id="r", agent_id="a", thread_id="t", resource_id="user", calls=CALLS, state={"steps": [1, {"x": None}]}
        )
        assert await store.suspend(given, [said("m")])
        assert await store.get_snapshot("r") == replace(given, created_at=START, updated_at=START)
        assert ids(await store.last_messages("t", 9)) == ["m"]


async def test_a_run_may_be_suspended_without_thread_and_resource(any_url: str) -> None:
    async with await opened(any_url) as store:
        await suspended(store)
        kept = await store.get_snapshot("r")
        assert kept is not None
        assert (kept.thread_id, kept.resource_id, kept.status, kept.attempt) == (None, None, "suspended", 0)
        assert kept.state == {"step": 1}


async def test_a_new_run_with_the_id_of_a_suspended_one_is_refused(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        await suspended(store)
        with pytest.raises(StoreError, match="run r is suspended already"):
            await store.suspend(waiting(state={"step": 2}), [said("m")])
        kept = await store.get_snapshot("r")
        assert kept is not None
        assert kept.state == {"step": 1}
        assert (await store.messages("t")).total == 0


async def test_a_run_whose_messages_have_no_thread_is_not_suspended(any_url: str) -> None:
    async with await opened(any_url) as store:
        with pytest.raises(StoreError, match="there is no thread t"):
            await store.suspend(waiting(), [said("m")])
        assert await store.get_snapshot("r") is None


async def test_a_claim_takes_the_run_for_its_lease(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        await suspended(store, calls=CALLS)
        kept = await store.get_snapshot("r")
        clock.now += 5
        taken = await claimed(store, lease=10)
        assert kept is not None
        assert taken == replace(
            kept,
            status="running",
            attempt=1,
            updated_at=START + timedelta(seconds=5),
            lease_until=START + timedelta(seconds=15),
        )
        assert await store.get_snapshot("r") == taken


async def test_a_run_that_is_held_or_unknown_cannot_be_claimed(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        assert await store.claim("r", lease=10) is None
        await suspended(store)
        await claimed(store, lease=10)
        clock.now += 9.999
        assert await store.claim("r", lease=10) is None


async def test_of_many_claims_at_once_exactly_one_wins(any_url: str) -> None:
    async with await opened(any_url) as store:
        await suspended(store)
        claims = await asyncio.gather(*(store.claim("r", lease=60) for _ in range(10)))
        assert [claim.attempt for claim in claims if claim is not None] == [1]


async def test_of_many_takeovers_at_once_exactly_one_wins(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        await suspended(store)
        await claimed(store, lease=10)
        clock.now += 10
        claims = await asyncio.gather(*(store.claim("r", lease=60) for _ in range(10)))
        assert [claim.attempt for claim in claims if claim is not None] == [2]


async def test_a_renewed_lease_is_not_taken_over(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        await suspended(store)
        await claimed(store, lease=10)
        clock.now += 8
        assert await store.renew("r", 1, lease=10) is True
        clock.now += 8
        assert await store.claim("r", lease=10) is None
        clock.now += 2
        assert (await claimed(store)).attempt == 2


async def test_messages_are_saved_while_a_lease_is_renewed(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        await suspended(store)
        await claimed(store)
        assert await store.renew("r", 1, lease=10, messages=[said("m1")]) is True
        assert await store.finish("r", 1, [said("m1"), said("m2")]) is True
        assert ids(await store.last_messages("t", 9)) == ["m1", "m2"]


async def test_a_claimed_run_is_suspended_again_and_finished(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        await with_threads(store, "t")
        await suspended(store, calls=CALLS)
        first = await claimed(store)
        clock.now += 60
        assert await store.suspend(replace(first, calls=CALLS[:1], state={"step": 2}), [said("m1")])
        again = await store.get_snapshot("r")
        assert again is not None
        assert again == replace(
            first,
            status="suspended",
            calls=CALLS[:1],
            state={"step": 2},
            updated_at=START + timedelta(seconds=60),
            lease_until=None,
        )
        assert (await claimed(store)).attempt == 2
        assert await store.finish("r", 2, [said("m2")]) is True
        assert await store.get_snapshot("r") is None
        assert ids(await store.last_messages("t", 9)) == ["m1", "m2"]


async def test_an_attempt_whose_lease_is_over_writes_while_nobody_else_has_the_run(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        await suspended(store)
        await claimed(store, lease=10)
        clock.now += 100
        assert await store.renew("r", 1, lease=10) is True
        clock.now += 100
        assert await store.finish("r", 1) is True


async def test_a_stale_attempt_writes_nothing(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        await with_threads(store, "t")
        await suspended(store)
        stale = await claimed(store, lease=10)
        clock.now += 10
        current = await claimed(store, lease=10)
        assert await store.renew("r", stale.attempt, lease=99, messages=[said("m")]) is False
        assert await store.suspend(replace(stale, state={"step": 9}), [said("m")]) is False
        assert await store.finish("r", stale.attempt, [said("m")]) is False
        assert await store.get_snapshot("r") == current
        assert (await store.messages("t")).total == 0


async def test_an_attempt_that_gave_the_run_back_writes_nothing_more(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        await suspended(store)
        held = await claimed(store)
        assert await store.suspend(held) is True
        assert await store.suspend(held, [said("m")]) is False
        assert await store.renew("r", 1, lease=10) is False
        assert await store.finish("r", 1, [said("m")]) is False
        assert (await store.messages("t")).total == 0


async def test_a_run_that_was_never_claimed_cannot_be_finished(any_url: str) -> None:
    async with await opened(any_url) as store:
        await suspended(store)
        assert await store.finish("r", 0) is False
        assert await store.get_snapshot("r") is not None


async def test_a_finish_whose_messages_cannot_be_saved_finishes_nothing(any_url: str) -> None:
    async with await opened(any_url) as store:
        await suspended(store)
        held = await claimed(store)
        with pytest.raises(StoreError, match="there is no thread t"):
            await store.finish("r", 1, [said("m")])
        with pytest.raises(StoreError, match="there is no thread t"):
            await store.suspend(replace(held, state={"step": 9}), [said("m")])
        assert await store.get_snapshot("r") == held


async def test_a_discarded_run_is_gone_whoever_holds_it(any_url: str) -> None:
    async with await opened(any_url) as store:
        await suspended(store)
        await claimed(store)
        assert await store.discard("r") is True
        assert await store.discard("r") is False
        assert await store.get_snapshot("r") is None
        assert await store.finish("r", 1) is False


async def test_snapshots_are_listed_oldest_first_by_what_is_known_of_them(any_url: str, clock: Clock) -> None:
    async with await opened(any_url, clock=clock) as store:
        for number in range(6):
            await suspended(
                store,
                f"r{number}",
                agent_id=f"a{number % 2}",
                thread_id=f"t{number % 3}",
                resource_id=f"u{number // 3}",
            )
            clock.now += 1

        async def found(**wanted: object) -> tuple[list[str], int]:
            page = await store.list_snapshots(**wanted)  # type: ignore[arg-type]
            return [snapshot.run_id for snapshot in page.items], page.total

        assert await found() == (["r0", "r1", "r2", "r3", "r4", "r5"], 6)
        assert await found(agent_id="a1") == (["r1", "r3", "r5"], 3)
        assert await found(thread_id="t0") == (["r0", "r3"], 2)
        assert await found(resource_id="u1", agent_id="a0") == (["r4"], 1)
        assert await found(agent_id="a1", limit=1, offset=1) == (["r3"], 3)
        assert await found(agent_id="nobody") == ([], 0)


async def with_inner_runs(store: AnyStore) -> None:
    """A run that waits with one inside of it, which waits with another; and one that has nothing to do with them."""
    await suspended(store, "outer", thread_id="t")
    await suspended(store, "inner", parent_run_id="outer")
    await suspended(store, "innermost", parent_run_id="inner")
    await suspended(store, "other")


async def kept_runs(store: AnyStore, **wanted: Any) -> set[str]:
    return {snapshot.run_id for snapshot in (await store.list_snapshots(**wanted)).items}


async def test_the_outermost_runs_can_be_listed_alone(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_inner_runs(store)
        assert await kept_runs(store) == {"outer", "inner", "innermost", "other"}
        assert await kept_runs(store, outermost=True) == {"outer", "other"}
        assert (await store.list_snapshots(outermost=True, limit=1)).total == 2


async def finish(store: AnyStore) -> None:
    await claimed(store, "outer")
    assert await store.finish("outer", 1)


async def discard(store: AnyStore) -> None:
    assert await store.discard("outer")


async def delete_its_thread(store: AnyStore) -> None:
    assert await store.delete_thread("t")


@pytest.mark.parametrize("end", [finish, discard, delete_its_thread])
async def test_runs_inside_of_a_run_go_with_it(any_url: str, end: Callable[[AnyStore], Awaitable[None]]) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        await with_inner_runs(store)
        await end(store)
        assert await kept_runs(store) == {"other"}


# -- misuse

NO_KEY = r"1 to 255 characters|neither NUL nor lone surrogates"
UNUSABLE_IDS = ["", "x" * 256, "a\0b", "\ud800", None, 7]


@pytest.mark.parametrize("id", UNUSABLE_IDS, ids=["empty", "long", "nul", "surrogate", "none", "number"])
async def test_an_id_that_is_no_key_is_refused_everywhere(quick_url: str, id: str) -> None:
    for make in (
        lambda: Thread(id=id, resource_id="user"),
        lambda: Thread(id="t", resource_id=id),
        lambda: said(id),
        lambda: said("m", thread_id=id),
        lambda: Snapshot(run_id=id, agent_id="a"),
        lambda: Snapshot(run_id="r", agent_id=id),
    ):
        with pytest.raises(ConfigError, match=NO_KEY):
            make()
    async with await opened(quick_url) as store:
        for asked in (
            store.get_thread(id),
            store.list_threads(id),
            store.delete_thread(id),
            store.last_messages(id, 1),
            store.messages(id),
            store.delete_messages(id, []),
            store.delete_messages("t", [id]),
            store.claim(id, lease=1),
            store.renew(id, 1, lease=1),
            store.finish(id, 1),
            store.discard(id),
            store.get_snapshot(id),
        ):
            with pytest.raises(ConfigError, match=NO_KEY):
                await asked


async def test_ids_of_the_greatest_length_are_keys(any_url: str) -> None:
    long = "😀" * 255
    async with await opened(any_url) as store:
        await store.save_thread(Thread(id=long, resource_id=long))
        await store.save_messages([said(long, thread_id=long)])
        assert ids(await store.last_messages(long, 1)) == [long]
        assert (await store.list_threads(long)).total == 1


@pytest.mark.parametrize(("limit", "offset"), [(-1, 0), (1001, 0), (True, 0), ("1", 0), (1, -1), (1, 2**63), (1, 0.5)])
async def test_a_page_that_is_none_is_refused(quick_url: str, limit: int, offset: int) -> None:
    async with await opened(quick_url) as store:
        for asked in (
            store.list_threads("user", limit=limit, offset=offset),
            store.messages("t", limit=limit, offset=offset),
            store.list_snapshots(limit=limit, offset=offset),
        ):
            with pytest.raises(ConfigError, match=r"limit is a whole number|offset is a whole number"):
                await asked


@pytest.mark.parametrize("lease", [0, -1, float("nan"), float("inf"), 86_401, True, "1"])
async def test_a_lease_that_is_none_is_refused(quick_url: str, lease: float) -> None:
    async with await opened(quick_url) as store:
        await suspended(store)
        for asked in (store.claim("r", lease=lease), store.renew("r", 1, lease=lease)):
            with pytest.raises(ConfigError, match="a lease lasts up to 86400 seconds"):
                await asked
        assert (await claimed(store)).attempt == 1


async def test_values_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(ConfigError, match="created_at is a datetime with a time zone"):
        Thread(id="t", resource_id="user", created_at=datetime(2020, 1, 1))
    with pytest.raises(ConfigError, match="a message is a SystemMessage"):
        StoredMessage(id="m", thread_id="t", message={"role": "user"})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="a run waits for an approval or a suspension, not 'a bus'"):
        PendingCall(tool_call_id="c", tool_name="x", kind="a bus")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="a call that a run waits for is a PendingCall"):
        Snapshot(run_id="r", agent_id="a", calls=[{"tool_call_id": "c"}])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="attempt is the number that claim gave"):
        Snapshot(run_id="r", agent_id="a", attempt=-1)


async def test_more_ids_than_a_call_deletes_are_refused(quick_url: str) -> None:
    async with await opened(quick_url) as store:
        for ids in (["m"] * 1001, "mmm"):
            with pytest.raises(ConfigError, match="ids is a list of up to 1000 ids"):
                await store.delete_messages("t", ids)


# -- cancellation


async def test_what_a_cancelled_caller_began_is_done_whole_and_keeps_nobody_waiting(any_url: str) -> None:
    async with await opened(any_url) as store:
        await with_threads(store, "t")
        for number in range(20):
            saving = asyncio.ensure_future(store.save_messages([said(f"{number}-{place}") for place in range(50)]))
            for _ in range(number):
                await asyncio.sleep(0.0002)
            saving.cancel()
            with suppress(asyncio.CancelledError):
                await saving
        await store.save_messages([said("after")])
        assert (await store.messages("t")).total % 50 == 1


async def test_closing_waits_for_what_a_cancelled_caller_began(lasting_url: str) -> None:
    store = await Store.open(lasting_url)
    await with_threads(store, "t")
    saving = asyncio.ensure_future(store.save_messages([said("m")]))
    await asyncio.sleep(0)  # it begins
    saving.cancel()
    await store.aclose()
    async with await Store.open(lasting_url) as again:
        assert ids(await again.last_messages("t", 9)) == ["m"]
