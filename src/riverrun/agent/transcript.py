"""What was said in a run so far, and the chunks that sum it up: of a step, and of the run at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from riverrun.agent.plan import Plan
from riverrun.agent.step import Answer
from riverrun.chunks import (
    FinishChunk,
    FinishPayload,
    Message,
    Messages,
    Response,
    Step,
    StepFinishChunk,
    StepFinishPayload,
    StepOutput,
    StepResult,
    ToolCallPayload,
    Usage,
    UserMessage,
    run_usage,
)


@dataclass(slots=True)
class Transcript:
    """`given` is the run's input, `recalled` what the thread said before it, `answers` what came of it in `steps`."""

    plan: Plan
    given: list[Message]
    recalled: list[Message] = field(default_factory=list[Message])
    answers: list[Message] = field(default_factory=list[Message])
    steps: list[Step] = field(default_factory=list[Step])
    _replaced: Response | None = None

    # -- messages

    @property
    def asked(self) -> list[Message]:
        """What the run is to answer."""
        return [*self.recalled, *self.given]

    @property
    def told(self) -> list[Message]:
        """The conversation as the model sees it."""
        return [*self.plan.context, *self.asked, *self.answers]

    @property
    def own(self) -> list[Message]:
        """The run's own messages: what was given, and the answers."""
        return [*self.given, *self.answers]

    def worth_keeping(self, answers: Sequence[Message], *, failed: bool) -> list[Message]:
        """The run's messages; none when it failed before it said anything, since the caller will say the same again."""
        return [*self.given, *answers] if answers or not failed else []

    def replace_answers(self, answers: Sequence[Message]) -> None:
        """Processors made something else of the answers."""
        self.answers = [*answers]
        self._replaced = msgspec.structs.replace(self.steps[-1].response or Response(), messages=self.answers)

    # -- chunks

    def step_finish(
        self, answer: Answer, result: StepResult, *, steps: list[Step] | None = None, feedback: str | None = None
    ) -> StepFinishChunk:
        """The end of a step, which is the last one unless `steps` says otherwise."""
        steps = self.steps[-1:] if steps is None else steps
        payload = StepFinishPayload(
            message_id=self.plan.message_id,
            step_result=result,
            output=StepOutput(
                text=steps[-1].text if steps else answer.fold.text,  # the same text, not another one
                tool_calls=[call.payload for call in answer.fold.tool_calls],
                usage=answer.usage,
                steps=steps,
                object=answer.object,
            ),
            metadata=answer.metadata(),
            response=steps[-1].response if steps else None,
            processor_retry_feedback=feedback,
            is_task_complete_check_failed=answer.is_incomplete or None,
        )
        return StepFinishChunk(payload, run_id=self.plan.run_id, from_="AGENT")

    def finish(self, last: StepFinishPayload) -> FinishChunk:
        """The end of a run whose last step was this one."""
        output = last.output or StepOutput()
        return self._finish(last.step_result, output.text, output.tool_calls, self._usages(), last)

    def cut_off(self, reason: str, answer: Answer | None) -> FinishChunk:
        """The end of a run that was cut off, in the middle of an answer or between two."""
        usages = [*self._usages(), answer.usage] if answer else self._usages()
        result = StepResult(reason=reason, is_continued=False)
        return self._finish(result, answer.fold.text if answer else "", [], usages)

    def _finish(
        self,
        result: StepResult | None,
        text: str | None,
        tool_calls: list[ToolCallPayload] | None,
        usages: Sequence[Usage],
        last: StepFinishPayload | None = None,
    ) -> FinishChunk:
        output = StepOutput(
            text=text,
            tool_calls=tool_calls,
            usage=run_usage(usages),
            steps=self.steps,
            object=last.output.object if last and last.output else None,
        )
        payload = FinishPayload(
            message_id=self.plan.message_id,
            step_result=result,
            output=output,
            metadata=last.metadata if last else None,
            is_task_complete_check_failed=last.is_task_complete_check_failed if last else None,
            messages=self._messages(),
            response=self._replaced,
        )
        return FinishChunk(payload, run_id=self.plan.run_id, from_="AGENT")

    def _usages(self) -> list[Usage]:
        return [step.usage for step in self.steps]

    def _messages(self) -> Messages:
        user: list[Message] = [message for message in self.given if isinstance(message, UserMessage)]
        return Messages(all=self.own, user=user, non_user=list(self.answers))


def step_of(answer: Answer) -> Step:
    """The step that an answer makes."""
    metadata = answer.metadata()
    return Step(
        content=answer.fold.content(),
        usage=answer.usage,
        warnings=answer.start.warnings if answer.start else None,
        request=metadata.request,
        response=Response(
            id=metadata.id, timestamp=metadata.timestamp, model_id=metadata.model_id, headers=metadata.headers
        ),
        provider_metadata=metadata.provider_metadata,
        finish_reason=answer.reason,
    )
