"""One call over HTTP: request → the provider's bytes → events → chunks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from riverrun.chunks import ChunkType, StepStartChunk, StepStartPayload
from riverrun.errors import ModelError
from riverrun.models.http.body import Body, Response
from riverrun.models.http.decoder import Decoder
from riverrun.models.http.failure import make_fit
from riverrun.models.sse import SseReader

_LINGERING = 30.0
"""Seconds without a word after which an answer that is known to be whole is over, though the server holds the line."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request as it is sent: its JSON body and headers of its own; and warnings for the step-start chunk."""

    body: dict[str, Any]
    warnings: list[dict[str, Any]]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


async def exchange(
    call: WireRequest,
    send: Callable[[WireRequest], Awaitable[Response]],
    decode: Callable[[dict[str, str]], Decoder],
    *,
    run_id: str,
    secret: Callable[[], str],
) -> AsyncGenerator[ChunkType, None]:
    """Send a call and give the chunks of its answer.

    `decode` makes the decoder for a response, given its headers. Raises ModelError when the call or its stream fails;
    its message never repeats what `secret` gives.
    """
    try:
        body = Body(response := await send(call))
        try:
            payload = StepStartPayload(request={"body": call.body}, warnings=cast("list[Any]", call.warnings))
            yield StepStartChunk(payload, run_id=run_id, from_="AGENT")
            decoder = decode(_shown(response.headers))
            reader = SseReader()
            while not (body.ended or body.left or decoder.done or decoder.error):
                for chunk in await _read(body, reader, decoder):
                    yield chunk
            if decoder.done:
                await body.finish()
            for chunk in decoder.close():
                yield chunk
            if decoder.error is not None:
                raise decoder.error
        finally:
            await body.aclose()
    except ModelError as error:
        make_fit(error, secret())
        raise


async def _read(body: Body, reader: SseReader, decoder: Decoder) -> list[ChunkType]:
    """The chunks of the next bytes. A connection that breaks is the decoder's to judge."""
    try:
        piece = await (body.read_more(_LINGERING) if decoder.ended else body.read())
        events = reader.feed(piece) if piece else reader.close()
    except ModelError as error:
        return decoder.fail(error)
    return [chunk for event in events for chunk in decoder.feed(event.data, event.event)]


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    """The response's headers, their names in lower case, without its cookies."""
    named = ((name.lower(), value) for name, value in headers.items())
    return {name: value for name, value in named if name != "set-cookie"}
