"""The settings that choose among tokens → the members of a request, as far as the model takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import mapping
from riverrun.models.anthropic.abilities import Abilities
from riverrun.types import Settings

_MISSING = {"seed": "seed", "presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty"}
"""Settings that the API does not have, by the names they have in warnings."""
_SAMPLING = {"temperature": "temperature", "top_p": "topP", "top_k": "topK"}


def write_sampling(
    settings: Settings, abilities: Abilities, body: Mapping[str, Any], warnings: list[dict[str, Any]]
) -> dict[str, Any]:
    """The members, given the rest of the request. Whatever is left out gets a warning.

    A model that thinks takes none of them. What stands in the body already is the caller's own affair.
    """
    for name, shown in _MISSING.items():
        if getattr(settings, name) is not None:
            warnings.append({"type": "unsupported-setting", "setting": shown})
    wanted = {name: getattr(settings, name) for name in _SAMPLING if name not in body}
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    refused: list[str] = []
    if not abilities.sampling or _thinks(body):
        refused = list(given)
    elif not abilities.samplers and "temperature" in given and "top_p" in given:
        refused = ["top_p"]
    warnings += [{"type": "unsupported-setting", "setting": _SAMPLING[name]} for name in refused]
    return {name: value for name, value in given.items() if name not in refused}


def _thinks(body: Mapping[str, Any]) -> bool:
    return mapping(body.get("thinking")).get("type") in ("enabled", "adaptive")
