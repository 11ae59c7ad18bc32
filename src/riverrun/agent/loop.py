"""The agent's loop: a step is a model call and the tool calls it led to; steps follow until one answers.

`AgentLoop.run` writes the whole stream of a run to its log, start to finish, and always ends it: with an answer, an
error, an abort, a tripwire, or a call that waits. It never raises but CancelledError, when it was not the run itself
that was cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from riverrun.agent.asking import asked
from riverrun.agent.cancellation import Cancellation, RunCancelled
from riverrun.agent.completion import Candidate, TaskComplete, feedback
from riverrun.agent.history import parted
from riverrun.agent.hooks import Iteration, Verdict
from riverrun.agent.inputs import answer_messages, sealed
from riverrun.agent.keeping import Keeper
from riverrun.agent.outlet import Outlet
from riverrun.agent.plan import Plan
from riverrun.agent.preparation import Prepared, prepared
from riverrun.agent.saved import SavedRun
from riverrun.agent.step import Answer, ask
from riverrun.agent.structuring import structured
from riverrun.agent.titles import title_of
from riverrun.agent.toolcalls import ToolCalls, Waiting
from riverrun.chunks import (
    AbortChunk,
    AbortPayload,
    ChunkType,
    DataChunk,
    ErrorChunk,
    ErrorPayload,
    FinishChunk,
    FinishPayload,
    IsTaskCompleteChunk,
    Message,
    Messages,
    ObjectResultChunk,
    Response,
    StartChunk,
    StartPayload,
    Step,
    StepFinishChunk,
    StepFinishPayload,
    StepOutput,
    StepResult,
    TextPart,
    ToolCallPayload,
    Usage,
    UserMessage,
    run_usage,
)
from riverrun.errors import ModelError, TimeoutExceeded, TripwireError
from riverrun.processors import Pipeline, retry_feedback, tripwire_chunk, tripwire_payload
from riverrun.streams import GRACE, Log

_logger = logging.getLogger("riverrun")

_FINAL = {"stop", "error", "length", "content-filter", None}
"""Reasons after which a step is not followed by another, unless tools were called."""
_CUT_OFF = {"error", "length", "content-filter"}
"""Reasons after which not even tool calls are followed by another step."""
_API_ERROR_RETRIES = 10
"""How often processors may have a failed model call asked again, when no budget is set."""


@dataclass(slots=True)
class AgentLoop:
    """One run of an agent. `saved` is a run that waited, which goes on."""

    plan: Plan
    log: Log[ChunkType]
    cancellation: Cancellation
    keeper: Keeper
    saved: SavedRun | None = None
    steps: list[Step] = field(default_factory=list[Step])
    answers: list[Message] = field(default_factory=list[Message])
    recalled: list[Message] = field(default_factory=list[Message])
    given: list[Message] = field(default_factory=list[Message])
    model_index: int = 0
    answer: Answer | None = None
    """The answer under way."""
    last_step: bool = False
    retries: int = 0
    feedback: str | None = None
    """What processors have against the last answer."""
    pipeline: Pipeline = field(init=False)
    _replaced: Response | None = None

    def __post_init__(self) -> None:
        plan = self.plan
        self.given = [*plan.messages]
        self.pipeline = Pipeline(
            plan.processors, run_id=plan.run_id, agent_name=plan.agent_id, emit_chunk=_into(self.log), deps=plan.deps
        )

    async def run(self) -> None:
        """Take steps until the run is over or waits."""
        self.keeper.hold()
        try:
            if self.plan.timeout.total is not None:
                self.cancellation.limit(self.plan.timeout.total)
            if self.saved is None:
                await self._begin()
                await self._take_steps()
            else:
                await self._go_on(self.saved)
        except RunCancelled:
            await self._stop()
        except asyncio.CancelledError:
            if self.cancellation.event.is_set():
                await self._stop()
                return
            with contextlib.suppress(Exception):  # the program ends: nobody wanted that of the run
                await self.keeper.give_back()
            await self._stop()
            raise
        except TripwireError as tripwire:
            await self._trip(tripwire)
        except Exception as error:
            await self._fail(error)
        finally:
            await self.keeper.release()

    async def _begin(self) -> None:
        """Look at the input and recall what was said before; then the run starts."""
        start = StartChunk(StartPayload(id=self.plan.agent_id, message_id=self.plan.message_id), **self._from)
        try:
            self.recalled, self.given = await self.keeper.recall(self.given)
            if self.pipeline.has("process_input"):
                messages = await self.pipeline.process_input([*self.recalled, *self.given])
                self.recalled, self.given = parted(messages, self.recalled, self.given)
        except TripwireError:  # nothing has started
            raise
        except Exception:
            self._write(start)
            raise
        self._write(start)

    # -- steps

    async def _take_steps(self) -> None:
        while True:
            if self.cancellation.is_asked:
                raise RunCancelled
            self.keeper.check()
            if not await self._take_step():
                return
            await asyncio.sleep(0)  # readers see the step before the next one costs anything

    async def _take_step(self) -> bool:
        """Take one step. False: the run is over, or waits."""
        self.pipeline.begin_step(len(self.steps), retry_count=self.retries)
        step = await prepared(self.plan, self.pipeline, self._told(), self.steps, self.model_index, self.feedback)
        self._stop_if_asked()
        answer = self.answer = Answer(
            message_id=self.plan.message_id, model=step.models[step.first_model], model_index=step.first_model
        )
        outlet = Outlet(self.log, answer.fold, self.pipeline, step.reader)
        await ask(
            answer,
            step.models,
            step.request,
            outlet,
            max_retries=self.plan.max_retries,
            limits=self.plan.timeout,
            cancelled=self.cancellation.event,
        )
        self._stop_if_asked()
        if answer.error is not None and await self._is_asked_again(answer.error):
            self._retry_step(answer)
            return True
        self._complain(answer)
        tripwire = await self._refused(answer)
        if tripwire is not None and tripwire.retry and self._has_retry(self.plan.max_processor_retries or 0):
            self._refuse_step(answer, tripwire)
            return True
        if tripwire is not None:
            self._finish_refused(answer, tripwire)
            raise tripwire
        self.feedback = None
        await self._structure(answer, step)
        calls = self._calls(answer, step, outlet)
        goes_on = await self._run_tools(answer, calls)
        if goes_on and step.models is self.plan.models:
            self.model_index = answer.model_index
        return goes_on

    async def _run_tools(self, answer: Answer, calls: ToolCalls, *, resumed: bool = False) -> bool:
        """Run the step's tools and finish it. False: the run is over, or waits."""
        if calls.calls and not await self._run_calls(answer, calls):
            return False
        payload = await self._finish_step(answer, calls, resumed=resumed)
        if payload.step_result and payload.step_result.is_continued:
            return True
        await self._finish(payload)
        return False

    async def _run_calls(self, answer: Answer, calls: ToolCalls) -> bool:
        """Run calls and tell what they came to. False: some wait, and the run with them."""
        try:
            await calls.run(limit=self.plan.tool_concurrency)
        finally:
            if not calls.waits or self.cancellation.is_asked:
                await calls.tell()
                for part in calls.parts():
                    answer.fold.add_part(part)
        self._stop_if_asked()
        if not calls.waits:
            return True
        if self.cancellation.is_asked:  # to stop after this step: what it waits for is not wanted any more
            raise RunCancelled
        await self._suspend(answer, calls)
        return False

    def _told(self) -> list[Message]:
        """The conversation as the model sees it."""
        return [*self.plan.context, *self.recalled, *self.given, *self.answers]

    def _stop_if_asked(self) -> None:
        """Asked wherever a hook, a model or a tool may have kept a cancellation to itself."""
        if self.cancellation.event.is_set():
            raise RunCancelled

    def _complain(self, answer: Answer) -> None:
        """Tell of a failure. An answer that says it failed without saying why, or that says nothing for no reason, is
        one too.
        """
        if answer.failure is not None:
            self._write(answer.failure)
            answer.failure = None
        elif answer.error is None:
            if answer.reason == "error":
                why = 'Agent stream finished with finishReason "error" but no error payload was provided'
            elif answer.reason == "other" and not answer.fold.has_content:
                why = 'Agent stream finished with finishReason "other" without producing any output'
            else:
                return
            answer.error = ModelError(why)
            self._write(ErrorChunk(ErrorPayload(error=answer.error), **self._from))

    async def _structure(self, answer: Answer, step: Prepared) -> None:
        """Make the structured answer of the step, where one is wanted and the step has it."""
        if self.plan.output is None or answer.error is not None:
            return
        goes_on = bool(answer.calls) and answer.reason not in _CUT_OFF
        reason = "tool-calls" if goes_on else answer.reason
        try:
            outcome = await structured(self.plan, answer, reason, step.reader, self._write)
        except ModelError as error:
            answer.error, answer.failure = error, ErrorChunk(ErrorPayload(error=error), **self._from)
            self._complain(answer)
            return
        for chunk in outcome.chunks:
            self._write(chunk)
            if isinstance(chunk, ObjectResultChunk):
                answer.object = chunk.object
        if outcome.status == "failed":
            answer.error = outcome.error

    def _calls(self, answer: Answer, step: Prepared, outlet: Outlet) -> ToolCalls:
        return ToolCalls(
            calls=answer.calls,
            tools=step.tools,
            outlet=outlet,
            run_id=self.plan.run_id,
            agent_id=self.plan.agent_id,
            messages=step.request.messages,
            deps=self.plan.deps,
            cancelled=self.cancellation.event,
            approval=self.plan.require_tool_approval,
            thread_id=self.keeper.thread_id,
            resource_id=self.keeper.resource_id,
        )

    # -- processors that do not take an answer

    def _has_retry(self, budget: int) -> bool:
        self.retries += 1
        return self.retries <= budget

    async def _is_asked_again(self, error: Exception) -> bool:
        budget = self.plan.max_processor_retries
        if not self.pipeline.has("process_api_error") or not await self.pipeline.process_api_error(error):
            return False
        return self._has_retry(_API_ERROR_RETRIES if budget is None else budget)

    async def _refused(self, answer: Answer) -> TripwireError | None:
        """What a processor has against the answer, before its tools run."""
        if answer.error is not None or not self.pipeline.has("process_output_step"):
            return None
        try:
            await self.pipeline.process_output_step(self._step(answer))
        except TripwireError as tripwire:
            return tripwire
        return None

    def _retry_step(self, answer: Answer) -> None:
        self.answer = None
        self._write_step(answer, StepResult(reason="retry", is_continued=True), steps=[])

    def _refuse_step(self, answer: Answer, tripwire: TripwireError) -> None:
        """The step counts, but what was said in it does not; the model is told why."""
        self._record_refused(answer, tripwire)
        self.feedback = retry_feedback(tripwire)
        result = StepResult(
            reason="retry",
            is_continued=True,
            retry_reason=tripwire.reason,
            retry_metadata=tripwire.metadata,
            retry_processor_id=tripwire.processor_id,
        )
        self._write_step(answer, result, feedback=self.feedback)

    def _finish_refused(self, answer: Answer, tripwire: TripwireError) -> None:
        self._record_refused(answer, tripwire)
        self._write_step(answer, StepResult(reason="tripwire", is_continued=False))

    def _record_refused(self, answer: Answer, tripwire: TripwireError) -> None:
        told = msgspec.to_builtins(tripwire_payload(tripwire))
        self.steps.append(msgspec.structs.replace(self._step(answer), tripwire=told))
        self.answer = None

    # -- the end of a step

    def _step(self, answer: Answer) -> Step:
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

    async def _finish_step(self, answer: Answer, calls: ToolCalls, *, resumed: bool = False) -> StepFinishPayload:
        step = self._step(answer)
        self.steps.append(step)
        self.answers += answer_messages(step.content)
        self.answer = None
        goes_on = await self._goes_on(answer, calls) or (resumed and answer.error is None and not calls.pending)
        if self.keeper.saves_steps:
            await self.keeper.save([*self.given, *self.answers])
        given = answer.finish.step_result if answer.finish and answer.error is None else None
        result = StepResult(
            reason=answer.reason,
            raw_reason=given.raw_reason if given else None,
            logprobs=given.logprobs if given else None,
            is_continued=goes_on,
        )
        return self._write_step(answer, result, steps=[step])

    def _write_step(
        self, answer: Answer, result: StepResult, *, steps: list[Step] | None = None, feedback: str | None = None
    ) -> StepFinishPayload:
        steps = self.steps[-1:] if steps is None else steps
        metadata = answer.metadata()
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
            metadata=metadata,
            response=steps[-1].response if steps else None,
            processor_retry_feedback=feedback,
            is_task_complete_check_failed=answer.is_incomplete or None,
        )
        self._write(StepFinishChunk(payload, **self._from))
        return payload

    async def _goes_on(self, answer: Answer, calls: ToolCalls) -> bool:
        """Whether another step follows: what the model wants, within the stop conditions, and what hooks say."""
        if answer.error is not None or calls.pending or self.last_step:
            return False
        wanted = answer.reason not in _FINAL or (bool(calls.calls) and answer.reason not in _CUT_OFF)
        stopped = await self._is_stopped() if wanted else None
        missed: str | None = None
        if not wanted and self.plan.task_complete is not None:
            stopped = await self._is_stopped()
            missed = await self._missed(answer, self.plan.task_complete, is_last=stopped)
            wanted = answer.is_incomplete
        verdict = await self._verdict(wanted and not stopped)
        if verdict.go_on is False:
            self.last_step = True
            wanted = wanted and verdict.feedback is not None
        elif verdict.go_on is True:
            wanted = True
        if wanted and stopped is None:
            stopped = await self._is_stopped()
        if not wanted or stopped:
            return False
        self.answers += [_said_to_model(told) for told in (missed, verdict.feedback) if told is not None]
        return True

    async def _missed(self, answer: Answer, task_complete: TaskComplete, *, is_last: bool) -> str | None:
        """Ask the scorers and tell the stream. Gives what the model is to be told that its answer misses."""
        candidate = Candidate(
            iteration=len(self.steps),
            text=answer.fold.text,
            task=_task([*self.recalled, *self.given]),
            messages=self._told(),
            tool_calls=self.steps[-1].tool_calls,
            run_id=self.plan.run_id,
            deps=self.plan.deps,
        )
        payload = await task_complete.check(candidate, is_last=is_last)
        self._write(IsTaskCompleteChunk(payload, **self._from))
        answer.is_incomplete = not payload.passed
        return None if payload.passed or payload.suppress_feedback else feedback(payload)

    async def _is_stopped(self) -> bool:
        for stop in self.plan.stop_when:
            if await asked(stop, self.steps, object):
                return True
        return False

    async def _verdict(self, will_continue: bool) -> Verdict:
        if self.plan.on_iteration is None:
            return Verdict()
        iteration = Iteration(
            number=len(self.steps),
            steps=tuple(self.steps),
            will_continue=will_continue,
            run_id=self.plan.run_id,
            deps=self.plan.deps,
        )
        return await asked(self.plan.on_iteration, iteration, Verdict) or Verdict()

    # -- waiting and going on

    async def _suspend(self, answer: Answer, calls: ToolCalls) -> None:
        """Leave the run in the store, and only then tell what it waits for: who reads it can resume it."""
        saved = SavedRun(
            message_id=self.saved.message_id if self.saved else self.plan.message_id,
            system=self.plan.system,
            log=[*(self.saved.log if self.saved else ()), *self.log.items],
            finish=self._counted_finish(answer),
            given=[*self.recalled, *self.given],
            context=self.plan.context,
            answers=self.answers,
            recalled=len(self.recalled),
            outcomes=calls.outcomes,
            waiting=calls.waiting,
            options=self.plan.saved_options,
            model_index=answer.model_index,
        )
        said = answer_messages(answer.fold.content())
        await self.keeper.suspend(saved, calls.waits, [*self.given, *self.answers, *said])
        for wait in calls.waits:
            self._write(wait)

    def _counted_finish(self, answer: Answer) -> FinishChunk | None:
        """The model's own finish, with the tokens that count: those of the first that said them."""
        if answer.finish is None:
            return None
        output = StepOutput(usage=answer.usage)
        return FinishChunk(msgspec.structs.replace(answer.finish, output=output), **self._from)

    async def _go_on(self, saved: SavedRun) -> None:
        """Take up the step that waited."""
        self.recalled, self.given = list(saved.given[: saved.recalled]), list(saved.given[saved.recalled :])
        self.answers = [*saved.answers]
        self.steps = saved.steps()
        answer = self.answer = saved.answer(self.plan.models)
        self.keeper.has_saved([*self.given, *self.answers, *answer_messages(answer.fold.content())])
        self.pipeline.begin_step(len(self.steps), retry_count=self.retries)
        step = await prepared(self.plan, self.pipeline, self._told(), self.steps, answer.model_index, None)
        calls = self._calls(answer, step, Outlet(self.log, answer.fold, self.pipeline))
        calls.outcomes = dict(saved.outcomes)
        calls.waiting = {call_id: _again(waiting) for call_id, waiting in saved.waiting.items()}
        self.model_index = answer.model_index
        if await self._run_tools(answer, calls, resumed=True):
            await self._take_steps()

    # -- endings

    async def _finish(self, last: StepFinishPayload) -> None:
        output = last.output or StepOutput()
        if self.pipeline.has("process_output_result"):
            self.answers = [*await self.pipeline.process_output_result(self.answers)]
            self._replaced = msgspec.structs.replace(self.steps[-1].response or Response(), messages=self.answers)
        failed = last.step_result is not None and last.step_result.reason == "error"
        await self.keeper.finish(self._worth_keeping(self.answers, failed=failed))
        if not failed:
            await self._title()
        self._write_finish(last.step_result, output.text, output.tool_calls, self._usages(), last)

    async def _title(self) -> None:
        if not await self.keeper.wants_title():
            return
        title = await title_of(self.plan.models[self.model_index], [*self.given, *self.answers], self.plan.run_id)
        if title:
            await self.keeper.save_title(title)
            data = {"threadId": self.keeper.thread_id, "title": title}
            self._write(DataChunk(type="data-thread-title", data=data, transient=True, run_id=self.plan.run_id))

    async def _trip(self, tripwire: TripwireError) -> None:
        """A processor stopped the run: nothing follows, and nothing is kept of it."""
        self.cancellation.event.set()
        await self.keeper.forget()
        self._write(tripwire_chunk(tripwire, run_id=self.plan.run_id))

    async def _stop(self) -> None:
        if self.cancellation.timed_out:
            await self._fail(TimeoutExceeded("total", self.plan.timeout.total or 0.0))
            return
        fault = await self._leave(failed=False)
        if fault is None:
            self._end(AbortChunk(AbortPayload(), **self._from), "tripwire")
        else:
            self._end(ErrorChunk(ErrorPayload(error=fault), **self._from), "error")

    async def _fail(self, error: Exception) -> None:
        fault = await self._leave(failed=True)
        if fault is not None:
            error.add_note(f"what was said could not be kept: {fault}")
        self._end(ErrorChunk(ErrorPayload(error=error), **self._from), "error")

    def _end(self, ending: ChunkType, reason: str) -> None:
        """Tell the end of a run whose last step was cut off."""
        self._write(ending)
        answer = self.answer
        usages = [*self._usages(), answer.usage] if answer else self._usages()
        result = StepResult(reason=reason, is_continued=False)
        self._write_finish(result, answer.fold.text if answer else "", [], usages)

    async def _leave(self, *, failed: bool) -> Exception | None:
        """Keep what there is of a run that was cut off. Gives the error of a store that cannot."""
        self.cancellation.event.set()  # for tools in threads, which nothing else can stop
        answer = self.answer
        said = [] if answer is None else answer_messages(answer.fold.content())
        left = await self._left([*self.answers, *said])
        self.answers = sealed(left or [])
        try:
            if self.keeper.is_lost:
                return None
            if left is None:
                await self.keeper.forget()
            else:
                await self.keeper.finish(self._worth_keeping(left, failed=failed))
        except Exception as error:
            return error
        return None

    async def _left(self, messages: list[Message]) -> list[Message] | None:
        """What processors leave of a run that was cut off. None: nothing, also when they fail or take too long."""
        if not messages or not self.pipeline.has("process_output_result"):
            return messages
        try:
            async with asyncio.timeout(GRACE):
                return [*await self.pipeline.process_output_result(messages)]
        except TripwireError:
            return None
        except Exception as error:
            _logger.error("nothing is kept of run %s, since a processor failed", self.plan.run_id, exc_info=error)
            return None

    def _worth_keeping(self, answers: Sequence[Message], *, failed: bool) -> list[Message]:
        """The run's messages; none when it failed before it said anything, since the caller will say the same again."""
        return [*self.given, *answers] if answers or not failed else []

    def _write_finish(
        self,
        result: StepResult | None,
        text: str | None,
        tool_calls: list[ToolCallPayload] | None,
        usages: Sequence[Usage],
        last: StepFinishPayload | None = None,
    ) -> None:
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
        self._write(FinishChunk(payload, **self._from))

    def _usages(self) -> list[Usage]:
        return [step.usage for step in self.steps]

    def _messages(self) -> Messages:
        user: list[Message] = [message for message in self.given if isinstance(message, UserMessage)]
        return Messages(all=[*self.given, *self.answers], user=user, non_user=list(self.answers))

    def _write(self, chunk: ChunkType) -> None:
        self.log.write(chunk)

    @property
    def _from(self) -> dict[str, Any]:
        return {"run_id": self.plan.run_id, "from_": "AGENT"}


def _into(log: Log[ChunkType]) -> Callable[[ChunkType], None]:
    """What writes to a log and knows no run, so that a run that is over is freed at once."""

    def write(chunk: ChunkType) -> None:
        log.write(chunk)

    return write


def _again(waiting: Waiting) -> Waiting:
    return Waiting(
        chunk=waiting.chunk,
        nested_attempt=waiting.nested_attempt,
        approved=waiting.approved,
        reason=waiting.reason,
        answers=list(waiting.answers),
    )


def _said_to_model(text: str) -> Message:
    """What hooks and scorers say of an answer: as the user's, since some models do not go on from their own words."""
    return UserMessage([TextPart(text)])


def _task(messages: Sequence[Message]) -> str:
    """What the user asked last."""
    last = next((message for message in reversed(messages) if isinstance(message, UserMessage)), None)
    return "".join(part.text for part in last.content if isinstance(part, TextPart)) if last else ""
