"""RecordedModel: answers with what a provider sent once, read by the adapter that would have read it then."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

from riverrun.chunks import ChunkType
from riverrun.chunks.envelope import is_object
from riverrun.errors import ModelError
from riverrun.models.apis import Api, checked_api, decoder_of
from riverrun.models.http import Decoder, Response, WireRequest, exchange
from riverrun.models.http.payload import read_json
from riverrun.types import ModelRequest


class RecordedModel:
    """A model that answers call after call with recorded streams of a provider, and remembers what it was asked.

    `api` names what the provider speaks. A stream is the bytes of a response (server-sent events), JSON lines with an
    event each, or a JSON array of events. It is read in random pieces, as a network may cut it, when `pieces` is given
    (the seed), else whole. Raises ConfigError for an API that is none of those; a call more than recorded raises
    ModelError.
    """

    def __init__(self, api: str, streams: Sequence[bytes], *, pieces: int | None = None) -> None:
        self.model_id = "recorded"
        self.provider = api
        self._api: Api = checked_api(api)
        self.requests: list[ModelRequest] = []
        self._streams = [framed(stream, done=api == "openai-chat") for stream in streams]
        self._pieces = pieces

    def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        """Answer with the next recorded stream. Raises ModelError when the stream holds a failure, or none is left."""
        number = len(self.requests)
        self.requests.append(request)

        async def send(_: WireRequest) -> Response:
            if number >= len(self._streams):
                raise ModelError(f"there is no recorded stream for call {number}")
            return _Recording(self._cut(self._streams[number]))

        def decoder(_: Mapping[str, str]) -> Decoder:
            return decoder_of(self._api, request.run_id, tools=request.tools, include_raw=request.include_raw)

        return exchange(WireRequest({}, []), send, decoder, run_id=request.run_id, secret=str)

    def _cut(self, stream: bytes) -> Iterator[bytes]:
        if self._pieces is None:
            yield stream
            return
        chance = random.Random(self._pieces)
        begin = 0
        while begin < len(stream):
            end = begin + chance.randint(1, chance.choice((1, 40, 4000)))
            yield stream[begin:end]
            begin = end


def framed(stream: bytes, *, done: bool = False) -> bytes:
    """JSON lines as server-sent events, with the end mark of the API if it has one; any other stream as it is.

    A stream is JSON lines when at least half of its lines are objects: the adapter says which line is none.
    """
    lines = [line for line in stream.removeprefix(b"\xef\xbb\xbf").splitlines() if line.strip()]
    values = [read_json(line) for line in lines]
    if not lines or sum(map(is_object, values)) * 2 < len(lines):
        return stream
    events = [_event(value, line) for value, line in zip(values, lines, strict=True)]
    return b"".join(events) + (b"data: [DONE]\n\n" if done else b"")


def _event(value: object, line: bytes) -> bytes:
    kind = value.get("type") if is_object(value) else None
    name = b"event: " + kind.encode() + b"\n" if isinstance(kind, str) else b""
    return name + b"data: " + line + b"\n\n"


class _Recording:
    """A response that has come already."""

    headers: Mapping[str, str] = {}

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    async def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        for piece in self._pieces:
            yield piece

    async def aclose(self) -> None:
        pass
