"""Structured answers of runs: while they are written, when they are done, and when they are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PlainSerializer, SecretStr

from riverrun import (
    Agent,
    ConfigError,
    Memory,
    ModelError,
    RunError,
    StructuredOutput,
    Timeout,
    ToolContext,
)
from riverrun.chunks import (
    ChunkType,
    ErrorChunk,
    FinishChunk,
    Message,
    ObjectChunk,
    ObjectResultChunk,
    StepFinishChunk,
    SystemMessage,
    TextPart,
)
from riverrun.errors import StructuredOutputError, TimeoutExceeded
from riverrun.models import ScriptedModel
from riverrun.processors import StepChanges
from tests.agent.scripts import (
    HANG,
    agent_of,
    assert_well_formed,
    call,
    calls,
    finish,
    of,
    read,
    read_until,
    reasoning,
    says,
    text,
    types,
)

ADA = '{"name": "Ada", "age": 36}'
OVERLOADED = ModelError("overloaded", status=529, retryable=True)


class Person(BaseModel):
    name: str
    age: int


class Colour(Enum):
    RED = "red"
    GREEN = "green"


@dataclass
class Point:
    x: int
    y: int


async def look() -> str:
    return "seen"


def objects(chunks: Sequence[ChunkType]) -> list[Any]:
    """What `object` chunks have told."""
    return [chunk.object for chunk in of(ObjectChunk, chunks)]


def results(chunks: Sequence[ChunkType]) -> list[Any]:
    return [chunk.object for chunk in of(ObjectResultChunk, chunks)]


def told(messages: Sequence[Message]) -> str:
    """All that a model is told in words."""
    parts = [part for message in messages if not isinstance(message, SystemMessage) for part in message.content]  # type: ignore[union-attr]
    system = [message.content for message in messages if isinstance(message, SystemMessage)]
    return "\n".join([*system, *(part.text for part in parts if isinstance(part, TextPart))])


# -- one model


async def test_an_object_is_told_before_the_delta_that_makes_it_and_its_result_before_the_step_is_over() -> None:
    run = agent_of(says('{"name": "A', 'da", ', '"age": 36}'), output=Person).stream("who?", run_id="r1")
    chunks = await read(run)
    assert types(chunks) == [
        *("start", "step-start", "text-start"),
        *("object", "text-delta", "object", "text-delta", "object", "text-delta"),
        *("text-end", "object-result", "step-finish", "finish"),
    ]
    assert_well_formed(chunks)
    assert objects(chunks) == [{"name": "A"}, {"name": "Ada"}, {"name": "Ada", "age": 36}]
    assert results(chunks) == [{"name": "Ada", "age": 36}]
    assert {(chunk.run_id, chunk.from_) for chunk in chunks if chunk.type.startswith("object")} == {("r1", "AGENT")}


async def test_the_object_is_a_value_of_the_wanted_type() -> None:
    run = agent_of(says(ADA), output=Person).stream("who?")
    ada = Person(name="Ada", age=36)
    assert await run.object == ada
    assert (await run.result()).object == ada
    assert run.partial.object == ada
    assert await run.text == ADA


async def test_generate_gives_the_object_too() -> None:
    result = await agent_of(says(ADA), output=Person).generate("who?")
    assert result.object == Person(name="Ada", age=36)


async def test_the_finish_of_step_and_run_hold_the_object() -> None:
    chunks = await read(agent_of(says(ADA), output=Person).stream("who?"))
    outputs = [chunk.payload.output for chunk in chunks if isinstance(chunk, StepFinishChunk | FinishChunk)]
    assert [output and output.object for output in outputs] == [{"name": "Ada", "age": 36}] * 2


@pytest.mark.parametrize(
    ("output", "answer", "value"),
    [
        (Person, ADA, Person(name="Ada", age=36)),
        (Point, '{"x": 1, "y": 2}', Point(1, 2)),
        (Colour, '{"result": "green"}', Colour.GREEN),
        (Colour, "green", Colour.GREEN),
        (Literal["yes", "no"], '{"result": "no"}', "no"),
        (["yes", "no"], '{"result": "yes"}', "yes"),
        (list[Person], f'{{"elements": [{ADA}]}}', [Person(name="Ada", age=36)]),
        (list[int], "[1, 2]", [1, 2]),
        (int, '{"result": 7}', 7),
        (Person | None, '{"result": null}', None),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, '{"a": 1}', {"a": 1}),
        (StructuredOutput(Person), ADA, Person(name="Ada", age=36)),
    ],
)
async def test_what_an_answer_may_be(output: Any, answer: str, value: object) -> None:
    assert await agent_of(says(answer), output=output).stream("hi").object == value


@pytest.mark.parametrize("output", ["text", len, [], [1, 2]])
def test_what_is_no_type_is_refused_at_once(output: Any) -> None:
    with pytest.raises(ConfigError):
        Agent("a", model=ScriptedModel([]), output=output)
    with pytest.raises(ConfigError):
        agent_of().stream("hi", output=output)


async def test_a_run_may_want_another_type_than_its_agent() -> None:
    agent = agent_of(says('{"x": 1, "y": 2}'), says(ADA), output=Person)
    assert await agent.stream("where?", output=Point).object == Point(1, 2)
    assert await agent.stream("who?").object == Person(name="Ada", age=36)


async def test_without_a_type_json_is_only_text() -> None:
    chunks = await read(agent_of(says(ADA)).stream("who?"))
    assert objects(chunks) == results(chunks) == []


async def test_each_reader_of_the_object_sees_all_of_it() -> None:
    run = agent_of(says('{"name": "A', 'da", "age": 36}'), output=Person).stream("who?")
    first = await read(run.object_stream)
    assert first == [{"name": "A"}, {"name": "Ada", "age": 36}]
    assert await read(run.object_stream) == first


async def test_elements_come_once_each_and_whole() -> None:
    pieces = ['{"elements": [{"name": "A', 'da", "age": 36}', ', {"name": "Bob",', ' "age": 7}', "]}"]
    run = agent_of(says(*pieces), output=list[Person]).stream("who?")
    assert await read(run.element_stream) == [{"name": "Ada", "age": 36}, {"name": "Bob", "age": 7}]
    assert await read(run.element_stream) == await read(run.element_stream)
    assert await run.object == [Person(name="Ada", age=36), Person(name="Bob", age=7)]


async def test_an_element_comes_as_soon_as_the_next_one_begins() -> None:
    parts = text('{"elements": [1, 2', ", 3, 4")
    run = agent_of([*parts[:-1], HANG], output=list[int]).stream("count")
    elements = run.element_stream
    assert [await anext(elements), await anext(elements)] == [1, 2]
    run.cancel()
    assert await read(elements) == []


async def test_a_stream_of_what_was_not_asked_for_says_what_to_ask_for() -> None:
    for run in (agent_of(says("hi")).stream("hi"), agent_of(says("{}"), output=dict[str, int]).stream("hi")):
        with pytest.raises(ConfigError, match=r"element_stream needs an answer that is a list.*output=list"):
            _ = run.element_stream
        await run.text
    run = agent_of(says("hi")).stream("hi")
    with pytest.raises(ConfigError, match=r"object_stream needs a structured answer.*output="):
        _ = run.object_stream
    assert await run.object is None


async def test_a_list_that_may_be_missing_has_elements_too() -> None:
    run = agent_of(says('{"result": [1, 2]}'), output=list[int] | None).stream("count")
    assert await read(run.element_stream) == [1, 2]


class Share(BaseModel):
    """Its JSON is not what it is made of."""

    share: Annotated[float, AfterValidator(lambda percent: percent / 100)]
    price: Annotated[int, BeforeValidator(lambda text: int(text.strip("$")))]
    day: Annotated[date, PlainSerializer(lambda day: day.strftime("%d.%m."))]
    key: SecretStr
    note: str = Field("none", exclude=True)


async def test_the_object_is_the_value_that_was_found_valid() -> None:
    said = '{"share": 50, "price": "$5", "day": "2026-12-01", "key": "s3cret", "note": "mine"}'
    run = agent_of(says(said), output=Share).stream("hi")
    value = await run.object
    assert (value.share, value.price, value.day, value.note) == (0.5, 5, date(2026, 12, 1), "mine")
    assert value.key.get_secret_value() == "s3cret"
    assert run.partial.object is value
    assert results(await read(run)) == [{"share": 0.5, "price": 5, "day": "01.12.", "key": "**********"}]


async def test_what_is_in_the_chunks_is_nobodys_to_change() -> None:
    run = agent_of(says('{"tags": ["a"]}'), output=dict[str, list[str]]).stream("hi")
    value = await run.object
    value["tags"].append("b")
    assert results(await read(run)) == [{"tags": ["a"]}]
    run = agent_of(says('{"tags": ["a"]}'), output={"type": "object"}).stream("hi")
    value = await run.object
    value["tags"].append("b")
    assert results(await read(run)) == [{"tags": ["a"]}]


async def test_reasoning_is_no_part_of_the_object() -> None:
    answer = [*reasoning('maybe {"name": "Eve"}'), *says(ADA)]
    run = agent_of(answer, output=Person).stream("who?")
    chunks = await read(run)
    assert objects(chunks) == [{"name": "Ada", "age": 36}]
    assert (await run.object, await run.reasoning_text) == (Person(name="Ada", age=36), 'maybe {"name": "Eve"}')


# -- what the model is asked


async def test_the_schema_is_sent_with_the_request() -> None:
    model = ScriptedModel([says(ADA)])
    await Agent("a", model=model, output=Person, instructions="Be kind.").generate("who?")
    (request,) = model.requests
    assert request.response_format is not None
    assert request.response_format["required"] == ["name", "age"]
    assert told(request.messages) == "Be kind.\nwho?"


async def test_openai_is_held_to_the_strict_schema() -> None:
    class Named(BaseModel):
        name: str
        title: str | None = None

    model = ScriptedModel([says('{"name": "Ada", "title": null}')], provider="openai")
    run = Agent("a", model=model, output=Named).stream("who?")
    assert await run.object == Named(name="Ada")
    (request,) = model.requests
    assert request.response_format is not None
    assert request.response_format["required"] == ["name", "title"]
    assert request.response_format["additionalProperties"] is False


class Wordy(ScriptedModel):
    """A model that cannot be held to a schema."""

    def takes_schema(self, schema: Mapping[str, Any], /, *, beside_tools: bool) -> bool:
        return False


@pytest.mark.parametrize(
    ("injection", "kind", "sent", "place"),
    [
        ("auto", ScriptedModel, True, None),
        ("auto", Wordy, False, "user"),
        ("system", ScriptedModel, False, "system"),
        (True, ScriptedModel, False, "system"),
        ("inline", ScriptedModel, False, "user"),
        (False, ScriptedModel, True, None),
    ],
)
async def test_the_schema_is_sent_or_told_in_words(
    injection: Any, kind: type[ScriptedModel], sent: bool, place: str | None
) -> None:
    model = kind([says(f"Here it is: ```json\n{ADA}\n```")])
    output = StructuredOutput(Person, prompt_injection=injection)
    run = Agent("a", model=model, output=output, instructions="Be kind.").stream("who?")
    assert await run.object == Person(name="Ada", age=36)
    (request,) = model.requests
    assert (request.response_format is not None) == sent
    system, user = told(request.messages[:1]), told(request.messages[1:])
    assert ('"required"' in system, '"required"' in user) == (place == "system", place == "user")
    assert [message.role for message in request.messages] == ["system", "user"]


async def test_the_words_are_told_once_in_every_step() -> None:
    model = ScriptedModel([calls("look"), says(ADA)])
    output = StructuredOutput(Person, prompt_injection=True)
    await Agent("a", model=model, output=output, tools=[look]).generate("who?")
    assert [told(request.messages).count('"required"') for request in model.requests] == [1, 1]


async def test_the_words_are_no_part_of_the_conversation() -> None:
    output = StructuredOutput(Person, prompt_injection="inline")
    agent = agent_of(says(ADA), output=output, memory=Memory())
    result = await agent.generate("who?", thread_id="t1", resource_id="ada")
    kept = [stored.message for stored in (await agent.store.messages("t1")).items]
    assert told(result.messages) == told(kept) == f"who?\n{ADA}"


async def test_a_step_may_have_another_model() -> None:
    strict = ScriptedModel([says(ADA)], provider="openai")
    agent = Agent("a", model=ScriptedModel([]), output=StructuredOutput({**Person.model_json_schema(), "required": []}))
    await agent.generate("who?", prepare_step=lambda info: StepChanges(model=strict))
    assert strict.requests[0].response_format is not None
    assert strict.requests[0].response_format["required"] == ["name", "age"]


# -- beside tools


async def test_the_last_step_gives_the_object() -> None:
    model = ScriptedModel([[*text("I look"), *calls("look")], says(ADA)])
    run = Agent("a", model=model, output=Person, tools=[look]).stream("who?")
    chunks = await read(run)
    assert results(chunks) == [{"name": "Ada", "age": 36}]
    assert_well_formed(chunks)
    assert await run.object == Person(name="Ada", age=36)
    assert all(request.response_format for request in model.requests)


@pytest.mark.parametrize("said", ["I look", '{"name": 7}', '{"na'])
@pytest.mark.parametrize("reason", ["tool-calls", "stop"])
async def test_a_step_that_calls_tools_is_not_the_last_word(said: str, reason: str) -> None:
    model = ScriptedModel([[*text(said), call("look"), finish(reason)], says(ADA)])
    run = Agent("a", model=model, output=Person, tools=[look]).stream("who?")
    chunks = await read(run)
    assert of(ErrorChunk, chunks) == []
    assert await run.object == Person(name="Ada", age=36)


async def test_the_later_object_counts() -> None:
    other = '{"name": "Bob", "age": 7}'
    model = ScriptedModel([[*text(other), *calls("look")], says(ADA)])
    run = Agent("a", model=model, output=Person, tools=[look]).stream("who?")
    assert len(results(await read(run))) == 2
    assert await run.object == Person(name="Ada", age=36)


async def test_elements_of_a_later_step_come_from_their_beginning() -> None:
    model = ScriptedModel([[*text("[1, 2]"), *calls("look")], says("[3, 4]")])
    run = Agent("a", model=model, output=list[int], tools=[look]).stream("count")
    assert await read(run.element_stream) == [1, 2, 3, 4]
    assert await run.object == [3, 4]


# -- when the answer is none


async def failed(run: Any) -> StructuredOutputError:
    """Read a run that fails for its answer; the error."""
    chunks = await read(run)
    assert_well_formed(chunks)
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]
    (error,) = of(ErrorChunk, chunks)
    finished = of(FinishChunk, chunks)[0].payload.step_result
    assert finished is not None
    assert (finished.reason, run.status) == ("error", "failed")
    with pytest.raises(RunError) as raised:
        await run.object
    assert raised.value.__cause__ is error.payload.error
    assert isinstance(error.payload.error, StructuredOutputError)
    return error.payload.error


@pytest.mark.parametrize(
    "answer", ['{"name": "Ada"}', '{"name": "Ada", "age": "old"}', '{"name": "Ada", "age": 36', "I know not"]
)
async def test_an_answer_that_does_not_fit_fails_the_run(answer: str) -> None:
    run = agent_of(says(answer), output=Person).stream("who?")
    error = await failed(run)
    assert (error.code, error.value) == ("invalid", answer)
    assert run.partial.text == answer


@pytest.mark.parametrize("reason", ["length", "content-filter"])
async def test_an_answer_that_was_cut_off_fails_the_run(reason: str) -> None:
    error = await failed(agent_of(says(ADA, reason=reason), output=Person).stream("who?"))
    assert (error.code, error.finish_reason) == ("truncated", reason)


async def test_an_answer_cut_off_behind_a_call_fails_the_run_too() -> None:
    model = ScriptedModel([[*text('{"name'), call("look"), finish("length")]])
    run = Agent("a", model=model, output=Person, tools=[look]).stream("who?")
    (error,) = of(ErrorChunk, await read(run))
    assert isinstance(error.payload.error, StructuredOutputError)
    assert error.payload.error.code == "truncated"
    assert len(model.requests) == 1


@pytest.mark.parametrize("answer", ['{"name": "Ada"}', "I know not"])
async def test_with_a_warning_the_run_goes_on_without_a_value(answer: str) -> None:
    run = agent_of(says(answer), output=StructuredOutput(Person, error_strategy="warn")).stream("who?")
    chunks = await read(run)
    assert (results(chunks), of(ErrorChunk, chunks)) == ([], [])
    assert (await run.object, await run.text, run.status) == (None, answer, "success")


@pytest.mark.parametrize(("answer", "reason"), [('{"name": "Ada"}', "stop"), ("I know not", "stop"), (ADA, "length")])
async def test_with_a_fallback_the_value_is_the_fallback(answer: str, reason: str) -> None:
    nobody = Person(name="?", age=0)
    output = StructuredOutput(Person, error_strategy="fallback", fallback_value=nobody)
    run = agent_of(says(answer, reason=reason), output=output).stream("who?")
    (result,) = of(ObjectResultChunk, await read(run))
    assert (result.object, result.metadata) == ({"name": "?", "age": 0}, {"fallback": True})
    assert (await run.object, run.status) == (nobody, "success")


async def test_a_fallback_need_not_be_of_the_type() -> None:
    output = StructuredOutput[Any](Person, error_strategy="fallback", fallback_value=None)
    run = agent_of(says("{}"), output=output).stream("who?")
    assert (await run.object, results(await read(run))) == (None, [None])


async def test_a_failure_of_the_model_is_told_and_not_that_there_is_no_object() -> None:
    chunks = await read(agent_of(ModelError("down"), output=Person).stream("who?"))
    assert [str(chunk.payload.error) for chunk in of(ErrorChunk, chunks)] == ["down"]


async def test_a_cancelled_run_has_no_object() -> None:
    run = agent_of([*text('{"name": "Ada", "age": 3')[:-1], HANG], output=Person).stream("who?")
    await read_until(run, "object")
    run.cancel()
    chunks = await read(run)
    assert (results(chunks), types(chunks)[-2:]) == ([], ["abort", "finish"])
    assert await run.object is None


# -- two models


async def test_a_second_model_makes_the_object_of_what_the_first_one_says() -> None:
    first, second = ScriptedModel([says("Ada is 36.")]), ScriptedModel([says('{"name": "Ada", ', '"age": 36}')])
    run = Agent("a", model=first, output=StructuredOutput(Person, model=second)).stream("who?", run_id="r1")
    chunks = await read(run)
    assert types(chunks) == [
        *("start", "step-start", "text-start", "text-delta", "text-end"),
        *("object", "object", "object-result", "step-finish", "finish"),
    ]
    assert_well_formed(chunks)
    made = [chunk for chunk in chunks if isinstance(chunk, ObjectChunk | ObjectResultChunk)]
    assert {(chunk.run_id, str(chunk.metadata)) for chunk in made} == {("r1", "{'from': 'structured-output'}")}
    assert (await run.object, await run.text) == (Person(name="Ada", age=36), "Ada is 36.")
    assert (first.requests[0].response_format, second.requests[0].response_format is None) == (None, False)
    assert "Ada is 36." in told(second.requests[0].messages)


async def test_the_second_model_is_asked_once_when_the_tools_are_done() -> None:
    first = ScriptedModel([[*text("I look"), call("look"), finish("stop")], says("Ada is 36.")])
    second = ScriptedModel([says(ADA)])
    run = Agent("a", model=first, output=StructuredOutput(Person, model=second), tools=[look]).stream("who?")
    assert await run.object == Person(name="Ada", age=36)
    assert (len(first.requests), len(second.requests)) == (2, 1)


async def test_the_second_model_is_told_of_reasoning_and_tools() -> None:
    answer = [*reasoning("hm"), {**call("look"), "providerExecuted": True}, *says("Ada is 36.")]
    second = ScriptedModel([says(ADA)])
    output = StructuredOutput(Person, model=second, instructions="Be exact.", provider_options={"scripted": {"x": 1}})
    run = agent_of(answer, output=output, tools=[look]).stream("who?")
    assert await run.object == Person(name="Ada", age=36)
    (request,) = second.requests
    assert told(request.messages[:1]) == "Be exact."
    assert "# Reasoning\nhm" in told(request.messages)
    assert request.provider_options == {"scripted": {"x": 1}}


@pytest.mark.parametrize("answer", ['{"name": "Ada"}', "I know not"])
async def test_a_second_answer_that_does_not_fit_fails_the_run(answer: str) -> None:
    output = StructuredOutput(Person, model=ScriptedModel([says(answer)]))
    error = await failed(agent_of(says("Ada"), output=output).stream("who?"))
    assert error.code == "invalid"


BROKEN_SECONDS = {
    "a call that fails": ModelError("down"),
    "a fault of the program": ValueError("down"),
    "an error in the stream": [*text("{")[:2], {"type": "error", "error": "down"}],
    "a stream that breaks": [*text("{")[:2], {"type": "$stream_error", "error": ModelError("down")}],
}


@pytest.mark.parametrize("broken", BROKEN_SECONDS.values(), ids=BROKEN_SECONDS)
async def test_a_second_model_that_fails_fails_the_run(broken: Any) -> None:
    run = agent_of(says("Ada"), output=StructuredOutput(Person, model=ScriptedModel([broken]))).stream("who?")
    chunks = await read(run)
    assert types(chunks)[-3:] == ["error", "step-finish", "finish"]
    assert_well_formed(chunks)
    (error,) = of(ErrorChunk, chunks)
    assert "down" in str(error.payload.error)
    assert (run.status, run.partial.text) == ("failed", "Ada")


@pytest.mark.parametrize("broken", BROKEN_SECONDS.values(), ids=BROKEN_SECONDS)
async def test_a_second_model_that_fails_is_dealt_with_as_asked(broken: Any) -> None:
    lenient = StructuredOutput(Person, model=ScriptedModel([broken]), error_strategy="warn")
    run = agent_of(says("Ada"), output=lenient).stream("who?")
    assert (await run.object, run.status) == (None, "success")
    nobody = Person(name="?", age=0)
    output = StructuredOutput(Person, model=ScriptedModel([broken]), error_strategy="fallback", fallback_value=nobody)
    run = agent_of(says("Ada"), output=output).stream("who?")
    assert (await run.object, run.status) == (nobody, "success")


async def test_a_second_model_whose_stream_ends_early_is_truncated() -> None:
    output = StructuredOutput(Person, model=ScriptedModel([text('{"name"')]))
    (error,) = of(ErrorChunk, await read(agent_of(says("Ada"), output=output).stream("who?")))
    assert isinstance(error.payload.error, ModelError)
    assert error.payload.error.code == "truncated"


async def test_a_second_model_is_asked_again_when_that_may_help(naps: list[float]) -> None:
    second = ScriptedModel([OVERLOADED, says(ADA)])
    run = agent_of(says("Ada"), output=StructuredOutput(Person, model=second)).stream("who?")
    assert await run.object == Person(name="Ada", age=36)
    assert (len(second.requests), naps) == (2, [1.0])


async def test_a_second_model_has_the_time_of_a_step(naps: list[float]) -> None:
    output = StructuredOutput(Person, model=ScriptedModel([[HANG]]))
    run = agent_of(says("Ada"), output=output, timeout=Timeout(step=0.01)).stream("who?")
    (error,) = of(ErrorChunk, await read(run))
    assert isinstance(error.payload.error, TimeoutExceeded)


async def test_a_cancellation_reaches_the_second_model() -> None:
    output = StructuredOutput(Person, model=ScriptedModel([[*text('{"name": "A')[:-1], HANG]]))
    run = agent_of(says("Ada"), output=output).stream("who?")
    await read_until(run, "object")
    run.cancel()
    assert types(await read(run))[-2:] == ["abort", "finish"]
    assert await run.text == "Ada"


# -- a run that waits


async def test_a_run_that_waited_gives_its_object() -> None:
    async def ask(ctx: ToolContext[Any]) -> str:
        return str(await ctx.suspend("how old?"))

    agent = agent_of(calls("ask"), says(ADA), tools=[ask], output=Person)
    first = agent.stream("who?", run_id="r1")
    assert (await first.object, first.status) == (None, "suspended")
    run = await agent.resume_stream("36", run_id="r1")
    assert await run.object == Person(name="Ada", age=36)
