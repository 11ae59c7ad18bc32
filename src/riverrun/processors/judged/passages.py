"""Passages: stretches of a text that a judge quotes, to be hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping

from riverrun.processors.judged.judge import JudgeError


def without_passages(text: str, marks: Mapping[str, str]) -> str:
    """The text with a mark in place of each passage, wherever it stands.

    Raises JudgeError for a passage that is not in the text: what a judge quotes wrongly cannot be hidden.
    """
    if any(not passage.strip() or passage not in text for passage in marks):
        raise JudgeError("the judge quotes what is not in the text")
    longest_first = sorted(marks, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)))
    return pattern.sub(lambda match: marks[match[0]], text)
