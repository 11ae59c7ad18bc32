"""The body of a streamed HTTP response: its bytes as they come, and an end that leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from riverrun.errors import ModelError
from riverrun.streams import brought_to_end

_CLOSING = 1.0
"""Seconds that the end of a response may take, at its end or when it is left before."""


class Response(Protocol):
    """A response whose headers have come: an `httpx2.Response`, or what looks like one."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    def aiter_bytes(self) -> AsyncGenerator[bytes, None]: ...

    async def aclose(self) -> None: ...


class Body:
    """Reads one response. `ended` once no more bytes come. Whoever made it has to close it."""

    def __init__(self, response: Response) -> None:
        self._response = response
        self._pieces = response.aiter_bytes()
        self.ended = False
        self.left = False
        """Whether nobody waits for more."""

    async def read(self) -> bytes:
        """The next bytes; none at the end. Raises ModelError when the connection breaks."""
        try:
            return await anext(self._pieces)
        except StopAsyncIteration:
            self.ended = True
            return b""
        except Exception as error:  # the client may be any that the SDK takes, with exceptions of its own
            self.ended = True
            told = str(error) or type(error).__name__
            raise ModelError(f"the connection broke while the answer came: {told}", retryable=True) from error

    async def read_more(self, within: float) -> bytes:
        """The next bytes, if they come within so many seconds; none otherwise, and the body is left."""
        try:
            async with asyncio.timeout(within):
                return await self.read()
        except TimeoutError:
            self.left = True
            return b""

    async def finish(self) -> None:
        """Nothing more is wanted, but the server is at its end: read it, so that the connection can be used again."""
        with contextlib.suppress(ModelError, TimeoutError):
            async with asyncio.timeout(_CLOSING / 4):
                while await self.read():
                    pass

    async def aclose(self) -> None:
        """Close the response, and its connection if more was to come. A cancellation waits until that is done."""
        if self.ended:
            return
        self.ended = True
        await brought_to_end(self._close())

    async def _close(self) -> None:
        """Close it, then read on until it fails: this ends the generators of which the iterator is made.

        Left standing, each of them would be closed later by a task of the garbage collector's.
        """
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_CLOSING):
                await self._response.aclose()
                async for _ in self._pieces:
                    pass
        with contextlib.suppress(Exception):
            await self._pieces.aclose()
