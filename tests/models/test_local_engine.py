"""The engine's process and LocalModel on top of it, with a worker that plays scripts instead of llama.cpp."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from riverrun.chunks import ChunkType, FinishChunk, TextDeltaChunk, TextPart, UserMessage
from riverrun.errors import ConfigError, MissingExtraError, ModelError
from riverrun.models.local import LocalModel, engine
from riverrun.models.local.weights import WEIGHTS
from riverrun.testing import assert_well_formed
from riverrun.types import ModelRequest, ToolSpec

FAKE = Path(__file__).with_name("fake_llama.py")
SAY = {"id": "a", "choices": [{"delta": {"content": "Hello"}}]}
END = {"id": "a", "choices": [{"delta": {}, "finish_reason": "stop"}]}
UNREADABLE = {"error": {"code": 500, "message": "… that does not match the expected peg-native format"}}
TOOL = ToolSpec(name="weather", description="", input_schema={})


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(engine, "_WORKER", FAKE)
    yield
    engine._shared.close()
    gc.collect()


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / WEIGHTS["smollm2-135m"].file
    path.write_bytes(b"GGUF")
    return path


def request(script: list[Any] | str, **members: Any) -> ModelRequest:
    options = {"local": {"script": script}}
    messages = [UserMessage(content=[TextPart(text="Hi")])]
    return ModelRequest(messages=messages, run_id="r", provider_options=options, **members)


async def answer(model: LocalModel, script: list[Any] | str, **members: Any) -> list[ChunkType]:
    async with aclosing(model.stream(request(script, **members))) as stream:
        return [chunk async for chunk in stream]


def text_of(chunks: list[ChunkType]) -> str:
    return "".join(chunk.payload.text for chunk in chunks if isinstance(chunk, TextDeltaChunk))


async def test_an_answer_is_a_well_formed_stream(weights: Path) -> None:
    model = LocalModel(weights)
    assert (model.provider, model.model_id) == ("local", "smollm2-135m")
    chunks = await answer(model, [SAY, END])
    assert_well_formed(chunks, model=True, strict=True)
    assert text_of(chunks) == "Hello"
    assert all(chunk.run_id == "r" and chunk.from_ == "AGENT" for chunk in chunks)


async def test_answers_side_by_side_do_not_mix(weights: Path) -> None:
    model = LocalModel(weights)
    scripts = [[{"choices": [{"delta": {"content": str(number)}}]}] * 5 for number in range(10)]
    answers = await asyncio.gather(*(answer(model, script) for script in scripts))
    assert [text_of(chunks) for chunks in answers] == [str(number) * 5 for number in range(10)]


async def test_leaving_a_stream_stops_its_request(weights: Path) -> None:
    model = LocalModel(weights)
    async with aclosing(model.stream(request([SAY, "wait"]))) as stream:
        async for chunk in stream:
            if isinstance(chunk, TextDeltaChunk):
                break
    chunks = await answer(model, "stops", include_raw=True)
    assert any(getattr(chunk, "payload", None) == {"stopped": [1]} for chunk in chunks)


async def test_cancelling_the_task_stops_its_request(weights: Path) -> None:
    model = LocalModel(weights)
    await model.load()
    task = asyncio.create_task(answer(model, ["wait"]))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    chunks = await answer(model, "stops", include_raw=True)
    assert any(getattr(chunk, "payload", None) == {"stopped": [1]} for chunk in chunks)


async def test_waiting_for_the_weights_can_be_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "slow.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(LocalModel(path).load(), 0.02)


async def test_weights_that_cannot_be_loaded_are_told(tmp_path: Path) -> None:
    for content, hint in ((b"GGUF", "is the file whole"), (b"text", "no GGUF file")):
        path = tmp_path / f"broken{len(hint)}.gguf"
        path.write_bytes(content)
        with pytest.raises(ModelError, match=hint):
            await LocalModel(path).load()


async def test_a_worker_that_dies_fails_its_requests_and_is_started_again(weights: Path) -> None:
    model = LocalModel(weights)
    with pytest.raises(ModelError, match="the local engine ended: GGML_ASSERT failed") as caught:
        await answer(model, [SAY, "die"])
    assert caught.value.retryable
    assert text_of(await answer(model, [SAY, END])) == "Hello"


async def test_a_request_that_the_engine_refuses_fails(weights: Path) -> None:
    with pytest.raises(ModelError, match="bad schema"):
        await answer(LocalModel(weights), [{"raise": "bad schema"}])


async def test_a_conversation_that_is_too_long_says_what_to_do(weights: Path) -> None:
    said = {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 6020, "n_ctx": 4096, "message": "…"}
    with pytest.raises(ModelError, match=r"6020 tokens .* context 4096: shorten it, or .* larger context=") as caught:
        await answer(LocalModel(weights), [{"error": said}])
    assert (caught.value.code, caught.value.retryable) == ("context-length", False)


async def test_blocks_are_closed_before_a_failure_is_raised(weights: Path) -> None:
    types: list[str] = []
    try:
        async for chunk in LocalModel(weights).stream(request([SAY, {"error": {"message": "out of luck"}}])):
            types.append(chunk.type)  # noqa: PERF401  # what came before the failure is looked at
    except ModelError as error:
        types.append(str(error))
    assert types[-3:] == ["text-delta", "text-end", "out of luck"]


async def test_an_invented_tool_is_asked_for_words_instead(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[dict[str, Any]] = []
    events = engine.Engine.events

    def recorded(self: engine.Engine, body: dict[str, Any]) -> Any:
        bodies.append(body)
        return events(self, {**body, "script": [UNREADABLE] if "tools" in body else [SAY, END]})

    monkeypatch.setattr(engine.Engine, "events", recorded)
    chunks = await answer(LocalModel(weights), [], tools=[TOOL])
    assert_well_formed(chunks, model=True, strict=True)
    assert text_of(chunks) == "Hello"
    assert ["tools" in body for body in bodies] == [True, False]


async def test_an_answer_that_stays_unreadable_fails(weights: Path) -> None:
    with pytest.raises(ModelError, match="a tool call that cannot be read"):
        await answer(LocalModel(weights), [UNREADABLE], tools=[TOOL])


async def test_models_with_equal_options_share_an_engine_until_the_last_lets_go(weights: Path) -> None:
    one, two, other = LocalModel(weights), LocalModel(weights), LocalModel(weights, slots=1)
    for model in (one, two, other):
        await model.load()
    assert one._engine() is two._engine()
    assert one._engine() is not other._engine()
    await one.aclose()
    assert not two._engine().dead
    last = two._engine()
    await two.aclose()
    assert last.dead
    assert text_of(await answer(one, [SAY, END])) == "Hello"  # it can be used again
    await other.aclose()


async def test_an_engine_that_is_closed_fails_what_runs(weights: Path) -> None:
    model = LocalModel(weights)
    await model.load()
    task = asyncio.create_task(answer(model, ["wait"]))
    await asyncio.sleep(0.02)
    await model.aclose()
    with pytest.raises(ModelError, match="the local engine ended"):
        await task


def test_a_model_serves_one_event_loop_after_the_other(weights: Path) -> None:
    model = LocalModel(weights)
    for _ in range(2):
        assert text_of(asyncio.run(answer(model, [SAY, END]))) == "Hello"


def test_a_loop_that_closed_under_a_request_does_no_harm(weights: Path) -> None:
    model = LocalModel(weights)

    async def begin() -> None:
        stream = model.stream(request([SAY, "wait"]))
        async for chunk in stream:
            if isinstance(chunk, TextDeltaChunk):
                break

    asyncio.run(begin())
    assert text_of(asyncio.run(answer(model, [SAY, END]))) == "Hello"


@pytest.mark.parametrize("end", ["pass", "os.kill(os.getpid(), signal.SIGTERM)", "os._exit(0)"])
def test_the_worker_ends_with_the_program_however_that_ends(weights: Path, end: str) -> None:
    program = f"""
import asyncio, os, signal
from pathlib import Path
from riverrun.models.local import LocalModel, engine
from tests.models.test_local_engine import request
engine._WORKER = Path({str(FAKE)!r})

async def main():
    model = LocalModel({str(weights)!r})
    async for chunk in model.stream(request([{SAY!r}, "wait"])):
        if chunk.type == "text-delta":
            print(model._engine()._process.pid, flush=True)
            {end}
            break

asyncio.run(main())
"""
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, env=environment, check=False)
    assert ended.stderr == ""
    assert ended.returncode in (0, -signal.SIGTERM)
    assert has_ended(int(ended.stdout))


def has_ended(pid: int) -> bool:
    """Wait a little for a process that is nobody's child any more."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":  # dead, only not yet waited for
            return True
        subprocess.run(["sleep", "0.02"], check=True)
    return False


def test_options_that_cannot_be_are_refused(weights: Path) -> None:
    with pytest.raises(ConfigError, match="context and slots"):
        LocalModel(weights, slots=0)
    with pytest.raises(ConfigError, match="threads"):
        LocalModel(weights, threads=0)


def test_a_missing_package_is_told_with_its_extra(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"riverrun\[local\]"):
        LocalModel(weights)


async def test_a_template_of_ones_own_replaces_the_catalogues_and_its_rules(weights: Path) -> None:
    model = LocalModel(weights, chat_template="{{ messages[0].content }}")
    assert model._options.template == "{{ messages[0].content }}"
    assert model._weights is not None
    assert not model._weights.answers_after_tools
    assert model.model_id == "smollm2-135m"
    assert isinstance((await answer(model, [SAY, END]))[-1], FinishChunk)
