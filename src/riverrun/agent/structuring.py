"""Structured answers in a run: what the model is asked for, and the object that is made of what it says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from riverrun.agent.plan import Plan, pipeline_of
from riverrun.agent.step import LONGEST_WAIT, Answer, wait_before
from riverrun.chunks import ChunkType, ErrorChunk, FinishChunk, Message, StepStartChunk, TextDeltaChunk
from riverrun.errors import ModelError, TimeoutExceeded, TripwireError, error_message
from riverrun.models import resolve_model
from riverrun.processors import Pipeline
from riverrun.streams import uncancelled
from riverrun.structured import ObjectReader, Outcome, StructuredOutput
from riverrun.types import Model, ModelRequest


class TakesSchema(Protocol):
    """Whether a model can be held to a JSON Schema, `beside_tools` or alone."""

    def __call__(self, schema: Mapping[str, Any], /, *, beside_tools: bool) -> bool: ...


_FROM = {"from": "structured-output"}
"""Marks the chunks of a second model."""


def format_of(
    output: StructuredOutput[Any] | None, messages: Sequence[Message], model: Model, *, beside_tools: bool
) -> tuple[Mapping[str, Any] | None, list[Message]]:
    """The response format to ask for, and the messages with what is told in words."""
    if output is None:
        return None, list(messages)
    if output.model is not None:
        return None, output.asking_in_words(messages)
    native = _takes_schema(model, output, beside_tools=beside_tools)
    return output.response_format(native=native, strict=_is_strict(model)), output.asking(messages, native=native)


def reader_for(output: StructuredOutput[Any] | None, run_id: str, model: Model) -> ObjectReader[Any] | None:
    """What reads the object out of the model's own text; None when another model makes it."""
    if output is None or output.model is not None:
        return None
    return ObjectReader(output, run_id=run_id, strict=_is_strict(model))


async def structured(
    plan: Plan, answer: Answer, reason: str | None, reader: ObjectReader[Any] | None, write: Callable[[ChunkType], None]
) -> Outcome[Any]:
    """What a step's answer came to: what `reader` has read in it, or else what the second model makes of it.

    What the second model says passes the run's processors, as an answer of its own. A second model that fails is dealt
    with as an answer that does not fit, but that it raises ModelError when the strategy is to be strict.
    """
    if reader is not None:
        return reader.finish(reason, required=True)
    if plan.output is None or reason == "tool-calls":
        return Outcome(status="none")
    return await _of_second_model(plan.output, answer, plan, write)


async def _of_second_model(
    output: StructuredOutput[Any], answer: Answer, plan: Plan, write: Callable[[ChunkType], None]
) -> Outcome[Any]:
    assert output.model is not None
    model = resolve_model(output.model)
    strict = _is_strict(model)
    reader = ObjectReader(output, run_id=plan.run_id, strict=strict, metadata=_FROM)
    request = ModelRequest(
        messages=output.structuring(answer.fold.content()),
        run_id=plan.run_id,
        response_format=output.response_format(native=_takes_schema(model, output, beside_tools=False), strict=strict),
        provider_options=output.provider_options or {},
    )
    limit = asyncio.timeout(plan.timeout.step)
    stream = _answer(model, request, plan.max_retries)
    try:
        async with limit:
            reason = await uncancelled(_read(stream, pipeline_of(plan, write), reader, write))
    except TripwireError:
        raise
    except Exception as error:
        late = TimeoutExceeded("step", plan.timeout.step or 0.0) if limit.expired() else None
        reason = _failed(output, late or error)
    return reader.finish(reason, required=True)


async def _read(
    stream: AsyncGenerator[ChunkType, None],
    pipeline: Pipeline,
    reader: ObjectReader[Any],
    write: Callable[[ChunkType], None],
) -> str | None:
    """Read a model's whole answer; gives why it stopped."""
    reason: str | None = None

    def take(chunk: ChunkType) -> None:
        if isinstance(chunk, TextDeltaChunk):
            for made in reader.feed(chunk.payload.text):
                write(made)

    async with aclosing(stream):
        async for chunk in stream:
            match chunk:
                case FinishChunk(p):
                    reason = p.step_result.reason if p.step_result else None
                case ErrorChunk(p):
                    raise p.error if isinstance(p.error, Exception) else ModelError(error_message(p.error))
                case StepStartChunk():
                    pass
                case _:
                    await pipeline.process_output_stream(chunk, take)
    await pipeline.process_output_stream_end(take)
    if reason is None:
        raise ModelError("the second model's stream ended without a finish", code="truncated")
    return reason


async def _answer(model: Model, request: ModelRequest, max_retries: int) -> AsyncGenerator[ChunkType, None]:
    """A model's answer, asked for again when the call fails before it has begun."""
    for attempt in range(max_retries + 1):
        begun = False
        try:
            async with aclosing(model.stream(request)) as stream:
                async for chunk in stream:
                    begun = begun or isinstance(chunk, TextDeltaChunk)
                    yield chunk
            return
        except ModelError as error:
            pause = wait_before(attempt, error)
            if begun or not error.retryable or attempt == max_retries or pause > LONGEST_WAIT:
                raise
            await asyncio.sleep(pause)


def _failed(output: StructuredOutput[Any], error: Exception) -> str:
    """The reason of an answer that did not come. Raises what went wrong when the strategy is to be strict."""
    if output.error_strategy == "strict":
        raise error if isinstance(error, ModelError) else ModelError(f"the second model failed: {error}") from error
    return "error"


def _takes_schema(model: Model, output: StructuredOutput[Any], *, beside_tools: bool) -> bool:
    """Whether the model holds its answer to the schema. One that may not has a `takes_schema` that tells."""
    asked: TakesSchema | None = getattr(model, "takes_schema", None)
    return asked is None or asked(output.output_type.json_schema, beside_tools=beside_tools)


def _is_strict(model: Model) -> bool:
    """Whether the model takes a schema in OpenAI's strict mode."""
    return model.provider == "openai"
