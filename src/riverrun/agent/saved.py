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
from riverrun.agent.toolcalls import Outcome, Wait, Waiting
from riverrun.chunks import (
    ChunkType,
    FinishChunk,
    FinishPayload,
    Message,
    Messages,
    RawChunk,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    ResponseMetadataChunk,
    Step,
    StepFinishChunk,
    StepStartChunk,
    TextDeltaChunk,
    TextDeltaPayload,
    ToolCallApprovalChunk,
    ToolCallDeltaChunk,
    ToolCallInputStreamingEndChunk,
    ToolCallInputStreamingStartChunk,
    ToolCallSuspendedChunk,
    ToolOutputChunk,
    Usage,
    from_value,
    to_value,
)
from riverrun.errors import ConfigError
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
    run, as JSON; `given` the input, the first `recalled` of it from the thread; `context` what stood beside it,
    `answers` what the run has added.
    """

    message_id: str
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
    def of(cls, state: Mapping[str, Any]) -> SavedRun:
        """The run of a state. Raises ConfigError for one that a newer version has written."""
        if state.get("version") != _VERSION:
            raise ConfigError("this run was suspended by another version of riverrun, which has to resume it")
        outcomes = [cast("Outcome", from_value(value)) for value in state["outcomes"]]
        finish = state["finish"]
        return cls(
            message_id=state["messageId"],
            log=[from_value(value) for value in state["log"]],
            finish=None if finish is None else cast("FinishChunk", from_value(finish)),
            given=messages_of(state["given"]),
            context=messages_of(state["context"]),
            answers=messages_of(state["answers"]),
            outcomes={outcome.payload.tool_call_id: outcome for outcome in outcomes},
            waiting={call_id: _waiting_of(value) for call_id, value in state["waiting"].items()},
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
        "chunk": None if waiting.chunk is None else to_value(waiting.chunk),
        "isNested": waiting.is_nested,
        "approved": waiting.approved,
        "reason": waiting.reason,
        "answers": waiting.answers,
    }


def _waiting_of(value: Mapping[str, Any]) -> Waiting:
    return Waiting(
        chunk=None if value["chunk"] is None else cast("Wait", from_value(value["chunk"])),
        is_nested=value["isNested"],
        approved=value["approved"],
        reason=value["reason"],
        answers=list(value["answers"]),
    )


def _shortened(log: Iterable[ChunkType]) -> list[ChunkType]:
    kept: list[ChunkType] = []
    for chunk in log:
        last = kept[-1] if kept else None
        match last, chunk:
            case TextDeltaChunk(a), TextDeltaChunk(b) if a.id == b.id and b.provider_metadata is None:
                kept[-1] = replace(last, payload=TextDeltaPayload(a.id, a.text + b.text, a.provider_metadata))
            case ReasoningDeltaChunk(a), ReasoningDeltaChunk(b) if a.id == b.id and b.provider_metadata is None:
                kept[-1] = replace(last, payload=ReasoningDeltaPayload(a.id, a.text + b.text, a.provider_metadata))
            case _, StepStartChunk(p):
                kept.append(replace(chunk, payload=replace(p, request=None)))
            case _ if not isinstance(chunk, _UNTOLD):
                kept.append(chunk)
            case _:
                pass
    return kept
