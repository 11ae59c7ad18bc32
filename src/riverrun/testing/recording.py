"""Streams in files, one chunk of JSON a line: written as they pass by, and given again as a Source."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from riverrun.chunks import ChunkType, decode, encode
from riverrun.errors import DecodeError
from riverrun.types import Input


def record(stream: AsyncIterable[ChunkType], path: str | PathLike[str]) -> Recorder:
    """Give the chunks of `stream` on, and write each to the file at `path` before it is given.

    What was in the file is replaced when the first chunk is asked for. Use it as an async iterator, and as an async
    context manager where the loop may be left early. Raises OSError as `open` does.
    """
    return Recorder(stream, Path(path))


class Recorder(AsyncIterator[ChunkType]):
    """The stream that `record` gives. Its file is closed at the end of the stream, by `aclose`, or with the object."""

    def __init__(self, stream: AsyncIterable[ChunkType], path: Path) -> None:
        self.path = path
        self._chunks = aiter(stream)
        self._file: BinaryIO | None = None
        self._ended = False

    def __aiter__(self) -> Recorder:
        return self

    async def __anext__(self) -> ChunkType:
        if self._ended:
            raise StopAsyncIteration
        try:
            file = self._opened()
            chunk = await anext(self._chunks)
            file.write(encode(chunk) + b"\n")
            file.flush()
        except Exception:  # the end of the stream is one too
            self._close()
            raise
        return chunk

    async def aclose(self) -> None:
        """Close the file, and the stream where it can be closed."""
        self._close()
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()

    async def __aenter__(self) -> Recorder:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _opened(self) -> BinaryIO:
        if self._file is None:
            self._file = self.path.open("wb")
        return self._file

    def _close(self) -> None:
        self._ended = True
        if self._file is not None:
            self._file.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self._close()


class Recording:
    """A recorded stream: a Source that always gives the same chunks, and an iterable of them.

    `speed` is in chunks a second; None: as fast as they are read. Iterating raises DecodeError with file and line for a
    line that is no chunk, and OSError as `open` does.
    """

    def __init__(self, path: str | PathLike[str], *, speed: float | None = None) -> None:
        if speed is not None and speed <= 0:
            raise ValueError("speed is in chunks a second and must be above 0")
        self.path = Path(path)
        self.speed = speed

    def __iter__(self) -> Iterator[ChunkType]:
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield self._decoded(line, number)

    def _decoded(self, line: bytes, number: int) -> ChunkType:
        try:
            return decode(line)
        except DecodeError as error:
            raise DecodeError(f"{self.path}, line {number}: {error}") from error

    def stream(self, input: Input = "", /) -> AsyncIterator[ChunkType]:
        """Give the recorded chunks, whatever the input is."""
        return _Replay(iter(self), pause=0 if self.speed is None else 1 / self.speed)


class _Replay(AsyncIterator[ChunkType]):
    def __init__(self, chunks: Iterator[ChunkType], *, pause: float) -> None:
        self._chunks = chunks
        self._pause = pause

    async def __anext__(self) -> ChunkType:
        await asyncio.sleep(self._pause)  # also without a pause others get their turn
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration
