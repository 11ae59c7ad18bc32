"""Recorded tool loops: the responses of one conversation, served in turn to a real agent.

What is looked for is what the recorded next request took from the answer before it: signatures, ids, encrypted and
opaque texts. Each of them has to be in the request that the agent sends, unchanged.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riverrun import Agent
from riverrun.models.anthropic import AnthropicModel
from riverrun.models.google import GoogleModel
from riverrun.models.openai_chat import OpenAIChatModel
from riverrun.models.openai_responses import OpenAIResponsesModel
from riverrun.models.recorded import framed
from riverrun.tools import Tool, provider_tool
from riverrun.types import Model
from tests.models.loopback import Loopback, Reply

_OPAQUE = 12
"""Characters from which on a text in an answer is taken for one that must come back unchanged."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A conversation: its responses in turn, and the request that led to each, where it was recorded."""

    id: str
    api: str
    responses: list[bytes]
    requests: list[dict[str, Any] | None]


def loops(folder: Path) -> list[Loop]:
    """The conversations in a folder of recordings that have two steps or more in a row."""
    by_id: dict[tuple[str, str], dict[int, dict[str, Any]]] = defaultdict(dict)
    for line in (folder / "MANIFEST.jsonl").read_text("utf-8").splitlines():
        item = json.loads(line)
        if item.get("sequence"):
            by_id[item["api"], item["sequence"]["id"]][item["sequence"]["step"]] = item
    found: list[Loop] = []
    for (api, name), steps in by_id.items():
        if api in _MODELS and len(steps) > 1 and sorted(steps) == list(range(len(steps))):
            items = [steps[number] for number in range(len(steps))]
            found.append(
                Loop(
                    name,
                    api,
                    [framed((folder / item["file"]).read_bytes(), done=api == "openai-chat") for item in items],
                    [_request(folder, item) for item in items],
                )
            )
    return found


def _request(folder: Path, item: dict[str, Any]) -> dict[str, Any] | None:
    name = item.get("request_file")
    return json.loads((folder / name).read_text("utf-8")) if name else None


def _chat(url: str) -> Model:
    return OpenAIChatModel("m", base_url=url, api_key="key")


def _responses(url: str) -> Model:
    return OpenAIResponsesModel("m", base_url=url, api_key="key")


def _anthropic(url: str) -> Model:
    return AnthropicModel("m", base_url=url.removesuffix("/v1"), api_key="key")


def _google(url: str) -> Model:
    return GoogleModel("m", base_url=url.removesuffix("/v1"), api_key="key")


_MODELS = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic-messages": _anthropic,
    "google-generate-content": _google,
}


def stubs(requests: list[dict[str, Any] | None]) -> list[Tool]:
    """A tool for each that the recorded requests declare, functions and the provider's own; it gives a text."""
    made: dict[str, Tool] = {}
    for declared in (entry for request in requests for entry in (request or {}).get("tools") or ()):
        for tool in _stub(declared):
            made[tool.name] = tool
    return list(made.values())


def _stub(declared: dict[str, Any]) -> Iterator[Tool]:
    functions = declared.get("functionDeclarations") or declared.get("function_declarations")
    kind = declared.get("type", "function")
    if functions or kind == "function" or "input_schema" in declared:
        for function in functions or (declared.get("function") or declared,):
            yield Tool(name=function["name"], execute=_done)
    elif kind in ("custom", "tool_search", "apply_patch", "shell", "local_shell"):
        args = {name: value for name, value in declared.items() if name != "type"}
        yield provider_tool(f"openai.{kind}", name=args.get("name"), args=args, execute=_done)


async def _done(arguments: Any, context: Any) -> str:
    return "done"


async def asked(loop: Loop) -> list[dict[str, Any]]:
    """The requests that an agent sends when it is answered so."""
    async with Loopback(*(Reply(pieces=[response]) for response in loop.responses)) as server:
        model = _MODELS[loop.api](server.url)
        agent = Agent("a", model=model, tools=stubs(loop.requests), max_steps=len(loop.responses), max_retries=0)
        async with agent.stream("Go.") as run:
            await run.result()
        await model.aclose()  # type: ignore[attr-defined]
        return [request.body for request in server.requests]


def texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def needed(response: bytes, following: dict[str, Any]) -> set[str]:
    """What the conversation in the recorded next request holds of the answer before it, word for word."""
    answer = response.decode("utf-8", "replace")
    conversation = following.get("messages") or following.get("input") or following.get("contents") or []
    return {
        text
        for text in texts(conversation)
        if len(text) >= _OPAQUE and " " not in text and json.dumps(text, ensure_ascii=False)[1:-1] in answer
    }
