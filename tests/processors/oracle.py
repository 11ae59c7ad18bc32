"""The oracle's processors: `{id, input_step{…}, output_stream{…}, …}` of a scenario → a Processor that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from riverrun.chunks import ChunkType, Message, Step, TextDeltaChunk, ToolResultChunk
from riverrun.processors import Processor, ProcessorContext, StepInfo
from riverrun.processors.texts import change_message, texts_of

_HOOKS = {
    "input": "process_input",
    "input_step": "process_input_step",
    "output_stream": "process_output_stream",
    "output_step": "process_output_step",
    "output_result": "process_output_result",
    "tool_result": "process_tool_result",
    "api_error": "process_api_error",
}


class ScenarioProcessor(Processor):
    """A processor of a scenario."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        super().__init__(id=told["id"])
        self.told = told

    @property
    def hooks(self) -> frozenset[str]:
        return frozenset(hook for name, hook in _HOOKS.items() if name in self.told)

    def process_input(self, messages: Sequence[Message], ctx: ProcessorContext) -> Sequence[Message]:
        told = self.told["input"]
        if "raises" in told:
            raise ValueError(told["raises"])
        if any(self._objects(told, text) for message in messages for text in texts_of(message)):
            self._abort(told, ctx)
        return self._replaced(told, messages)

    def process_input_step(self, step: StepInfo, ctx: ProcessorContext) -> None:
        told = self.told["input_step"]
        if told.get("blocks_at_step") == step.number:
            self._abort(told, ctx)

    def process_output_stream(self, chunk: ChunkType, ctx: ProcessorContext) -> ChunkType | None:
        told = self.told["output_stream"]
        text = chunk.payload.text if isinstance(chunk, TextDeltaChunk) else ""
        if told.get("raises_on_type") == chunk.type:
            raise ValueError(told["message"])
        if told.get("blocks_type") == chunk.type or self._objects(told, text):
            self._abort(told, ctx)
        if told.get("drops_type") == chunk.type:
            return None
        if told.get("emits_custom_on") == chunk.type:
            ctx.emit(told["custom"]["type"], told["custom"]["data"])
        if "replace" in told and isinstance(chunk, TextDeltaChunk):
            return replace(chunk, payload=replace(chunk.payload, text=text.replace(*told["replace"])))
        return chunk

    def process_output_step(self, step: Step, ctx: ProcessorContext) -> None:
        told = self.told["output_step"]
        if self._objects(told, step.text):
            self._abort(told, ctx)

    def process_tool_result(self, chunk: ToolResultChunk, ctx: ProcessorContext) -> None:
        told = self.told["tool_result"]
        if told.get("blocks_tool") == chunk.payload.tool_name:
            self._abort(told, ctx)

    def process_output_result(self, messages: Sequence[Message], ctx: ProcessorContext) -> Sequence[Message]:
        told = self.told["output_result"]
        if told.get("blocks"):
            self._abort(told, ctx)
        return self._replaced(told, messages)

    def process_api_error(self, error: Exception, ctx: ProcessorContext) -> bool:
        return ctx.retry_count < self.told["api_error"]["retries"]

    def _objects(self, told: Mapping[str, Any], text: str) -> bool:
        return "blocks_if_text_contains" in told and told["blocks_if_text_contains"] in text

    def _abort(self, told: Mapping[str, Any], ctx: ProcessorContext) -> None:
        options = told.get("options", {})
        ctx.abort(told.get("reason", ""), retry=options.get("retry", False), metadata=options.get("metadata"))

    def _replaced(self, told: Mapping[str, Any], messages: Sequence[Message]) -> Sequence[Message]:
        if "replace" not in told:
            return messages
        old, new = told["replace"]
        return [change_message(message, lambda text: text.replace(old, new)) for message in messages]
