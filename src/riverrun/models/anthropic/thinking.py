"""How much a model is to think, in the words that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from riverrun.chunks.envelope import mapping
from riverrun.models.anthropic.abilities import Abilities

THINKING_BLOCKS = ("thinking", "redacted_thinking")
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

    def do_without_budget(self, why: str) -> None:
        """Ask for no thinking that has a budget: the API refuses it here, which is warned of."""
        if mapping(self.thinking).get("type") == "enabled":
            self.thinking = None
            self.warnings.append({**_UNSUPPORTED, "details": why})

    def warn(self, message: str) -> None:
        """Say that it is not as it was asked for."""
        self.warnings.append({"type": "other", "message": message})


def thinking_for(effort: str, abilities: Abilities) -> Thinking:
    """What to ask a model for."""
    if effort == "none":
        return _off(abilities)
    match abilities.thinking:
        case "adaptive":
            return _adaptive(effort, abilities)
        case "budget" if effort in _BUDGETS:
            return Thinking({"type": "enabled", "budget_tokens": _BUDGETS[effort]})
        case _:
            return Thinking(warnings=[_UNSUPPORTED])


def called_without_thinking(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the messages of a request end in results of calls before which nobody thought, such as another
    provider's model made them.
    """
    kinds: set[str] = set()
    for message in reversed(messages):
        found = {str(block["type"]) for block in message["content"]}
        if message["role"] == "user" and "tool_result" not in found:
            break
        kinds |= found
    return {"tool_use", "tool_result"} <= kinds and kinds.isdisjoint(THINKING_BLOCKS)


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
