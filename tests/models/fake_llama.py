"""Stands for the worker process: speaks its protocol, and plays what a request's body tells in "script".

A script is a list of events; instead of one may stand "wait" (until the request is stopped), "die", or {"raise": text}.
Run with weights whose name has "broken" in it, it fails to load; with "slow", it loads until its stdin ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

_writing = threading.Lock()


def say(message: dict[str, Any]) -> None:
    with _writing:
        print(json.dumps(message), flush=True)


def play(number: int, script: list[Any], stopped: threading.Event) -> None:
    error: str | None = None
    for event in script:
        if event == "wait":
            stopped.wait()
            break
        if event == "die":
            print("GGML_ASSERT failed", file=sys.stderr, flush=True)
            os._exit(3)
        if "raise" in event:
            error = event["raise"]
            break
        say({"id": number, "event": event})
    say({"id": number, "end": error})


def main() -> None:
    path = json.loads(sys.stdin.readline())["path"]
    if "broken" in path:
        say({"failed": "Failed to init server"})
        return
    if "slow" not in path:
        say({"ready": True})
    stopped: dict[int, threading.Event] = {}
    for line in sys.stdin:
        order = json.loads(line)
        if "stop" in order:
            stopped[order["stop"]].set()
            continue
        event = stopped[order["ask"]] = threading.Event()
        script = order["body"]["script"]
        if script == "stops":
            script = [{"stopped": [number for number, one in stopped.items() if one.is_set()]}]
        threading.Thread(target=play, args=(order["ask"], script, event), daemon=True).start()
    os._exit(0)


if __name__ == "__main__":
    main()
