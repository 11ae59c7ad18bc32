"""Which parts of the scenario vocabulary the runner performs, and how it names those that it does not.

Actions, options, tool operations and streams are known from the tables of what performs them; whoever teaches the
runner a part adds to these tables, adds its other words to PERFORMED, and takes all of them out of LATER.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.conformance.actions import ACTIONS
from tests.conformance.options import LIMITS, MEMORY, SETTINGS, THREAD, TRANSLATED
from tests.conformance.processors import HOOKS, LISTS
from tests.conformance.reading import STREAMS
from tests.conformance.structured import MEMBERS
from tests.conformance.tool_ops import OPS, op_name

PERFORMED: dict[str, frozenset[str]] = {
    "scenario": frozenset({"name", "description", "mastra", "agents", "actions"}),
    "mastra": frozenset({"storage"}),
    "agent": frozenset(
        {"id", "name", "description", "instructions", "model", "models", "modelSpec", "tools", "maxRetries"}
    )
    | {"agents", "memory", "maxProcessorRetries", *LISTS},
    "memory": frozenset(MEMORY),
    "processor": frozenset({"id", *HOOKS}),
    **{f"processor {hook}": words for hook, words in HOOKS.items()},
    "models entry": frozenset({"calls"}),
    "call": frozenset({"parts", "throws", "request", "response", "pace_ms", "ignoreAbort"}),
    "pseudo part": frozenset({"$sleep", "$await_abort", "$stream_error"}),
    "tool": frozenset(
        {"description", "inputSchema", "outputSchema", "client", "id", "execute", "to_model_output"},
    )
    | {"requires_approval", "suspendSchema", "resumeSchema"},
    "tool operation": frozenset(OPS),
    "action": frozenset(ACTIONS),
    "member of an action": frozenset({"op", "agent", "input", "options", "ms", "timeout_ms", "wait_after_ms"})
    | {"hooks", "stop_after", "early", "also_read", "second_reader", "full_output"}
    | {"resumeData", "thread", "resource"},
    "option": frozenset({*TRANSLATED, *LISTS, "structuredOutput", "abort"}),
    "memory option": frozenset(THREAD),
    "structured output": frozenset({*MEMBERS, "schema", "model"}),
    "abort": frozenset({"before", "on_type", "count", "after_ms"}),
    "model setting": frozenset({*SETTINGS, "timeout", "maxRetries"}),
    "time limit": frozenset(LIMITS),
    "change of a step": frozenset({"toolChoice", "activeTools", "messages", "modelSettings", "providerOptions"}),
    "verdict": frozenset({"continue", "feedback"}),
    "stop condition": frozenset({"stepCountIs", "hasToolCall"}),
    "hook": frozenset({"abort", "cancel"}),
    "stream": frozenset(STREAMS),
}

LATER: dict[str, dict[str, str]] = {
    "scenario": {"workflows": "workflows"},
    "mastra": {"backgroundTasks": "background tasks"},
    "agent": {
        "goal": "goals",
        "workflows": "workflows",
        "backgroundTasks": "background tasks",
        "durable": "durable agents",
    },
    "tool": {"background": "background tasks"},
    "tool operation": {"bail": "workflows", "set_state": "workflows"},
    "action": {
        "streamUntilIdle": "background tasks",
        "setObjective": "goals",
        "getObjective": "goals",
        "bg_resume": "background tasks",
        "bg_cancel": "background tasks",
        "bg_list": "background tasks",
        "bg_stream_start": "background tasks",
        "bg_stream_stop": "background tasks",
        "workflow_run": "workflows",
        "workflow_resume": "workflows",
        "workflow_timetravel": "workflows",
    },
    "option": {"untilIdle": "background tasks", "maxIdleMs": "background tasks"},
    "hook": {"cancel_task": "background tasks", "resume_task": "background tasks"},
}


def unsupported(scenario: Mapping[str, Any]) -> list[str]:
    """The parts of the scenario that the runner cannot perform, sorted; empty: it can perform all of it.

    A word that is not in the vocabulary is named with its place, so that nothing is passed over in silence.
    """
    found = (
        LATER.get(place, {}).get(word, f"{place} {word}")
        for place, word in _words(scenario)
        if word not in PERFORMED[place]
    )
    return sorted(set(found))


def _words(scenario: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _all("scenario", scenario)
    mastra = scenario.get("mastra")
    if isinstance(mastra, Mapping):
        yield from _all("mastra", mastra)
    for agent in scenario.get("agents", {}).values():
        yield from _agent_words(agent)
    for action in scenario.get("actions", []):
        yield from _action_words(action)


def _agent_words(agent: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _all("agent", agent)
    yield from _processor_words(agent)
    if isinstance(agent.get("memory"), Mapping):
        yield from _all("memory", agent["memory"])
    yield from _call_words(agent.get("model", []))
    for entry in agent.get("models", []):
        yield from _all("models entry", entry)
        yield from _call_words(entry.get("calls", []))
    for tool in agent.get("tools", {}).values():
        yield from _all("tool", tool)
        yield from (("tool operation", op_name(op)) for op in tool.get("execute", []))


def _call_words(calls: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for call in calls:
        yield from _all("call", call)
        for part in call.get("parts", []):
            if part["type"].startswith("$"):
                yield "pseudo part", part["type"]


def _processor_words(listing: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of the processors that an agent or options list."""
    for processor in (processor for name in LISTS for processor in listing.get(name, [])):
        yield from _all("processor", processor)
        for hook in processor.keys() & HOOKS.keys():
            yield from _all(f"processor {hook}", processor[hook])


def _action_words(action: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "action", action["op"]
    if action["op"] not in PERFORMED["action"]:  # what belongs to an unknown action is as unknown as the action
        return
    yield from _all("member of an action", action)
    yield from _option_words(action.get("options", {}))
    yield from (("hook", hook["do"]) for hook in action.get("hooks", []))
    yield from (("stream", name) for name in action.get("also_read", []))


def _option_words(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _all("option", options)
    yield from _processor_words(options)
    yield from _all("memory option", options.get("memory", {}))
    structured = options.get("structuredOutput", {})
    yield from _all("structured output", structured)
    yield from _call_words(structured.get("model", []))
    yield from _all("abort", options.get("abort", {}))
    yield from _setting_words(options.get("modelSettings", {}))
    stops = options.get("stopWhen", [])
    for stop in [stops] if isinstance(stops, Mapping) else stops:
        yield from _all("stop condition", stop)
    for changes in options.get("prepare_step", {}).values():
        yield from _all("change of a step", changes)
        yield from _setting_words(changes.get("modelSettings", {}))
    for verdict in options.get("iterationComplete", []):
        yield from _all("verdict", verdict)


def _setting_words(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _all("model setting", settings)
    yield from _all("time limit", settings.get("timeout", {}))


def _all(place: str, members: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The words that ask for something: `durable: false` and an empty list ask for nothing."""
    return ((place, word) for word, value in members.items() if value not in (None, False, [], {}))
