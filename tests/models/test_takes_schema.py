"""Which models are held to a JSON Schema by their API; the others are told it in words."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.models.anthropic import AnthropicModel
from riverrun.models.google import GoogleModel

CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("model_id", "schema", "taken"),
    [
        ("claude-sonnet-4-5", CLOSED, True),
        ("claude-3-5-haiku-latest", CLOSED, False),
        ("claude-sonnet-4-5", {}, False),
    ],
)
@pytest.mark.parametrize("beside_tools", [False, True])
def test_claude(model_id: str, schema: dict[str, Any], taken: bool, beside_tools: bool) -> None:
    model = AnthropicModel(model_id, api_key="k")
    assert model.takes_schema(schema, beside_tools=beside_tools) is taken


@pytest.mark.parametrize(
    ("model_id", "beside_tools", "taken"),
    [
        ("gemini-2.5-flash", False, True),
        ("gemini-2.5-flash", True, False),
        ("gemini-3-pro-preview", True, True),
    ],
)
def test_gemini(model_id: str, beside_tools: bool, taken: bool) -> None:
    assert GoogleModel(model_id, api_key="k").takes_schema(CLOSED, beside_tools=beside_tools) is taken
