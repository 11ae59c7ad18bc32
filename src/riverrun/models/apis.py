"""The APIs that providers speak → what decodes their streams. Importing this module imports no provider SDK."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Literal, TypeAlias

from riverrun.errors import ConfigError
from riverrun.models.http import Decoder
from riverrun.types import ToolSpec

Api: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic-messages", "google-generate-content"]
"""An API by the name that its provider's documentation gives it."""

_ADAPTERS: dict[Api, tuple[str, str]] = {
    "openai-chat": ("openai_chat", "openai-chat"),
    "openai-responses": ("openai_responses", "openai"),
    "anthropic-messages": ("anthropic", "anthropic"),
    "google-generate-content": ("google", "google"),
}
"""The package of its adapter, and the provider's name in metadata."""


def checked_api(api: str) -> Api:
    """The API of this name. Raises ConfigError, with the ones there are, when there is none."""
    known: Api | None = next((name for name in _ADAPTERS if name == api), None)
    if known is None:
        raise ConfigError(f"unknown API '{api}': it is one of {', '.join(_ADAPTERS)}")
    return known


def decoder_of(api: Api, run_id: str, *, tools: Sequence[ToolSpec] = (), include_raw: bool = False) -> Decoder:
    """A decoder for one stream of an API, as for a model of its own provider that was offered these tools."""
    package, provider = _ADAPTERS[api]
    adapter = import_module(f"riverrun.models.{package}")
    decoder: Decoder = adapter.StreamDecoder(run_id, provider=provider, tools=tools, include_raw=include_raw)
    return decoder
