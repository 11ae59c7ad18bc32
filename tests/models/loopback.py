"""A loopback HTTP server that answers with given bytes in given pieces, and tells what clients did."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the server answers.

    `end` says what follows the pieces: "whole" ends the response, "drop" breaks the connection off, "hang" waits until
    the client goes away, "silent" does so before it answers at all.
    """

    pieces: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    end: Literal["whole", "drop", "hang", "silent"] = "whole"


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked."""

    path: str
    headers: dict[str, str]
    body: Any


class Loopback:
    """Serves replies, one to each request in turn; the last one serves all that follow.

    `gone` counts the clients that went away while a reply hung, `connections` all that came.
    """

    def __init__(self, *replies: Reply) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.gone = 0
        self._replies = list(replies)
        self._changed = asyncio.Condition()
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The base URL for a client."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aenter__(self) -> Loopback:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open)
        await self._server.wait_closed()

    async def asked(self) -> None:
        """Wait for the first request."""
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self.requests))

    async def went(self, clients: int, *, within: float) -> bool:
        """Wait until so many clients have gone away; False if they do not within so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within), self._changed:
                await self._changed.wait_for(lambda: self.gone >= clients)
        return self.gone >= clients

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        del self._open[task]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False when the connection is over."""
        self.requests.append(await _request(reader))
        await self._tell()
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if reply.end != "silent":
            head = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in reply.headers.items())]
            writer.write("\r\n".join([*head, "transfer-encoding: chunked", "", ""]).encode())
            for piece in reply.pieces:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
                await asyncio.sleep(0)
        match reply.end:
            case "whole":
                writer.write(b"0\r\n\r\n")
                await writer.drain()
                return True
            case "drop":
                return False
            case _:
                await self._wait_for_end(reader)
                return False

    async def _wait_for_end(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.read()
        self.gone += 1
        await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


async def _request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(head[0].split()[1], headers, json.loads(body) if body else None)
