"""What a model takes of a request, by its name. Models differ, and the API refuses what a model does not take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

_OLD_NAME = re.compile(r"claude-v?(\d)(?:[-.](\d{1,2}))?(?!\d)")
_NAME = re.compile(r"claude-([a-z]+)(?:-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d))?")
_NEWEST = (5, 0)
_DISABLED = {"type": "disabled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """`max_tokens` is how long an answer may be by default, and `longest` how long at most.

    `sampling`: temperature, top_p and top_k are taken, `samplers`: temperature and top_p together. `thinking` is how it
    is asked for, `not_thinking` what turns it off: nothing where it is off by default, None where it is always on.
    `forced_tools`: a tool may be required. `schemas`: an answer may be held to a JSON Schema. `system_messages`: they
    may stand between other messages.
    """

    max_tokens: int = 32_000
    longest: int = 64_000
    sampling: bool = True
    samplers: bool = True
    thinking: Literal["none", "budget", "adaptive"] = "budget"
    efforts: tuple[str, ...] = ("low", "medium", "high", "max")
    not_thinking: Mapping[str, Any] | None = field(default_factory=dict[str, Any])
    forced_tools: bool = True
    schemas: bool = True
    system_messages: bool = False


def abilities_of(model_id: str) -> Abilities:
    """The abilities of a model. A Claude of an unknown name is taken for a new one; of another make, for one that
    takes everything.
    """
    if "claude" not in model_id:
        return Abilities(not_thinking=_DISABLED)
    family, version = _family(model_id)
    return _newer(family, version) if version >= (4, 6) else _older(family, version)


def _family(model_id: str) -> tuple[str, tuple[int, int]]:
    """ "claude-opus-4-8" → opus, 4.8; "claude-3-5-sonnet" → 3.5, whose family makes no difference."""
    if found := _OLD_NAME.search(model_id):
        return "", (int(found[1]), int(found[2] or 0))
    found = _NAME.search(model_id)
    if found is None or found[2] is None:
        return found[1] if found else "", _NEWEST
    return found[1], (int(found[2]), int(found[3] or 0))


def _older(family: str, version: tuple[int, int]) -> Abilities:
    max_tokens = 4096 if version < (3, 5) else 8192 if version < (3, 7) else 32_000
    return Abilities(
        max_tokens=max_tokens,
        longest=64_000 if version >= (3, 7) and not (family == "opus" and version < (4, 5)) else max_tokens,
        samplers=version < (4, 1),
        thinking="budget" if version >= (3, 7) else "none",
        schemas=version >= (4, 5) or (family == "opus" and version >= (4, 1)),
    )


def _newer(family: str, version: tuple[int, int]) -> Abilities:
    always_thinks = family in ("fable", "mythos") or (family == "opus" and version >= (5, 5))
    if version == (4, 6):
        return Abilities(longest=128_000, samplers=False, thinking="adaptive")
    not_thinking = {"type": "between_tools"} if family == "sonnet" and version >= (5, 5) else _DISABLED
    return Abilities(
        longest=128_000,
        sampling=False,
        thinking="adaptive",
        efforts=("low", "medium", "high", "xhigh", "max"),
        not_thinking=None if always_thinks else not_thinking,
        forced_tools=not always_thinks,
        system_messages=version > (5, 0) or (family == "opus" and version >= (4, 8)),
    )
