"""Runs that wait across processes: suspended in one, resumed in another, on each kind of database.

The processes are `python -m tests.agent.test_resume_elsewhere TASK URL FOLDER`; each ends with a line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from riverrun import Agent, Run, Settings, ToolContext, tool
from riverrun.agent import Memory
from riverrun.chunks import ToolMessage, ToolResultPart
from riverrun.errors import RunNotSuspendedError
from riverrun.models import ScriptedModel
from riverrun.models.parts import Part
from riverrun.store import Store
from tests.agent.scripts import call, finish, says, text
from tests.store import conftest as databases

# fixtures
file_url, lasting_url = databases.file_url, databases.lasting_url
postgres, postgres_url = databases.postgres, databases.postgres_url

ROOT = Path(__file__).resolve().parents[2]
THREAD = {"thread_id": "t", "resource_id": "u"}


# -- the agents, the same in each process

STEP: list[Part] = [
    *text("Let me see. "),
    call("pay", "pay", {"amount": 5}),
    call("note", "note"),
    call("ask", "city", {"question": "city?"}),
    call("ask", "night", {"question": "night?"}),
    finish("tool-calls"),
]
"""Two calls ask side by side, one is to be approved, and one is done at once."""


class Shop:
    """Tools that write what they do into a file, so that all processes know."""

    def __init__(self, folder: Path) -> None:
        self._done = folder / "done"

    def done(self) -> list[str]:
        return self._done.read_text().split() if self._done.exists() else []

    def _do(self, what: str) -> None:
        with self._done.open("a") as file:
            file.write(f"{what}\n")

    async def pay(self, amount: int) -> str:
        self._do("paid")
        return f"paid {amount}"

    async def note(self) -> str:
        self._do("noted")
        return "noted"

    async def ask(self, question: str, ctx: ToolContext) -> str:
        answer = await ctx.suspend({"question": question})
        self._do(f"asked-{question}")
        return f"{question} {answer!r}"

    async def hang(self, ctx: ToolContext) -> str:
        answer = await ctx.suspend("go on?")
        self._do(f"resumed-{answer}")
        if answer == "hang":
            say("hangs")
            await asyncio.Event().wait()
        return str(answer)

    def agent(self, store: Store, *answers: list[Part]) -> Agent:
        tools = [tool(requires_approval=True)(self.pay), self.note, self.ask, self.hang]
        model = ScriptedModel(answers)
        return Agent("clerk", model=model, tools=tools, store=store, memory=Memory(), instructions="Be brief.")

    def outer(self, store: Store, *answers: list[Part], inner: list[list[Part]]) -> Agent:
        clerk = Agent("clerk", model=ScriptedModel(inner), tools=[tool(requires_approval=True)(self.pay)])
        return Agent("boss", model=ScriptedModel(answers), tools=[clerk], store=store)


# -- the children's side


def say(line: str) -> None:
    print(line, flush=True)


async def cue() -> None:
    """Say that all is ready and wait for the test."""
    say("ready")
    await asyncio.to_thread(sys.stdin.readline)


async def told(run: Run) -> dict[str, Any]:
    """What a process says of a run at its end."""
    result = await run.result()
    return {
        "status": result.status,
        "text": result.text,
        "tokens": result.usage.total_tokens,
        "steps": len(result.steps),
        "types": [chunk.type for chunk in run.chunks],
        "results": [chunk.payload.result for chunk in result.tool_results],
        "roles": [message.role for message in result.messages],
    }


async def suspends(store: Store, shop: Shop) -> Any:
    agent = shop.agent(store, STEP)
    return await told(agent.stream("hi", run_id="r", settings=Settings(temperature=0.5), max_steps=7, **THREAD))


async def answers_the_city(store: Store, shop: Shop) -> Any:
    agent = shop.agent(store)
    return await told(await agent.resume_stream(False, run_id="r", tool_call_id="city"))


async def ends(store: Store, shop: Shop) -> Any:
    """Answers what is left, and tells with what the model is asked then."""
    agent = shop.agent(store, says("Done."))
    await (await agent.resume_stream("", run_id="r", tool_call_id="night")).result()
    run = await agent.approve_tool_call(run_id="r", tool_call_id="pay")
    end = await told(run)
    model = agent.models[0]
    assert isinstance(model, ScriptedModel)
    request = model.requests[0]
    last = request.messages[-1]
    assert isinstance(last, ToolMessage)
    outputs = [part.output.value for part in last.content if isinstance(part, ToolResultPart)]
    return {**end, "outputs": outputs, "temperature": request.settings.temperature}


async def declines(store: Store, shop: Shop) -> Any:
    agent = shop.agent(store, says("I see."))
    for answer in ("city", "night"):
        await (await agent.resume_stream(answer, run_id="r", tool_call_id=answer)).result()
    return await told(await agent.decline_tool_call(run_id="r", tool_call_id="pay", reason="too dear"))


async def hangs(store: Store, shop: Shop) -> Any:
    """Holds the run until it is killed."""
    await (await shop.agent(store).resume_stream("hang", run_id="r")).result()


async def races(store: Store, shop: Shop) -> Any:
    agent = shop.agent(store, says("Done."))
    await cue()
    try:
        return await told(await agent.resume_stream("it", run_id="r"))
    except RunNotSuspendedError:
        return "refused"


async def hands_on(store: Store, shop: Shop) -> Any:
    task = [call("agent-clerk", "task", {"prompt": "pay 7"}), finish("tool-calls")]
    inner = [[call("pay", "p", {"amount": 7}), finish("tool-calls")]]
    return await told(shop.outer(store, task, inner=inner).stream("hi", run_id="r"))


async def approves_inside(store: Store, shop: Shop) -> Any:
    agent = shop.outer(store, says("Done."), inner=[says("It is paid.")])
    run = await agent.approve_tool_call(run_id="r", tool_call_id="task")
    return {**await told(run), "nested": (await run.nested_usage).total_tokens}


TASKS: dict[str, Callable[[Store, Shop], Awaitable[Any]]] = {
    task.__name__: task
    for task in (suspends, answers_the_city, ends, declines, hangs, races, hands_on, approves_inside)
}


async def main(task: str, url: str, folder: str) -> None:
    async with await Store.open(url) as store:
        say(json.dumps(await TASKS[task](store, Shop(Path(folder)))))


# -- the test's side


@contextmanager
def child(task: str, url: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process doing a task; it ends with the block."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "tests.agent.test_resume_elsewhere", task, url, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str]) -> str:
    """The next line that a process says."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the child has ended"
    return line.strip()


def outcome_of(task: str, url: str, folder: Path) -> Any:
    """What a process comes to that does a task from beginning to end."""
    with child(task, url, folder) as process:
        outcome = json.loads(heard(process))
        assert process.wait(20) == 0
        return outcome


def test_each_answer_may_come_in_a_process_of_its_own(lasting_url: str, tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    first = outcome_of("suspends", lasting_url, tmp_path)
    assert (first["status"], first["text"]) == ("suspended", "Let me see. ")
    assert first["types"][-3:] == ["tool-call-approval", "tool-call-suspended", "tool-call-suspended"]
    assert shop.done() == ["noted"]

    second = outcome_of("answers_the_city", lasting_url, tmp_path)
    assert (second["status"], second["types"]) == ("suspended", ["tool-call-approval", "tool-call-suspended"])

    third = outcome_of("ends", lasting_url, tmp_path)
    assert shop.done() == ["noted", "asked-city?", "asked-night?", "paid"]
    assert third["types"][:4] == ["tool-result"] * 4
    assert third["outputs"] == third["results"] == ["paid 5", "noted", "city? False", "night? ''"]
    assert (third["status"], third["text"]) == ("success", "Let me see. Done.")
    assert (third["tokens"], third["steps"], third["temperature"]) == (30, 2, 0.5)
    assert third["roles"] == ["user", "assistant", "tool", "assistant"]

    async def left() -> tuple[int, list[str]]:
        async with await Store.open(lasting_url) as store:
            kept = (await store.messages("t")).items
            return (await store.list_snapshots()).total, [item.message.role for item in kept]

    assert asyncio.run(left()) == (0, third["roles"])


def test_a_call_is_declined_in_another_process(lasting_url: str, tmp_path: Path) -> None:
    outcome_of("suspends", lasting_url, tmp_path)
    end = outcome_of("declines", lasting_url, tmp_path)
    assert end["types"][:4] == ["tool-output-denied", *["tool-result"] * 3]
    assert (end["status"], end["text"]) == ("success", "Let me see. I see.")
    assert "paid" not in Shop(tmp_path).done()


def test_what_an_inner_agent_waits_for_is_answered_in_another_process(lasting_url: str, tmp_path: Path) -> None:
    first = outcome_of("hands_on", lasting_url, tmp_path)
    assert (first["status"], first["types"][-1]) == ("suspended", "tool-call-approval")
    end = outcome_of("approves_inside", lasting_url, tmp_path)
    assert (end["status"], end["text"]) == ("success", "Done.")
    assert [result["text"] for result in end["results"]] == ["It is paid."]
    assert (end["tokens"], end["nested"], Shop(tmp_path).done()) == (30, 30, ["paid"])


async def waits(url: str, folder: Path) -> None:
    """A run "r" that waits."""
    async with await Store.open(url) as store:
        agent = Shop(folder).agent(store, [call("hang", "c1"), finish("tool-calls")])
        assert (await agent.generate("hi", run_id="r")).status == "suspended"


def test_of_two_processes_that_resume_at_once_one_wins(lasting_url: str, tmp_path: Path) -> None:
    asyncio.run(waits(lasting_url, tmp_path))
    with child("races", lasting_url, tmp_path) as one, child("races", lasting_url, tmp_path) as other:
        for process in (one, other):
            assert heard(process) == "ready"
        for process in (one, other):
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        outcomes = [json.loads(heard(process)) for process in (one, other)]
    assert outcomes.count("refused") == 1
    winner = next(outcome for outcome in outcomes if outcome != "refused")
    assert (winner["status"], winner["text"], Shop(tmp_path).done()) == ("success", "Done.", ["resumed-it"])


def test_a_run_whose_process_was_killed_is_resumed_when_its_lease_is_over(lasting_url: str, tmp_path: Path) -> None:
    asyncio.run(waits(lasting_url, tmp_path))
    with child("hangs", lasting_url, tmp_path) as process:
        assert heard(process) == "hangs"
        process.kill()
        process.wait(10)

    async def goes_on(later: float) -> str:
        async with await Store.open(lasting_url, clock=lambda: time.time() + later) as store:
            agent = Shop(tmp_path).agent(store, says("Done."))
            return await (await agent.resume_stream("now", run_id="r")).text

    with pytest.raises(RunNotSuspendedError, match="being resumed already"):
        asyncio.run(goes_on(later=0))
    assert asyncio.run(goes_on(later=60)) == "Done."
    assert Shop(tmp_path).done() == ["resumed-hang", "resumed-now"]


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
