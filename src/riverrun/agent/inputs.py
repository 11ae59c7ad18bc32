"""What a caller says → messages: texts, messages, and the JSON forms that clients send.

Forms of a message: model ({role, content: text or parts}), user interface ({id, role, parts}), its older kind with
toolInvocations, and stored ({role, content: {format: 2, parts}}).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from riverrun.chunks import (
    AssistantMessage,
    FilePart,
    Message,
    MessagePart,
    ReasoningPart,
    Record,
    SystemMessage,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)
from riverrun.errors import ConfigError
from riverrun.types import Input

Json = Mapping[str, Any]


def to_messages(input: Input) -> list[Message]:
    """The messages of an input. Raises ConfigError for something that is no message."""
    if isinstance(input, str):
        return _user_text(input)
    if isinstance(input, Record | Mapping):
        return _to_messages(input)
    if not isinstance(input, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"an input is a text, a message or a list of these, not {type(input).__name__}")
    return [
        message for item in input for message in (to_messages(item) if isinstance(item, str) else _to_messages(item))
    ]


def _dangles(part: MessagePart, answered: set[str]) -> bool:
    return isinstance(part, ToolCallPart) and not part.provider_executed and part.tool_call_id not in answered


def answer_messages(
    content: Sequence[MessagePart], *, id: str | None = None, provider_options: dict[str, Any] | None = None
) -> list[Message]:
    """An answer's content as messages: what the model said, then what the program's tools came to."""
    executed = {part.tool_call_id for part in content if isinstance(part, ToolCallPart) and part.provider_executed}
    said: list[MessagePart] = []
    results: list[MessagePart] = []
    for part in content:
        own_result = isinstance(part, ToolResultPart) and part.tool_call_id not in executed
        (results if own_result else said).append(part)
    messages: list[Message] = []
    if said:
        messages.append(AssistantMessage(said, id=id, provider_options=provider_options))
    if results:
        messages.append(ToolMessage(results))
    return messages


def sealed(messages: Sequence[Message]) -> list[Message]:
    """The messages without tool calls that have no result, except in the last message: no provider accepts them."""
    answered = {
        part.tool_call_id
        for message in messages
        if isinstance(message, ToolMessage | AssistantMessage)
        for part in message.content
        if isinstance(part, ToolResultPart)
    }
    kept: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            content = [part for part in message.content if not _dangles(part, answered)]
            if len(content) != len(message.content):
                if content:
                    kept.append(AssistantMessage(content, id=message.id, provider_options=message.provider_options))
                continue
        kept.append(message)
    return kept


def _user_text(text: str) -> list[Message]:
    return [UserMessage([TextPart(text)])] if text else []


def _to_messages(item: Message | Json) -> list[Message]:
    if isinstance(item, Record):
        return [item]
    if not (isinstance(item, Mapping) and isinstance(item.get("role"), str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"a message is an object with a role and content, not {str(item)[:80]!r}")
    content = item.get("content")
    parts = item.get("parts")
    if isinstance(content, Mapping):
        parts = cast("Json", content).get("parts", [])
    elif parts is None:
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        raise ConfigError(f"a message's content is a text or a list of parts, not {str(parts)[:80]!r}")
    listed = list(cast("Sequence[Json]", parts))
    invocations: list[Json] = item.get("toolInvocations") or []
    listed += [{"type": "tool-invocation", "toolInvocation": call} for call in invocations]
    return _by_role(item, listed)


def _by_role(item: Json, parts: list[Json]) -> list[Message]:
    options = item.get("providerOptions")
    match item["role"]:
        case "system":
            text = "\n".join(part["text"] for part in parts if part.get("type") == "text")
            return [SystemMessage(text, provider_options=options)]
        case "user":
            return [UserMessage(_parts(parts), id=item.get("id"), provider_options=options)]
        case "assistant":
            return answer_messages(_parts(parts), id=item.get("id"), provider_options=options)
        case "tool":
            return [ToolMessage([_tool_result(part) for part in parts], provider_options=options)]
        case role:
            raise ConfigError(f"a message's role is system, user, assistant or tool, not {role!r}")


def _parts(parts: list[Json]) -> list[MessagePart]:
    return [made for part in parts for made in _part(part)]


def _part(part: Json) -> list[MessagePart]:
    """One part. A finished tool invocation is a call and its result; marks such as step-start say nothing."""
    if isinstance(part, Record):
        return [cast("MessagePart", part)]
    options = part.get("providerOptions") or part.get("providerMetadata")
    match part.get("type"):
        case "text":
            return [TextPart(part["text"], provider_options=options)] if part["text"] else []
        case "reasoning":
            return [ReasoningPart(part.get("text") or part.get("reasoning") or "", provider_options=options)]
        case "image":
            data, media_type = part["image"], part.get("mediaType") or part.get("mimeType") or "image/*"
            return [FilePart(data=data, media_type=media_type, provider_options=options)]
        case "file":
            return [_file(part, options)]
        case "tool-call":
            return [_tool_call(part)]
        case "tool-result":
            return [_tool_result(part)]
        case "tool-invocation":
            return _invocation(part["toolInvocation"], options)
        case str(kind) if kind.startswith("tool-") or kind == "dynamic-tool":
            return _invocation({"toolName": kind.removeprefix("tool-"), **part}, options)
        case _:
            return []


def _file(part: Json, options: dict[str, Any] | None) -> FilePart:
    return FilePart(
        data=part.get("data") or part["url"],
        media_type=part.get("mediaType") or part.get("mimeType") or "application/octet-stream",
        filename=part.get("filename"),
        provider_options=options,
    )


def _tool_call(part: Json) -> ToolCallPart:
    return ToolCallPart(
        tool_call_id=part["toolCallId"],
        tool_name=part["toolName"],
        input=part.get("input", part.get("args")),
        provider_executed=part.get("providerExecuted"),
        provider_options=part.get("providerOptions"),
    )


def _tool_result(part: Json | MessagePart) -> ToolResultPart:
    if isinstance(part, ToolResultPart):
        return part
    if not isinstance(part, Mapping) or "toolCallId" not in part:
        raise ConfigError(f"a tool message holds tool-result parts with a toolCallId, not {str(part)[:80]!r}")
    output = part.get("output")
    if not (isinstance(output, Mapping) and "type" in output and "value" in output):
        output = _output(part.get("result", output), is_error=bool(part.get("isError")))
    else:
        output = ToolOutput(cast("Json", output)["type"], cast("Json", output)["value"])
    return ToolResultPart(
        tool_call_id=part["toolCallId"],
        tool_name=part.get("toolName", ""),
        output=output,
        input=part.get("input"),
        provider_options=part.get("providerOptions"),
    )


def _output(value: Any, *, is_error: bool = False) -> ToolOutput:
    kind = "text" if isinstance(value, str) else "json"
    return ToolOutput(f"error-{kind}" if is_error else kind, value)


def _invocation(call: Json, options: dict[str, Any] | None) -> list[MessagePart]:
    """A call of the user-interface form: with its result when it has one."""
    made: list[MessagePart] = [
        ToolCallPart(
            tool_call_id=call["toolCallId"],
            tool_name=call["toolName"],
            input=call.get("input", call.get("args")),
            provider_executed=call.get("providerExecuted"),
            provider_options=options,
        )
    ]
    state = call.get("state")
    output: ToolOutput | None = None
    if state in ("output-error", "output-denied"):
        output = _output(call.get("errorText") or "The call was not approved.", is_error=True)
    elif state in ("result", "output-available") or "result" in call:
        output = _output(call.get("result", call.get("output")))
    if output is not None:
        made.append(ToolResultPart(tool_call_id=call["toolCallId"], tool_name=call["toolName"], output=output))
    return made
