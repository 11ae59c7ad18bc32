"""JSON whose shape nobody vouches for → the shape that is looked for, empty where it is another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.chunks.envelope import is_object


def mapping(value: object) -> Mapping[str, Any]:
    """The members of a JSON object; none for any other value."""
    return value if is_object(value) else {}
