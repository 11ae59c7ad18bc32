"""Settings of how words are picked, which OpenAI's reasoning models refuse in both of its APIs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_REASONS = re.compile(r"(ft:)?(gpt-5|o\d)(?!.*-chat)")
_SAMPLING = {"temperature": "temperature", "top_p": "topP"}


def drop_sampling(
    body: dict[str, Any], options: Mapping[str, Any], *, effort: object, warnings: list[dict[str, Any]]
) -> None:
    """Take out of a request to OpenAI's own server what its model refuses, and warn of it.

    `effort` is how much the model is to reason: with "none" it takes all settings. What is in the `options` stays.
    """
    if effort == "none" or not _REASONS.match(body["model"]):
        return
    for name, shown in _SAMPLING.items():
        if name in body and name not in options:
            del body[name]
            warnings.append({"type": "unsupported-setting", "setting": shown})
