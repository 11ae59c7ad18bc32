"""ModelRequest → the body of a request, and what of it the API does not have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import mapping
from riverrun.models.http import WireRequest
from riverrun.models.openai_format import known_tools, named_schema
from riverrun.models.openai_responses.messages import InputWriter
from riverrun.models.openai_responses.options import option_names, wire_options
from riverrun.models.openai_responses.tools import wire_choice, wire_tool
from riverrun.models.openai_sampling import drop_sampling
from riverrun.models.options import merged
from riverrun.types import ModelRequest, Settings

_ENCRYPTED = "reasoning.encrypted_content"
_NEVER_REASONS = re.compile(r"(ft:)?(gpt-3|gpt-4|chatgpt-)|.*-chat-latest$")
"""The models of OpenAI's that do not reason, all of them older ones."""
_INNER = {
    "reasoning_effort": ("reasoning", "effort"),
    "reasoning_summary": ("reasoning", "summary"),
    "text_verbosity": ("text", "verbosity"),
}
"""Options that JavaScript users know by names of their own, and where they belong."""
_UNSUPPORTED = {
    "top_k": "topK",
    "seed": "seed",
    "stop_sequences": "stopSequences",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}


def responses_request(request: ModelRequest, *, model_id: str, provider: str, official: bool = False) -> WireRequest:
    """Write the body for `model_id`.

    `provider` is the key of the provider options that are for this model, beside "openai" and "openai-responses", and
    of the metadata that goes back; `official` says that OpenAI's own server is asked, whose reasoning models take
    instructions as a developer's and refuse some settings. Raises ConfigError for a tool whose name the API refuses.
    """
    options = _options(request.provider_options, provider)
    reasons = _NEVER_REASONS.match(model_id) is None
    writer = InputWriter(
        provider,
        system_role="developer" if official and reasons else "system",
        is_stored=options.get("store") is not False,
        remembers="conversation" in options,
    )
    body: dict[str, Any] = {
        "model": model_id,
        "input": writer.write(request.messages),
        "stream": True,
        **_settings(request.settings),
    }
    warnings = [*writer.warnings, *_unsupported(request.settings, options)]
    body.update(_tools(request, provider, warnings))
    if request.response_format is not None:
        body["text"] = {"format": {"type": "json_schema", **named_schema(request.response_format)}}
    body = merged(body, options)
    if official:
        drop_sampling(body, options, effort=mapping(body.get("reasoning")).get("effort"), warnings=warnings)
    if body.get("store") is False and reasons and "include" not in options:
        body["include"] = [_ENCRYPTED]  # nothing else is left of the reasoning for the next request
    return WireRequest(body, warnings)


def _options(given: Mapping[str, Mapping[str, Any]], provider: str) -> dict[str, Any]:
    """The options of the request, each where the API wants it."""
    options = wire_options(given, provider)
    for name, (outer, inner) in _INNER.items():
        if name in options:
            options = merged(options, {outer: {inner: options.pop(name)}})
    return options


def _settings(settings: Settings) -> dict[str, Any]:
    given = {
        "max_output_tokens": settings.max_output_tokens,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "reasoning": None if settings.reasoning_effort is None else {"effort": settings.reasoning_effort},
    }
    return {name: value for name, value in given.items() if value is not None}


def _unsupported(settings: Settings, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Warnings of what is set and no server of this API takes, unless an option says that this one does."""
    given = {name: getattr(settings, name) for name in _UNSUPPORTED if name not in options}
    return [
        {"type": "unsupported-setting", "setting": _UNSUPPORTED[name]}
        for name, value in given.items()
        if value or value == 0
    ]


def _tools(request: ModelRequest, provider: str, warnings: list[dict[str, Any]]) -> dict[str, Any]:
    """The members about tools. Those that another provider has are left out."""
    known = known_tools(request.tools, option_names(provider), warnings)
    if not known:
        return {}
    members: dict[str, Any] = {"tools": [wire_tool(tool, provider, warnings) for tool in known]}
    choice = wire_choice(request.tool_choice, known)
    if choice is not None:
        members["tool_choice"] = choice
    if request.settings.parallel_tool_calls is not None:
        members["parallel_tool_calls"] = request.settings.parallel_tool_calls
    return members
