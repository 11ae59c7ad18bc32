"""Tool results as plain facts, for a model that is to answer in words now.

A small model that sees JSON calls goes on writing JSON. So where it may call nothing, the calls and results of a turn
become lines below the user's question, and two examples show what to do with such lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import msgspec

Message: TypeAlias = dict[str, Any]
"""A message as llama.cpp takes it."""

_TASK = "Answer from these facts, in plain words. Keep the numbers."


def as_facts(messages: Sequence[Message]) -> list[Message]:
    """The same conversation without tool calls and tool messages."""
    out: list[Message] = []
    facts: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            facts.append(_fact(str(message.get("name") or "tool"), message["content"]))
        elif message.get("tool_calls"):
            continue
        else:
            _flush(facts, out)
            out.append(message)
    if facts:
        _flush(facts, out)
        place = 1 if out[0]["role"] == "system" else 0
        out[place:place] = _EXAMPLES
    return out


def _flush(facts: list[str], out: list[Message]) -> None:
    """Put the facts below the question that they answer."""
    if facts:
        question = out.pop()["content"] if out and out[-1]["role"] == "user" else ""
        out.append({"role": "user", "content": _with_facts(question, facts)})
        facts.clear()


def _with_facts(question: str, facts: Sequence[str]) -> str:
    return "\n".join([question, "", "Facts:", *facts, "", _TASK]).lstrip()


def _fact(tool: str, content: str) -> str:
    return f"- {tool}: {_words(content)}"


def _words(content: str) -> str:
    """A JSON object as `name: value, …`; anything else as it is. Small models read that better than JSON."""
    try:
        value: Any = msgspec.json.decode(content)
    except msgspec.DecodeError:
        value = content
    if isinstance(value, dict) and value:
        members = cast("dict[str, object]", value)
        return ", ".join(f"{name}: {_word(member)}" for name, member in members.items())
    text = _word(value)
    return text if ": " in text else f"result: {text}"


def _word(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


_EXAMPLES: tuple[Message, ...] = (
    {
        "role": "user",
        "content": _with_facts("What does bread cost in Rome?", [_fact("get_price", '{"error":"timed out"}')]),
    },
    {"role": "assistant", "content": "I could not find that out: get_price failed (timed out)."},
    {
        "role": "user",
        "content": _with_facts(
            "How far is it from Rome to Milan, and what does bread cost?",
            [_fact("get_distance", '{"km":477,"by":"road"}'), _fact("get_price", '{"euro":2.5}')],
        ),
    },
    {"role": "assistant", "content": "It is 477 km by road from Rome to Milan, and bread costs 2.5 euro."},
)
