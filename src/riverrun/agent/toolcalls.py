"""The tool calls of one step: they run side by side, and their outcomes go to the log in the order of the calls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from riverrun.agent.cancellation import CancelEvent
from riverrun.chunks import (
    ChunkType,
    Message,
    ToolCallChunk,
    ToolErrorChunk,
    ToolResultChunk,
    ToolResultPart,
)
from riverrun.streams import Log, run_all
from riverrun.tools import Tool, ToolContext, find_tool, model_output, run_call

Outcome = ToolResultChunk | ToolErrorChunk


@dataclass(slots=True, kw_only=True)
class ToolCalls:
    """The calls of a step and what has become of them."""

    calls: Sequence[ToolCallChunk]
    tools: Mapping[str, Tool]
    log: Log[ChunkType]
    run_id: str
    agent_id: str
    messages: Sequence[Message]
    deps: Any
    cancelled: CancelEvent
    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])

    async def run(self, *, limit: int) -> None:
        """Run the calls, at most `limit` at once, and write what they came to: errors first, then results.

        When the run is cancelled, the results that there are by then are written all the same; a tool that failed
        because of it has no outcome.
        """
        try:
            await run_all([self._work(call) for call in self.calls], limit=limit)
        finally:
            if self.cancelled.is_set():
                ended = self.outcomes.items()
                self.outcomes = {call_id: end for call_id, end in ended if isinstance(end, ToolResultChunk)}
            self._write(ToolErrorChunk)
            self._write(ToolResultChunk)

    @property
    def pending(self) -> bool:
        """Whether a call has no outcome: its tool runs at the client."""
        return len(self.outcomes) < len(self.calls)

    def parts(self) -> list[ToolResultPart]:
        """What the model is told of the outcomes, in the order of the calls."""
        return [
            ToolResultPart(
                tool_call_id=outcome.payload.tool_call_id,
                tool_name=outcome.payload.tool_name,
                output=model_output(find_tool(self.tools.values(), outcome.payload.tool_name), outcome),
                input=outcome.payload.args,
            )
            for outcome in self._in_order()
        ]

    def _work(self, call: ToolCallChunk) -> Callable[[], Coroutine[Any, Any, None]]:
        async def work() -> None:
            if self.cancelled.is_set():  # while it waited for its turn
                return
            payload = call.payload
            context = ToolContext(
                run_id=self.run_id,
                agent_id=self.agent_id,
                tool_call_id=payload.tool_call_id,
                tool_name=payload.tool_name,
                messages=self.messages,
                deps=self.deps,
                emit_chunk=self._emit,
                room=self.log.room,
                cancelled_event=self.cancelled,
            )
            tool = find_tool(self.tools.values(), payload.tool_name)
            with self.cancelled.call():
                outcome = await run_call(tool, payload, context, available=list(self.tools))
            if outcome is not None:
                self.outcomes[payload.tool_call_id] = outcome

        return work

    def _emit(self, chunk: ChunkType) -> None:
        if self.log.closed:
            raise RuntimeError("the run is over: a tool that was cancelled can write no more")
        self.log.write(chunk)

    def _in_order(self) -> list[Outcome]:
        ids = (call.payload.tool_call_id for call in self.calls)
        return [self.outcomes[call_id] for call_id in ids if call_id in self.outcomes]

    def _write(self, kind: type[Outcome]) -> None:
        for outcome in self._in_order():
            if isinstance(outcome, kind):
                self.log.write(outcome)
