"""The agent's loop: a step is a model call and the tool calls it led to; steps follow until one answers.

`AgentLoop.run` writes the whole stream of a run to its log, start to finish, and always ends it: with an answer, an
error, or an abort. It never raises but CancelledError, when it was not the run itself that was cancelled.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from riverrun.agent.cancellation import Cancellation, RunCancelled
from riverrun.agent.choice import checked_choice, offered
from riverrun.agent.hooks import Iteration, OnIteration, PrepareStep, StepChanges, StepInfo, StopWhen, Verdict
from riverrun.agent.inputs import answer_messages, sealed, to_messages
from riverrun.agent.overlay import laid_over, merged
from riverrun.agent.step import Answer, ask
from riverrun.agent.toolcalls import ToolCalls
from riverrun.chunks import (
    AbortChunk,
    AbortPayload,
    AssistantMessage,
    ChunkType,
    ErrorChunk,
    ErrorPayload,
    FinishChunk,
    FinishPayload,
    Message,
    Messages,
    Response,
    StartChunk,
    StartPayload,
    Step,
    StepFinishChunk,
    StepFinishPayload,
    StepMetadata,
    StepOutput,
    StepResult,
    SystemMessage,
    TextPart,
    ToolCallPayload,
    Usage,
    UserMessage,
    run_usage,
)
from riverrun.errors import ConfigError, ModelError, TimeoutExceeded
from riverrun.models import resolve_model
from riverrun.streams import Log
from riverrun.tools import Tool
from riverrun.types import Model, ModelRequest, Settings, Timeout, ToolChoice

A = TypeVar("A")
R = TypeVar("R")

_FINAL = {"stop", "error", "length", "content-filter", None}
"""Reasons after which a step is not followed by another, unless tools were called."""
_CUT_OFF = {"error", "length", "content-filter"}
"""Reasons after which not even tool calls are followed by another step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that one run is told at its start."""

    run_id: str
    message_id: str
    agent_id: str
    models: Sequence[Model]
    instructions: Sequence[SystemMessage]
    context: Sequence[Message]
    messages: Sequence[Message]
    tools: Mapping[str, Tool]
    tool_choice: ToolChoice
    active_tools: Sequence[str] | None
    stop_when: Sequence[StopWhen]
    prepare_step: PrepareStep | None
    on_iteration: OnIteration | None
    settings: Settings
    provider_options: Mapping[str, Mapping[str, Any]]
    include_raw: bool
    timeout: Timeout
    tool_concurrency: int
    max_retries: int
    deps: Any


@dataclass(slots=True)
class _Step:
    """What is to be done in one step, after its hook was asked."""

    models: Sequence[Model]
    first_model: int
    request: ModelRequest
    tools: Mapping[str, Tool]


@dataclass(slots=True)
class AgentLoop:
    """One run of an agent."""

    plan: Plan
    log: Log[ChunkType]
    cancellation: Cancellation
    steps: list[Step] = field(default_factory=list[Step])
    answers: list[Message] = field(default_factory=list[Message])
    model_index: int = 0
    answer: Answer | None = None
    """The answer under way."""
    last_step: bool = False

    async def run(self) -> None:
        """Take steps until the run is over."""
        self._write(StartChunk(StartPayload(id=self.plan.agent_id, message_id=self.plan.message_id), **self._from))
        if self.plan.timeout.total is not None:
            self.cancellation.limit(self.plan.timeout.total)
        try:
            await self._take_steps()
        except RunCancelled:
            self._stop()
        except asyncio.CancelledError:
            asked = self.cancellation.event.is_set()
            self._stop()
            if not asked:
                raise
        except Exception as error:
            self._fail(error)

    # -- steps

    async def _take_steps(self) -> None:
        while True:
            if self.cancellation.mode is not None:
                raise RunCancelled
            step = await self._prepare()
            self._stop_if_asked()
            answer = self.answer = Answer(
                message_id=self.plan.message_id, model=step.models[step.first_model], model_index=step.first_model
            )
            await ask(
                answer,
                step.models,
                step.request,
                self.log,
                max_retries=self.plan.max_retries,
                limits=self.plan.timeout,
                cancelled=self.cancellation.event,
            )
            self._stop_if_asked()
            self._complain_of_nothing(answer)
            calls = await self._run_tools(answer, step)
            payload = await self._finish_step(answer, calls)
            if not (payload.step_result and payload.step_result.is_continued):
                self._finish(payload)
                return
            if step.models is self.plan.models:
                self.model_index = answer.model_index
            await asyncio.sleep(0)  # readers see the step before the next one costs anything

    def _stop_if_asked(self) -> None:
        """Asked wherever a hook, a model or a tool may have kept a cancellation to itself."""
        if self.cancellation.event.is_set():
            raise RunCancelled

    async def _prepare(self) -> _Step:
        plan = self.plan
        messages = [*plan.context, *plan.messages, *self.answers]
        changes = StepChanges()
        if plan.prepare_step is not None:
            info = StepInfo(
                number=len(self.steps),
                steps=tuple(self.steps),
                messages=messages,
                model=plan.models[self.model_index],
                run_id=plan.run_id,
                deps=plan.deps,
            )
            changes = await _asked(plan.prepare_step, info, StepChanges) or changes
        tools = offered(plan.tools, plan.active_tools if changes.active_tools is None else changes.active_tools)
        system = plan.instructions if changes.instructions is None else [SystemMessage(changes.instructions)]
        told = messages if changes.messages is None else to_messages(changes.messages)
        request = ModelRequest(
            messages=[*system, *sealed(told)],
            run_id=plan.run_id,
            tools=[tool.spec for tool in tools.values()],
            tool_choice=checked_choice(changes.tool_choice or plan.tool_choice, tools),
            settings=laid_over(plan.settings, changes.settings),
            provider_options=merged(plan.provider_options, changes.provider_options),
            include_raw=plan.include_raw,
        )
        if changes.model is not None:
            return _Step([resolve_model(changes.model)], 0, request, tools)
        return _Step(plan.models, self.model_index, request, tools)

    def _complain_of_nothing(self, answer: Answer) -> None:
        """An answer that says it failed without saying why, or that says nothing for no reason, is an error."""
        if answer.error is not None:
            return
        if answer.reason == "error":
            why = 'Agent stream finished with finishReason "error" but no error payload was provided'
        elif answer.reason == "other" and not answer.fold.has_content:
            why = 'Agent stream finished with finishReason "other" without producing any output'
        else:
            return
        answer.error = ModelError(why)
        self._write(ErrorChunk(ErrorPayload(error=answer.error), **self._from))

    async def _run_tools(self, answer: Answer, step: _Step) -> ToolCalls:
        own = [call for call in answer.fold.tool_calls if not call.payload.provider_executed]
        calls = ToolCalls(
            calls=own,
            tools=step.tools,
            log=self.log,
            run_id=self.plan.run_id,
            agent_id=self.plan.agent_id,
            messages=step.request.messages,
            deps=self.plan.deps,
            cancelled=self.cancellation.event,
        )
        if own:
            try:
                await calls.run(limit=self.plan.tool_concurrency)
            finally:
                for part in calls.parts():
                    answer.fold.add_part(part)
            self._stop_if_asked()
        return calls

    async def _finish_step(self, answer: Answer, calls: ToolCalls) -> StepFinishPayload:
        content = answer.fold.content()
        metadata = answer.metadata()
        step = Step(
            content=content,
            usage=answer.usage,
            warnings=answer.start.warnings if answer.start else None,
            request=metadata.request,
            response=Response(
                id=metadata.id, timestamp=metadata.timestamp, model_id=metadata.model_id, headers=metadata.headers
            ),
            provider_metadata=metadata.provider_metadata,
            finish_reason=answer.reason,
        )
        self.steps.append(step)
        self.answers += answer_messages(content)
        self.answer = None
        goes_on = await self._goes_on(answer, calls)
        given = answer.finish.step_result if answer.finish and answer.error is None else None
        payload = StepFinishPayload(
            message_id=self.plan.message_id,
            step_result=StepResult(
                reason=answer.reason,
                raw_reason=given.raw_reason if given else None,
                logprobs=given.logprobs if given else None,
                is_continued=goes_on,
            ),
            output=StepOutput(
                text=step.text,
                tool_calls=[call.payload for call in answer.fold.tool_calls],
                usage=answer.usage,
                steps=[step],
            ),
            metadata=metadata,
            response=step.response,
        )
        self._write(StepFinishChunk(payload, **self._from))
        return payload

    async def _goes_on(self, answer: Answer, calls: ToolCalls) -> bool:
        """Whether another step follows: what the model wants, within the stop conditions, and what the hook says."""
        if answer.error is not None or calls.pending or self.last_step:
            return False
        wanted = answer.reason not in _FINAL or (bool(calls.calls) and answer.reason not in _CUT_OFF)
        stopped = await self._is_stopped() if wanted else None
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
        if verdict.feedback is not None:
            self.answers.append(AssistantMessage([TextPart(verdict.feedback)]))
        return True

    async def _is_stopped(self) -> bool:
        for stop in self.plan.stop_when:
            if await _asked(stop, self.steps, object):
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
        return await _asked(self.plan.on_iteration, iteration, Verdict) or Verdict()

    # -- endings

    def _finish(self, last: StepFinishPayload) -> None:
        output = last.output or StepOutput()
        self._write_finish(last.step_result, output.text, output.tool_calls, self._usages(), last.metadata)

    def _stop(self) -> None:
        if self.cancellation.timed_out:
            self._fail(TimeoutExceeded("total", self.plan.timeout.total or 0.0))
            return
        self._write(AbortChunk(AbortPayload(), **self._from))
        self._end("tripwire")

    def _fail(self, error: BaseException) -> None:
        self._write(ErrorChunk(ErrorPayload(error=error), **self._from))
        self._end("error")

    def _end(self, reason: str) -> None:
        """The finish of a run whose last step was cut off."""
        self.cancellation.event.set()  # for tools in threads, which nothing else can stop
        answer = self.answer
        if answer is not None and answer.finish is not None:  # the model had its say, and some tools may have ended
            self.answers += sealed(answer_messages(answer.fold.content()))
        usages = [*self._usages(), answer.usage] if answer else self._usages()
        result = StepResult(reason=reason, is_continued=False)
        self._write_finish(result, answer.fold.text if answer else "", [], usages)

    def _write_finish(
        self,
        result: StepResult | None,
        text: str | None,
        tool_calls: list[ToolCallPayload] | None,
        usages: Sequence[Usage],
        metadata: StepMetadata | None = None,
    ) -> None:
        output = StepOutput(text=text, tool_calls=tool_calls, usage=run_usage(usages), steps=self.steps)
        payload = FinishPayload(
            message_id=self.plan.message_id,
            step_result=result,
            output=output,
            metadata=metadata,
            messages=self._messages(),
        )
        self._write(FinishChunk(payload, **self._from))

    def _usages(self) -> list[Usage]:
        return [step.usage for step in self.steps]

    def _messages(self) -> Messages:
        given = list(self.plan.messages)
        user: list[Message] = [message for message in given if isinstance(message, UserMessage)]
        return Messages(all=[*given, *self.answers], user=user, non_user=list(self.answers))

    def _write(self, chunk: ChunkType) -> None:
        self.log.write(chunk)

    @property
    def _from(self) -> dict[str, Any]:
        return {"run_id": self.plan.run_id, "from_": "AGENT"}


async def _asked(hook: Callable[[A], object], question: A, kind: type[R]) -> R | None:
    """A hook's answer, whether the hook is a coroutine function or not. Raises ConfigError for one of another kind."""
    answer = hook(question)
    if inspect.isawaitable(answer):
        answer = await answer
    if answer is None or isinstance(answer, kind):
        return answer
    name = getattr(hook, "__name__", "the hook")
    raise ConfigError(f"{name} must give {kind.__name__} or None, not {type(answer).__name__}")
