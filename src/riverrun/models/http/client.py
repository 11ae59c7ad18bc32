"""One SDK client for each event loop, SDK, server and key; it is closed when its loop ends, or when its users are gone
and a client for another is made.

A client's sockets belong to the loop that opened them. Hence a client is never handed to another loop, and an
asynchronous generator that stands still beside it closes it when the loop shuts its generators down.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class ClientKind(Generic[C]):
    """How a kind of client is made, for a base URL and a key, and how it is closed."""

    make: Callable[[str, str], C]
    close: Callable[[C], Awaitable[None]]


@dataclass(slots=True)
class _Kept:
    """A client, the generator that closes it, and who uses it."""

    client: Any
    keeper: AsyncGenerator[None, None]
    users: weakref.WeakSet[object] = field(default_factory=weakref.WeakSet[object])


_Clients = dict[Hashable, _Kept]
_by_loop: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


async def client_of(user: object, kind: ClientKind[C], base_url: str, api_key: str) -> C:
    """The running loop's client for a server and a key, made when there is none yet. `user` is who asks for it."""
    clients = _clients_of(asyncio.get_running_loop())
    key = (kind, base_url, api_key)
    kept = clients.get(key)
    if kept is None:
        client = kind.make(base_url, api_key)
        kept = _Kept(client, _keep(client, kind.close, clients, key))
        clients[key] = kept
        await anext(kept.keeper)  # from here on the loop knows the generator
        kept.users.add(user)
        await _close_unused(clients)
    kept.users.add(user)
    return cast("C", kept.client)


async def release(user: object) -> None:
    """`user` is done: close those clients of the running loop that nobody else uses."""
    for kept in list(_clients_of(asyncio.get_running_loop()).values()):
        if user in kept.users:
            kept.users.discard(user)
            if not kept.users:
                await kept.keeper.aclose()


async def _close_unused(clients: _Clients) -> None:
    """Close the clients whose users were all collected. A stream that runs holds its model, which is a user."""
    while unused := [kept for kept in clients.values() if not kept.users]:
        with contextlib.suppress(Exception):  # it is not this call that fails
            await unused[0].keeper.aclose()  # forgets the client before it waits, so nobody else takes or closes it


def _clients_of(loop: asyncio.AbstractEventLoop) -> _Clients:
    with _lock:
        for ended in [known for known in _by_loop if known.is_closed()]:
            del _by_loop[ended]
        return _by_loop.setdefault(loop, {})


async def _keep(
    client: C, close: Callable[[C], Awaitable[None]], clients: _Clients, key: Hashable
) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        clients.pop(key, None)
        await close(client)
