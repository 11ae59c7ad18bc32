"""An agent's configuration, and the options of a run that are laid over it."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun import Agent, ConfigError, Memory, Settings, Source, Timeout, client_tool, step_count_is, tool
from riverrun.agent import RunOptions
from riverrun.chunks import SystemMessage
from riverrun.models import ScriptedModel
from riverrun.store import InMemoryStore
from tests.agent.scripts import agent_of, calls, read, says


async def look() -> str:
    return "seen"


def one_answer() -> ScriptedModel:
    return ScriptedModel([says("a")])


# -- making one


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": ""}, "name is a text of 1 to 255 characters, not ''"),
        ({"name": "a\0b"}, "name has neither NUL"),
        ({"model": []}, "needs at least one model"),
        ({"model": "gpt-5"}, "unknown model 'gpt-5'"),
        ({"model": None}, "a model is a name or has stream, model_id and provider"),
        ({"model": ["openai-chat"]}, "unknown model 'openai-chat'"),
        ({"tools": [look, look]}, "two tools are named 'look'"),
        ({"tools": [look, client_tool("look")]}, "two tools are named 'look'"),
    ],
)
def test_an_agent_that_cannot_work_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Agent(**{"name": "a", "model": one_answer(), **options})


@pytest.mark.parametrize("store", ["postgresql://ada:secret@host/db", 5, InMemoryStore])
def test_what_is_no_store_is_refused_and_a_url_is_not_shown(store: Any) -> None:
    with pytest.raises(ConfigError, match=r"await Store\.open\(url\), or .* App\(agents, store=url\)") as caught:
        Agent("a", model=one_answer(), store=store)
    assert f"not {type(store).__name__}:" in str(caught.value)
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigError, match="a store is"):
        Agent("a", model=one_answer()).use_store(store)


def test_an_agent_is_a_source_of_chunks() -> None:
    assert isinstance(Agent("a", model=one_answer()), Source)


def test_an_agent_shows_its_name() -> None:
    assert repr(Agent("weather", model=one_answer())) == "<Agent weather>"


async def test_none_is_as_good_as_left_out() -> None:
    model = one_answer()
    agent = Agent(
        "a",
        model=model,
        instructions=None,
        tools=None,
        max_steps=None,
        stop_when=None,
        settings=None,
        provider_options=None,
        timeout=None,
    )
    assert (await agent.generate("hi")).text == "a"
    (request,) = model.requests
    assert (request.settings, request.provider_options, request.tools) == (Settings(), {}, [])


async def test_an_agent_may_be_used_any_number_of_times() -> None:
    agent = agent_of(says("a"), says("b"))
    assert [(await agent.generate("hi")).text for _ in range(2)] == ["a", "b"]


# -- the options of a run


@pytest.mark.parametrize("name", sorted(RunOptions.__annotations__))
async def test_an_option_that_is_none_is_as_good_as_left_out(name: str) -> None:
    model = one_answer()
    agent = Agent("a", model=model, instructions="Be brief.", tools=[look], settings=Settings(top_p=0.5), max_steps=3)
    options: Any = {name: None}
    assert (await agent.generate("hi", **options)).text == "a"
    (request,) = model.requests
    assert request.messages[0] == SystemMessage("Be brief.")
    assert (request.settings.top_p, request.tool_choice, len(request.tools)) == (0.5, "auto", 1)


async def test_max_steps_of_none_leave_the_agents() -> None:
    model = ScriptedModel([calls("look") for _ in range(9)])
    await Agent("a", model=model, tools=[look], max_steps=2).generate("hi", max_steps=None)
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temprature": 1}, "a run has no option temprature; see riverrun.agent.RunOptions"),
        ({"b": None, "a": None}, "a run has no option a, b"),
        ({"max_steps": 0}, "max_steps is a whole number from 1 on, not 0"),
        ({"tool_concurrency": 0}, "tool_concurrency is a whole number from 1 on, not 0"),
        ({"max_retries": -1}, "max_retries is a whole number from 0 on, not -1"),
        ({"max_processor_retries": "x"}, "max_processor_retries is a whole number from 0 on, not 'x'"),
        ({"active_tools": ["look", "nope"]}, "active_tools names no tool of the run: nope"),
        ({"tools": [look, look]}, "two tools are named 'look'"),
        ({"context": 5}, "an input is a text"),
    ],
)
def test_an_option_that_cannot_work_is_refused_at_once(options: Any, message: str) -> None:
    model = one_answer()
    with pytest.raises(ConfigError, match=message):
        Agent("a", model=model, tools=[look]).stream("hi", **options)


@pytest.mark.parametrize("name", ["run_id", "thread_id", "resource_id"])
@pytest.mark.parametrize("id", [42, "", "x" * 256, "a\0b", "a\ud800b"])
def test_an_id_that_no_store_takes_is_refused_before_the_model_is_asked(name: str, id: Any) -> None:
    model = one_answer()
    options: Any = {"run_id": "r", "thread_id": "t", "resource_id": "ada", name: id}
    with pytest.raises(ConfigError, match=f"^{name} (is a text of 1 to 255 characters|has neither NUL nor lone)"):
        Agent("a", model=model, memory=Memory()).stream("hi", **options)
    assert model.requests == []


@pytest.mark.parametrize("id", ["x" * 256, "a\0b"])
def test_a_message_with_such_an_id_is_refused_in_a_thread(id: str) -> None:
    agent = Agent("a", model=one_answer(), memory=Memory())
    with pytest.raises(ConfigError, match=r"^the id of a message (is|has)"):
        agent.stream([{"id": id, "role": "user", "content": "hi"}], thread_id="t")


async def test_the_id_of_a_message_is_anything_where_nothing_is_kept() -> None:
    agent = Agent("a", model=one_answer())
    assert (await agent.generate([{"id": "x" * 256, "role": "user", "content": "hi"}])).text == "a"


async def test_generate_refuses_what_stream_refuses() -> None:
    with pytest.raises(ConfigError, match="max_steps"):
        await Agent("a", model=one_answer()).generate("hi", max_steps=0)


@pytest.mark.parametrize(
    "options",
    [{"max_retries": -1}, {"tool_concurrency": 0}, {"max_steps": 0}, {"max_processor_retries": "x"}],
)
def test_an_agent_whose_limits_cannot_work_is_refused(options: Any) -> None:
    with pytest.raises(ConfigError, match="is a whole number from"):
        Agent("a", model=one_answer(), **options)


@pytest.mark.parametrize("lease", [0, -1, "x", True, float("nan"), 86_401])
def test_a_lease_that_no_store_takes_is_refused(lease: Any) -> None:
    with pytest.raises(ConfigError, match="a lease lasts up to 86400 seconds"):
        Agent("a", model=one_answer(), lease=lease)


async def test_settings_of_a_run_are_laid_over_the_agents() -> None:
    model = one_answer()
    agent = Agent("a", model=model, settings=Settings(temperature=0.1, seed=7))
    await agent.generate("hi", settings=Settings(temperature=0.9, max_output_tokens=50))
    assert model.requests[0].settings == Settings(temperature=0.9, seed=7, max_output_tokens=50)


async def test_a_setting_of_zero_is_a_setting() -> None:
    model = one_answer()
    await Agent("a", model=model, settings=Settings(temperature=0.5)).generate("hi", settings=Settings(temperature=0))
    assert model.requests[0].settings.temperature == 0


async def test_provider_options_of_a_run_are_laid_over_the_agents() -> None:
    model = one_answer()
    agent = Agent("a", model=model, provider_options={"p": {"x": 1, "y": 1}, "q": {"z": 1}})
    await agent.generate("hi", provider_options={"p": {"y": 2}, "r": {"w": 2}})
    assert model.requests[0].provider_options == {"p": {"x": 1, "y": 2}, "q": {"z": 1}, "r": {"w": 2}}


async def test_instructions_of_a_run_take_the_place_of_the_agents() -> None:
    model = ScriptedModel([says("a"), says("b"), says("c")])
    agent = Agent("a", model=model, instructions="Be brief.")
    for instructions in ("Be long.", ["One.", "Two."], []):
        await agent.generate("hi", instructions=instructions)
    assert [request.messages[:-1] for request in model.requests] == [
        [SystemMessage("Be long.")],
        [SystemMessage("One."), SystemMessage("Two.")],
        [],
    ]


async def test_raw_chunks_are_given_when_asked_for() -> None:
    raw = {"type": "raw", "rawValue": {"native": 1}}
    agent = agent_of([raw, *says("a")], [raw, *says("a")])
    with_raw = await read(agent.stream("hi", include_raw=True))
    without = await read(agent.stream("hi"))
    assert [chunk.payload for chunk in with_raw if chunk.type == "raw"] == [{"native": 1}]  # type: ignore[union-attr]
    assert all(chunk.type != "raw" for chunk in without)


async def test_a_run_does_not_change_its_agent() -> None:
    agent = Agent("a", model=ScriptedModel([says("a"), says("b")]), tools=[look], timeout=Timeout(step=5))
    before = {name: getattr(agent, name) for name in vars(agent)}

    async def other() -> str:
        return "x"

    await agent.generate("hi", tools=[tool(other)], timeout=Timeout(step=9), max_retries=0, stop_when=step_count_is(1))
    assert {name: getattr(agent, name) for name in vars(agent)} == before
    assert list(agent.tools) == ["look"]


async def test_the_request_names_the_run() -> None:
    model = one_answer()
    run = Agent("a", model=model).stream("hi")
    await run.result()
    assert model.requests[0].run_id == run.run_id
