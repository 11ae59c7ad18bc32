"""The agent's loop: a step is a model call and the tool calls it led to; steps follow until one answers.

`AgentLoop.run` writes the whole stream of a run to its log, start to finish, and always ends it: with an answer, an
error, an abort, a tripwire, or a call that waits. It never raises but CancelledError, when it was not the run itself
that was cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from riverrun.agent.cancellation import Cancellation, RunCancelled
from riverrun.agent.continuation import CUT_OFF, Continuation
from riverrun.agent.ending import Ending
from riverrun.agent.history import parted
from riverrun.agent.inputs import answer_messages
from riverrun.agent.keeping import Keeper
from riverrun.agent.outlet import Outlet
from riverrun.agent.plan import Plan, pipeline_of
from riverrun.agent.preparation import Prepared, prepared
from riverrun.agent.saved import SavedRun
from riverrun.agent.step import Answer, ask
from riverrun.agent.structuring import structured
from riverrun.agent.titles import title_of
from riverrun.agent.toolcalls import ToolCalls, Waiting
from riverrun.agent.transcript import Transcript, step_of
from riverrun.chunks import (
    ChunkType,
    DataChunk,
    ErrorChunk,
    ErrorPayload,
    FinishChunk,
    ObjectResultChunk,
    StartChunk,
    StartPayload,
    StepFinishPayload,
    StepOutput,
    StepResult,
)
from riverrun.chunks.blocks import ends_of
from riverrun.errors import ModelError, TripwireError
from riverrun.processors import Pipeline, retry_feedback, tripwire_payload
from riverrun.streams import STRAY, Log, brought_to_end, is_cancelled

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
    values: list[Any] = field(default_factory=list[Any])
    """The structured answers, as values of the wanted type."""
    model_index: int = 0
    answer: Answer | None = None
    """The answer under way."""
    retries: int = 0
    feedback: str | None = None
    """What processors have against the last answer."""
    _step_begin: int = field(default=0, init=False)
    """Where the step's chunks begin in the log."""
    pipeline: Pipeline = field(init=False)
    transcript: Transcript = field(init=False)
    continuation: Continuation = field(init=False)
    ending: Ending = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        write = _into(self.log)
        self.pipeline = pipeline_of(plan, write)
        self.transcript = Transcript(plan, given=[*plan.messages])
        self.continuation = Continuation(plan, self.transcript, write)
        self.ending = Ending(plan, self.log, self.cancellation, self.keeper, self.pipeline, self.transcript)

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
            await brought_to_end(self.ending.stop(self.answer))
        except asyncio.CancelledError:
            if self.cancellation.event.is_set():
                await brought_to_end(self.ending.stop(self.answer))
                return
            if not is_cancelled():
                await brought_to_end(self.ending.fail(RuntimeError(f"a hook failed: {STRAY}"), self.answer))
                return
            await brought_to_end(self.ending.give_back(self.answer))
            raise
        except TripwireError as tripwire:
            await brought_to_end(self.ending.trip(tripwire))
        except Exception as error:
            await brought_to_end(self.ending.fail(error, self.answer))
        finally:
            await self.keeper.release()

    async def _begin(self) -> None:
        """Look at the input and recall what was said before; then the run starts."""
        said = self.transcript
        start = StartChunk(StartPayload(id=self.plan.agent_id, message_id=self.plan.message_id), **self._from)
        try:
            said.recalled, said.given = await self.keeper.recall(said.given)
            if self.pipeline.has("process_input"):
                messages = await self.pipeline.process_input(said.asked)
                said.recalled, said.given = parted(messages, said.recalled, said.given)
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
        self._step_begin = len(self.log.items)
        self.pipeline.begin_step(len(self.transcript.steps), retry_count=self.retries)
        step = await prepared(self.plan, self.pipeline, self.transcript, self.model_index, self.feedback)
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
        again = tripwire is not None and tripwire.retry and answer.error is None
        if tripwire is not None and again and self._has_retry(self.plan.max_processor_retries or 0):
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

    async def _run_tools(self, answer: Answer, calls: ToolCalls) -> bool:
        """Run the step's tools and finish it. False: the run is over, or waits."""
        if calls.calls and not await self._run_calls(answer, calls):
            return False
        payload = await self._finish_step(answer, calls)
        if payload.step_result and payload.step_result.is_continued:
            return True
        await self._finish(payload)
        return False

    async def _run_calls(self, answer: Answer, calls: ToolCalls) -> bool:
        """Run calls and tell what they came to. False: some wait, and the run with them."""
        try:
            await calls.run(limit=self.plan.tool_concurrency)
        finally:
            self.keeper.has_inner_runs |= calls.has_inner_runs
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
        goes_on = bool(answer.calls) and answer.reason not in CUT_OFF
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
        if outcome.status in ("valid", "fallback"):
            self.values.append(outcome.value)
        if outcome.status == "failed":
            answer.error = outcome.error

    def _calls(self, answer: Answer, step: Prepared, outlet: Outlet) -> ToolCalls:
        return ToolCalls(
            calls=() if outlet.is_unguarded else answer.calls,
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
        """What a processor has against the answer, before its tools run. They run after a failure, too."""
        if not self.pipeline.has("process_output_step") or (answer.error is not None and not answer.calls):
            return None
        try:
            await self.pipeline.process_output_step(step_of(answer))
        except TripwireError as tripwire:
            return tripwire
        return None

    def _retry_step(self, answer: Answer) -> None:
        self.answer = None
        for end in ends_of(self.log.items[self._step_begin :]):
            self._write(end)
        self._write(self.transcript.step_finish(answer, StepResult(reason="retry", is_continued=True), steps=[]))

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
        self._write(self.transcript.step_finish(answer, result, feedback=self.feedback))

    def _finish_refused(self, answer: Answer, tripwire: TripwireError) -> None:
        self._record_refused(answer, tripwire)
        self._write(self.transcript.step_finish(answer, StepResult(reason="tripwire", is_continued=False)))

    def _record_refused(self, answer: Answer, tripwire: TripwireError) -> None:
        told = msgspec.to_builtins(tripwire_payload(tripwire))
        self.transcript.steps.append(msgspec.structs.replace(step_of(answer), tripwire=told))
        self.answer = None

    # -- the end of a step

    async def _finish_step(self, answer: Answer, calls: ToolCalls) -> StepFinishPayload:
        step = step_of(answer)
        self.transcript.steps.append(step)
        self.transcript.answers += answer_messages(step.content)
        self.answer = None
        goes_on = await self.continuation.follows(answer, calls)
        if self.keeper.saves_steps:
            await self.keeper.save(self.transcript.own)
        given = answer.finish.step_result if answer.finish and answer.error is None else None
        result = StepResult(
            reason=answer.reason,
            raw_reason=given.raw_reason if given else None,
            logprobs=given.logprobs if given else None,
            is_continued=goes_on,
        )
        chunk = self.transcript.step_finish(answer, result)
        self._write(chunk)
        return chunk.payload

    # -- waiting and going on

    async def _suspend(self, answer: Answer, calls: ToolCalls) -> None:
        """Leave the run in the store, and only then tell what it waits for: who reads it can resume it."""
        saved = SavedRun(
            message_id=self.saved.message_id if self.saved else self.plan.message_id,
            system=self.plan.system,
            log=[*(self.saved.log if self.saved else ()), *self.log.items],
            finish=self._counted_finish(answer),
            given=self.transcript.asked,
            context=self.plan.context,
            answers=self.transcript.answers,
            recalled=len(self.transcript.recalled),
            outcomes=calls.outcomes,
            waiting=calls.waiting,
            options=self.plan.saved_options,
            model_index=answer.model_index,
            waits=self.saved.waits + 1 if self.saved else 1,
        )
        said = answer_messages([*answer.fold.content(), *calls.parts()])
        await self.keeper.suspend(saved, calls.waits, [*self.transcript.own, *said])
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
        said = self.transcript
        said.recalled, said.given = list(saved.given[: saved.recalled]), list(saved.given[saved.recalled :])
        said.answers, said.steps = [*saved.answers], saved.steps()
        answer = self.answer = saved.answer(self.plan.models)
        self.pipeline.begin_step(len(said.steps), retry_count=self.retries)
        step = await prepared(self.plan, self.pipeline, said, answer.model_index, None)
        calls = self._calls(answer, step, Outlet(self.log, answer.fold, self.pipeline))
        calls.outcomes = dict(saved.outcomes)
        self.keeper.has_saved([*said.own, *answer_messages([*answer.fold.content(), *calls.parts()])])
        calls.waiting = {call_id: _again(waiting) for call_id, waiting in saved.waiting.items()}
        self.model_index = answer.model_index
        if await self._run_tools(answer, calls):
            await self._take_steps()

    # -- endings

    async def _finish(self, last: StepFinishPayload) -> None:
        said = self.transcript
        if self.pipeline.has("process_output_result"):
            said.replace_answers(await self.pipeline.process_output_result(said.answers))
        failed = last.step_result is not None and last.step_result.reason == "error"
        await self.keeper.finish(said.worth_keeping(said.answers, failed=failed))
        if not failed:
            await self._title()
        self._write(said.finish(last))

    async def _title(self) -> None:
        if not await self.keeper.wants_title():
            return
        limits = (self.cancellation.lift_limit(), self.plan.timeout.step, self.plan.timeout.first_chunk)
        model = self.plan.models[self.model_index]
        pipeline = pipeline_of(self.plan, self._write)
        title = await title_of(model, self.transcript.own, self.plan.run_id, pipeline=pipeline, limits=limits)
        if title:
            await self.keeper.save_title(title)
            data = {"threadId": self.keeper.thread_id, "title": title}
            self._write(DataChunk(type="data-thread-title", data=data, transient=True, run_id=self.plan.run_id))

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
