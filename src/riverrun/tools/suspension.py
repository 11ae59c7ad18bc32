"""A call that stops itself until somebody answers."""

from __future__ import annotations

from dataclasses import dataclass

from riverrun.chunks import ToolCallApprovalChunk, ToolCallSuspendedChunk


class CallSuspended(BaseException):
    """Leaves a tool's code when it suspends its call. Not an Exception, so that tools do not catch it by chance."""


@dataclass(frozen=True, slots=True)
class NestedWait:
    """What a run inside a tool waits for. `attempt` tells its suspensions apart."""

    chunk: ToolCallApprovalChunk | ToolCallSuspendedChunk
    attempt: int
