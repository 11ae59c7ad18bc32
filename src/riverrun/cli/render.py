"""Chunks in, lines for a terminal out: text as it comes, and everything else in a line of its own.

    Renderer(write, color=True, width=80).feed(chunk)

Nothing that a model or a tool wrote reaches the terminal unsanitized.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from riverrun.chunks import (
    AbortChunk,
    BackgroundTaskCancelledChunk,
    BackgroundTaskCompletedChunk,
    BackgroundTaskFailedChunk,
    BackgroundTaskOutputChunk,
    BackgroundTaskProgressChunk,
    BackgroundTaskResumedChunk,
    BackgroundTaskRunningChunk,
    BackgroundTaskStartedChunk,
    BackgroundTaskSuspendedChunk,
    ChunkType,
    CustomChunk,
    DataChunk,
    Envelope,
    ErrorChunk,
    FileChunk,
    FinishChunk,
    FinishPayload,
    GoalChunk,
    IsTaskCompleteChunk,
    ObjectResultChunk,
    ReasoningDeltaChunk,
    ReasoningFileChunk,
    ReasoningStartChunk,
    RedactedReasoningChunk,
    SourceChunk,
    StepStartChunk,
    TextDeltaChunk,
    TextStartChunk,
    ToolCallApprovalChunk,
    ToolCallChunk,
    ToolCallPayload,
    ToolCallSuspendedChunk,
    ToolErrorChunk,
    ToolOutputChunk,
    ToolOutputDeniedChunk,
    ToolResultChunk,
    TripwireChunk,
    UnknownChunk,
    WorkflowCanceledChunk,
    WorkflowFinishChunk,
    WorkflowPausedChunk,
    WorkflowStartChunk,
    WorkflowStepOutputChunk,
    WorkflowStepProgressChunk,
    WorkflowStepResultChunk,
    WorkflowStepStartChunk,
    WorkflowStepSuspendedChunk,
    WorkflowStepWaitingChunk,
)
from riverrun.cli.phrases import (
    arguments,
    error_text,
    file_text,
    finish_reason,
    model_name,
    source_text,
    tokens_text,
    unknown_text,
    value_text,
    warning_text,
)
from riverrun.cli.terminal import BLUE, BOLD, CYAN, DIM, RED, YELLOW, Lines, Page, Write, fit, one_line, paint, sanitize

_DEEPEST = 4  # levels of runs inside runs that are shown as such


class Renderer:
    """Shows one run.

    `width`: columns that a line about something may take; text is left to the terminal to wrap. `model`: its name as
    the person knows it, else the provider's is shown. `clock` gives seconds. `depth`: how many runs this one is inside.
    """

    def __init__(
        self,
        write: Write,
        color: bool = False,
        width: int = 80,
        *,
        model: str = "",
        clock: Callable[[], float] = time.monotonic,
        depth: int = 0,
    ) -> None:
        self._page = Page(write)
        self._color = color
        self._width = width
        self._model = model
        self._clock = clock
        self._depth = depth
        self._began = clock()
        self._block: tuple[str, str] | None = None  # what the page's last paragraph belongs to
        self._calls: dict[str, ToolCallPayload] = {}  # without a result yet
        self._nested: dict[str, tuple[Renderer, Lines]] = {}  # runs inside this one, by what they belong to
        self._steps = 0
        self._cancelled = False

    def feed(self, chunk: ChunkType) -> None:
        """Show the chunk; the ones that say nothing to a person are passed over."""
        if not (
            self._feed_text(chunk)
            or self._feed_tool(chunk)
            or self._feed_content(chunk)
            or self._feed_frame(chunk)
            or self._feed_background(chunk)
        ):
            self._feed_workflow(chunk)

    def close(self) -> None:
        """End what is open, as after the last chunk or when no more will come."""
        for key in list(self._nested):
            self._close_nested(key)
        self._page.fresh_line()
        self._block = None

    # -- the kinds of chunks; each answers whether the chunk was of its kind

    def _feed_text(self, chunk: ChunkType) -> bool:
        match chunk:
            case TextDeltaChunk(p):
                self._flow("text", p.id, p.text)
            case ReasoningDeltaChunk(p):
                self._flow("reasoning", p.id, p.text, DIM)
            case TextStartChunk() | ReasoningStartChunk():
                self._block = None if self._block != ("lines", "") else self._block
            case RedactedReasoningChunk():
                self._line("reasoning that the provider keeps to itself", DIM)
            case _:
                return False
        return True

    def _feed_tool(self, chunk: ChunkType) -> bool:
        match chunk:
            case ToolCallChunk(p):
                self._call(p)
            case ToolResultChunk(p):
                sign, code = ("✗", RED) if p.is_error else ("→", "")
                self._outcome(sign, p.tool_call_id, p.tool_name, value_text(p.result), code)
            case ToolErrorChunk(p):
                self._outcome("✗", p.tool_call_id, p.tool_name, error_text(p.error), RED)
            case ToolOutputChunk(p):
                self._written(p.tool_call_id or p.tool_name or "", p.output)
            case ToolCallApprovalChunk(p):
                self._line(f"? {p.tool_name}{arguments(p.args)} waits for approval", YELLOW)
            case ToolCallSuspendedChunk(p):
                self._line(f"? {p.tool_name} waits: {value_text(p.suspend_payload)}", YELLOW)
            case ToolOutputDeniedChunk(p):
                self._outcome("✗", p.tool_call_id, p.tool_name, "not approved", YELLOW)
            case _:
                return False
        return True

    def _feed_content(self, chunk: ChunkType) -> bool:
        match chunk:
            case SourceChunk(p):
                self._line(f"source: {source_text(p)}", BLUE)
            case FileChunk(p) | ReasoningFileChunk(p):
                self._line(f"file: {file_text(p)}", BLUE)
            case CustomChunk(p):
                self._line(p.kind, DIM)
            case ObjectResultChunk(value):
                self._flow("object", "", value_text(value, indent=2))
            case DataChunk(type=name, data=data):
                self._line(f"{name}: {value_text(data)}", DIM)
            case UnknownChunk(type=name):
                self._line(f"{name}: {unknown_text(chunk)}", DIM)
            case _:
                return False
        return True

    def _feed_frame(self, chunk: ChunkType) -> bool:
        match chunk:
            case StepStartChunk(p):
                self._steps += 1
                for warning in p.warnings or []:
                    self._line(f"warning: {warning_text(warning)}", YELLOW)
            case FinishChunk(p):
                self._finish(p)
            case ErrorChunk(p):
                self._notice(f"error: {error_text(p.error)}", RED)
            case AbortChunk():
                self._cancelled = True
                self._notice("cancelled", YELLOW)
            case TripwireChunk(p):
                by = f" ({p.processor_id})" if p.processor_id else ""
                self._notice(f"stopped{by}: {p.reason}", RED)
            case GoalChunk(p):
                state = "is being judged" if p.pending else p.status or ("reached" if p.passed else "not reached")
                self._line(f"goal: {state}{f': {p.reason}' if p.reason else ''}", YELLOW)
            case IsTaskCompleteChunk(p):
                self._line(f"answer {'' if p.passed else 'not '}complete: {p.reason or ''}".rstrip(": "), YELLOW)
            case _:
                return False
        return True

    def _feed_background(self, chunk: ChunkType) -> bool:
        match chunk:
            case BackgroundTaskStartedChunk(p):
                self._task(p.tool_name, "queued")
            case BackgroundTaskRunningChunk(p) | BackgroundTaskResumedChunk(p):
                self._task(p.tool_name, "running")
            case BackgroundTaskProgressChunk(p):
                self._line(f"background: {p.running_count} running, {p.elapsed_ms / 1000:.1f} s", DIM)
            case BackgroundTaskOutputChunk(p):
                inner = p.payload.payload.output if isinstance(p.payload, ToolOutputChunk) else p.payload
                self._written(p.tool_call_id, inner)
            case BackgroundTaskCompletedChunk(p):
                self._task(p.tool_name, f"done: {value_text(p.result)}", RED if p.is_error else DIM)
            case BackgroundTaskFailedChunk(p):
                self._task(p.tool_name, f"failed: {error_text(p.error)}", RED)
            case BackgroundTaskSuspendedChunk(p):
                data = p.suspend_payload if p.suspend_payload is not None else p.suspend_data
                self._task(p.tool_name, f"waits: {value_text(data)}", YELLOW)
            case BackgroundTaskCancelledChunk(p):
                self._task(p.tool_name, "cancelled", YELLOW)
            case _:
                return False
        return True

    def _feed_workflow(self, chunk: ChunkType) -> None:
        match chunk:
            case WorkflowStartChunk(p):
                self._line(f"workflow {p.workflow_id or ''}".rstrip(), DIM)
            case WorkflowFinishChunk(p):
                self._line(f"workflow {p.workflow_status or 'finished'}", DIM)
            case WorkflowCanceledChunk():
                self._line("workflow cancelled", YELLOW)
            case WorkflowPausedChunk():
                self._line("workflow paused", YELLOW)
            case WorkflowStepStartChunk(p) | WorkflowStepSuspendedChunk(p) | WorkflowStepWaitingChunk(p):
                self._line(f"step {p.step_name or p.id}: {p.status or chunk.type.removeprefix('workflow-step-')}", DIM)
            case WorkflowStepResultChunk(p) if p.error is not None:
                self._line(f"step {p.step_name or p.id}: {error_text(p.error)}", RED)
            case WorkflowStepResultChunk(p):
                self._line(f"step {p.step_name or p.id}: {p.status or 'done'}: {value_text(p.output)}", DIM)
            case WorkflowStepProgressChunk(p):
                self._line(f"step {p.id}: {p.completed_count} of {p.total_count}", DIM)
            case WorkflowStepOutputChunk(p):
                self._written(p.step_name or "", p.output)
            case _:
                pass  # frames and pieces of arguments: nothing that a person looks for

    # -- how things are shown

    def _flow(self, kind: str, id: str, text: str, *codes: str) -> None:
        """Text that goes on where it left off, unless something else came between."""
        text = sanitize(text)
        if self._block != (kind, id):
            text = text.lstrip("\n")
            if not text:
                return
            self._page.paragraph()
            self._block = (kind, id)
            if kind == "reasoning" and not self._color:
                self._page.text("thinking: ")
        self._page.text(text, paint(text, *codes) if self._color and codes else None)

    def _line(self, text: str, *codes: str, width: int | None = None) -> None:
        """One line about something; such lines stand together."""
        indent = text[: len(text) - len(text.lstrip(" "))]
        self._put(indent + fit(one_line(text), (width or self._width) - len(indent)), *codes)

    def _inner_line(self, key: str, line: str) -> None:
        """One line of what a tool or a step wrote, with its spaces as they are; named when several tools run."""
        call = self._calls.get(key)
        name = f"{one_line(call.tool_name)}{self._which(call)}: " if call is not None and len(self._calls) > 1 else ""
        text = sanitize(line).replace("\n", " ").expandtabs(4).rstrip()
        self._put(fit(f"  ┆ {name}{text}", self._width), DIM)

    def _put(self, line: str, *codes: str) -> None:
        if self._block != ("lines", ""):
            self._page.paragraph()
            self._block = ("lines", "")
        self._painted(line, *codes)

    def _notice(self, text: str, *codes: str) -> None:
        """Something that must be read in full, in a paragraph of its own."""
        self.close()
        self._page.paragraph()
        self._painted(sanitize(text).strip(), *codes)

    def _painted(self, text: str, *codes: str) -> None:
        used = [code for code in codes if code]
        self._page.text(text + "\n", paint(text, *used) + "\n" if self._color and used else None)

    def _call(self, call: ToolCallPayload) -> None:
        self._calls[call.tool_call_id] = call
        by = " (run by the provider)" if call.provider_executed else ""
        self._line(f"● {call.tool_name}{arguments(call.args)}{by}", BOLD, CYAN)

    def _outcome(self, sign: str, tool_call_id: str, tool_name: str, text: str, *codes: str) -> None:
        self._close_nested(tool_call_id)
        which = self._which(self._calls.get(tool_call_id))
        self._calls.pop(tool_call_id, None)
        room = self._width * 2 if RED in codes else self._width
        self._line(f"  {sign} {tool_name}{which}: {text}", *codes, width=room)

    def _which(self, call: ToolCallPayload | None) -> str:
        """The call's arguments where another call of the same tool runs too."""
        if call is None or sum(other.tool_name == call.tool_name for other in self._calls.values()) < 2:
            return ""
        return fit(one_line(arguments(call.args)), self._width // 3)

    def _task(self, tool_name: str, state: str, *codes: str) -> None:
        self._line(f"background: {tool_name} {state}", *(codes or (DIM,)))

    def _finish(self, finish: FinishPayload) -> None:
        self.close()
        if self._depth == 0:
            self._page.paragraph()
            seconds = self._clock() - self._began
            reason = "cancelled" if self._cancelled else finish_reason(finish)
            parts = [
                self._model or model_name(finish),
                tokens_text(finish),
                f"{self._steps} step{'' if self._steps == 1 else 's'}",
                f"{seconds:.1f} s",
                reason,
            ]
            self._painted(one_line(" · ".join(part for part in parts if part)), DIM)

    # -- what is written inside a tool or a step

    def _written(self, key: str, output: object) -> None:
        if isinstance(output, Envelope) and self._depth < _DEEPEST:
            inner, _ = self._nested.get(key) or self._open_nested(key)
            inner.feed(output)  # type: ignore[arg-type]
        elif isinstance(output, str):
            for line in output.splitlines():
                self._inner_line(key, line)
        else:
            self._inner_line(key, value_text(output))

    def _open_nested(self, key: str) -> tuple[Renderer, Lines]:
        room = max(20, self._width - 4)
        lines = Lines(partial(self._inner_line, key), room)
        inner = Renderer(lines.write, width=room, clock=self._clock, depth=self._depth + 1)
        self._nested[key] = (inner, lines)
        return self._nested[key]

    def _close_nested(self, key: str) -> None:
        inner, lines = self._nested.pop(key, (None, None))
        if inner is not None and lines is not None:
            inner.close()
            lines.close()
