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

_SHOWN = 200
"""Characters that are shown of what is no stream."""


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
            headers = _shown(response.headers)
            decoder = decode(headers)
            stream = _Stream(body, decoder)
            while not (body.ended or body.left or decoder.done or decoder.error):
                for chunk in await stream.read():
                    yield chunk
            if decoder.done:
                await body.finish()
            if (failure := stream.no_stream(headers.get("content-type", ""))) is not None:
                decoder.fail(failure)
            for chunk in decoder.close():
                yield chunk
            if decoder.error is not None:
                raise decoder.error
        finally:
            await body.aclose()
    except ModelError as error:
        make_fit(error, secret())
        raise


class _Stream:
    """A body on its way through the decoder."""

    def __init__(self, body: Body, decoder: Decoder) -> None:
        self._body = body
        self._decoder = decoder
        self._reader = SseReader()
        self._has_events = False
        self._begin = b""  # of the body, as long as it has no event

    async def read(self) -> list[ChunkType]:
        """The chunks of the next bytes. A connection that breaks is the decoder's to judge."""
        try:
            piece = await (self._body.read_more(_LINGERING) if self._decoder.ended else self._body.read())
            events = self._reader.feed(piece) if piece else self._reader.close()
        except ModelError as error:
            return self._decoder.fail(error)
        if events:
            self._has_events, self._begin = True, b""
        elif not self._has_events and len(self._begin) < _SHOWN:
            self._begin += piece
        return [chunk for event in events for chunk in self._decoder.feed(event.data, event.event)]

    def no_stream(self, content_type: str) -> ModelError | None:
        """The failure of a body that is over and was no stream at all, such as the page of a proxy or a login."""
        text = " ".join(self._begin.decode("utf-8", "replace").split())
        kind = content_type.partition(";")[0].strip()
        if not (text and kind) or "event-stream" in kind.lower() or "json" in kind.lower():
            return None
        told = f"the server answered with {kind} where a stream was expected; is the base URL right?"
        return ModelError(f"{told} {text[:_SHOWN]}")


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    """The response's headers, their names in lower case, without its cookies."""
    named = ((name.lower(), value) for name, value in headers.items())
    return {name: value for name, value in named if name != "set-cookie"}
