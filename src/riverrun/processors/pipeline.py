"""The processors of one run, in order: each gets what the one before it gave."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import TypeVar, cast

from riverrun.chunks import ChunkType, Envelope, Message, Step, ToolErrorChunk, ToolResultChunk
from riverrun.chunks.message import MessageBase, UnknownMessage
from riverrun.errors import ConfigError, TripwireError
from riverrun.processors.cached import CachedResponse
from riverrun.processors.context import EmitChunk, ProcessorContext
from riverrun.processors.processor import HOOKS, Processor
from riverrun.processors.step import StepChanges, StepInfo, both, changed
from riverrun.types import Model, ModelRequest

T = TypeVar("T")

_logger = logging.getLogger("riverrun")


@dataclass(frozen=True, slots=True)
class _Link:
    """A processor and its context."""

    processor: Processor
    ctx: ProcessorContext


class Pipeline:
    """Made once per run from an agent's processors; keeps their state.

    Every method may raise TripwireError. What else a hook raises is passed on with a note of where it happened, but
    for `process_output_stream`: there it is logged, once for each processor, and the chunk passes unchanged.
    """

    def __init__(
        self,
        processors: Sequence[Processor],
        *,
        run_id: str,
        agent_name: str,
        emit_chunk: EmitChunk,
        deps: object = None,
    ) -> None:
        """`emit_chunk` puts what processors emit into the run's stream. Raises ConfigError for what is no processor."""
        self._links = [
            _Link(
                _checked(processor),
                ProcessorContext(
                    processor_id=processor.id,
                    run_id=run_id,
                    agent_name=agent_name,
                    emit_chunk=emit_chunk,
                    deps=deps,
                ),
            )
            for processor in processors
        ]
        hooks = [(link, link.processor.hooks) for link in self._links]
        self._having = {hook: [link for link, had in hooks if hook in had] for hook in HOOKS}
        streaming = self._having["process_output_stream"]
        self._stream = [(link.processor.process_output_stream, link.ctx) for link in streaming]
        self._ends = [
            (link, sum(other in streaming for other in self._links[: place + 1]))
            for place, (link, had) in enumerate(hooks)
            if "process_output_stream_end" in had
        ]
        self._faulty: set[ProcessorContext] = set()

    def has(self, hook: str) -> bool:
        """Whether any processor has this hook: what nobody looks at need not be gathered."""
        return bool(self._having[hook])

    def begin_step(self, number: int, *, retry_count: int = 0) -> None:
        """Tell the processors which step is next, counted from 0, and how many tries they have caused so far."""
        for link in self._links:
            link.ctx.step_number, link.ctx.retry_count = number, retry_count

    # -- what goes in

    async def process_input(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages to start the run with."""
        return await self._messages("process_input", messages)

    async def process_input_step(self, step: StepInfo) -> StepChanges:
        """What all processors together want to be different in a step."""
        changes = StepChanges()
        for link in self._having["process_input_step"]:
            given = _of(StepChanges, await _asked(link, "process_input_step", step), link, "process_input_step")
            if given is not None:
                messages = None
                if given.messages is not None:
                    messages = _messages(given.messages, link, "process_input_step")
                step = changed(step, given, messages)
                changes = both(changes, given)
        return changes

    async def process_llm_request(self, request: ModelRequest, *, model: Model) -> ModelRequest | CachedResponse:
        """The request to send to `model`, or the answer that one of the processors has for it."""
        for link in self._links:
            link.ctx.model = model
        for link in self._having["process_llm_request"]:
            answer = await _asked(link, "process_llm_request", request)
            if isinstance(answer, CachedResponse):
                return answer
            request = _of(ModelRequest, answer, link, "process_llm_request") or request
        return request

    async def process_llm_response(self, chunks: Sequence[ChunkType]) -> None:
        """Show a whole answer to those who keep answers."""
        for link in self._having["process_llm_response"]:
            await _asked(link, "process_llm_response", chunks)

    # -- what comes out

    async def process_output_stream(self, chunk: ChunkType, give: EmitChunk) -> None:
        """Send a chunk through; `give` takes each that comes out, in order."""
        await self._pass(chunk, 0, give)

    async def process_output_stream_end(self, give: EmitChunk) -> None:
        """Let go of what is held back; what one processor gives goes through those after it."""
        for link, place in self._ends:
            for chunk in _chunks(await _asked(link, "process_output_stream_end")):
                await self._pass(chunk, place, give)

    async def _pass(self, chunk: ChunkType, place: int, give: EmitChunk) -> None:
        for hook, ctx in self._stream[place:] if place else self._stream:
            place += 1
            try:
                given = hook(chunk, ctx)
                if given is chunk:
                    continue
                if isinstance(given, Envelope):
                    chunk = given
                    continue
                if isawaitable(given):
                    given = await given
                several = _chunks(given)
            except TripwireError:
                raise
            except Exception as error:
                self._report(ctx, error)
                continue
            if len(several) != 1:
                for item in several:
                    await self._pass(item, place, give)
                return
            chunk = several[0]
        give(chunk)

    def _report(self, ctx: ProcessorContext, error: Exception) -> None:
        if ctx in self._faulty:
            return
        self._faulty.add(ctx)
        _logger.error(
            "processor '%s' failed in process_output_stream; chunks pass it unchanged (reported once a run)",
            ctx.processor_id,
            exc_info=error,
        )

    async def process_output_step(self, step: Step) -> None:
        """Show what the model said in a step, before its tools run."""
        for link in self._having["process_output_step"]:
            await _asked(link, "process_output_step", step)

    async def process_tool_result(self, chunk: ToolResultChunk) -> ToolResultChunk:
        """The result to stream and to tell the model."""
        for link in self._having["process_tool_result"]:
            given = await _asked(link, "process_tool_result", chunk)
            chunk = _of(ToolResultChunk, given, link, "process_tool_result") or chunk
        return chunk

    async def process_tool_error(self, chunk: ToolErrorChunk) -> ToolErrorChunk:
        """The failure to stream and to tell the model."""
        for link in self._having["process_tool_error"]:
            given = await _asked(link, "process_tool_error", chunk)
            chunk = _of(ToolErrorChunk, given, link, "process_tool_error") or chunk
        return chunk

    async def process_output_result(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages of the run as they are to be kept."""
        return await self._messages("process_output_result", messages)

    async def process_api_error(self, error: Exception) -> bool:
        """Whether one of the processors wants the failed model call again; the others are not asked any more."""
        for link in self._having["process_api_error"]:
            if _of(bool, await _asked(link, "process_api_error", error), link, "process_api_error"):
                return True
        return False

    async def _messages(self, hook: str, messages: Sequence[Message]) -> Sequence[Message]:
        for link in self._having[hook]:
            given = await _asked(link, hook, messages)
            if given is not None:
                messages = _messages(given, link, hook)
        return messages


async def _asked(link: _Link, hook: str, *arguments: object) -> object:
    """What a hook gives, whether it is a coroutine function or not."""
    try:
        function: Callable[..., object] = getattr(link.processor, hook)
        given = function(*arguments, link.ctx)
        return await given if isawaitable(given) else given
    except Exception as error:
        if not isinstance(error, TripwireError):
            error.add_note(f"raised in {hook} of processor '{link.ctx.processor_id}'")
        raise


# -- what hooks may give


def _checked(processor: object) -> Processor:
    if isinstance(processor, Processor):
        return processor
    if isinstance(processor, type) and issubclass(processor, Processor):
        raise ConfigError(f"processors are objects: {processor.__name__}(…), not the class")
    raise ConfigError(f"a processor is a subclass of riverrun.processors.Processor, not {processor!r:.80}")


def _of(kind: type[T], given: object, link: _Link, hook: str) -> T | None:
    if given is None or isinstance(given, kind):
        return given
    raise ConfigError(
        f"{hook} of processor '{link.ctx.processor_id}' must give {kind.__name__} or None, not {type(given).__name__}"
    )


def _chunks(given: object) -> Sequence[ChunkType]:
    if given is None:
        return ()
    items = cast("Sequence[object]", given) if isinstance(given, list | tuple) else (given,)
    for item in items:
        if not isinstance(item, Envelope):
            raise ConfigError(f"a hook of the stream must give chunks or None, not {type(item).__name__}")
    return cast("Sequence[ChunkType]", items)


def _messages(given: object, link: _Link, hook: str) -> Sequence[Message]:
    if isinstance(given, list | tuple):
        items = cast("Sequence[object]", given)
        if all(isinstance(item, MessageBase | UnknownMessage) for item in items):
            return cast("Sequence[Message]", items)
    name = link.ctx.processor_id
    raise ConfigError(f"{hook} of processor '{name}' must give a list of messages (riverrun.chunks), not {given!r:.80}")
