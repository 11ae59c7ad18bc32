"""What a caller says → messages: texts, messages, and the JSON forms that clients send.

Forms of a message: model ({role, content: text or parts}), user interface ({id, role, parts}), its older kind with
toolInvocations, and stored ({role, content: {format: 2, parts}}).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from msgspec.structs import replace

from riverrun.chunks import (
    AssistantMessage,
    CustomPart,
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
    UnknownMessage,
    UnknownPart,
    UserMessage,
)
from riverrun.errors import ConfigError
from riverrun.types import Input

Json = Mapping[str, Any]

_SILENT = {"step-start", "source", "source-url", "source-document", "redacted-reasoning", "reasoning-file"}
"""Parts that clients show and models are not told."""
_MESSAGES = (SystemMessage, UserMessage, AssistantMessage, ToolMessage, UnknownMessage)
_PARTS = (TextPart, ReasoningPart, FilePart, ToolCallPart, ToolResultPart, CustomPart, UnknownPart)


def to_messages(input: Input) -> list[Message]:
    """The messages of an input. Raises ConfigError for something that is no message."""
    if isinstance(input, str):
        return _user_text(input)
    if isinstance(input, Record | Mapping):
        return _to_messages(input)
    if isinstance(input, bytes) or not isinstance(input, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"an input is a text, a message or a list of these, not {type(input).__name__}")
    return [
        message for item in input for message in (to_messages(item) if isinstance(item, str) else _to_messages(item))
    ]


def answer_messages(
    content: Sequence[MessagePart], *, id: str | None = None, provider_options: dict[str, Any] | None = None
) -> list[Message]:
    """An answer's content as messages: what the model said, then what the program's tools came to.

    What the provider's own tools came to is part of what was said, even when their call was in an earlier answer.
    """
    calls = {part.tool_call_id for part in content if isinstance(part, ToolCallPart) and not part.provider_executed}
    said: list[MessagePart] = []
    results: list[MessagePart] = []
    for part in content:
        own_result = isinstance(part, ToolResultPart) and part.tool_call_id in calls
        (results if own_result else said).append(part)
    messages: list[Message] = []
    if said:
        messages.append(AssistantMessage(said, id=id, provider_options=provider_options))
    if results:
        messages.append(ToolMessage(results))
    return messages


def sealed(messages: Sequence[Message]) -> list[Message]:
    """The messages as providers accept them: without tool calls that nothing behind them answers, and with the results
    of a step in one message, in the order of its calls.
    """
    kept: list[Message] = []
    answered: set[str] = set()
    for message in reversed(messages):
        behind = kept[-1] if kept else None
        if isinstance(message, ToolMessage):
            answered |= _result_ids(message)
            if isinstance(behind, ToolMessage) and behind.provider_options == message.provider_options:
                kept.pop()
                message = replace(message, content=[*message.content, *behind.content])
        elif isinstance(message, AssistantMessage):
            calls = [part.tool_call_id for part in message.content if isinstance(part, ToolCallPart)]
            if isinstance(behind, ToolMessage):
                kept[-1] = replace(behind, content=sorted(behind.content, key=_place_among(calls)))
            known = answered | _result_ids(message)
            content = [part for part in message.content if not _dangles(part, known)]
            answered.difference_update(calls)  # an earlier step may have used the same id
            if len(content) != len(message.content):
                message = replace(message, content=content)
            if not content and calls:
                continue
        kept.append(message)
    return kept[::-1]


def _result_ids(message: AssistantMessage | ToolMessage) -> set[str]:
    return {part.tool_call_id for part in message.content if isinstance(part, ToolResultPart)}


def _dangles(part: MessagePart, answered: set[str]) -> bool:
    return isinstance(part, ToolCallPart) and not part.provider_executed and part.tool_call_id not in answered


def _place_among(calls: Sequence[str]) -> Callable[[MessagePart], int]:
    places = {call_id: place for place, call_id in enumerate(calls)}
    return lambda part: places.get(part.tool_call_id, len(places)) if isinstance(part, ToolResultPart) else len(places)


# -- messages


def _user_text(text: str) -> list[Message]:
    return [UserMessage([TextPart(text)])] if text else []


def _to_messages(item: Message | Json) -> list[Message]:
    if isinstance(item, Record):
        return [_checked(item)]
    if not (isinstance(item, Mapping) and isinstance(item.get("role"), str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigError(f"a message is an object with a role and content, not {_shown(item)}")
    content = item.get("content")
    parts = item.get("parts")
    if _is_object(content):
        parts = content.get("parts")
    elif parts is None:
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    listed = _list(parts, "a message's content is a text or a list of parts")
    invocations = _list(item.get("toolInvocations") or [], "toolInvocations are a list of calls")
    return _by_role(item, [*listed, *({"type": "tool-invocation", "toolInvocation": call} for call in invocations)])


def _checked(message: Record) -> Message:
    """A message that is one, with parts that are."""
    if not isinstance(message, _MESSAGES):
        raise ConfigError(f"a message is a SystemMessage, UserMessage, …, not {_shown(message)}")
    if isinstance(message, UserMessage | AssistantMessage | ToolMessage):
        what = f"the content of a {type(message).__name__} is a list of parts"
        if not all(isinstance(part, _PARTS) for part in _list(message.content, what)):
            raise ConfigError(f"{what}, not {_shown(message.content)}")
    return message


def _by_role(item: Json, parts: list[Any]) -> list[Message]:
    options = _options(item.get("providerOptions"))
    match item["role"]:
        case "system":
            texts = [part.text for part in _parts(parts) if isinstance(part, TextPart)]
            return [SystemMessage("\n".join(texts), provider_options=options)]
        case "user":
            said = _parts(parts)
            return [UserMessage(said, id=item.get("id"), provider_options=options)] if said else []
        case "assistant":
            steps = [_parts(step) for step in _steps(parts)]
            return [
                message
                for step in steps
                for message in answer_messages(step, id=item.get("id"), provider_options=options)
            ]
        case "tool":
            return [ToolMessage([_tool_result(part) for part in parts], provider_options=options)]
        case role:
            raise ConfigError(f"a message's role is system, user, assistant or tool, not {role!r}")


def _steps(parts: list[Any]) -> list[list[Any]]:
    """The parts of an answer by the steps that gave them: what a step said stands before the results of its calls."""
    steps: list[list[Any]] = [[]]
    for part in parts:
        if _is_object(part) and part.get("type") == "step-start":
            steps.append([])
        steps[-1].append(part)
    return steps


# -- parts


def _parts(parts: list[Any]) -> list[MessagePart]:
    return [made for part in parts for made in _part(part)]


def _part(part: Any) -> list[MessagePart]:
    """One part. A finished tool invocation is a call and its result; marks such as step-start say nothing."""
    if isinstance(part, _PARTS):
        return [part]
    kind = _text(_object(part, "a part of a message"), "type")
    options = _options(part.get("providerOptions") or part.get("providerMetadata") or part.get("callProviderMetadata"))
    match kind:
        case "text":
            text = _text(part, "text")
            return [TextPart(text, provider_options=options)] if text or options else []
        case "reasoning":
            return [ReasoningPart(part.get("text") or part.get("reasoning") or "", provider_options=options)]
        case "image" | "file":
            return [_file(part, options)]
        case "tool-call":
            return [_tool_call(part, options)]
        case "tool-result":
            return [_tool_result(part)]
        case _ if kind.startswith("tool-") or kind == "dynamic-tool":
            return _tool_part(kind, part, options)
        case "custom" if isinstance(part.get("kind"), str):
            return [CustomPart(kind=part["kind"], provider_options=options)]
        case _ if kind in _SILENT or kind.startswith("data-"):
            return []
        case _:
            raise ConfigError(f"a message has no part of type {kind!r}: text, file, image, reasoning, tool-call, …")


def _tool_part(kind: str, part: Json, options: dict[str, Any] | None) -> list[MessagePart]:
    """A call of the user-interface forms: the older one is wrapped, the newer one has the tool's name in its type."""
    if kind == "tool-invocation":
        return _invocation(_object(part.get("toolInvocation"), "a toolInvocation"), options)
    named = part if kind == "dynamic-tool" else {"toolName": kind.removeprefix("tool-"), **part}
    return _invocation(named, options)


def _file(part: Json, options: dict[str, Any] | None) -> FilePart:
    is_image = part["type"] == "image"
    data = part.get("image") if is_image else part.get("data") or part.get("url")
    if not isinstance(data, str | bytes):
        expected = "image" if is_image else "data or url"
        raise ConfigError(f"a part of type {part['type']} needs {expected}, a text or bytes: {_shown(part)}")
    usual = "image/*" if is_image else "application/octet-stream"
    return FilePart(
        data=data,
        media_type=part.get("mediaType") or part.get("mimeType") or usual,
        filename=part.get("filename"),
        provider_options=options,
    )


def _tool_call(call: Json, options: dict[str, Any] | None) -> ToolCallPart:
    return ToolCallPart(
        tool_call_id=_text(call, "toolCallId"),
        tool_name=_text(call, "toolName"),
        input=call.get("input", call.get("args")),
        provider_executed=call.get("providerExecuted"),
        provider_options=options,
    )


def _tool_result(part: Any) -> ToolResultPart:
    if isinstance(part, ToolResultPart):
        return part
    if not _is_object(part) or "toolCallId" not in part:
        raise ConfigError(f"a tool message holds tool-result parts with a toolCallId, not {_shown(part)}")
    output = part.get("output")
    if _is_object(output) and "type" in output and "value" in output:
        told = ToolOutput(output["type"], output["value"])
    else:
        told = _output(part.get("result", output), is_error=bool(part.get("isError")))
    return ToolResultPart(
        tool_call_id=_text(part, "toolCallId"),
        tool_name=part.get("toolName", ""),
        output=told,
        input=part.get("input"),
        provider_options=_options(part.get("providerOptions")),
    )


def _output(value: Any, *, is_error: bool = False) -> ToolOutput:
    kind = "text" if isinstance(value, str) else "json"
    return ToolOutput(f"error-{kind}" if is_error else kind, value)


def _invocation(call: Json, options: dict[str, Any] | None) -> list[MessagePart]:
    """A call of the user-interface form: with its result when it has one."""
    made = _tool_call(call, options)
    state = call.get("state")
    if state in ("output-error", "output-denied"):
        output = _output(call.get("errorText") or "The call was not approved.", is_error=True)
    elif state in ("result", "output-available") or "result" in call:
        output = _output(call.get("result", call.get("output")))
    else:
        return [made]
    result = ToolResultPart(
        tool_call_id=made.tool_call_id,
        tool_name=made.tool_name,
        output=output,
        provider_options=_options(call.get("resultProviderMetadata")),
    )
    return [made, result]


# -- what JSON holds


def _is_object(value: object) -> TypeGuard[Json]:
    return isinstance(value, Mapping)


def _object(value: Any, what: str) -> Json:
    if not _is_object(value):
        raise ConfigError(f"{what} is an object, not {_shown(value)}")
    return value


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _list(value: Any, what: str) -> Sequence[Any]:
    if not _is_list(value):
        raise ConfigError(f"{what}, not {_shown(value)}")
    return value


def _text(members: Json, name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise ConfigError(f"{name} is missing or no text: {_shown(members)}")
    return value


def _options(value: Any) -> dict[str, Any] | None:
    return None if value is None else dict(_object(value, "what is said to a provider"))


def _shown(value: object) -> str:
    return repr(value)[:80]
