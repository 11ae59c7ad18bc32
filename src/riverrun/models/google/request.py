"""ModelRequest → the body of a generateContent request, and what of it the API does not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.models.google.generation import generation, is_gemma, thinking_config
from riverrun.models.google.messages import ContentWriter
from riverrun.models.google.names import option_names
from riverrun.models.google.schema import sent_schema
from riverrun.models.google.tools import tool_members
from riverrun.models.http import WireRequest
from riverrun.models.options import merged, options_under
from riverrun.types import ModelRequest, Settings

_OF_THE_BODY = (
    "contents",
    "systemInstruction",
    "generationConfig",
    "tools",
    "toolConfig",
    "safetySettings",
    "cachedContent",
    "labels",
    "serviceTier",
    "store",
    "continuationToken",
    "modelArmorConfig",
    "outputConfig",
)
_OF_THE_TOOL_CONFIG = ("functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations")
_OF_THE_CHOICE = ("streamFunctionCallArguments",)
"""Where provider options have their place. All others are members of `generationConfig`.

An object is merged with the one that is there, one level deep.
"""

_CACHED = ("systemInstruction", "tools", "toolConfig")
"""What is part of a cached content, and refused beside one."""


def google_request(request: ModelRequest, *, model_id: str, provider: str, vertex: bool = False) -> WireRequest:
    """Write the body for `model_id`.

    `provider` is the key of the provider options that are for this model, beside "google"; `vertex` says that Vertex AI
    is asked. Raises ConfigError for a tool whose name the API refuses, and for a file that cannot be sent.
    """
    version = generation(model_id)
    writer = ContentWriter(provider, version)
    writer.write(request.messages)
    body: dict[str, Any] = {"contents": writer.contents}
    if writer.system:
        _instruct(body, writer.system, in_contents=is_gemma(model_id))
    tools, warnings = tool_members(request, provider=provider, version=version, vertex=vertex)
    config, unsupported = _generation_config(request, model_id, beside_tools="tools" in tools)
    body = {**body, **tools, **({"generationConfig": config} if config else {})}
    _place(options_under(request.provider_options, *option_names(provider)), body)
    warnings = [*writer.warnings, *warnings, *unsupported, *_without_what_is_cached(body)]
    return WireRequest(body, warnings)


def _instruct(body: dict[str, Any], system: list[str], *, in_contents: bool) -> None:
    parts = [{"text": text} for text in system]
    if in_contents:
        first = body["contents"][0]
        first["parts"] = [*parts, *first["parts"]]
    else:
        body["systemInstruction"] = {"parts": parts}


def takes_schema(model_id: str, *, beside_tools: bool) -> bool:
    """Whether a model can be held to a JSON Schema: those before Gemini 3 only where no tools are offered."""
    return not (beside_tools and 0 < generation(model_id) < 3)


def _generation_config(
    request: ModelRequest, model_id: str, *, beside_tools: bool
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    settings = request.settings
    config, warnings = _settings(settings), list[dict[str, Any]]()
    if settings.reasoning_effort is not None:
        thinking = thinking_config(model_id, settings.reasoning_effort)
        if thinking is None:
            warnings.append({"type": "unsupported-setting", "setting": "reasoningEffort"})
        else:
            config["thinkingConfig"] = thinking
    if settings.parallel_tool_calls is False:
        warnings.append({"type": "unsupported-setting", "setting": "parallelToolCalls"})
    if request.response_format is not None:
        if not takes_schema(model_id, beside_tools=beside_tools):
            message = f"the response format does not hold while tools are offered: {model_id} does one or the other"
            warnings.append({"type": "other", "message": message})
        else:
            config["responseMimeType"] = "application/json"
            config["responseJsonSchema"] = sent_schema(request.response_format)
    return config, warnings


def _settings(settings: Settings) -> dict[str, Any]:
    given = {
        "maxOutputTokens": settings.max_output_tokens,
        "temperature": settings.temperature,
        "topP": settings.top_p,
        "topK": settings.top_k,
        "presencePenalty": settings.presence_penalty,
        "frequencyPenalty": settings.frequency_penalty,
        "stopSequences": list(settings.stop_sequences) if settings.stop_sequences else None,
        "seed": settings.seed,
    }
    return {name: value for name, value in given.items() if value is not None}


def _place(options: Mapping[str, Any], body: dict[str, Any]) -> None:
    """Put each option where the API wants it."""
    for name, value in options.items():
        if name in _OF_THE_BODY:
            body.update(merged(body, {name: value}))
        elif name in _OF_THE_TOOL_CONFIG:
            body["toolConfig"] = merged(body.get("toolConfig", {}), {name: value})
        elif name in _OF_THE_CHOICE:
            body["toolConfig"] = merged(body.get("toolConfig", {}), {"functionCallingConfig": {name: value}})
        else:
            body["generationConfig"] = merged(body.get("generationConfig", {}), {name: value})


def _without_what_is_cached(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Take out of the body what cannot stand beside a cached content; gives a warning for each."""
    if not body.get("cachedContent"):
        return []
    dropped = [name for name in _CACHED if body.pop(name, None) is not None]
    return [{"type": "other", "message": f"{name} is not sent: the cached content has its own"} for name in dropped]
