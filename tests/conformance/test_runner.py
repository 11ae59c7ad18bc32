"""The runner: small scenarios of its own, and the recorded ones at level 2."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from riverrun import ModelRequest
from riverrun.chunks import TextDeltaChunk
from tests.conformance.models import RecordingModel
from tests.conformance.run import Hung, main, run_file, watchdog
from tests.conformance.small import agent, calls, perform, scenario, text, tool, types

GROUPS = {"text", "reasoning", "tool", "usage", "finish", "error", "abort", "input", "raw", "sources", "files", "empty"}
GROUPS |= {"no", "unknown", "v7", "two", "early", "reader", "client", "timeout", "prepare", "response", "script"}
GROUPS |= {"generate", "iteration", "tripwire", "output", "object", "approval", "suspend", "resume", "subagent"}
GROUPS |= {"memory", "task"}
DECIDED = {
    "input_processor_raises": "stream() gives the run at once, so what its preparation raises is an error chunk in it",
    "tripwire_output_result": "a tripwire is a `tripwire` chunk in every hook, as the reference page has it",
    "tripwire_output_step": "the same",
}
"""Scenarios in which riverrun does something else on purpose; tests/agent/test_steering_deviations.py tells what."""


# -- results


async def test_a_stream_is_recorded_with_its_chunks_and_what_it_came_to() -> None:
    result = await perform(agent(text("He", "llo")), {"options": {"runId": "r1"}, "full_output": True})
    record = result["actions"][0]
    assert (record["op"], record["runId"], record["endedBy"]) == ("stream", "r1", "close")
    assert types(record) == [
        "start",
        "step-start",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "step-finish",
        "finish",
    ]
    final = record["final"]
    assert final["text"] == {"value": "Hello"}
    assert final["object"] == {}
    assert (final["status"], final["stepsCount"], final["finishReason"]) == ("success", 1, {"value": "stop"})
    assert final["fullOutput"]["value"]["text"] == "Hello"


async def test_what_the_model_was_asked_is_recorded() -> None:
    options = {"toolChoice": {"type": "tool", "toolName": "t"}, "modelSettings": {"temperature": 0.5}}
    spec = agent(text("x"), instructions="Be brief.", tools={"t": tool({"returns": 1})})
    (call,) = (await perform(spec, {"options": options}))["modelCalls"]
    assert (call["model"], call["call"], call["temperature"]) == ("main", 0, 0.5)
    assert call["prompt"][0] == {"role": "system", "content": "Be brief."}
    assert call["prompt"][1]["content"] == [{"type": "text", "text": "Hi"}]
    assert [spec["name"] for spec in call["tools"]] == ["t"]
    assert call["toolChoice"] == {"type": "tool", "toolName": "t"}


async def test_tools_run_on_their_input_and_are_recorded() -> None:
    double = tool({"writes": "now"}, {"returns": {"sum": {"$add": [{"$input": "n"}, {"$input": "n"}]}}})
    result = await perform(agent(calls("double"), text("done"), tools={"double": double}))
    record = result["actions"][0]
    assert [chunk["payload"]["output"] for chunk in record["chunks"] if chunk["type"] == "tool-output"] == ["now"]
    assert record["final"]["toolResults"]["value"][0]["payload"]["result"] == {"sum": 4}
    assert result["toolExecutions"] == [{"tool": "double", "input": {"n": 2}, "toolCallId": "call-0"}]


async def test_a_tool_that_raises_first_works_when_it_is_called_again() -> None:
    flaky = tool({"raises_first": 1, "message": "flaky"}, {"returns": "ok"})
    record = (await perform(agent(calls("t"), calls("t"), text("x"), tools={"t": flaky})))["actions"][0]
    assert [kind for kind in types(record) if kind in ("tool-error", "tool-result")] == ["tool-error", "tool-result"]


async def test_a_tool_emits_chunks_of_its_own_with_members_of_any_name() -> None:
    emitting = tool({"custom": {"type": "data-a", "data": 1}}, {"custom": {"type": "data-b", "foo": 2}}, {"returns": 0})
    record = (await perform(agent(calls("t"), text("x"), tools={"t": emitting})))["actions"][0]
    chunks = {chunk["type"]: chunk for chunk in record["chunks"]}
    assert chunks["data-a"]["data"] == 1
    assert chunks["data-b"]["foo"] == 2


async def test_a_failed_run_gives_partial_values_and_rejects_its_object() -> None:
    failure: dict[str, Any] = {"type": "$stream_error", "error": {"message": "hang up"}}
    broken = [*text("par")[:2], failure]
    final = (await perform(agent(broken)))["actions"][0]["final"]
    assert (final["text"], final["status"]) == ({"value": "par"}, "failed")
    assert final["object"] == {"rejected": {"$error": {"name": "Error", "message": "hang up"}}}
    assert final["error"]["value"]["$error"]["message"] == "hang up"


async def test_a_script_that_is_used_up_fails_the_call() -> None:
    spec = agent(calls("t"), tools={"t": tool({"returns": 1})}, maxRetries=0)
    final = (await perform(spec))["actions"][0]["final"]
    assert final["error"]["value"]["$error"]["message"] == "script exhausted: model main call 1"


async def test_each_of_several_models_is_asked_once() -> None:
    spec = {"models": [{"calls": [{"throws": "down"}]}, {"calls": [{"parts": text("second")}]}]}
    result = await perform(spec)
    assert result["actions"][0]["final"]["text"] == {"value": "second"}
    assert [call["model"] for call in result["modelCalls"]] == ["main-0", "main-1"]


# -- reading


async def test_a_reader_that_stops_leaves_the_run_to_go_on() -> None:
    spec = agent(calls("t"), text("done"), tools={"t": tool({"returns": 1})})
    record = (await perform(spec, {"stop_after": {"type": "tool-call"}, "wait_after_ms": 1}))["actions"][0]
    assert (record["endedBy"], types(record)[-1]) == ("reader-cancel", "tool-call")
    assert record["final"]["text"] == {"value": "done"}


async def test_other_readers_and_early_promises_get_everything() -> None:
    action = {"early": ["text", "reasoning"], "also_read": ["textStream"], "second_reader": True}
    record = (await perform(agent(text("a", "b")), action))["actions"][0]
    assert record["final"]["early"] == {"text": {"value": "ab"}, "reasoning": {"value": []}}
    assert record["final"]["textStream"] == {"value": ["a", "b"]}
    assert record["secondReader"] == {"endedBy": "close", "types": types(record)}


async def test_early_promises_of_a_failed_run_are_rejected() -> None:
    spec = agent({"throws": {"message": "no", "name": "ApiError", "isRetryable": False}})
    record = (await perform(spec, {"early": ["text", "steps"]}))["actions"][0]
    for settled in record["final"]["early"].values():
        assert settled["rejected"]["$error"]["name"] == "ApiError"


async def test_a_run_that_hangs_ends_by_timeout_and_the_next_action_is_performed() -> None:
    spec = agent([{"type": "text-start", "id": "t"}, {"type": "$await_abort"}], text("next"))
    hung, after = (await perform(spec, {"timeout_ms": 20}, {}))["actions"]
    assert (hung["endedBy"], hung["final"]["status"]) == ("timeout", "canceled")
    assert after["final"]["text"] == {"value": "next"}


# -- abort


async def test_an_abort_before_the_start_asks_no_model() -> None:
    result = await perform(agent(text("x")), {"options": {"abort": {"before": True}}})
    assert types(result["actions"][0]) == ["start", "abort", "finish"]
    assert result["modelCalls"] == []


@pytest.mark.parametrize("abort", [{"on_type": "text-delta", "count": 2}, {"after_ms": 20}])
async def test_an_abort_in_the_middle_ends_the_run(abort: dict[str, Any]) -> None:
    parts = [*text("one", "two")[:3], {"type": "$await_abort"}, *text("three")[1:]]
    record = (await perform(agent(parts), {"options": {"abort": abort}}))["actions"][0]
    assert types(record)[-3:] == ["text-delta", "abort", "finish"]
    assert record["final"]["text"] == {"value": "onetwo"}


async def test_a_hook_can_abort_too() -> None:
    parts = [{"type": "text-start", "id": "t"}, {"type": "$await_abort"}]
    action = {"hooks": [{"on_type": "text-start", "do": "abort"}]}
    assert types((await perform(agent(parts), action))["actions"][0])[-2:] == ["abort", "finish"]


async def test_a_tool_that_waits_for_the_abort_gives_its_result() -> None:
    waiting = tool({"writes": "on"}, {"wait_abort_then_return": "partial"})
    action = {"options": {"abort": {"on_type": "tool-output"}}}
    record = (await perform(agent(calls("t"), tools={"t": waiting}), action))["actions"][0]
    assert types(record)[-3:] == ["tool-result", "abort", "finish"]


async def test_a_model_that_ignores_the_abort_goes_on() -> None:
    """The scripted model itself: what the run makes of it is the run's affair."""
    spec = {"parts": [*text("one")[:2], {"type": "$await_abort"}, *text("two")[1:]], "ignoreAbort": True}
    model = RecordingModel("main", [spec], [])
    heard: list[str] = []

    async def read() -> None:
        async for chunk in model.stream(ModelRequest(messages=[], run_id="r")):
            heard.extend([chunk.payload.text] if isinstance(chunk, TextDeltaChunk) else [])

    reading = asyncio.create_task(read())
    await asyncio.sleep(0.01)
    assert heard == ["one"]
    reading.cancel()
    await reading
    assert heard == ["one", "two"]


# -- options


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"maxSteps": 1}, 1),
        ({"stopWhen": {"stepCountIs": 2}}, 2),
        ({"stopWhen": [{"hasToolCall": "t"}]}, 1),
        ({"iterationComplete": [{}, {"continue": False}]}, 2),
        ({}, 3),
    ],
)
async def test_options_bound_the_steps(options: dict[str, Any], asked: int) -> None:
    spec = agent(calls("t"), calls("t"), text("x"), tools={"t": tool({"returns": 1})})
    assert len((await perform(spec, {"options": options}))["modelCalls"]) == asked


async def test_a_prepared_step_differs_from_the_others() -> None:
    spec = agent(calls("t"), text("x"), tools={"t": tool({"returns": 1})})
    changes = {"1": {"toolChoice": "none", "activeTools": []}}
    first, second = (await perform(spec, {"options": {"prepare_step": changes}}))["modelCalls"]
    assert (len(first["tools"]), first["toolChoice"]) == (1, {"type": "auto"})
    assert ("tools" in second, second["toolChoice"]) == (False, {"type": "none"})


async def test_messages_around_the_input_are_put_before_the_model() -> None:
    options = {"context": [{"role": "user", "content": "c"}], "system": "s", "instructions": "i"}
    (call,) = (await perform(agent(text("x"), instructions="old"), {"options": options}))["modelCalls"]
    said = [m["content"] if isinstance(m["content"], str) else m["content"][0]["text"] for m in call["prompt"]]
    assert said == ["i", "s", "c", "Hi"]


async def test_a_client_tool_ends_the_run_with_its_call() -> None:
    options = {"clientTools": {"ui": {"description": "d", "inputSchema": {"type": "object"}}}}
    record = (await perform(agent(calls("ui"), text("never")), {"options": options}))["actions"][0]
    assert types(record)[-3:] == ["tool-call", "step-finish", "finish"]


async def test_a_time_limit_fails_the_run() -> None:
    options = {"modelSettings": {"timeout": {"stepMs": 10}, "maxRetries": 0}}
    spec = agent([{"type": "$sleep", "ms": 1000}, *text("late")])
    assert (await perform(spec, {"options": options}))["actions"][0]["final"]["status"] == "failed"


# -- generate, sleep


async def test_generate_gives_the_whole_result() -> None:
    record = (
        await perform(agent(text("Hi")), {"op": "generate", "options": {"runId": "g"}}, {"op": "sleep", "ms": 1})
    )["actions"][0]
    assert (record["op"], record["runId"], record["chunks"]) == ("generate", "g", [])
    assert record["final"]["fullOutput"]["value"]["text"] == "Hi"


async def test_generate_throws_what_made_it_fail() -> None:
    spec = agent({"throws": "down"}, maxRetries=0)
    record = (await perform(spec, {"op": "generate"}))["actions"][0]
    assert record["threw"]["$error"]["message"] == "down"


async def test_generate_that_hangs_ends_by_timeout() -> None:
    record = (await perform(agent([{"type": "$await_abort"}]), {"op": "generate", "timeout_ms": 20}))["actions"][0]
    assert record["endedBy"] == "timeout"


async def test_an_action_that_riverrun_refuses_says_what_it_threw() -> None:
    record = (await perform(agent(text("x")), {"options": {"maxSteps": -1}}))["actions"][0]
    assert record["threw"]["$error"]["name"] == "ConfigError"


# -- files


def write(folder: Path, name: str, content: dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({**content, "name": name}))


def test_the_command_writes_a_result_for_each_scenario(tmp_path: Path) -> None:
    write(tmp_path / "in", "text_a", scenario(agent(text("a"))))
    write(tmp_path / "in", "text_b", scenario(agent(text("b"), durable=True)))
    write(tmp_path / "in", "tool_c", scenario(agent(text("c"))))
    assert main(["--scenarios", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--only", "text_*,x"]) == 0
    written = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "out").iterdir()}
    assert written.keys() == {"text_a", "text_b"}
    assert written["text_a"]["actions"][0]["final"]["text"] == {"value": "a"}
    assert (written["text_b"]["actions"], written["text_b"]["unsupported"]) == ([], ["durable agents"])


def test_a_scenario_that_breaks_the_runner_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "in", "a", scenario(agent(text("a")), {"agent": "nobody"}))
    write(tmp_path / "in", "b", scenario(agent(text("b"))))
    assert main(["--scenarios", str(tmp_path / "in"), "--out", str(tmp_path / "out")]) == 1
    assert "KeyError" in json.dumps(json.loads((tmp_path / "out" / "a.json").read_text())["runnerError"])
    assert json.loads((tmp_path / "out" / "b.json").read_text())["actions"][0]["endedBy"] == "close"
    assert "nobody" in capsys.readouterr().err


def test_no_scenario_at_all_is_a_failure(tmp_path: Path) -> None:
    assert main(["--scenarios", str(tmp_path), "--out", str(tmp_path / "out")]) == 1


def test_the_watchdog_ends_what_never_awaits() -> None:
    def spin() -> None:
        with watchdog(0.02):
            while True:
                pass

    with pytest.raises(Hung, match="still busy"):
        spin()


# -- the recorded system


def test_the_recorded_scenarios_agree_at_level_2(shared: Path, tmp_path: Path) -> None:
    """All scenarios of these groups that need no part for later, but for the deviations we chose."""
    oracle = shared / "oracle"
    performed: list[str] = []
    for path in sorted((oracle / "scenarios").glob("*.json")):
        if path.stem.split("_")[0] not in GROUPS or path.stem in DECIDED:
            continue
        result = run_file(path)
        assert "runnerError" not in result, path.stem
        assert "tasksLeft" not in result, path.stem
        if "unsupported" not in result:
            performed.append(path.stem)
            (tmp_path / path.name).write_text(json.dumps(result))
    assert performed
    options = ["--deviations", str(oracle / "deviations.json"), "--level", "2", "--only", ",".join(performed)]
    compared = subprocess.run(
        [sys.executable, oracle / "compare.py", oracle / "golden", tmp_path, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert compared.returncode == 0, compared.stdout + compared.stderr
