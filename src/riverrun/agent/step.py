"""One model call: request → chunks in the log → Answer. Retries, fallback models and time limits are here.

Nothing is tried again once the answer has begun: what a reader has seen is never said twice.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from riverrun.agent.cancellation import RunCancelled
from riverrun.agent.outlet import Outlet
from riverrun.chunks import (
    ChunkType,
    ErrorChunk,
    ErrorPayload,
    FinishChunk,
    FinishPayload,
    ModelMetadata,
    RawChunk,
    ResponseMetadataChunk,
    ResponseMetadataPayload,
    StepFold,
    StepMetadata,
    StepStartChunk,
    StepStartPayload,
    TextDeltaChunk,
    Timestamp,
    ToolCallChunk,
    Usage,
)
from riverrun.errors import ModelError, TimeoutExceeded, TripwireError, error_message
from riverrun.processors import CachedResponse
from riverrun.streams import is_cancelled
from riverrun.types import Model, ModelRequest, Timeout

LONGEST_WAIT = 60.0
"""Seconds: a provider that asks for a longer wait is not asked again."""


@dataclass(slots=True, kw_only=True)
class Answer:
    """What a model call came to."""

    message_id: str
    fold: StepFold = field(default_factory=StepFold)
    model_index: int = 0
    model: Model
    usage: Usage = field(default_factory=Usage)
    finish: FinishPayload | None = None
    start: StepStartPayload | None = None
    response: ResponseMetadataPayload | None = None
    error: Exception | None = None
    object: Any = None
    """The structured answer, as JSON."""
    is_incomplete: bool = False
    """Whether the scorers say that it does not complete the task."""
    failure: ErrorChunk | None = None
    """What tells of `error`, until it is told."""

    def begin(self) -> None:
        """Forget what an earlier try said of itself."""
        self.usage, self.finish, self.response = Usage(), None, None

    @property
    def is_counted(self) -> bool:
        """Whether its tokens are known. The first finish that says them counts."""
        return self.usage.input_tokens is not None or self.usage.output_tokens is not None

    @property
    def calls(self) -> list[ToolCallChunk]:
        """The calls of the program's tools, as opposed to the provider's own."""
        return [call for call in self.fold.tool_calls if not call.payload.provider_executed]

    @property
    def reason(self) -> str | None:
        """Why the model stopped; "error" when the call failed."""
        if self.error is not None:
            return "error"
        result = self.finish.step_result if self.finish else None
        return result.reason if result else None

    def metadata(self) -> StepMetadata:
        """Where the answer came from."""
        response = self.response or ResponseMetadataPayload()
        given = self.finish.metadata if self.finish else None
        return StepMetadata(
            id=response.id or str(uuid.uuid4()),
            timestamp=response.timestamp or Timestamp.current(),
            model_id=response.model_id or self.model.model_id,
            headers=response.headers,
            provider_metadata=given.provider_metadata if given else None,
            request=self.start.request if self.start else None,
            model_metadata=ModelMetadata(model_id=self.model.model_id, model_provider=self.model.provider),
        )


class _Reported(Exception):
    """The provider reported an error inside its stream."""

    def __init__(self, chunk: ErrorChunk) -> None:
        self.chunk = chunk


async def ask(
    answer: Answer,
    models: Sequence[Model],
    request: ModelRequest,
    outlet: Outlet,
    *,
    max_retries: int,
    limits: Timeout,
    cancelled: asyncio.Event,
) -> None:
    """Fill `answer`: ask the models from its own on until one answers.

    The chunks go to the outlet; when all models failed `answer.failure` is the error chunk, still to be written. The
    last model is tried again `max_retries` times when that may succeed (not after a time limit). Raises TripwireError
    when a processor stops the run, and nothing else but for a cancellation.
    """
    call = _Call(request, outlet, answer, limits, cancelled)
    failure: _Failure | None = None
    for index in range(answer.model_index, len(models)):
        answer.model, answer.model_index = models[index], index
        retries = max_retries if index == len(models) - 1 else 0
        for attempt in range(retries + 1):
            failure = await call.attempt()
            if failure is None:
                return
            pause = wait_before(attempt, failure.error)
            if call.given or not failure.retryable or attempt == retries or pause > LONGEST_WAIT:
                break
            await asyncio.sleep(pause)
        if call.given:
            break
    if failure is not None:
        call.fail(failure)


def wait_before(attempt: int, error: BaseException | None) -> float:
    """Seconds to wait after the failed try number `attempt` (from 0): what the provider asked for, or 1, 2, 4, …"""
    asked = error.retry_after if isinstance(error, ModelError) else None
    return asked if asked is not None else min(LONGEST_WAIT, 2.0**attempt)


def _has_begun(first: asyncio.Timeout) -> Literal[False]:
    """The first content is there: nothing is waited for any more. Raises TimeoutError when it comes too late."""
    if first.expired():  # the model kept it to itself
        raise TimeoutError
    first.reschedule(None)
    return False


async def _kept(stream: AsyncGenerator[ChunkType, None], kept: list[ChunkType]) -> AsyncGenerator[ChunkType, None]:
    async with aclosing(stream):
        async for chunk in stream:
            kept.append(chunk)
            yield chunk


async def _played(response: CachedResponse) -> AsyncGenerator[ChunkType, None]:
    for chunk in response.chunks:
        yield chunk


@dataclass(frozen=True, slots=True)
class _Failure:
    chunk: ErrorChunk
    error: Exception
    retryable: bool = False


class _Call:
    """A model call under way."""

    def __init__(
        self, request: ModelRequest, outlet: Outlet, answer: Answer, limits: Timeout, cancelled: asyncio.Event
    ) -> None:
        self.answer = answer
        self.given = False
        self._request = request
        self._outlet = outlet
        self._log = outlet.log
        self._limits = limits
        self._cancelled = cancelled
        self._call_ids: set[str] = set()
        self._said: list[ChunkType] = []  # all of it, when a processor wants to see it whole

    async def attempt(self) -> _Failure | None:
        """Call the model once; None when it answered to the end."""
        self.answer.begin()
        failure = await self._tried()
        if failure is not None and self._cancelled.is_set():
            raise RunCancelled  # the model's own way to say that it was cancelled
        return failure

    async def _tried(self) -> _Failure | None:
        try:
            await self._within_limits()
        except _Reported as reported:
            error = reported.chunk.payload.error
            failure = error if isinstance(error, Exception) else ModelError(error_message(error))
            return _Failure(reported.chunk, failure)
        except TimeoutExceeded as error:
            return _Failure(self._error_chunk(error), error)
        except TripwireError:
            raise
        except ModelError as error:
            return _Failure(self._error_chunk(error), error, error.retryable)
        except Exception as error:
            return _Failure(self._error_chunk(error), error)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            broken = ModelError("The model waited for something that was cancelled")
            return _Failure(self._error_chunk(broken), broken)
        if self.answer.finish is None:
            message = "The model's stream ended without a finish: the answer is cut off"
            truncated = ModelError(message, code="truncated")
            return _Failure(self._error_chunk(truncated), truncated)
        return None

    def fail(self, failure: _Failure) -> None:
        """No model answered."""
        if self.answer.start is None:
            self._begin(StepStartPayload(request={}, warnings=[]))
        self.answer.error, self.answer.failure = failure.error, failure.chunk

    async def _within_limits(self) -> None:
        step = asyncio.timeout(self._limits.step)
        first = asyncio.timeout(self._limits.first_chunk)
        try:
            async with step, first:
                await self._consume(step, first)
        except TimeoutError:
            if step.expired() and self._limits.step is not None:
                raise TimeoutExceeded("step", self._limits.step) from None
            if first.expired() and self._limits.first_chunk is not None:
                raise TimeoutExceeded("first_chunk", self._limits.first_chunk) from None
            raise

    async def _consume(self, step: asyncio.Timeout, first: asyncio.Timeout) -> None:
        log, outlet, fold = self._log, self._outlet, self.answer.fold
        cancelled = self._cancelled.is_set
        waiting = self._limits.first_chunk is not None
        self._said.clear()
        outlet.is_unguarded = False
        async with aclosing(await self._source()) as stream:
            async for chunk in stream:
                if type(chunk) is not TextDeltaChunk and (self._frames(chunk) or await self._is_raw(chunk)):
                    if log.full:
                        await self._room(step, first)
                    continue
                if cancelled():  # for a model that does not take a cancellation
                    raise RunCancelled
                if type(chunk) is ToolCallChunk:
                    chunk = self._with_own_id(chunk)
                self.given = True
                if waiting:
                    waiting = _has_begun(first)
                if outlet.is_plain:
                    fold.add(chunk)
                    is_full = log.write(chunk)
                else:
                    await outlet.put(chunk)
                    is_full = log.full
                if is_full:
                    await self._room(step, first)
        await outlet.end()
        if self._said and self.answer.finish is not None:
            await outlet.show(self._said)

    async def _source(self) -> AsyncGenerator[ChunkType, None]:
        """The model's answer, or one that a processor has."""
        model, pipeline = self.answer.model, self._outlet.pipeline
        request: ModelRequest | CachedResponse = self._request
        if pipeline.has("process_llm_request"):
            request = await pipeline.process_llm_request(self._request, model=model)
        if isinstance(request, CachedResponse):
            return _played(request)
        stream = model.stream(request)
        return _kept(stream, self._said) if pipeline.has("process_llm_response") else stream

    async def _room(self, *limits: asyncio.Timeout) -> None:
        """Wait for the readers. Their time is not the model's."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        deadlines = [limit.when() for limit in limits]
        for limit in limits:
            if not limit.expired():
                limit.reschedule(None)
        await self._log.room()
        waited = loop.time() - begun
        for limit, deadline in zip(limits, deadlines, strict=True):
            if deadline is not None and not limit.expired():
                limit.reschedule(deadline + waited)

    async def _is_raw(self, chunk: ChunkType) -> bool:
        """Send a raw chunk on its way: processors see it, but it is no content."""
        if type(chunk) is not RawChunk:
            return False
        await self._outlet.aside(chunk)
        return True

    def _frames(self, chunk: ChunkType) -> bool:
        """Take what is no content: it frames the answer."""
        answer = self.answer
        match chunk:
            case StepStartChunk(payload):
                self._begin(payload)
            case FinishChunk(payload):
                if not answer.is_counted and payload.output is not None and payload.output.usage is not None:
                    answer.usage = payload.output.usage
                answer.finish = payload
            case ErrorChunk():
                raise _Reported(chunk)
            case ResponseMetadataChunk(payload):
                answer.response = payload
                self._log.write(chunk)
            case _:
                return False
        return True

    def _begin(self, payload: StepStartPayload) -> None:
        begun = self.answer.start is not None
        self.answer.start = payload
        if begun:  # a second try of the same step
            return
        self._log.write(
            StepStartChunk(
                StepStartPayload(
                    message_id=self.answer.message_id,
                    request=payload.request or {},
                    warnings=payload.warnings or [],
                    started_at=int(time.time() * 1000),
                ),
                run_id=self._request.run_id,
                from_="AGENT",
            )
        )

    def _with_own_id(self, chunk: ToolCallChunk) -> ToolCallChunk:
        """Two calls of one step never share an id, whatever the provider sent."""
        call_id = chunk.payload.tool_call_id
        if call_id in self._call_ids:
            payload = msgspec.structs.replace(chunk.payload, tool_call_id=str(uuid.uuid4()))
            return msgspec.structs.replace(chunk, payload=payload)
        self._call_ids.add(call_id)
        return chunk

    def _error_chunk(self, error: Exception) -> ErrorChunk:
        """`type` says that the provider refused the call, as opposed to a stream that broke or took too long."""
        refused = self.answer.start is None and not isinstance(error, TimeoutExceeded)
        return ErrorChunk(
            ErrorPayload(error=error, type="error" if refused else None), run_id=self._request.run_id, from_="AGENT"
        )
