"""What the store keeps, as values: threads, their messages, and runs that wait to be resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar

from riverrun.chunks import Message
from riverrun.chunks.message import MessageBase, UnknownMessage
from riverrun.errors import ConfigError
from riverrun.store.checks import check_attempt, check_id, check_is, check_time

T = TypeVar("T")

UNSAVED = datetime.min.replace(tzinfo=UTC)
"""Stands where the store will put the time of saving, so that who reads a record always finds a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Some of a list's items; `total` counts all of them."""

    items: Sequence[T]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A conversation. It belongs to one resource, most often a user, for ever.

    `metadata` is JSON. `created_at` may be given; `updated_at` is when it or its messages were last saved. Raises
    ConfigError for ids that are empty, too long or hold a NUL, and for times without a time zone.
    """

    id: str
    resource_id: str
    title: str | None = None
    metadata: Mapping[str, Any] | None = None
    created_at: datetime = UNSAVED
    updated_at: datetime = UNSAVED

    def __post_init__(self) -> None:
        check_id("the id of a thread", self.id)
        check_id("the resource_id of a thread", self.resource_id)
        check_time("created_at", self.created_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A message in its thread, by an id that is its own there. Raises ConfigError as Thread does."""

    id: str
    thread_id: str
    message: Message
    created_at: datetime = UNSAVED
    metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        check_id("the id of a message", self.id)
        check_id("the thread_id of a message", self.thread_id)
        check_is("a message is a SystemMessage, UserMessage, …", self.message, MessageBase | UnknownMessage)
        check_time("created_at", self.created_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A tool call that a run waits for: to be approved, or to be resumed with data. `payload` is JSON."""

    tool_call_id: str
    tool_name: str
    kind: Literal["approval", "suspension"]
    payload: Any = None

    def __post_init__(self) -> None:
        if self.kind not in ("approval", "suspension"):
            raise ConfigError(f"a run waits for an approval or a suspension, not {self.kind!r:.80}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A run that was suspended: what it waits for and what is needed to go on with it.

    `state` is JSON that the store keeps and does not read. `attempt` counts the claims: who claimed the run may write
    under that number until another claim takes its place. `lease_until` is when a running one may be claimed again.
    `parent_run_id` is the run that it is part of, and waits with; it is forgotten with that one.
    Raises ConfigError as Thread does.
    """

    run_id: str
    agent_id: str
    status: Literal["suspended", "running"] = "suspended"
    attempt: int = 0
    thread_id: str | None = None
    resource_id: str | None = None
    parent_run_id: str | None = None
    calls: Sequence[PendingCall] = ()
    state: Mapping[str, Any] = field(default_factory=lambda: {})
    created_at: datetime = UNSAVED
    updated_at: datetime = UNSAVED
    lease_until: datetime | None = None

    def __post_init__(self) -> None:
        check_id("the run_id of a snapshot", self.run_id)
        check_id("the agent_id of a snapshot", self.agent_id)
        for name in ("thread_id", "resource_id", "parent_run_id"):
            if getattr(self, name) is not None:
                check_id(f"the {name} of a snapshot", getattr(self, name))
        for call in self.calls:
            check_is("a call that a run waits for is a PendingCall", call, PendingCall)
        check_attempt(self.attempt)
        check_time("created_at", self.created_at)
