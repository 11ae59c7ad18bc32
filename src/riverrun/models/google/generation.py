"""What can be told of a model by its name: its generation, and how it is asked to think."""

from __future__ import annotations

import math
import re
from typing import Any

_VERSION = re.compile(r"gemini-(\d+(?:\.\d+)?)(?![\d.])")
_FIRST = ("gemini-pro", "gemini-pro-vision")

_BUDGETS = {"minimal": 512, "low": 2048, "medium": 8192, "high": 24_576, "xhigh": 24_576, "max": 24_576}
_LEAST_BUDGET_OF_PRO = 128
_LEVELS = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}


def generation(model_id: str) -> float:
    """Of which generation a Gemini model is: 2.5, 3.0; infinite for a name that does not say ("gemini-flash-latest"),
    0 for a model that is no Gemini.
    """
    name = _last(model_id)
    if not name.startswith("gemini-"):
        return 0.0
    version = _VERSION.match(name)
    if version is not None:
        return float(version[1])
    return 1.0 if name in _FIRST else math.inf


def is_gemma(model_id: str) -> bool:
    """Whether a model is a Gemma, which takes no system instruction."""
    return _last(model_id).startswith("gemma-")


def thinking_config(model_id: str, effort: str) -> dict[str, Any] | None:
    """The `thinkingConfig` for a reasoning effort; None when the model has none for it.

    From Gemini 3 on an effort is a level, before it a number of tokens. Not to think at all is what few can: the others
    get the least.
    """
    version, is_pro = generation(model_id), "pro" in _last(model_id).split("-")
    if version >= 3:
        level = _least_level(model_id) if effort in ("none", "minimal") else _LEVELS.get(effort)
        config: dict[str, Any] | None = None if level is None else {"thinkingLevel": level}
    elif version >= 2.5:
        budget = (_LEAST_BUDGET_OF_PRO if is_pro else 0) if effort == "none" else _BUDGETS.get(effort)
        config = None if budget is None else {"thinkingBudget": budget}
    else:
        config = None
    if config is not None and effort != "none":
        config["includeThoughts"] = True
    return config


def _least_level(model_id: str) -> str:
    """Pro models and the later Flash models refuse "minimal"."""
    words = _last(model_id).split("-")
    return "low" if "pro" in words or ("lite" not in words and generation(model_id) >= 3.7) else "minimal"


def _last(model_id: str) -> str:
    return model_id.rpartition("/")[2].lower()
