"""The tool calls of one step: they run side by side, and their outcomes go to the log in the order of the calls.

Calls that may have to wait for the caller of the run, as far as that is said, run one after the other, and the first
one that waits holds up those behind it. When a call waits, no outcome is told until all are there.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec import to_builtins

from riverrun.agent.cancellation import CancelEvent
from riverrun.agent.outlet import Outlet
from riverrun.chunks import (
    ChunkType,
    Message,
    ToolCallApprovalChunk,
    ToolCallApprovalPayload,
    ToolCallChunk,
    ToolCallPayload,
    ToolCallSuspendedChunk,
    ToolErrorChunk,
    ToolOutput,
    ToolOutputDeniedChunk,
    ToolOutputDeniedPayload,
    ToolResultChunk,
    ToolResultPart,
)
from riverrun.chunks.codec import json_text
from riverrun.errors import TripwireError
from riverrun.streams import run_all
from riverrun.tools import Approval, Tool, ToolContext, find_tool, model_output, run_call

Outcome: TypeAlias = ToolResultChunk | ToolErrorChunk | ToolOutputDeniedChunk
Wait: TypeAlias = ToolCallApprovalChunk | ToolCallSuspendedChunk

_DENIED = "Tool call was not approved by the user"
_APPROVAL_SCHEMA = json_text(
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "approved": {"type": "boolean", "description": "Whether the tool call may run"},
            "reason": {"type": "string", "description": "Why, for the model to read when it may not"},
        },
        "required": ["approved"],
        "additionalProperties": False,
    }
)
"""The form of the answer to an approval."""


@dataclass(slots=True, kw_only=True)
class Waiting:
    """A call that waits for the caller of the run, and what the caller has said of it so far.

    `chunk` tells what it waits for; None once that was answered and it is to run. `approved` is None until it was
    decided on, `reason` why it was declined; `answers` are those to what the tool asked. When it is a run inside the
    tool that waits, which gets all that is said, `nested_attempt` is its NestedWait's.
    """

    chunk: Wait | None = None
    nested_attempt: int | None = None
    approved: bool | None = None
    reason: str | None = None
    answers: list[Any] = field(default_factory=list[Any])


@dataclass(slots=True, kw_only=True)
class ToolCalls:
    """The calls of a step and what has become of them."""

    calls: Sequence[ToolCallChunk]
    tools: Mapping[str, Tool]
    outlet: Outlet
    run_id: str
    agent_id: str
    messages: Sequence[Message]
    deps: Any
    cancelled: CancelEvent
    approval: Approval = False
    thread_id: str | None = None
    resource_id: str | None = None
    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    waiting: dict[str, Waiting] = field(default_factory=dict[str, Waiting])
    _runner: asyncio.Task[Any] | None = field(default=None, init=False, repr=False)

    async def run(self, *, limit: int) -> None:
        """Run the calls that have no outcome and do not wait, at most `limit` at once.

        When the run is cancelled, the results that there are by then count; a tool that failed because of it has no
        outcome. Raises TripwireError when a processor stops the run: the other calls are cancelled then.
        """
        self._runner = asyncio.current_task()
        ready = [call for call in self.calls if call.payload.tool_call_id not in self.outcomes]
        held = [call for call in ready if self._may_wait(call)]
        works = [self._work(call) for call in ready if call not in held and not self._waits(call)]
        if held:
            works.append(lambda: self._in_turn(held))
        try:
            await run_all(works, limit=limit)
        finally:
            if self.cancelled.is_set():
                ended = self.outcomes.items()
                self.outcomes = {call_id: end for call_id, end in ended if isinstance(end, ToolResultChunk)}
            if self.outlet.tripwire is not None:
                raise self.outlet.tripwire

    async def tell(self) -> None:
        """Write what the calls came to: errors first, then results."""
        await self._tell((ToolErrorChunk,))
        await self._tell((ToolResultChunk, ToolOutputDeniedChunk))

    @property
    def waits(self) -> list[Wait]:
        """What calls wait for, in the order of the calls."""
        known = (self.waiting.get(call.payload.tool_call_id) for call in self.calls)
        return [waiting.chunk for waiting in known if waiting is not None and waiting.chunk is not None]

    @property
    def has_inner_runs(self) -> bool:
        """Whether runs inside of tools wait."""
        return any(waiting.nested_attempt is not None for waiting in self.waiting.values())

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
                output=self._told(outcome),
                input=outcome.payload.args,
            )
            for outcome in self._in_order()
        ]

    # -- one call

    def _may_wait(self, call: ToolCallChunk) -> bool:
        tool = self._tool(call)
        if tool is None:
            return False
        return self._approval(tool) is not False or tool.suspend_schema is not None or tool.resume_schema is not None

    def _waits(self, call: ToolCallChunk) -> bool:
        waiting = self.waiting.get(call.payload.tool_call_id)
        return waiting is not None and waiting.chunk is not None

    async def _in_turn(self, calls: Sequence[ToolCallChunk]) -> None:
        for call in calls:
            if self._waits(call):
                return
            await self._work(call)()
            if self._waits(call):
                return

    def _work(self, call: ToolCallChunk) -> Callable[[], Coroutine[Any, Any, None]]:
        async def work() -> None:
            if self.cancelled.is_set():  # while it waited for its turn
                return
            call_id = call.payload.tool_call_id
            said = self.waiting.get(call_id) or Waiting()
            try:
                with self.cancelled.call():
                    outcome, nested_attempt = await self._outcome(call, said)
            except TripwireError as tripwire:
                self._trip(tripwire)
                raise
            if isinstance(outcome, ToolCallApprovalChunk | ToolCallSuspendedChunk):
                said.chunk, said.nested_attempt = outcome, nested_attempt
                self.waiting[call_id] = said
            elif outcome is not None:
                self.waiting.pop(call_id, None)
                self.outcomes[call_id] = outcome

        return work

    async def _outcome(self, call: ToolCallChunk, said: Waiting) -> tuple[Outcome | Wait | None, int | None]:
        """What a call comes to, and the attempt of the run inside the tool, if it is that which waits."""
        payload = call.payload
        tool = self._tool(call)
        context = ToolContext(
            run_id=self.run_id,
            agent_id=self.agent_id,
            tool_call_id=payload.tool_call_id,
            tool_name=payload.tool_name,
            messages=self.messages,
            deps=self.deps,
            emit_chunk=self._emit,
            room=self.outlet.log.room,
            cancelled_event=self.cancelled,
            resumed=said.answers,
            resumed_attempt=said.nested_attempt,
            answers=tool.answers if tool is not None else None,
            thread_id=self.thread_id,
            resource_id=self.resource_id,
        )
        if said.approved is False:
            return self._denied(payload, said.reason), None
        if tool is not None and said.approved is None and await self._needs_approval(tool, payload, context):
            return self._approval_chunk(payload), None
        outcome = await run_call(tool, payload, context, available=list(self.tools))
        if isinstance(outcome, ToolResultChunk):
            outcome = await self.outlet.pipeline.process_tool_result(outcome)
        elif isinstance(outcome, ToolErrorChunk):
            outcome = await self.outlet.pipeline.process_tool_error(outcome)
        return outcome, context.nested_wait.attempt if context.nested_wait else None

    async def _needs_approval(self, tool: Tool, payload: ToolCallPayload, context: ToolContext[Any]) -> bool:
        """Whether a call has to be approved. A function that fails does not let it through."""
        if tool.execute is None or payload.args is None:
            return False
        wanted = self._approval(tool)
        if not callable(wanted):
            return wanted
        try:
            verdict = wanted(to_builtins(payload.args), context)  # a copy: it may change it
            return bool(await verdict if inspect.isawaitable(verdict) else verdict)
        except Exception:
            return True

    def _approval(self, tool: Tool) -> Approval:
        """What the tool says, or else the agent."""
        return self.approval if tool.requires_approval is None else tool.requires_approval

    def _approval_chunk(self, payload: ToolCallPayload) -> ToolCallApprovalChunk:
        approval = ToolCallApprovalPayload(
            tool_call_id=payload.tool_call_id,
            tool_name=payload.tool_name,
            args=payload.args,
            resume_schema=_APPROVAL_SCHEMA,
        )
        return ToolCallApprovalChunk(approval, run_id=self.run_id, from_="AGENT")

    def _denied(self, payload: ToolCallPayload, reason: str | None) -> ToolOutputDeniedChunk:
        denied = ToolOutputDeniedPayload(
            tool_call_id=payload.tool_call_id,
            tool_name=payload.tool_name,
            args=payload.args,
            approval={
                "id": payload.tool_call_id,
                "approved": False,
                "reason": reason or _DENIED,
            },
        )
        return ToolOutputDeniedChunk(denied, run_id=self.run_id, from_="AGENT")

    # -- outcomes

    def _told(self, outcome: Outcome) -> ToolOutput:
        if isinstance(outcome, ToolOutputDeniedChunk):
            return ToolOutput("text", (outcome.payload.approval or {}).get("reason", _DENIED))
        return model_output(find_tool(self.tools.values(), outcome.payload.tool_name), outcome)

    def _tool(self, call: ToolCallChunk) -> Tool | None:
        return find_tool(self.tools.values(), call.payload.tool_name)

    def _emit(self, chunk: ChunkType) -> Awaitable[None] | None:
        if self.outlet.log.closed:
            raise RuntimeError("the run is over: a tool that was cancelled can write no more")
        if not self.outlet.is_plain:
            return self._aside(chunk)
        self.outlet.log.write(chunk)
        return None

    async def _aside(self, chunk: ChunkType) -> None:
        try:
            await self.outlet.aside(chunk)
        except TripwireError as tripwire:  # which the tool may keep to itself
            self._trip(tripwire)
            raise

    def _trip(self, tripwire: TripwireError) -> None:
        """A processor stops the run: calls under way are cancelled, and no other is made."""
        if self.outlet.tripwire is None:
            self.outlet.tripwire = tripwire
            self.cancelled.set()
            if self._runner is not None:
                self._runner.cancel()

    def _in_order(self) -> list[Outcome]:
        ids = (call.payload.tool_call_id for call in self.calls)
        return [self.outcomes[call_id] for call_id in ids if call_id in self.outcomes]

    async def _tell(self, kinds: tuple[type[Outcome], ...]) -> None:
        for outcome in self._in_order():
            if isinstance(outcome, kinds):
                await self.outlet.aside(outcome)
