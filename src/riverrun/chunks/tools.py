"""Tool calls, from the first piece of their arguments to their results."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import UNSET

from riverrun.chunks.envelope import Chunk, Json, Maybe, Record


class ToolCallInputStreamingStartPayload(Record, frozen=True, kw_only=True):
    """The model begins to write the arguments of a call."""

    tool_call_id: str
    tool_name: str
    provider_executed: Maybe[bool] = None
    dynamic: Maybe[bool] = None
    title: Maybe[str] = None
    provider_metadata: Maybe[dict[str, Any]] = None


class ToolCallDeltaPayload(Record, frozen=True, kw_only=True, gc=False):
    """A piece of the arguments' JSON text."""

    args_text_delta: str
    tool_call_id: str
    tool_name: Maybe[str] = None
    provider_metadata: Maybe[dict[str, Any]] = None


class ToolCallInputStreamingEndPayload(Record, frozen=True, kw_only=True):
    """The arguments are complete; the tool-call chunk follows."""

    tool_call_id: str
    provider_metadata: Maybe[dict[str, Any]] = None


class ToolCallPayload(Record, frozen=True, kw_only=True):
    """A complete call. `args` is None when the model's text was not JSON; `provider_executed`: the provider runs it."""

    tool_call_id: str
    tool_name: str
    args: Maybe[Json] = None
    provider_executed: Maybe[bool] = None
    output: Maybe[Json] = None
    dynamic: Maybe[bool] = None
    title: Maybe[str] = None
    provider_metadata: Maybe[dict[str, Any]] = None


class ToolResultPayload(Record, frozen=True, kw_only=True):
    """What a call returned. None is a result; UNSET: a foreign sender left it out."""

    tool_call_id: str
    tool_name: str
    result: Any = UNSET
    args: Maybe[Json] = None
    is_error: Maybe[bool] = None
    provider_executed: Maybe[bool] = None
    dynamic: Maybe[bool] = None
    provider_metadata: Maybe[dict[str, Any]] = None


class ToolErrorPayload(Record, frozen=True, kw_only=True):
    """A call that could not be run or raised. `error`: the exception; on the wire an object with name and message."""

    tool_call_id: str
    tool_name: str
    error: Any
    id: Maybe[str] = None
    args: Maybe[Json] = None
    provider_executed: Maybe[bool] = None
    provider_metadata: Maybe[dict[str, Any]] = None


class ToolOutputPayload(Record, frozen=True, kw_only=True):
    """What a running tool wrote: any value, or a chunk of a nested run."""

    output: Any
    tool_call_id: Maybe[str] = None
    tool_name: Maybe[str] = None


class ToolCallApprovalPayload(Record, frozen=True, kw_only=True):
    """A call that waits for a yes or no (beyond the page). `resume_schema`: JSON Schema of the answer, as text."""

    tool_call_id: str
    tool_name: str
    args: Maybe[Json] = None
    resume_schema: Maybe[str] = None


class ToolCallSuspendedPayload(Record, frozen=True, kw_only=True):
    """A call that suspended itself and waits for data (beyond the page)."""

    tool_call_id: str
    tool_name: str
    suspend_payload: Maybe[Json] = None
    args: Maybe[Json] = None
    resume_schema: Maybe[str] = None


class ToolOutputDeniedPayload(Record, frozen=True, kw_only=True):
    """A call that was not approved (beyond the page). `approval`: {id, approved: false, reason?}."""

    tool_call_id: str
    tool_name: str
    args: Maybe[Json] = None
    approval: Maybe[dict[str, Any]] = None


class ToolCallInputStreamingStartChunk(Chunk, frozen=True):
    type: ClassVar[Literal["tool-call-input-streaming-start"]] = "tool-call-input-streaming-start"
    payload: ToolCallInputStreamingStartPayload


class ToolCallDeltaChunk(Chunk, frozen=True, gc=False):
    type: ClassVar[Literal["tool-call-delta"]] = "tool-call-delta"
    payload: ToolCallDeltaPayload


class ToolCallInputStreamingEndChunk(Chunk, frozen=True):
    type: ClassVar[Literal["tool-call-input-streaming-end"]] = "tool-call-input-streaming-end"
    payload: ToolCallInputStreamingEndPayload


class ToolCallChunk(Chunk, frozen=True):
    type: ClassVar[Literal["tool-call"]] = "tool-call"
    payload: ToolCallPayload


class ToolResultChunk(Chunk, frozen=True):
    type: ClassVar[Literal["tool-result"]] = "tool-result"
    payload: ToolResultPayload


class ToolErrorChunk(Chunk, frozen=True):
    type: ClassVar[Literal["tool-error"]] = "tool-error"
    payload: ToolErrorPayload


class ToolOutputChunk(Chunk, frozen=True):
    """Comes from USER: the tool's own code wrote it."""

    type: ClassVar[Literal["tool-output"]] = "tool-output"
    payload: ToolOutputPayload


class ToolCallApprovalChunk(Chunk, frozen=True):
    type: ClassVar[Literal["tool-call-approval"]] = "tool-call-approval"
    payload: ToolCallApprovalPayload


class ToolCallSuspendedChunk(Chunk, frozen=True):
    type: ClassVar[Literal["tool-call-suspended"]] = "tool-call-suspended"
    payload: ToolCallSuspendedPayload


class ToolOutputDeniedChunk(Chunk, frozen=True):
    type: ClassVar[Literal["tool-output-denied"]] = "tool-output-denied"
    payload: ToolOutputDeniedPayload
