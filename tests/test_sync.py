"""The bridge for scripts and notebooks: the same runs without `async`, in a thread that never outlives them."""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverrun import Agent, ConfigError, ModelError, RunError, ToolContext
from riverrun.chunks import ErrorChunk, FinishChunk, TextDeltaChunk
from riverrun.models import ScriptedModel
from riverrun.streams import LOOK_AHEAD
from riverrun.sync import generate, stream
from tests.agent.scripts import (
    HANG,
    WatchedModel,
    agent_of,
    calls,
    deltas,
    finish,
    of,
    says,
    text,
    types,
)

SOURCE = Path(__file__).resolve().parents[1] / "src"


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    left = [thread for thread in threading.enumerate() if thread.name.startswith("riverrun")]
    for thread in left:  # a tool's thread ends just after its call
        thread.join(timeout=1)
    assert [thread.name for thread in left if thread.is_alive()] == []


def test_a_stream_gives_the_chunks_of_a_run() -> None:
    chunks = list(stream(agent_of(says("a", "b")), "hi", run_id="r"))
    assert types(chunks)[0] == "start"
    assert types(chunks)[-1] == "finish"
    assert {chunk.run_id for chunk in chunks} == {"r"}
    assert [chunk.payload.text for chunk in of(TextDeltaChunk, chunks)] == ["a", "b"]


def test_generate_gives_the_result() -> None:
    result = generate(agent_of(says("a", "b")), "hi")
    assert (result.text, result.status, result.usage.total_tokens) == ("ab", "success", 15)


def test_a_structured_answer_is_of_the_type_that_was_asked_for() -> None:
    agent = Agent("a", model=ScriptedModel([says('["Oslo", "Bergen"]')]), output=set[str])
    assert generate(agent, "where?").object == {"Oslo", "Bergen"}


def test_tools_run_in_it() -> None:
    async def look(ctx: ToolContext) -> str:
        await ctx.write("looking")
        return "seen"

    kinds = types(stream(agent_of(calls("look"), says("a"), tools=[look]), "hi"))
    assert kinds.index("tool-output") < kinds.index("tool-result")


def test_chunks_come_while_the_run_goes_on() -> None:
    """The tool waits for the reader: a stream that were gathered first would never end."""
    go = threading.Event()

    def waits() -> str:
        assert go.wait(10)
        return "done"

    for chunk in stream(agent_of(calls("waits"), says("a"), tools=[waits]), "hi"):
        if chunk.type == "tool-call":
            go.set()
    assert go.is_set()


def test_nothing_begins_before_the_first_chunk_is_asked_for() -> None:
    model = ScriptedModel([says("a")])
    chunks = stream(Agent("a", model=model), "hi")
    assert model.requests == []
    assert next(chunks).type == "start"
    chunks.close()  # type: ignore[attr-defined]


def test_a_long_stream_loses_nothing() -> None:
    count = LOOK_AHEAD * 5
    chunks = list(stream(agent_of(deltas(count)), "hi"))
    assert [int(chunk.payload.text) for chunk in of(TextDeltaChunk, chunks)] == list(range(count))


def test_a_reader_that_waits_holds_the_run_back() -> None:
    run_ahead = LOOK_AHEAD * 2  # the queue between the threads, and the log
    model = Counted(LOOK_AHEAD * 6)
    chunks = stream(Agent("a", model=model), "hi")
    next(chunks)
    threading.Event().wait(0.05)
    assert model.said <= run_ahead + 10
    assert len(list(chunks)) > run_ahead


class Counted:
    """Notes how many pieces were asked for."""

    provider = "counted"
    model_id = "m"

    def __init__(self, count: int) -> None:
        self.said = 0
        self.count = count

    async def stream(self, request: Any, /) -> Any:
        async for chunk in ScriptedModel([deltas(self.count)]).stream(request):
            self.said += chunk.type == "text-delta"
            yield chunk


# -- leaving early


def test_leaving_the_loop_cancels_the_run_and_ends_its_thread() -> None:
    model = WatchedModel([[*text("a", "b")[:3], HANG]])
    for chunk in stream(Agent("a", model=model), "hi"):
        if isinstance(chunk, TextDeltaChunk):
            break
    assert (model.opened, model.closed) == (1, 1)


def test_closing_the_stream_cancels_the_run() -> None:
    model = WatchedModel([[*text("a")[:2], HANG]])
    chunks: Any = stream(Agent("a", model=model), "hi")
    while next(chunks).type != "text-delta":
        pass
    chunks.close()
    assert model.closed == 1
    assert list(chunks) == []


def test_leaving_while_the_run_waits_for_the_reader_ends_it() -> None:
    model = WatchedModel([deltas(LOOK_AHEAD * 6)])
    for _ in stream(Agent("a", model=model), "hi"):
        threading.Event().wait(0.05)
        break
    assert (model.opened, model.closed) == (1, 1)


def test_an_exception_in_the_loop_cancels_the_run() -> None:
    model = WatchedModel([[*text("a")[:2], HANG]])

    def reads() -> None:
        for chunk in stream(Agent("a", model=model), "hi"):
            if chunk.type == "text-delta":
                raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        reads()
    assert model.closed == 1


def test_leaving_tells_the_tools() -> None:
    told = threading.Event()

    def busy(ctx: ToolContext) -> None:
        while not ctx.cancelled:
            pass
        told.set()

    for chunk in stream(agent_of(calls("busy"), tools=[busy]), "hi"):
        if chunk.type == "tool-call":
            break
    assert told.wait(5)


def test_leaving_after_the_end_does_nothing() -> None:
    chunks: Any = stream(agent_of(says("a")), "hi")
    assert isinstance(list(chunks)[-1], FinishChunk)
    chunks.close()


@pytest.mark.parametrize("interrupted", [stream, generate])
def test_ctrl_c_cancels_the_run(interrupted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interrupt reaches whoever waits for the next chunk."""
    get = queue.Queue.get

    def interrupted_get(self: Any, *args: Any, **options: Any) -> Any:
        item = get(self, *args, **options)
        if getattr(item, "type", None) == "text-delta":
            raise KeyboardInterrupt
        return item

    monkeypatch.setattr(queue.Queue, "get", interrupted_get)
    model = WatchedModel([[*text("a")[:2], HANG]])
    with pytest.raises(KeyboardInterrupt):
        list(stream(Agent("a", model=model), "hi")) if interrupted is stream else generate(
            Agent("a", model=model), "hi"
        )
    assert model.closed == 1


def script(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own, whose end is waited for."""
    path = tmp_path / "script.py"
    path.write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=60, env=environment, check=False
    )


def test_a_program_ends_though_a_stream_is_still_held(tmp_path: Path) -> None:
    code = """
from riverrun import Agent
from riverrun.models import ScriptedModel
from riverrun.sync import stream
delta = {"type": "text-delta", "id": "t", "delta": "x"}
chunks = stream(Agent("a", model=ScriptedModel([[{"type": "text-start", "id": "t"}, *[delta] * 2000]])), "hi")
print(next(chunks).type)
"""
    ended = script(tmp_path, code)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("start\n", "", 0)


def test_a_program_ends_though_a_model_that_says_nothing_is_still_held(tmp_path: Path) -> None:
    code = """
from riverrun import Agent
from riverrun.models import ScriptedModel
from riverrun.sync import stream
chunks = stream(Agent("a", model=ScriptedModel([[{"type": "$await_abort"}]])), "hi")
print(next(chunks).type)
"""
    ended = script(tmp_path, code)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("start\n", "", 0)


# -- errors


def test_a_failed_run_ends_its_stream_like_any_other() -> None:
    chunks = list(stream(agent_of(ModelError("no")), "hi"))
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]
    assert isinstance(of(ErrorChunk, chunks)[0].payload.error, ModelError)


def test_generate_raises_when_the_run_fails() -> None:
    with pytest.raises(RunError, match="no way") as raised:
        generate(agent_of([*text("par"), {"type": "$stream_error", "error": ModelError("no way")}]), "hi", run_id="r")
    assert raised.value.run_id == "r"
    assert raised.value.partial.text == "par"  # type: ignore[attr-defined]
    assert isinstance(raised.value.__cause__, ModelError)


def test_what_cannot_work_raises_at_the_caller() -> None:
    with pytest.raises(ConfigError, match="max_steps is a whole number from 1 on"):
        generate(agent_of(says("a")), "hi", max_steps=0)
    with pytest.raises(ConfigError, match="an input is a text"):
        next(iter(stream(agent_of(says("a")), 5)))  # type: ignore[arg-type]


# -- beside other loops and threads


async def test_it_works_where_a_loop_runs_already() -> None:
    """As in a notebook."""
    assert generate(agent_of(says("a")), "hi").text == "a"
    assert types(stream(agent_of(says("a")), "hi"))[-1] == "finish"


def test_tools_see_the_callers_context_variables() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")
    user.set("Ann")

    async def whose() -> str:
        return user.get()

    (result,) = generate(agent_of(calls("whose"), says("a"), tools=[whose]), "hi").tool_results
    assert result.payload.result == "Ann"


def test_several_go_on_side_by_side() -> None:
    streams = [stream(agent_of(says(str(number), "!")), "hi") for number in range(3)]
    together = list(zip(*streams, strict=True))
    assert [chunk.type for chunk in together[-1]] == ["finish"] * 3
    assert types(row[0] for row in together) == types(row[2] for row in together)


def test_one_agent_serves_both_worlds() -> None:
    agent = agent_of(says("a"), says("b"))
    assert generate(agent, "hi").text == "a"
    assert asyncio.run(agent.generate("hi")).text == "b"


def test_a_stream_may_be_read_in_another_thread_than_it_was_made() -> None:
    chunks = stream(agent_of([*text("a"), finish()]), "hi")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.extend(types(chunks)))
    reader.start()
    reader.join()
    assert found[-1] == "finish"
