"""Where riverrun deliberately behaves better than the recorded system: one test for each entry of the oracle's
`deviations.json` that concerns the loop, under the entry's name.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from riverrun import Agent, ModelError, RunError, Timeout
from riverrun.chunks import (
    AssistantMessage,
    ErrorChunk,
    FinishChunk,
    StepFinishChunk,
    StepStartChunk,
    ToolCallChunk,
    ToolErrorChunk,
    ToolMessage,
    ToolOutput,
    ToolResultChunk,
)
from riverrun.models import ScriptedModel
from riverrun.models.parts import Part
from riverrun.streams import spawn
from tests.agent.scripts import (
    agent_of,
    assert_well_formed,
    call,
    calls,
    finish,
    of,
    read,
    says,
    text,
    turns,
    types,
)


def streamed(*pieces: str, name: str = "note", id: str = "c1") -> list[Part]:
    """The arguments of a call, as they are written."""
    return [
        {"type": "tool-input-start", "id": id, "toolName": name},
        *({"type": "tool-input-delta", "id": id, "delta": piece} for piece in pieces),
        {"type": "tool-input-end", "id": id},
    ]


class Notebook:
    """A tool that notes with what it is called."""

    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []

    async def note(self, words: str = "", times: int = 1) -> str:
        self.notes.append({"words": words, "times": times})
        return "noted"


async def run_with(*first: Part) -> tuple[Notebook, list[Any]]:
    """Run a first answer that calls the tool `note`, and a last one."""
    book = Notebook()
    chunks = await read(agent_of([*first, finish("tool-calls")], says("done"), tools=[book.note]).stream("hi"))
    assert_well_formed(chunks)
    assert types(chunks)[-1] == "finish"
    return book, chunks


# -- streams and promises


async def test_error_early_await() -> None:
    """Values awaited before a provider fails do not hold up the stream; they raise the run's error."""
    run = agent_of([*text("par"), {"type": "$stream_error", "error": ModelError("overloaded")}]).stream("hi")
    early = [spawn(run.result()), *(spawn(awaited(getattr(run, name))) for name in ("text", "steps", "usage"))]
    await turns(1)
    chunks = await read(run)
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]
    for outcome in await asyncio.gather(*early, return_exceptions=True):
        assert isinstance(outcome, RunError)
        assert "overloaded" in str(outcome)


async def awaited(value: Any) -> Any:
    return await value


async def test_no_finish() -> None:
    """A stream without a finish is cut off: an error says so; the text so far stays."""
    run = agent_of(text("half an ans")).stream("hi")
    chunks = await read(run)
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]
    for chunk in of(StepFinishChunk, chunks) + of(FinishChunk, chunks):  # type: ignore[operator]
        assert chunk.payload.step_result.reason == "error"
        assert chunk.payload.step_result.is_continued is False
    assert "cut off" in str(of(ErrorChunk, chunks)[0].payload.error)
    assert (run.status, run.partial.text) == ("failed", "half an ans")


async def test_empty_stream() -> None:
    """A stream of nothing is cut off like any other."""
    run = agent_of([]).stream("hi")
    assert types(await read(run)) == ["start", "step-start", "error", "step-finish", "finish"]
    assert run.status == "failed"


async def test_text_warnings() -> None:
    """What the provider ignores of a request is said in step-start and by `warnings`."""
    warnings = [{"type": "unsupported-setting", "setting": "topK"}]
    run = agent_of([{"type": "stream-start", "warnings": warnings}, *says("a")]).stream("hi")
    (step,) = of(StepStartChunk, await read(run))
    assert step.payload.warnings == warnings
    assert await run.warnings == warnings
    assert (await run.steps)[0].warnings == warnings


async def test_client_tool_history() -> None:
    """A step holds this run's answer, whatever the history ends with."""
    history: list[Any] = [
        "which colour?",
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "h", "toolName": "pick", "input": {}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "h", "toolName": "pick", "result": "blue"}]},
    ]
    run = agent_of(says("Blue it is.")).stream(history)
    (step,) = await run.steps
    assert [part.type for part in step.content] == ["text"]
    assert step.text == "Blue it is."
    (end,) = of(FinishChunk, await read(run))
    assert end.payload.output is not None
    assert end.payload.output.steps == [step]


# -- streamed arguments


async def test_tool_streamed_no_deltas() -> None:
    """Without a streamed piece the arguments of the final call count, and there is one tool-call."""
    book, chunks = await run_with(*streamed(), call("note", args='{"words": "whole"}'))
    assert book.notes == [{"words": "whole", "times": 1}]
    (made,) = of(ToolCallChunk, chunks)
    assert made.payload.args == {"words": "whole"}


async def test_tool_streamed_mismatch() -> None:
    """The final call has the last word when the streamed arguments differ."""
    book, chunks = await run_with(*streamed('{"words": ', '"streamed"}'), call("note", args='{"words": "final"}'))
    assert book.notes == [{"words": "final", "times": 1}]
    (made,) = of(ToolCallChunk, chunks)
    assert made.payload.args == {"words": "final"}


async def test_tool_streamed_repairable() -> None:
    """Streamed arguments are repaired like others."""
    book, chunks = await run_with(*streamed('{words: "loose",', " times: 2,}"))
    assert book.notes == [{"words": "loose", "times": 2}]
    assert of(ToolErrorChunk, chunks) == []


async def test_tool_streamed_malformed() -> None:
    """Arguments that cannot be repaired are an error, and the tool does not run without them."""
    book, chunks = await run_with(*streamed('{"words": "never clo'))
    assert book.notes == []
    (error,) = of(ToolErrorChunk, chunks)
    assert "could not be parsed" in str(error.payload.error)


@pytest.mark.parametrize("args", ["", "   "])
async def test_tool_args_empty_string(args: str) -> None:
    """No arguments mean {}."""
    book, chunks = await run_with(call("note", args=args))
    assert book.notes == [{"words": "", "times": 1}]
    assert of(ToolCallChunk, chunks)[0].payload.args == {}


@pytest.mark.parametrize("args", ["null", None])
async def test_tool_args_null(args: str | None) -> None:
    """Null means {} as well; the schema then decides."""
    book, chunks = await run_with(call("note", args=args))
    assert book.notes == [{"words": "", "times": 1}]
    assert of(ToolCallChunk, chunks)[0].payload.args == {}

    async def strict(words: str) -> str:
        return words

    run = agent_of([call("strict", args=args), finish("tool-calls")], says("a"), tools=[strict]).stream("hi")
    (refused,) = await run.tool_results
    assert refused.payload.result["error"] is True


async def test_tool_args_repair_apostrophe() -> None:
    """Repair leaves apostrophes in strings alone."""
    book, _ = await run_with(call("note", args="{words: \"it's Ann's\",}"))
    assert book.notes == [{"words": "it's Ann's", "times": 1}]


# -- calls and results


async def test_tool_returns_undefined() -> None:
    """A tool that returns None has the result null, and the loop goes on."""

    async def silent() -> None:
        return None

    model = ScriptedModel([calls("silent"), says("done")])
    run = Agent("a", model=model, tools=[silent]).stream("hi")
    (result,) = of(ToolResultChunk, await read(run))
    assert result.payload.result is None
    assert (await run.text, len(model.requests)) == ("done", 2)
    told = model.requests[1].messages[-1]
    assert isinstance(told, ToolMessage)
    assert told.content[0].output == ToolOutput("json", None)  # type: ignore[union-attr]


async def test_tool_duplicate_call_id() -> None:
    """Of two calls with one id the second gets a fresh one; both run and are told apart."""
    first, second = call("note", "same", '{"words": "one"}'), call("note", "same", '{"words": "two"}')
    book, chunks = await run_with(first, second)
    assert [note["words"] for note in book.notes] == ["one", "two"]
    ids = [chunk.payload.tool_call_id for chunk in of(ToolCallChunk, chunks)]
    assert ids[0] == "same" != ids[1]
    assert [chunk.payload.tool_call_id for chunk in of(ToolResultChunk, chunks)] == ids
    assert [chunk.payload.args for chunk in of(ToolResultChunk, chunks)] == [{"words": "one"}, {"words": "two"}]


async def test_tool_call_id_reused_across_steps() -> None:
    """Two steps may use one id: both calls are given, run and told."""
    book = Notebook()
    model = ScriptedModel([calls("note"), calls("note"), says("done")])
    chunks = await read(Agent("a", model=model, tools=[book.note]).stream("hi"))
    assert [chunk.payload.tool_call_id for chunk in of(ToolCallChunk, chunks)] == ["c1", "c1"]
    assert types(chunks).count("tool-result") == len(book.notes) == 2
    roles = [message.role for message in model.requests[2].messages]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]
    assert all(message.content for message in model.requests[2].messages if isinstance(message, AssistantMessage))


# -- time


async def test_timeout_total() -> None:
    """A run that takes too long failed: error and finish, no abort."""
    stuck = [*text("par")[:2], {"type": "$await_abort"}]
    run = agent_of(stuck, timeout=Timeout(total=0.02)).stream("hi")
    chunks = await read(run)
    assert types(chunks)[-2:] == ["error", "finish"]
    assert "abort" not in types(chunks)
    assert run.status == "failed"
    (end,) = of(FinishChunk, chunks)
    assert end.payload.step_result is not None
    assert end.payload.step_result.reason == "error"
    with pytest.raises(RunError, match="Run timed out after 20ms"):
        await run.text
    assert run.partial.text == "par"
