"""record and Recording: what passes by is in the file, and comes out of it again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from riverrun.chunks import ChunkType, Extra, TextDeltaChunk, TextDeltaPayload, decode, from_value
from riverrun.errors import DecodeError
from riverrun.testing import Recording, record
from riverrun.types import Source
from tests.chunks.goldens import golden_streams
from tests.chunks.short_streams import stream

CHUNKS: list[ChunkType] = [
    *stream("start step-start text-start:t"),
    TextDeltaChunk(TextDeltaPayload("t", "é\n\u2028😀"), run_id="r1", extra=Extra({"new": None})),
    *stream("text-end:t step-finish finish data-x my-own"),
]


async def flow(chunks: list[ChunkType], *, failure: Exception | None = None) -> AsyncIterator[ChunkType]:
    for chunk in chunks:
        yield chunk
    if failure is not None:
        raise failure


async def test_a_recorded_stream_is_given_on_and_can_be_read_again(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    assert [chunk async for chunk in record(flow(CHUNKS), path)] == CHUNKS
    assert list(Recording(path)) == CHUNKS
    assert len(path.read_bytes().splitlines()) == len(CHUNKS)


async def test_a_recording_is_a_source_that_gives_the_same_each_time(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    async for _ in record(flow(CHUNKS), path):
        pass
    recording = Recording(str(path))
    assert isinstance(recording, Source)
    for input in ("Hi", "something else"):
        assert [chunk async for chunk in recording.stream(input)] == CHUNKS


async def test_each_chunk_is_in_the_file_when_it_is_given(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    seen = 0
    async for chunk in record(flow(CHUNKS), path):
        seen += 1
        lines = path.read_bytes().split(b"\n")
        assert len(lines) == seen + 1
        assert decode(lines[-2]) == chunk


async def test_a_stream_that_fails_leaves_what_it_gave(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    recorder = record(flow(CHUNKS[:2], failure=RuntimeError("lost")), path)
    with pytest.raises(RuntimeError, match="lost"):
        async for _ in recorder:
            pass
    assert list(Recording(path)) == CHUNKS[:2]
    assert [chunk async for chunk in recorder] == []


async def test_leaving_early_closes_file_and_stream(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    source = flow(CHUNKS)
    async with record(source, path) as recorder:
        async for _ in recorder:
            break
    assert list(Recording(path)) == CHUNKS[:1]
    assert [chunk async for chunk in source] == []
    assert [chunk async for chunk in recorder] == []


async def test_a_recorder_that_is_dropped_closes_its_file(tmp_path: Path):
    source = flow(CHUNKS)
    recorder = record(source, tmp_path / "run.jsonl")
    await anext(recorder)
    del recorder  # an open file would be a warning, which fails the tests
    await source.aclose()  # type: ignore[attr-defined]


async def test_waiting_in_vain_does_not_end_a_recording(tmp_path: Path):
    class Slow(AsyncIterator[ChunkType]):
        ready = asyncio.Event()

        async def __anext__(self) -> ChunkType:
            await self.ready.wait()
            return CHUNKS[0]

    recorder = record(Slow(), tmp_path / "run.jsonl")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(recorder), 0.001)
    Slow.ready.set()
    assert await anext(recorder) == CHUNKS[0]
    await recorder.aclose()


async def test_a_new_recording_replaces_the_old_one(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    for chunks in (CHUNKS, CHUNKS[:1], []):
        async for _ in record(flow(chunks), path):
            pass
        assert list(Recording(path)) == chunks


def test_a_broken_line_is_told_with_file_and_number(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"type":"abort","payload":{}}\n\n{"type":"fin')
    chunks = iter(Recording(path))
    assert next(chunks).type == "abort"
    with pytest.raises(DecodeError, match=r"run\.jsonl, line 3: not JSON"):
        next(chunks)


async def test_a_broken_line_fails_the_replay(tmp_path: Path):
    path = tmp_path / "run.jsonl"
    path.write_text("[]\n", "utf-8")
    with pytest.raises(DecodeError, match=r"line 1: a chunk is a JSON object"):
        await anext(Recording(path).stream())


def test_a_file_that_is_missing_is_an_os_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        list(Recording(tmp_path / "none.jsonl"))


async def test_speed_is_in_chunks_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "run.jsonl"
    async for _ in record(flow(CHUNKS[:3]), path):
        pass
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("riverrun.testing.recording.asyncio.sleep", sleep)
    assert [chunk async for chunk in Recording(path, speed=50).stream()] == CHUNKS[:3]
    assert pauses[:3] == [0.02] * 3


@pytest.mark.parametrize("speed", [0, -1])
def test_a_speed_must_be_above_zero(speed: float):
    with pytest.raises(ValueError, match="above 0"):
        Recording("run.jsonl", speed=speed)


async def test_recorded_streams_of_the_oracle_come_back(shared: Path, tmp_path: Path):
    for golden in golden_streams(shared)[::10]:
        chunks = [from_value(value) for value in golden.chunks]
        async for _ in record(flow(chunks), tmp_path / "golden.jsonl"):
            pass
        assert list(Recording(tmp_path / "golden.jsonl")) == chunks
