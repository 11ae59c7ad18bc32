"""A suspended run as JSON: what a later `resume_stream`, in this process or another, needs to go on with it.

Most of it is the run's own chunks: what they mean is folded again. It is kept small (see shortening.py, sharing.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as dataclass_replace
from typing import Any, cast

from msgspec.structs import replace

from riverrun.agent.saved_options import check_saved
from riverrun.agent.sharing import shared, unshared
from riverrun.agent.shortening import shortened
from riverrun.agent.step import Answer
from riverrun.agent.toolcalls import Outcome, Wait, Waiting
from riverrun.chunks import (
    ChunkType,
    FinishChunk,
    FinishPayload,
    Message,
    Messages,
    ResponseMetadataChunk,
    Step,
    StepFinishChunk,
    StepStartChunk,
    ToolCallApprovalChunk,
    ToolCallApprovalPayload,
    Usage,
    from_value,
    to_value,
)
from riverrun.chunks.codec import exact_json_value
from riverrun.errors import ConfigError
from riverrun.store import PendingCall
from riverrun.types import Model

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer to a call that waits for approval, and to no other."""

    approved: bool
    reason: str | None = None


@dataclass(slots=True, kw_only=True)
class SavedRun:
    """What is known of a run that waits.

    `log` are the chunks so far; `finish` the model's own, of the step that waits; `options` what the caller gave the
    run, as JSON. `system` are the instructions that came with the input, `given` the rest of it, the first `recalled`
    from the thread; `context` stood beside it, `answers` is what the run has added. `waits` counts how often it waited.
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
    waits: int = 1

    def state(self) -> dict[str, Any]:
        """The run as JSON values. Raises TypeError when the program put something into it that has no JSON form."""
        check_saved(self.options)
        members: dict[str, Any] = {
            "messageId": self.message_id,
            "system": messages_value(self.system),
            "log": [to_value(chunk) for chunk in shortened(self.log)],
            "finish": None if self.finish is None else to_value(self.finish),
            "given": messages_value(self.given),
            "context": messages_value(self.context),
            "answers": messages_value(self.answers),
            "outcomes": [to_value(outcome) for outcome in self.outcomes.values()],
            "waiting": {call_id: _waiting_value(waiting) for call_id, waiting in self.waiting.items()},
            "options": dict(self.options),
            "recalled": self.recalled,
            "modelIndex": self.model_index,
            "waits": self.waits,
        }
        return {"version": _VERSION, **shared(members)}

    @classmethod
    def of(cls, state: Mapping[str, Any], calls: Sequence[PendingCall]) -> SavedRun:
        """The run of a state and of the calls that wait. Raises ConfigError for one that another version wrote."""
        if state.get("version") != _VERSION:
            raise ConfigError("this run was suspended by another version of riverrun, which has to resume it")
        members = unshared(state)
        outcomes = [cast("Outcome", from_value(value)) for value in members["outcomes"]]
        finish = members["finish"]
        asked = {call.tool_call_id: call.payload for call in calls}
        return cls(
            message_id=members["messageId"],
            system=messages_of(members["system"]),
            log=[from_value(value) for value in members["log"]],
            finish=None if finish is None else cast("FinishChunk", from_value(finish)),
            given=messages_of(members["given"]),
            context=messages_of(members["context"]),
            answers=messages_of(members["answers"]),
            outcomes={outcome.payload.tool_call_id: outcome for outcome in outcomes},
            waiting={call_id: _waiting_of(value, asked.get(call_id)) for call_id, value in members["waiting"].items()},
            options=members["options"],
            recalled=members["recalled"],
            model_index=members["modelIndex"],
            waits=members["waits"],
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

        Raises ConfigError when there is no such call, for an approval that says neither yes nor no, and for an answer
        without a JSON form.
        """
        waits = [known for known, waiting in self.waiting.items() if waiting.chunk is not None]
        if call_id is None and len(waits) == 1:
            call_id = waits[0]
        if call_id not in waits:
            told = ", ".join(waits) or "none"
            raise ConfigError(f"tool_call_id is to name one of the calls that wait: {told}; not {call_id!r}")
        waiting = self.waiting[call_id]
        is_approval = isinstance(waiting.chunk, ToolCallApprovalChunk)
        if isinstance(data, Decision):
            if not is_approval:
                raise ConfigError(f"the call {call_id} waits for no approval: answer it with resume_stream(answer, …)")
            data = {"approved": data.approved, "reason": data.reason}
        said = Waiting(nested_attempt=waiting.nested_attempt, approved=waiting.approved, answers=[*waiting.answers])
        approved, reason = _decision(data) if is_approval else (True, None)
        if is_approval and waiting.nested_attempt is None:
            said.approved, said.reason = approved, reason
        else:
            said.approved = True
            said.answers.append(_as_json(data))
        return dataclass_replace(self, waiting={**self.waiting, call_id: said})


def _decision(data: Any) -> tuple[bool, str | None]:
    members: Mapping[str, Any] = cast("Mapping[str, Any]", data) if isinstance(data, Mapping) else {}
    approved, reason = members.get("approved", data), members.get("reason")
    if not isinstance(approved, bool):
        raise ConfigError(f"an approval is {{'approved': True or False, 'reason': …}}, not {data!r:.80}")
    return approved, reason if isinstance(reason, str) else None


def _as_json(data: Any) -> Any:
    """The answer as the tool is given it, in this process as in another."""
    try:
        return exact_json_value(data)
    except TypeError as error:
        raise ConfigError(f"the answer to a call must be JSON: {error}") from error


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
        "chunk": None if waiting.chunk is None else to_value(_asking(waiting.chunk, None)),
        "nestedAttempt": waiting.nested_attempt,
        "approved": waiting.approved,
        "reason": waiting.reason,
        "answers": waiting.answers,
    }


def _waiting_of(value: Mapping[str, Any], asked: Any) -> Waiting:
    chunk = value["chunk"]
    return Waiting(
        chunk=None if chunk is None else _asking(cast("Wait", from_value(chunk)), asked),
        nested_attempt=value["nestedAttempt"],
        approved=value["approved"],
        reason=value["reason"],
        answers=list(value["answers"]),
    )


def pending_call(wait: Wait) -> PendingCall:
    """What the store is told of a call that waits. What it asks is kept there and nowhere else: it may be large."""
    told = wait.payload
    if isinstance(told, ToolCallApprovalPayload):
        return PendingCall(tool_call_id=told.tool_call_id, tool_name=told.tool_name, kind="approval", payload=told.args)
    return PendingCall(
        tool_call_id=told.tool_call_id, tool_name=told.tool_name, kind="suspension", payload=told.suspend_payload
    )


def _asking(wait: Wait, asked: Any) -> Wait:
    """What a call waits for, with `asked` as what it asks: arguments to approve, or what the tool suspended with."""
    if isinstance(wait, ToolCallApprovalChunk):
        return replace(wait, payload=replace(wait.payload, args=asked))
    return replace(wait, payload=replace(wait.payload, suspend_payload=asked))
