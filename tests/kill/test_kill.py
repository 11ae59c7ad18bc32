"""A short form of the kill test, and that it would see a fault."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from riverrun.chunks import (
    AssistantMessage,
    Message,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)
from riverrun.store import PendingCall, Snapshot
from tests.kill.inspection import faults_of
from tests.kill.shop import WISH, Order

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_processes_that_are_killed_lose_nothing_and_do_nothing_twice(
    database: str, request: pytest.FixtureRequest
) -> None:
    if database == "postgres":
        request.getfixturevalue("postgres")
    ended = subprocess.run(
        [sys.executable, "-m", "tests.kill", database, "--rounds", "10"],
        capture_output=True,
        text=True,
        timeout=110,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


# -- what the inspection sees

ASKING, PAYING, DONE = "asking r #1.1", "paying r #1.2", "done r #1.3"
MESSAGES: list[Message] = [
    UserMessage([TextPart("I am r")]),
    AssistantMessage([TextPart(ASKING), ToolCallPart(tool_call_id="call-ask", tool_name="ask", input={"order": "r"})]),
    ToolMessage(
        [ToolResultPart(tool_call_id="call-ask", tool_name="ask", output=ToolOutput("text", f"r wants {WISH}"))]
    ),
    AssistantMessage([TextPart(PAYING), ToolCallPart(tool_call_id="call-pay", tool_name="pay", input={"order": "r"})]),
    ToolMessage([ToolResultPart(tool_call_id="call-pay", tool_name="pay", output=ToolOutput("text", "r is paid"))]),
    AssistantMessage([TextPart(DONE)]),
]


def waits_for(tool_name: str, *said: str) -> Snapshot:
    call = PendingCall(tool_call_id=f"call-{tool_name}", tool_name=tool_name, kind="suspension")
    return Snapshot(run_id="r", agent_id="shop", calls=[call], state={"said": said})


def faults(messages: Sequence[Message], snapshot: Snapshot | None = None, *promised: str) -> list[str]:
    return faults_of(Order("r", "t"), messages, snapshot, promised)


def test_the_four_places_where_an_order_may_stand_are_no_faults() -> None:
    assert faults([]) == []
    assert faults(MESSAGES[:2], waits_for("ask", ASKING), ASKING) == []
    assert faults(MESSAGES[:4], waits_for("pay", ASKING, PAYING), ASKING, PAYING) == []
    assert faults(MESSAGES, None, ASKING, PAYING, DONE) == []


def test_a_message_that_is_lost_or_doubled_is_a_fault() -> None:
    for messages in (MESSAGES[1:], [*MESSAGES, MESSAGES[-1]], MESSAGES[:3], [*MESSAGES[:2], *MESSAGES[:4]]):
        assert "its messages are" in faults(messages)[0]


def test_a_record_without_its_messages_is_a_fault_and_so_are_messages_without_their_record() -> None:
    assert faults([], waits_for("ask", ASKING))[0] == "it waits for ['ask'] with 0 messages"
    assert faults(MESSAGES[:2]) == ["it waits for None with 2 messages"]
    assert faults(MESSAGES[:2], waits_for("pay", ASKING, PAYING))[0] == "it waits for ['pay'] with 2 messages"
    assert faults(MESSAGES, waits_for("pay", ASKING, PAYING))[0] == "it waits for ['pay'] with 6 messages"


def test_a_record_of_one_process_with_the_messages_of_another_is_a_fault() -> None:
    (fault,) = faults(MESSAGES[:2], waits_for("ask", "asking r #2.1"))
    assert fault == "its snapshot is of {'asking r #2.1'}, its messages of ['asking r #1.1']"


def test_an_answer_that_was_kept_for_a_process_and_is_another_now_is_a_fault() -> None:
    (fault,) = faults(MESSAGES, None, "done r #2.9")
    assert fault.startswith("promised and not kept: done r #2.9")
