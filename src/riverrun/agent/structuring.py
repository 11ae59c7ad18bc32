"""Structured answers in a run: what the model is asked for, and the object that is made of what it says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from riverrun.agent.plan import Plan
from riverrun.agent.step import Answer
from riverrun.chunks import ChunkType, FinishChunk, Message, TextDeltaChunk
from riverrun.errors import ModelError
from riverrun.models import resolve_model
from riverrun.structured import ObjectReader, Outcome, StructuredOutput
from riverrun.types import Model, ModelRequest

_FROM = {"from": "structured-output"}
"""Marks the chunks of a second model."""


def format_of(
    output: StructuredOutput[Any] | None, messages: Sequence[Message], model: Model
) -> tuple[Mapping[str, Any] | None, list[Message]]:
    """The response format to ask for, and the messages with what is told in words."""
    if output is None:
        return None, list(messages)
    if output.model is not None:
        return None, output.asking_in_words(messages)
    return output.response_format(strict=_is_strict(model)), output.asking(messages)


def reader_for(output: StructuredOutput[Any] | None, run_id: str, model: Model) -> ObjectReader[Any] | None:
    """What reads the object out of the model's own text; None when another model makes it."""
    if output is None or output.model is not None:
        return None
    return ObjectReader(output, run_id=run_id, strict=_is_strict(model))


def settled(reader: ObjectReader[Any], reason: str | None) -> Outcome[Any]:
    """What the text that was read came to."""
    return reader.finish(reason, required=True)


async def structured(
    output: StructuredOutput[Any], answer: Answer, plan: Plan, write: Callable[[ChunkType], None]
) -> Outcome[Any]:
    """Have the second model make the object of an answer. Raises ModelError when it fails."""
    assert output.model is not None
    model = resolve_model(output.model)
    strict = _is_strict(model)
    reader = ObjectReader(output, run_id=plan.run_id, strict=strict, metadata=_FROM)
    request = ModelRequest(
        messages=output.structuring(answer.fold.content()),
        run_id=plan.run_id,
        response_format=output.response_format(strict=strict),
        provider_options=output.provider_options or {},
    )
    reason: str | None = None
    async with aclosing(model.stream(request)) as stream:
        async for chunk in stream:
            if isinstance(chunk, TextDeltaChunk):
                for made in reader.feed(chunk.payload.text):
                    write(made)
            elif isinstance(chunk, FinishChunk):
                reason = chunk.payload.step_result.reason if chunk.payload.step_result else None
    if reason is None:
        raise ModelError("the structuring model's stream ended without a finish", code="truncated")
    return reader.finish(reason)


def _is_strict(model: Model) -> bool:
    """Whether the model takes a schema in OpenAI's strict mode."""
    return model.provider == "openai"
