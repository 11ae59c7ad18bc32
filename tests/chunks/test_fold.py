"""What a stream means: the same at both ends of the wire, whole or cut off anywhere."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from riverrun import ModelError
from riverrun.chunks import (
    AbortChunk,
    AbortPayload,
    AssistantMessage,
    ChunkType,
    ErrorChunk,
    ErrorPayload,
    FileChunk,
    FilePart,
    FilePayload,
    FinishChunk,
    FinishPayload,
    Messages,
    ObjectChunk,
    ObjectResultChunk,
    ReasoningDeltaChunk,
    ReasoningDeltaPayload,
    ReasoningEndChunk,
    ReasoningEndPayload,
    ReasoningPart,
    ReasoningSignatureChunk,
    ReasoningSignaturePayload,
    ReasoningStartChunk,
    ReasoningStartPayload,
    Response,
    ResponseMetadataChunk,
    ResponseMetadataPayload,
    Result,
    SourceChunk,
    SourcePayload,
    StartChunk,
    StartPayload,
    Step,
    StepFinishChunk,
    StepFinishPayload,
    StepFold,
    StepMetadata,
    StepOutput,
    StepResult,
    StepStartChunk,
    StepStartPayload,
    TextDeltaChunk,
    TextDeltaPayload,
    TextEndChunk,
    TextEndPayload,
    TextPart,
    TextStartChunk,
    TextStartPayload,
    ToolCallApprovalChunk,
    ToolCallApprovalPayload,
    ToolCallChunk,
    ToolCallPart,
    ToolCallPayload,
    ToolCallSuspendedChunk,
    ToolCallSuspendedPayload,
    ToolOutput,
    ToolOutputChunk,
    ToolOutputPayload,
    ToolResultChunk,
    ToolResultPart,
    ToolResultPayload,
    TripwireChunk,
    TripwirePayload,
    Usage,
    UserMessage,
    decode,
    encode,
    fold,
)
from tests.chunks import strategies


def start(run_id: str = "r") -> ChunkType:
    return StartChunk(StartPayload(id="a", message_id="m"), run_id=run_id)


def begin(**members: Any) -> ChunkType:
    return StepStartChunk(StepStartPayload(**members))


def text(*pieces: str, id: str = "t") -> list[ChunkType]:
    deltas: list[ChunkType] = [TextDeltaChunk(TextDeltaPayload(id, piece)) for piece in pieces]
    return [TextStartChunk(TextStartPayload(id)), *deltas, TextEndChunk(TextEndPayload(id))]


def reasoning(*pieces: str, id: str = "r", metadata: dict[str, Any] | None = None) -> list[ChunkType]:
    deltas: list[ChunkType] = [ReasoningDeltaChunk(ReasoningDeltaPayload(id, piece)) for piece in pieces]
    end = ReasoningEndChunk(ReasoningEndPayload(id, provider_metadata=metadata))
    return [ReasoningStartChunk(ReasoningStartPayload(id)), *deltas, end]


def call(id: str = "c", **members: Any) -> ChunkType:
    return ToolCallChunk(ToolCallPayload(tool_call_id=id, tool_name="look", args={}, **members))


def result(id: str = "c", value: Any = "seen", **members: Any) -> ChunkType:
    return ToolResultChunk(ToolResultPayload(tool_call_id=id, tool_name="look", result=value, **members))


def step_end(reason: str = "stop", tokens: int | None = 5, *, words: str = "", goes_on: bool = False) -> ChunkType:
    usage = Usage(input_tokens=tokens, output_tokens=1)
    step = Step(content=[TextPart(words)] if words else [], usage=usage, finish_reason=reason)
    payload = StepFinishPayload(
        step_result=StepResult(reason=reason, is_continued=goes_on),
        output=StepOutput(text=words, usage=usage, steps=[step]),
        metadata=StepMetadata(provider_metadata={"p": {"cached": True}}),
        response=Response(model_id="m-1"),
    )
    return StepFinishChunk(payload)


def end(reason: str = "stop", **members: Any) -> ChunkType:
    return FinishChunk(FinishPayload(step_result=StepResult(reason=reason), **members))


def plain(*pieces: str) -> list[ChunkType]:
    return [start(), begin(), *text(*pieces), step_end(words="".join(pieces)), end()]


def with_tools() -> list[ChunkType]:
    first = [begin(), *reasoning("hm"), *text("I look."), call(), result(), step_end("tool-calls", 5, goes_on=True)]
    return [start(), *first, begin(), *text("Done", "."), step_end(tokens=7, words="Done."), end()]


# -- results


def test_no_chunk_means_a_run_that_has_said_nothing() -> None:
    assert fold([]) == Result()
    assert fold([]).status == "running"


def test_a_plain_answer() -> None:
    folded = fold(plain("Hel", "lo"))
    assert (folded.run_id, folded.message_id, folded.status) == ("r", "m", "success")
    assert (folded.text, folded.finish_reason, folded.reasoning_text) == ("Hello", "stop", None)
    assert (folded.usage.input_tokens, folded.usage.output_tokens) == (5, 1)
    assert [step.text for step in folded.steps] == ["Hello"]
    assert folded.provider_metadata == {"p": {"cached": True}}
    assert folded.response == Response(model_id="m-1")


def test_the_text_is_the_last_steps_when_tools_were_called() -> None:
    folded = fold(with_tools())
    assert (folded.text, len(folded.steps)) == ("Done.", 2)
    assert [chunk.payload.tool_call_id for chunk in folded.tool_calls] == ["c"]
    assert [chunk.payload.result for chunk in folded.tool_results] == ["seen"]


def test_the_text_is_that_of_all_steps_when_no_tool_was_called() -> None:
    chunks = [start(), begin(), *text("a"), step_end("other", goes_on=True), begin(), *text("b"), step_end(), end()]
    assert fold(chunks).text == "ab"


def test_usage_is_summed_over_the_steps() -> None:
    usage = fold(with_tools()).usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (12, 2, None)
    assert fold(with_tools()).total_usage.total_tokens == 14


def test_counts_that_nobody_gave_stay_unknown() -> None:
    assert fold([start(), begin(), *text("a"), step_end(tokens=None), end()]).usage.input_tokens is None


def test_the_tokens_of_runs_inside_tools_are_counted_apart() -> None:
    def inside(chunk: ChunkType) -> ChunkType:
        return ToolOutputChunk(ToolOutputPayload(output=chunk, tool_call_id="c1"), run_id="r")

    def costs(tokens: int) -> ChunkType:
        return end(output=StepOutput(usage=Usage(input_tokens=tokens, total_tokens=tokens + 1)))

    nested = [inside(step_end(tokens=90)), inside(costs(10)), inside(inside(costs(20))), inside(end())]
    progress = ToolOutputChunk(ToolOutputPayload(output={"type": "finish"}), run_id="r")
    for chunks in (nested, [decode(encode(chunk)) for chunk in nested]):
        folded = fold([*with_tools(), *chunks, progress])
        assert (folded.nested_usage.input_tokens, folded.nested_usage.total_tokens) == (30, 32)
        assert folded.usage.input_tokens == 12
    assert fold(with_tools()).nested_usage == Usage()


def test_reasoning_is_kept_in_blocks_and_joined() -> None:
    metadata = {"p": {"signature": "s"}}
    chunks = [start(), begin(), *reasoning("a", "b", id="1"), *reasoning("c", id="2", metadata=metadata), step_end()]
    folded = fold(chunks)
    assert folded.reasoning == [ReasoningPart("ab"), ReasoningPart("c", provider_options=metadata)]
    assert folded.reasoning_text == "abc"


def test_blocks_of_two_steps_with_one_id_stay_two() -> None:
    chunks = [start(), begin(), *reasoning("a"), step_end(goes_on=True), begin(), *reasoning("b"), step_end(), end()]
    assert fold(chunks).reasoning == [ReasoningPart("a"), ReasoningPart("b")]


def test_what_comes_with_a_signature_is_kept_with_its_block() -> None:
    signature = ReasoningSignaturePayload("r", "sig", provider_metadata={"p": {"signature": "sig"}})
    chunks = [start(), begin(), *reasoning("a")[:-1], ReasoningSignatureChunk(signature)]
    assert fold(chunks).reasoning == [ReasoningPart("a", provider_options={"p": {"signature": "sig"}})]


def test_sources_files_objects_and_warnings() -> None:
    source = SourceChunk(SourcePayload(id="s", source_type="url", title="A", url="https://a.example"))
    file = FileChunk(FilePayload(data="aGk=", mime_type="text/plain"))
    warnings = [{"type": "other"}]
    chunks = [start(), begin(warnings=warnings, request={"body": 1}), source, file, ObjectChunk({"a": None})]
    folded = fold([*chunks, ObjectResultChunk({"a": 1}), step_end(), end()])
    assert (folded.sources, folded.files, folded.object) == ([source], [file], {"a": 1})
    assert (folded.warnings, folded.request) == (warnings, {"body": 1})


def test_the_last_steps_warnings_and_request_count() -> None:
    chunks = [
        start(),
        begin(warnings=[1], request={"n": 1}),
        step_end(goes_on=True),
        begin(request={"n": 2}),
        step_end(),
    ]
    folded = fold(chunks)
    assert (folded.warnings, folded.request) == ([], {"n": 2})


def test_response_metadata_is_known_before_the_step_ends() -> None:
    metadata = ResponseMetadataPayload(id="resp", model_id="m", headers={"x": "y"})
    response = fold([start(), begin(), ResponseMetadataChunk(metadata)]).response
    assert response == Response(id="resp", model_id="m", headers={"x": "y"})


def test_messages_come_from_the_finish() -> None:
    hi, hello = UserMessage([TextPart("hi")]), AssistantMessage([TextPart("hello")])
    messages = Messages(all=[hi, hello], user=[hi], non_user=[hello])
    assert fold([start(), begin(), *text("hello"), step_end(), end(messages=messages)]).messages == [hi, hello]


# -- endings


def test_an_error_fails_the_run() -> None:
    error = ModelError("no")
    chunks = [
        start(),
        begin(),
        *text("par")[:2],
        ErrorChunk(ErrorPayload(error=error)),
        step_end("error"),
        end("error"),
    ]
    folded = fold(chunks)
    assert (folded.status, folded.finish_reason, folded.text, folded.error) == ("failed", "error", "par", error)


def test_an_abort_cancels_the_run() -> None:
    usage = Usage(input_tokens=9, output_tokens=9, total_tokens=18)
    output = StepOutput(usage=usage)
    chunks = [*with_tools()[:-3], AbortChunk(AbortPayload()), end("tripwire", output=output)]
    folded = fold(chunks)
    assert (folded.status, folded.finish_reason) == ("canceled", "aborted")
    assert folded.usage == usage


def test_a_failure_after_a_step_without_its_end_counts_what_finish_says() -> None:
    usage = Usage(input_tokens=9, output_tokens=9, total_tokens=18)
    chunks = [
        start(),
        begin(),
        *text("a"),
        ErrorChunk(ErrorPayload(error="x")),
        end("error", output=StepOutput(usage=usage)),
    ]
    assert fold(chunks).usage == usage


def test_a_tripwire_stops_the_run() -> None:
    payload = TripwirePayload(reason="not allowed", processor_id="guard")
    folded = fold([start(), begin(), *text("a"), TripwireChunk(payload)])
    assert (folded.status, folded.finish_reason, folded.tripwire) == ("tripwire", "other", payload)


@pytest.mark.parametrize(
    "chunk",
    [
        ToolCallApprovalChunk(ToolCallApprovalPayload(tool_call_id="c", tool_name="look", args={})),
        ToolCallSuspendedChunk(ToolCallSuspendedPayload(tool_call_id="c", tool_name="look", suspend_payload={"q": 1})),
    ],
)
def test_a_run_that_waits_for_somebody_is_suspended(chunk: Any) -> None:
    folded = fold([start(), begin(), *text("May I?"), call(), chunk])
    assert (folded.status, folded.finish_reason, folded.suspend_payload) == ("suspended", "suspended", chunk.payload)
    assert folded.text == "May I?"


# -- both ends of the wire, and cuts


STREAMS = {
    "a plain answer": plain("Hel", "lo"),
    "an answer with tools": with_tools(),
    "an abort": [*with_tools()[:7], AbortChunk(AbortPayload()), end("tripwire")],
    "an error": [
        start(),
        begin(),
        *text("a")[:2],
        ErrorChunk(ErrorPayload(error={"name": "E", "message": "no"})),
        end("error"),
    ],
    "blocks side by side": [start(), begin(), *text("a")[:2], *text("b", id="u"), *text("a")[2:], step_end(), end()],
    "pieces without a start": [start(), begin(), *text("a")[1:2], *reasoning("b")[1:2], end()],
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_means_the_same_after_the_wire(name: str) -> None:
    chunks = STREAMS[name]
    assert fold(decode(encode(chunk)) for chunk in chunks) == fold(chunks)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_may_be_cut_off_anywhere(name: str) -> None:
    chunks = STREAMS[name]
    ends = (FinishChunk, AbortChunk, ErrorChunk)
    for cut in range(len(chunks) + 1):
        is_over = any(isinstance(chunk, ends) for chunk in chunks[:cut])
        assert (fold(chunks[:cut]).status != "running") is is_over


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(strategies.chunks(), max_size=6))
def test_whatever_chunks_come_are_folded(chunks: list[ChunkType]) -> None:
    assert isinstance(fold(chunks), Result)
    step = StepFold()
    for chunk in chunks:
        step.add(chunk)
    step.content()


def test_folding_changes_nothing_in_the_chunks() -> None:
    chunks = with_tools()
    before = [encode(chunk) for chunk in chunks]
    fold(chunks)
    fold(chunks)
    assert [encode(chunk) for chunk in chunks] == before


def test_two_results_share_nothing_that_can_change() -> None:
    one, other = fold(plain("a")), fold(plain("a"))
    one.tool_calls.append(None)  # type: ignore[arg-type]
    one.steps.clear()
    assert other.tool_calls == []
    assert len(other.steps) == 1
    assert Result().steps == []


# -- one step


def content(*chunks: ChunkType) -> list[Any]:
    step = StepFold()
    for chunk in chunks:
        step.add(chunk)
    return list(step.content())


def test_the_content_of_a_step_is_in_the_order_in_which_it_began() -> None:
    looked = ToolCallPart(tool_call_id="c", tool_name="look", input={})
    assert content(*reasoning("hm"), *text("a", "b"), call(), *text("c", id="u")) == [
        ReasoningPart("hm"),
        TextPart("ab"),
        looked,
        TextPart("c"),
    ]


def test_blocks_side_by_side_do_not_mix() -> None:
    a, b = text("a1", "a2", id="a"), text("b1", "b2", id="b")
    mixed = [a[0], b[0], a[1], b[1], a[2], b[2], b[3], a[3]]
    assert content(*mixed) == [TextPart("a1a2"), TextPart("b1b2")]


def test_empty_text_is_left_out_and_empty_reasoning_is_kept() -> None:
    assert content(*text(), *reasoning(metadata={"p": {"redacted": "x"}})) == [
        ReasoningPart("", provider_options={"p": {"redacted": "x"}})
    ]


def test_the_last_metadata_of_a_block_is_the_blocks() -> None:
    chunks = [
        TextStartChunk(TextStartPayload("t", {"p": 1})),
        TextDeltaChunk(TextDeltaPayload("t", "a", {"p": 2})),
        TextEndChunk(TextEndPayload("t")),
    ]
    assert content(*chunks) == [TextPart("a", provider_options={"p": 2})]


def test_results_of_the_providers_tools_are_content_and_own_results_are_not() -> None:
    chunks = [call("s", provider_executed=True), result("s", {"n": 1}, provider_executed=True), call("c"), result("c")]
    assert content(*chunks) == [
        ToolCallPart(tool_call_id="s", tool_name="look", input={}, provider_executed=True),
        ToolResultPart(tool_call_id="s", tool_name="look", output=ToolOutput("json", {"n": 1})),
        ToolCallPart(tool_call_id="c", tool_name="look", input={}),
    ]


def test_an_error_of_the_providers_tool_is_one() -> None:
    (part,) = content(result("s", "broken", provider_executed=True, is_error=True))
    assert part.output == ToolOutput("error-json", "broken")


def test_files_are_content() -> None:
    file = FileChunk(FilePayload(data="aGk=", mime_type="text/plain", filename="a.txt"))
    assert content(file) == [FilePart(data="aGk=", media_type="text/plain", filename="a.txt")]


@pytest.mark.parametrize(
    ("chunks", "has_content"),
    [
        ([], False),
        ([TextStartChunk(TextStartPayload("t")), TextEndChunk(TextEndPayload("t"))], False),
        ([TextDeltaChunk(TextDeltaPayload("t", "a"))], True),
        ([ReasoningStartChunk(ReasoningStartPayload("r"))], True),
        ([call()], True),
        ([SourceChunk(SourcePayload(id="s", source_type="url", title=""))], True),
        ([FileChunk(FilePayload(data="", mime_type="text/plain"))], True),
    ],
)
def test_a_step_knows_whether_it_said_anything(chunks: list[ChunkType], has_content: bool) -> None:
    step = StepFold()
    for chunk in chunks:
        step.add(chunk)
    assert step.has_content is has_content


def test_a_step_knows_its_calls_and_its_text_so_far() -> None:
    step = StepFold()
    for chunk in [*text("a", "b")[:3], call("x"), call("y")]:
        step.add(chunk)
    assert (step.text, [chunk.payload.tool_call_id for chunk in step.tool_calls]) == ("ab", ["x", "y"])
