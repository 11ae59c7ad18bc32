"""Provider options of this API: under which names they are given, and how JavaScript users spell them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.models.openai_format import snake_case
from riverrun.models.options import options_under


def option_names(provider: str) -> tuple[str, ...]:
    """Under which names provider options are for a server of this API; the last has the last word."""
    return ("openai", "openai-chat", provider)


def wire_options(options: Mapping[str, Any] | None, provider: str) -> dict[str, Any]:
    """The options for a server of this API, named as the API names them: `reasoningEffort` is `reasoning_effort`."""
    return snake_case(options_under(options, *option_names(provider)))
