"""How much a model is to think, in the words that it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from riverrun.chunks.envelope import mapping
from riverrun.models.anthropic.abilities import Abilities

_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 24_576, "max": 30_000}
_NEAREST = {"minimal": "low", "xhigh": "max"}
_UNSUPPORTED = {"type": "unsupported-setting", "setting": "reasoningEffort"}


@dataclass(slots=True)
class Thinking:
    """The members of a request: `thinking` and `effort`; and warnings of what was asked for and cannot be had."""

    thinking: dict[str, Any] | None = None
    effort: str | None = None
    warnings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def budget(self) -> int:
        """The tokens that are for thinking alone."""
        budget = mapping(self.thinking).get("budget_tokens")
        return budget if isinstance(budget, int) else 0

    def warn(self, message: str) -> None:
        """Say that it is not as it was asked for."""
        self.warnings.append({"type": "other", "message": message})


def thinking_for(effort: str, abilities: Abilities, *, forced: bool) -> Thinking:
    """What to ask a model for. `forced`: it is made to call a tool, and must not think first if it has a budget."""
    if effort == "none":
        return _off(abilities)
    match abilities.thinking:
        case "adaptive":
            return _adaptive(effort, abilities)
        case "budget" if effort in _BUDGETS:
            if forced:
                return Thinking(warnings=[{**_UNSUPPORTED, "details": "a tool is required"}])
            return Thinking({"type": "enabled", "budget_tokens": _BUDGETS[effort]})
        case _:
            return Thinking(warnings=[_UNSUPPORTED])


def _off(abilities: Abilities) -> Thinking:
    if abilities.not_thinking is None:
        off = Thinking(effort="low")
        off.warn("the model cannot be kept from thinking: it is asked for low effort")
        return off
    return Thinking(dict(abilities.not_thinking) or None)


def _adaptive(effort: str, abilities: Abilities) -> Thinking:
    """Without `display` the newer models do not show what they think."""
    known = effort in abilities.efforts or effort not in _NEAREST
    asked = Thinking({"type": "adaptive", "display": "summarized"}, effort if known else _NEAREST[effort])
    if not known:
        asked.warn(f"the model has no effort {effort!r}: it is asked for {asked.effort!r}")
    return asked
