"""What the tests of processors are made of: chunks, runs of a pipeline, and judges that say what they are told to."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Any, TypeVar

from riverrun.chunks import (
    AssistantMessage,
    ChunkType,
    DataChunk,
    Message,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    ReasoningEndChunk,
    ReasoningEndPayload,
    TextDeltaChunk,
    TextDeltaPayload,
    TextEndChunk,
    TextEndPayload,
    TextPart,
    TextStartChunk,
    TextStartPayload,
    ToolErrorChunk,
    ToolErrorPayload,
    ToolResultChunk,
    ToolResultPayload,
    UserMessage,
)
from riverrun.models import ScriptedModel
from riverrun.processors import Pipeline, Processor, ProcessorContext
from riverrun.types import ModelRequest

C = TypeVar("C", bound=ChunkType)

ORIGIN: dict[str, Any] = {"run_id": "run-1", "from_": "AGENT"}


def delta(text: str, id: str = "t") -> TextDeltaChunk:
    return TextDeltaChunk(TextDeltaPayload(id, text), **ORIGIN)


def reasoning_delta(text: str, id: str = "r") -> ReasoningDeltaChunk:
    return ReasoningDeltaChunk(ReasoningDeltaPayload(id, text), **ORIGIN)


def text_end(id: str = "t") -> TextEndChunk:
    return TextEndChunk(TextEndPayload(id), **ORIGIN)


def reasoning_end(id: str = "r") -> ReasoningEndChunk:
    return ReasoningEndChunk(ReasoningEndPayload(id), **ORIGIN)


def text(*pieces: str, id: str = "t") -> list[ChunkType]:
    """A block of text."""
    return [TextStartChunk(TextStartPayload(id), **ORIGIN), *(delta(piece, id) for piece in pieces), text_end(id)]


def letters(words: str, id: str = "t") -> list[ChunkType]:
    """A block of text that comes letter by letter."""
    return text(*words, id=id)


def data(name: str) -> DataChunk:
    return DataChunk(type=f"data-{name}", data=None, run_id="run-1")


def tool_result(result: object, **more: Any) -> ToolResultChunk:
    return ToolResultChunk(ToolResultPayload(tool_call_id="c1", tool_name="look", result=result, **more), **ORIGIN)


def tool_error(error: object) -> ToolErrorChunk:
    return ToolErrorChunk(ToolErrorPayload(tool_call_id="c1", tool_name="look", error=error), **ORIGIN)


def user(words: str) -> UserMessage:
    return UserMessage(content=[TextPart(words)])


def assistant(words: str) -> AssistantMessage:
    return AssistantMessage(content=[TextPart(words)])


class Running:
    """A pipeline in a run, and everything that came out of it."""

    def __init__(self, *processors: Processor, deps: object = None) -> None:
        self.chunks: list[ChunkType] = []
        self.pipeline = Pipeline(
            processors, run_id="run-1", agent_name="tested", emit_chunk=self.chunks.append, deps=deps
        )

    async def stream(self, chunks: Iterable[ChunkType], *, end: bool = True) -> list[ChunkType]:
        """Send chunks through, and give all that has come out."""
        for chunk in chunks:
            await self.pipeline.process_output_stream(chunk, self.chunks.append)
        if end:
            await self.pipeline.process_output_stream_end(self.chunks.append)
        return self.chunks

    def of(self, kind: type[C]) -> list[C]:
        return [chunk for chunk in self.chunks if isinstance(chunk, kind)]

    @property
    def warnings(self) -> list[Any]:
        return [chunk.data for chunk in self.of(DataChunk) if chunk.type == "data-warning"]


async def streamed(processor: Processor, chunks: Iterable[ChunkType]) -> list[ChunkType]:
    """What one processor makes of a step's chunks."""
    return await Running(processor).stream(chunks)


def context(processor: Processor, **more: Any) -> ProcessorContext:
    """A context for hooks that are called by hand; what they emit is lost."""
    return ProcessorContext(
        processor_id=processor.id, run_id="run-1", agent_name="tested", emit_chunk=lambda _: None, **more
    )


def said(chunks: Iterable[ChunkType]) -> str:
    """The text in a stream."""
    return "".join(chunk.payload.text for chunk in chunks if isinstance(chunk, TextDeltaChunk))


def thought(chunks: Iterable[ChunkType]) -> str:
    """The reasoning in a stream."""
    return "".join(chunk.payload.text for chunk in chunks if isinstance(chunk, ReasoningDeltaChunk))


def types(chunks: Iterable[ChunkType]) -> list[str]:
    return [chunk.type for chunk in chunks]


def words(messages: Sequence[Message]) -> list[str]:
    """The texts of messages, one a message."""
    return [
        "".join(part.text for part in message.content if isinstance(part, TextPart))
        for message in messages
        if isinstance(message, UserMessage | AssistantMessage)
    ]


class Judge(ScriptedModel):
    """A judge that answers from a script and remembers which texts it was shown."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(answers)

    @property
    def texts(self) -> list[str]:
        """The texts it was asked about, without the marks around them."""
        return [_shown(request).split("\n", 1)[1].rsplit("\n", 1)[0] for request in self.requests]


class AnsweringJudge:
    """A judge that makes up its answer from the text that it is shown."""

    provider = "tests"
    model_id = "judge"

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.texts: list[str] = []
        self._answer = answer

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        shown = _shown(request).split("\n", 1)[1].rsplit("\n", 1)[0]
        self.texts.append(shown)
        async for chunk in ScriptedModel([self._answer(shown)]).stream(request):
            yield chunk


def _shown(request: ModelRequest) -> str:
    message = request.messages[-1]
    assert isinstance(message, UserMessage)
    part = message.content[0]
    assert isinstance(part, TextPart)
    return part.text
