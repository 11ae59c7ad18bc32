"""Run scenarios through riverrun's public API and write what happened in the form of the recordings.

    python -m tests.conformance.run --scenarios DIR --out DIR [--only GLOB,GLOB]

Reads DIR/NAME.json, writes OUT/NAME.json. A scenario that asks for something the runner cannot perform yet gets no
actions and a list of these parts under `unsupported`.
"""

from __future__ import annotations

import argparse
import asyncio
import fnmatch
import json
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conformance.actions import longest, perform
from tests.conformance.scenario import build_world
from tests.conformance.values import dump
from tests.conformance.vocabulary import unsupported


class Hung(BaseException):
    """A scenario keeps the event loop busy, so that no timeout of asyncio can reach it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. 0: every scenario was performed or named as unsupported; 1: the runner failed at one of them."""
    parser = argparse.ArgumentParser(description="Run scenarios and write their results.")
    parser.add_argument("--scenarios", type=Path, required=True, help="folder of NAME.json")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results; made when it is missing")
    parser.add_argument("--only", default="*", help="globs of names, separated by commas")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    kinds: Counter[str] = Counter()
    for path in find_scenarios(options.scenarios, options.only.split(",")):
        result = run_file(path)
        (options.out / path.name).write_text(json.dumps(result, ensure_ascii=False, allow_nan=False))
        kinds[_kind(path.stem, result)] += 1
    print(", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "no scenario found")
    return 1 if kinds["failed"] or not kinds else 0


def find_scenarios(folder: Path, globs: Sequence[str]) -> list[Path]:
    """The scenario files of a folder whose names match a glob, by name."""
    return [
        path for path in sorted(folder.glob("*.json")) if any(fnmatch.fnmatchcase(path.stem, glob) for glob in globs)
    ]


def _kind(name: str, result: Mapping[str, Any]) -> str:
    if "runnerError" in result:
        print(f"{name}: {result['runnerError']['$error']['message']}", file=sys.stderr)
        return "failed"
    return "unsupported" if "unsupported" in result else "performed"


def run_file(path: Path) -> dict[str, Any]:
    """Run one scenario file in an event loop of its own. Never raises: a failure is in the result."""
    result: dict[str, Any] = {"name": path.stem, "actions": [], "modelCalls": [], "toolExecutions": []}
    try:
        scenario = json.loads(path.read_text())
        with watchdog(sum(longest(action) for action in scenario.get("actions", [])) + 1):
            result.update(asyncio.run(run_scenario(scenario)))
    except (Exception, Hung) as error:
        traceback.print_exc()
        result["runnerError"] = dump_failure(error)
    return result


def dump_failure(error: BaseException) -> dict[str, Any]:
    """Name and message of an error that the runner did not expect."""
    return {"$error": {"name": type(error).__name__, "message": str(error)}}


async def run_scenario(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Perform a scenario's actions in order; give its result."""
    name = scenario["name"]
    missing = unsupported(scenario)
    if missing:
        return {"name": name, "actions": [], "modelCalls": [], "toolExecutions": [], "unsupported": missing}
    async with build_world(scenario) as world:
        actions = [await perform(world, action) for action in scenario["actions"]]
    result: dict[str, Any] = {
        "name": name,
        "actions": actions,
        "modelCalls": dump(world.model_calls),
        "toolExecutions": dump(world.tool_executions),
    }
    left = await _tasks_left()
    if left:
        result["tasksLeft"] = left
    return result


async def _tasks_left() -> list[str]:
    """Tasks that are still there after a few turns of the loop."""
    for _ in range(10):
        await asyncio.sleep(0)
    return [repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()]


@contextmanager
def watchdog(seconds: float) -> Iterator[None]:
    """Raise Hung when the block takes longer, even in a loop that never awaits. Works in the main thread, where there
    are signals; elsewhere it does nothing. A timer that was set before goes on afterwards.
    """

    def bark(*_: object) -> None:
        raise Hung(f"still busy after {seconds:g} s")

    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return
    started = time.monotonic()
    before = signal.signal(signal.SIGALRM, bark)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, left - (time.monotonic() - started)), interval)


if __name__ == "__main__":
    sys.exit(main())
