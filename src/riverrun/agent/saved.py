"""A suspended run as JSON: what a later `resume_stream`, in this process or another, needs to go on with it.

Most of it is the run's own chunks: what they mean is folded again. Deltas are joined, and chunks that say nothing about
the answer are left out, so that it stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as dataclass_replace
from typing import Any, cast

from msgspec.structs import replace

from riverrun.agent.step import Answer
from riverrun.agent.toolcalls import APPROVAL_SCHEMA, Outcome, Wait, Waiting
from riverrun.chunks import (
    ChunkType,
    FinishChunk,
    FinishPayload,
    Message,
    Messages,
    RawChunk,
    ReasoningDeltaChunk,
    ResponseMetadataChunk,
    Step,
    StepFinishChunk,
    StepStartChunk,
    TextDeltaChunk,
    ToolCallApprovalChunk,
    ToolCallApprovalPayload,
    ToolCallChunk,
    ToolCallDeltaChunk,
    ToolCallInputStreamingEndChunk,
    ToolCallInputStreamingStartChunk,
    ToolCallSuspendedChunk,
    ToolCallSuspendedPayload,
    ToolOutputChunk,
    Usage,
    from_value,
    to_value,
)
from riverrun.errors import ConfigError
from riverrun.store import PendingCall
from riverrun.types import Model

_VERSION = 1
_UNTOLD = (
    RawChunk,
    ToolOutputChunk,
    ToolCallDeltaChunk,
    ToolCallInputStreamingStartChunk,
    ToolCallInputStreamingEndChunk,
    ToolCallApprovalChunk,
    ToolCallSuspendedChunk,
)


@dataclass(slots=True, kw_only=True)
class SavedRun:
    """What is known of a run that waits.

    `log` are the chunks so far; `finish` the model's own, of the step that waits; `options` what the caller gave the
    run, as JSON. `system` are the instructions that came with the input, `given` the rest of it, the first `recalled`
    from the thread; `context` stood beside it, `answers` is what the run has added.
    """

    message_id: str
    system: Sequence[Message]
    log: Sequence[ChunkType]
    finish: FinishChunk | None
    given: Sequence[Message]
    context: Sequence[Message]
    answers: Sequence[Message]
    recalled: int = 0
    outcomes: Mapping[str, Outcome] = field(default_factory=dict[str, Outcome])
    waiting: Mapping[str, Waiting] = field(default_factory=dict[str, Waiting])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model_index: int = 0

    def state(self) -> dict[str, Any]:
        """The run as JSON values. Raises TypeError when the program put something into it that has no JSON form."""
        return {
            "version": _VERSION,
            "messageId": self.message_id,
            "system": messages_value(self.system),
            "log": [to_value(chunk) for chunk in _shortened(self.log)],
            "finish": None if self.finish is None else to_value(self.finish),
            "given": messages_value(self.given),
            "context": messages_value(self.context),
            "answers": messages_value(self.answers),
            "outcomes": [to_value(outcome) for outcome in self.outcomes.values()],
            "waiting": {call_id: _waiting_value(waiting) for call_id, waiting in self.waiting.items()},
            "options": dict(self.options),
            "recalled": self.recalled,
            "modelIndex": self.model_index,
        }

    @classmethod
    def of(cls, state: Mapping[str, Any], calls: Sequence[PendingCall]) -> SavedRun:
        """The run of a state and of the calls that wait. Raises ConfigError for one that another version wrote."""
        if state.get("version") != _VERSION:
            raise ConfigError("this run was suspended by another version of riverrun, which has to resume it")
        outcomes = [cast("Outcome", from_value(value)) for value in state["outcomes"]]
        finish = state["finish"]
        log = [from_value(value) for value in state["log"]]
        waits = {call.tool_call_id: _wait_of(call, log) for call in calls}
        return cls(
            message_id=state["messageId"],
            system=messages_of(state["system"]),
            log=log,
            finish=None if finish is None else cast("FinishChunk", from_value(finish)),
            given=messages_of(state["given"]),
            context=messages_of(state["context"]),
            answers=messages_of(state["answers"]),
            outcomes={outcome.payload.tool_call_id: outcome for outcome in outcomes},
            waiting={call_id: _waiting_of(value, waits.get(call_id)) for call_id, value in state["waiting"].items()},
            options=state["options"],
            recalled=state["recalled"],
            model_index=state["modelIndex"],
        )

    def steps(self) -> list[Step]:
        """The steps that were taken."""
        finished = (chunk.payload for chunk in self.log if isinstance(chunk, StepFinishChunk))
        return [step for payload in finished if payload.output for step in payload.output.steps or ()]

    def answer(self, models: Sequence[Model]) -> Answer:
        """The answer whose calls wait."""
        index = min(self.model_index, len(models) - 1)
        answer = Answer(message_id=self.message_id, model=models[index], model_index=index)
        begin = max((place for place, chunk in enumerate(self.log) if isinstance(chunk, StepStartChunk)), default=0)
        for chunk in self.log[begin:]:
            match chunk:
                case StepStartChunk(payload):
                    answer.start = payload
                case ResponseMetadataChunk(payload):
                    answer.response = payload
                case _:
                    answer.fold.add(chunk)
        if self.finish is not None:
            answer.finish = self.finish.payload
            output = answer.finish.output
            answer.usage = output.usage if output is not None and output.usage is not None else Usage()
        return answer

    def answered(self, call_id: str | None, data: Any) -> SavedRun:
        """The run with the caller's answer to one of its calls; None: the only one that waits.

        Raises ConfigError when there is no such call, and for an approval that says neither yes nor no.
        """
        waits = [known for known, waiting in self.waiting.items() if waiting.chunk is not None]
        if call_id is None and len(waits) == 1:
            call_id = waits[0]
        if call_id not in waits:
            told = ", ".join(waits) or "none"
            raise ConfigError(f"tool_call_id is to name one of the calls that wait: {told}; not {call_id!r}")
        waiting = self.waiting[call_id]
        said = Waiting(is_nested=waiting.is_nested, approved=waiting.approved, answers=[*waiting.answers])
        if isinstance(waiting.chunk, ToolCallApprovalChunk) and not waiting.is_nested:
            said.approved, said.reason = _decision(data)
        else:
            said.approved = True
            said.answers.append(data)
        return dataclass_replace(self, waiting={**self.waiting, call_id: said})


def _decision(data: Any) -> tuple[bool, str | None]:
    members = cast("Mapping[str, Any]", data) if isinstance(data, Mapping) else {}
    approved, reason = members.get("approved", data), members.get("reason")
    if not isinstance(approved, bool):
        raise ConfigError(f"an approval is {{'approved': True or False, 'reason': …}}, not {data!r:.80}")
    return approved, reason if isinstance(reason, str) else None


def messages_value(messages: Sequence[Message]) -> Any:
    """Messages as JSON values."""
    carrier = FinishChunk(FinishPayload(messages=Messages(all=list(messages), user=[], non_user=[])))
    return to_value(carrier)["payload"]["messages"]["all"]


def messages_of(value: object) -> list[Message]:
    """The messages of JSON values."""
    carrier = from_value({"type": "finish", "payload": {"messages": {"all": value, "user": [], "nonUser": []}}})
    match carrier:
        case FinishChunk(FinishPayload(messages=Messages(all=messages))):
            return messages
        case _:
            raise ConfigError("the messages of a suspended run were damaged")


def _waiting_value(waiting: Waiting) -> dict[str, Any]:
    return {
        "isNested": waiting.is_nested,
        "approved": waiting.approved,
        "reason": waiting.reason,
        "answers": waiting.answers,
    }


def _waiting_of(value: Mapping[str, Any], chunk: Wait | None) -> Waiting:
    return Waiting(
        chunk=chunk,
        is_nested=value["isNested"],
        approved=value["approved"],
        reason=value["reason"],
        answers=list(value["answers"]),
    )


def pending_call(wait: Wait) -> PendingCall:
    """What the store is told of a call that waits. Its payload is kept there and nowhere else: it may be large."""
    if isinstance(wait, ToolCallApprovalChunk):
        approval = wait.payload
        return PendingCall(
            tool_call_id=approval.tool_call_id, tool_name=approval.tool_name, kind="approval", payload=approval.args
        )
    asked = wait.payload
    return PendingCall(
        tool_call_id=asked.tool_call_id, tool_name=asked.tool_name, kind="suspension", payload=asked.suspend_payload
    )


def _wait_of(call: PendingCall, log: Sequence[ChunkType]) -> Wait:
    made = (chunk.payload for chunk in log if isinstance(chunk, ToolCallChunk))
    args = next((payload.args for payload in made if payload.tool_call_id == call.tool_call_id), None)
    run_id = log[0].run_id if log else ""
    if call.kind == "approval":
        approval = ToolCallApprovalPayload(
            tool_call_id=call.tool_call_id, tool_name=call.tool_name, args=call.payload, resume_schema=APPROVAL_SCHEMA
        )
        return ToolCallApprovalChunk(approval, run_id=run_id, from_="AGENT")
    asked = ToolCallSuspendedPayload(
        tool_call_id=call.tool_call_id, tool_name=call.tool_name, suspend_payload=call.payload, args=args
    )
    return ToolCallSuspendedChunk(asked, run_id=run_id, from_="AGENT")


def _shortened(log: Iterable[ChunkType]) -> list[ChunkType]:
    kept: list[ChunkType] = []
    pieces: list[str] = []  # of the delta that was kept last
    for chunk in log:
        if kept and _continues(kept[-1], chunk):
            pieces.append(cast("TextDeltaChunk | ReasoningDeltaChunk", chunk).payload.text)
            continue
        _join(kept, pieces)
        if isinstance(chunk, StepStartChunk):
            chunk = replace(chunk, payload=replace(chunk.payload, request=None))
        if isinstance(chunk, TextDeltaChunk | ReasoningDeltaChunk):
            pieces = [chunk.payload.text]
        if not isinstance(chunk, _UNTOLD):
            kept.append(chunk)
    _join(kept, pieces)
    return kept


def _continues(last: ChunkType, chunk: ChunkType) -> bool:
    match last, chunk:
        case (TextDeltaChunk(a), TextDeltaChunk(b)) | (ReasoningDeltaChunk(a), ReasoningDeltaChunk(b)):
            return a.id == b.id and b.provider_metadata is None
        case _:
            return False


def _join(kept: list[ChunkType], pieces: list[str]) -> None:
    """Give the last delta all of its text."""
    if len(pieces) > 1:
        last = cast("TextDeltaChunk", kept[-1])
        kept[-1] = replace(last, payload=replace(last.payload, text="".join(pieces)))
    pieces.clear()
