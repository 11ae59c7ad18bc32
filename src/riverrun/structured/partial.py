"""What is shown of an answer while it is written, for each kind of output. UNSET: nothing yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from riverrun.chunks.envelope import is_list, is_object
from riverrun.chunks.partial_json import PartialJson


def partial_array(json: PartialJson, wrapper: str) -> Any:
    """The elements, wrapped or bare. The last one is left out while it is an unfinished scalar or empty."""
    value = json.value()
    above: tuple[str, ...] = () if is_list(value) else (wrapper,)
    elements = value.get(wrapper) if is_object(value) else value
    if not is_list(elements):
        return UNSET if value is UNSET else []
    if not elements or json.path[: len(above) + 1] != (*above, len(elements) - 1):
        return elements
    last = elements[-1]
    is_told = (is_object(last) or is_list(last)) and len(last) > 0
    return elements if is_told else elements[:-1]


def partial_choice(json: PartialJson, wrapper: str, choices: Sequence[str]) -> Any:
    """The one choice that the text can still become, or the text while it may become several."""
    value = partial_value(json, wrapper)
    if wrapper not in json.path:
        return value
    if not isinstance(value, str) or not value:
        return UNSET
    open_to = [choice for choice in choices if choice.startswith(value)]
    if not open_to:
        return UNSET
    return open_to[0] if len(open_to) == 1 else value


def partial_value(json: PartialJson, wrapper: str) -> Any:
    """What is in the wrapper."""
    value = json.value()
    return value.get(wrapper, UNSET) if is_object(value) else UNSET
