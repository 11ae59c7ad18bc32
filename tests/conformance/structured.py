"""The option `structuredOutput` as riverrun's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from riverrun.structured import StructuredOutput
from tests.conformance.models import RecordingModel
from tests.conformance.values import load

MEMBERS = {
    "errorStrategy": "error_strategy",
    "fallbackValue": "fallback_value",
    "jsonPromptInjection": "prompt_injection",
    "instructions": "instructions",
}
"""Members of `structuredOutput` → of StructuredOutput. There are `schema` and `model` besides."""

STRUCTURER = "structurer"
"""The recordings' name of the model that makes the object."""


def structured_output(spec: Mapping[str, Any], log: list[dict[str, Any]]) -> StructuredOutput[Any]:
    """What the answer is to be; the calls of a model that makes the object are noted in `log`."""
    members = {ours: load(spec[name]) for name, ours in MEMBERS.items() if name in spec}
    if "model" in spec:
        members["model"] = RecordingModel(STRUCTURER, spec["model"], log)
    return StructuredOutput(spec["schema"], **members)
