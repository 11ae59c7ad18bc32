"""The words in which models are told what is wanted: the schema where it is not sent as such, and the task of a second
model that makes the object of the first one's answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from riverrun.chunks import (
    Message,
    MessagePart,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    UserMessage,
)
from riverrun.chunks.codec import json_text


def json_instructions(schema: Mapping[str, Any]) -> str:
    """Tells a model to answer with JSON of this schema and nothing else."""
    return (
        "Answer with one JSON value that fits this JSON Schema, and with nothing else: no words before or after it, "
        f"no code fence.\n\n{json_text(schema)}"
    )


def answer_instructions(schema: Mapping[str, Any]) -> str:
    """Tells a model that its answer is going to be made into an object by another one."""
    return (
        "Your answer is going to be read by a program that takes the facts out of it which this JSON Schema "
        f"describes:\n\n{json_text(schema)}\n\n"
        "Say what there is to say on each member of the schema, in your own words. Write no JSON, unless asked."
    )


def structuring_instructions(schema: Mapping[str, Any]) -> str:
    """Tells a model to make an object of an answer."""
    return (
        "You turn an assistant's work into one JSON value that fits this JSON Schema:\n\n"
        f"{json_text(schema)}\n\n"
        "- Answer with the JSON alone.\n"
        "- Take what the text says, and keep its meaning; make nothing up.\n"
        "- Where it says nothing, use null or leave the member out, as the schema allows."
    )


def structuring_prompt(content: Sequence[MessagePart]) -> str:
    """What the second model is to make an object of: a step's content, in sections; those without content are left out.

    The schema and the task are told by `structuring_instructions`.
    """
    sections = {
        "Reasoning": [part.text for part in content if isinstance(part, ReasoningPart)],
        "Tool calls": [_call(part) for part in content if isinstance(part, ToolCallPart)],
        "Tool results": [_result(part) for part in content if isinstance(part, ToolResultPart)],
        "Answer": ["".join(part.text for part in content if isinstance(part, TextPart))],
    }
    told = [f"# {title}\n{body}" for title, texts in sections.items() if (body := _joined(texts))]
    return "\n\n".join(["Make the JSON value of the following.", *told])


def with_system_text(messages: Iterable[Message], text: str) -> list[Message]:
    """The messages with `text` at the end of the last system message before the others, or as the only one."""
    out = [*messages]
    heads = 0
    while heads < len(out) and isinstance(out[heads], SystemMessage):
        heads += 1
    last = out[heads - 1] if heads else None
    if not isinstance(last, SystemMessage):
        return [SystemMessage(text), *out]
    out[heads - 1] = replace(last, content=f"{last.content}\n\n{text}" if last.content else text)
    return out


def with_user_text(messages: Iterable[Message], text: str) -> list[Message]:
    """The messages with `text` at the end of the last user message, or in one of its own."""
    out = [*messages]
    for at in reversed(range(len(out))):
        message = out[at]
        if isinstance(message, UserMessage):
            out[at] = replace(message, content=[*message.content, TextPart(text)])
            return out
    return [*out, UserMessage([TextPart(text)])]


def _joined(texts: Sequence[str]) -> str:
    return "\n".join(text for text in texts if text)


def _call(part: ToolCallPart) -> str:
    return f"- {part.tool_name}({json_text(part.input)})"


def _result(part: ToolResultPart) -> str:
    value = part.output.value
    return f"- {part.tool_name}: {value if isinstance(value, str) else json_text(value)}"
