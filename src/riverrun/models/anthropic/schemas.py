"""JSON Schemas as the API takes them for an answer: closed, and without what it cannot hold an answer to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def answer_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in the form that the API takes, as the SDK makes it; None when it has no such form.

    Bounds and the like become part of the descriptions, so that the model knows of them all the same.
    """
    from anthropic import transform_schema

    try:
        return transform_schema(dict(schema))
    except (ValueError, TypeError, AttributeError):  # an open schema, or none at all
        return None
