"""ResponseCache: when an answer is known, which answers are kept, and what a replay looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from riverrun.chunks import ChunkType, FinishChunk, FinishPayload, StepResult, SystemMessage, encode
from riverrun.errors import ConfigError
from riverrun.models import ScriptedModel
from riverrun.processors import CachedResponse, ResponseCache
from riverrun.processors.builtin.response_cache import MOST_CHUNKS
from riverrun.types import Model, ModelRequest, NamedTool, Settings, ToolSpec
from tests.processors.streams import Running, delta, said, text, types, user

MODEL = ScriptedModel([], provider="tests", model_id="m")


def request(words: str = "Hi", **more: Any) -> ModelRequest:
    return ModelRequest(messages=[user(words)], **{"run_id": "run-1", **more})


def answer(words: str = "Hello", reason: str = "stop") -> list[ChunkType]:
    finish = FinishChunk(FinishPayload(step_result=StepResult(reason=reason)), run_id="run-1", from_="AGENT")
    return [*text(words), finish]


async def asked(
    cache: ResponseCache, request: ModelRequest, chunks: Sequence[ChunkType] = (), *, model: Model = MODEL
) -> Sequence[ChunkType] | None:
    """The chunks that the cache has for a request; when it has none, `chunks` are what the model answers."""
    pipeline = Running(cache).pipeline
    known = await pipeline.process_llm_request(request, model=model)
    if isinstance(known, CachedResponse):
        return known.chunks
    await pipeline.process_llm_response(chunks)
    return None


async def test_the_same_request_is_answered_from_memory() -> None:
    cache = ResponseCache()
    assert await asked(cache, request(), answer()) is None
    known = await asked(cache, request())
    assert known is not None
    assert types(known) == ["text-start", "text-delta", "text-end", "finish"]
    assert said(known) == "Hello"


async def test_a_replay_has_the_id_of_its_own_run_and_is_the_same_otherwise() -> None:
    cache = ResponseCache()
    await asked(cache, request(), answer())
    known = await asked(cache, request(run_id="run-2"))
    assert known is not None
    assert [encode(chunk) for chunk in known] == [encode(replace(chunk, run_id="run-2")) for chunk in answer()]


@pytest.mark.parametrize(
    "other",
    [
        request("Ho"),
        ModelRequest(messages=[SystemMessage(content="Be kind."), user("Hi")], run_id="run-1"),
        request(settings=Settings(temperature=0.5)),
        request(tools=[ToolSpec(name="look", description="", input_schema={})]),
        request(tool_choice=NamedTool("look")),
        request(response_format={"type": "object"}),
        request(provider_options={"openai": {"user": "u"}}),
        request(include_raw=True),
    ],
    ids=["text", "system", "settings", "tools", "choice", "format", "options", "raw"],
)
async def test_another_request_is_another_answer(other: ModelRequest) -> None:
    cache = ResponseCache()
    await asked(cache, request(), answer())
    assert await asked(cache, other) is None


async def test_another_model_is_another_answer() -> None:
    cache = ResponseCache()
    await asked(cache, request(), answer())
    for other in (
        ScriptedModel([], provider="tests", model_id="n"),
        ScriptedModel([], provider="other", model_id="m"),
    ):
        assert await asked(cache, request(), model=other) is None


async def test_the_ids_of_messages_make_no_difference() -> None:
    cache = ResponseCache()
    await asked(cache, ModelRequest(messages=[replace(user("Hi"), id="a")], run_id="run-1"), answer())
    assert await asked(cache, ModelRequest(messages=[replace(user("Hi"), id="b")], run_id="run-1")) is not None


@pytest.mark.parametrize(
    ("chunks", "kept"),
    [
        (answer(reason="tool-calls"), True),
        (answer(reason="length"), True),
        (answer(reason="error"), False),
        (answer(reason="other"), False),
        (answer()[:-1], False),
        ([FinishChunk(FinishPayload())], False),
        ([delta("a")] * MOST_CHUNKS + answer(), False),
    ],
    ids=["tool-calls", "length", "error", "other", "no finish", "no reason", "too long"],
)
async def test_only_whole_answers_of_some_size_are_kept(chunks: list[ChunkType], kept: bool) -> None:
    cache = ResponseCache()
    await asked(cache, request(), chunks)
    assert (await asked(cache, request()) is not None) is kept


async def test_an_answer_without_a_request_is_not_kept() -> None:
    cache = ResponseCache()
    await Running(cache).pipeline.process_llm_response(answer())
    assert len(cache.cache) == 0


async def test_the_store_is_any_mapping_and_may_be_shared() -> None:
    store: dict[str, Sequence[ChunkType]] = {}
    await asked(ResponseCache(store), request(), answer())
    assert len(store) == 1
    assert await asked(ResponseCache(store), request()) is not None


async def test_memory_is_bounded() -> None:
    cache = ResponseCache(max_entries=2)
    for words in ("a", "b", "c"):
        await asked(cache, request(words), answer())
    assert await asked(cache, request("c")) is not None
    assert await asked(cache, request("a")) is None
    with pytest.raises(ConfigError, match="at least one entry"):
        ResponseCache(max_entries=0)
