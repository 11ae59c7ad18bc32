"""The options that a run keeps while it waits, as JSON: all but `deps` and what is code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from riverrun.tools.validation import check_json
from riverrun.types import NamedTool, Settings, Timeout

_AS_THEY_ARE = (
    "instructions",
    "system",
    "active_tools",
    "max_steps",
    "max_retries",
    "max_processor_retries",
    "tool_concurrency",
    "include_raw",
    "provider_options",
)
_VALUES = {"settings": Settings, "timeout": Timeout}


def saved_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was given, as JSON."""
    saved = {name: options[name] for name in _AS_THEY_ARE if name in options}
    for name in _VALUES.keys() & options.keys():
        saved[name] = {member: value for member, value in asdict(options[name]).items() if value is not None}
    if "tool_choice" in options:
        choice = options["tool_choice"]
        saved["tool_choice"] = asdict(choice) if isinstance(choice, NamedTool) else choice
    if "require_tool_approval" in options:  # a function is not kept; without it no call goes through
        saved["require_tool_approval"] = options["require_tool_approval"] is not False
    output = options.get("output")
    if isinstance(output, Mapping):  # a schema, no type
        saved["output"] = output
    elif isinstance(output, Sequence):
        saved["output"] = [*output]
    return saved


def check_saved(saved: Mapping[str, Any]) -> None:
    """Raises TypeError for an option without a JSON form: it names the option, and where in it the culprit is."""
    for name, value in saved.items():
        check_json(value, what=f"the option {name}, which is kept while the run waits,")


def restored_options(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The options that `saved_options` was given."""
    restored = dict(saved)
    for name, cls in _VALUES.items():
        if name in saved:
            restored[name] = cls(**saved[name])
    if isinstance(saved.get("tool_choice"), Mapping):
        restored["tool_choice"] = NamedTool(**saved["tool_choice"])
    return restored
