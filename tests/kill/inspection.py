"""What has to hold when all processes are dead: each order stands at one of four places, and there wholly."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from riverrun.chunks import AssistantMessage, Message, TextPart, ToolCallPart, ToolMessage, ToolResultPart, UserMessage
from riverrun.store import Snapshot, Store
from tests.kill.shop import TOOLS, WISH, Order


@dataclass(frozen=True, slots=True)
class Findings:
    """`is_over`: all orders are done."""

    faults: Sequence[str]
    is_over: bool


def inspected(url: str, orders: Sequence[Order], reports: Sequence[str]) -> Findings:
    """How the orders stand. `reports` are answers that processes know to be kept."""
    return asyncio.run(_inspected(url, orders, reports))


async def _inspected(url: str, orders: Sequence[Order], reports: Sequence[str]) -> Findings:
    faults: list[str] = []
    done = 0
    async with await Store.open(url) as store:
        for order in orders:
            page = await store.messages(order.thread_id, limit=1000)
            own = [stored.message for stored in page.items if _is_of(order, stored.message)]
            snapshot = await store.get_snapshot(order.run_id)
            promised = [report for report in reports if f" {order.run_id} " in report]
            faults += [f"{order.run_id}: {fault}" for fault in faults_of(order, own, snapshot, promised)]
            done += len(own) == len(_WHOLE)
    return Findings(faults, is_over=done == len(orders))


def faults_of(order: Order, own: Sequence[Message], snapshot: Snapshot | None, promised: Sequence[str]) -> list[str]:
    """What is wrong with an order: its messages, its snapshot and what was promised of it do not fit together."""
    found: list[str] = []
    if _shape(own) != _WHOLE[: len(own)] or len(own) % 2:
        found.append(f"its messages are {_shape(own)}")
    waits_for = None if snapshot is None else [call.tool_name for call in snapshot.calls]
    if waits_for != _WAITS.get(len(own)):
        found.append(f"it waits for {waits_for} with {len(own)} messages")
    said = [part.text for message in own for part in message.content if isinstance(part, TextPart)]  # type: ignore[union-attr]
    found += [f"promised and not kept: {report}; kept: {said}" for report in promised if report not in said]
    if snapshot is not None:
        state = msgspec.json.encode(snapshot.state).decode()
        known = set(re.findall(rf"\w+ {order.run_id} #[\d.]+", state))
        if known != set(said[1:]):
            found.append(f"its snapshot is of {known}, its messages of {said[1:]}")
    return found


_WHOLE = ["asked", "ask", "two of them", "pay", "paid", "done"]
"""The messages of an order, in short."""
_WAITS = {2: [TOOLS[0]], 4: [TOOLS[1]]}
"""What an order with so many messages waits for."""


def _is_of(order: Order, message: Message) -> bool:
    return bool(re.search(rf"\b{re.escape(order.run_id)}\b", repr(message)))


def _shape(messages: Sequence[Message]) -> list[str]:
    return [_short(message) for message in messages]


def _short(message: Message) -> str:
    match message:
        case UserMessage():
            return "asked"
        case AssistantMessage(content=[TextPart(), ToolCallPart(tool_name=name)]):
            return name
        case AssistantMessage(content=[TextPart(text)]) if text.startswith("done "):
            return "done"
        case ToolMessage(content=[ToolResultPart(tool_name="ask", output=output)]) if WISH in repr(output):
            return WISH
        case ToolMessage(content=[ToolResultPart(tool_name="pay", output=output)]) if "is paid" in repr(output):
            return "paid"
        case _:
            return repr(message)
