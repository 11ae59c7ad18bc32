"""The face of the package: its names, and that importing it brings no provider's SDK along."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import riverrun

SOURCE = Path(__file__).resolve().parents[1] / "src"

NAMES = [
    "Agent",
    "App",
    "ConfigError",
    "Iteration",
    "Memory",
    "Model",
    "ModelError",
    "ModelRequest",
    "NamedTool",
    "Result",
    "RiverrunError",
    "Run",
    "RunError",
    "Settings",
    "Source",
    "StepChanges",
    "StepInfo",
    "StructuredOutput",
    "Timeout",
    "Tool",
    "ToolContext",
    "Verdict",
    "client_tool",
    "has_tool_call",
    "provider_tool",
    "step_count_is",
    "tool",
]


def loaded_by(statement: str) -> set[str]:
    """The top names of all modules that are there after `statement`, in a Python of its own."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        check=True,
    )
    assert ended.stderr == ""
    return set(ended.stdout.split())


def test_the_root_has_these_names_and_no_others() -> None:
    assert riverrun.__all__ == NAMES
    assert len(NAMES) <= 30


def test_every_name_is_there() -> None:
    assert [name for name in NAMES if not hasattr(riverrun, name)] == []


def test_no_other_name_lies_about_in_the_root() -> None:
    modules = {"agent", "app", "chunks", "errors", "models", "processors", "schema", "store", "streams", "structured"}
    modules |= {"numbers", "tools", "types"}
    modules |= {"cli", "sync", "testing"}  # when something else imported them
    assert {name for name in vars(riverrun) if not name.startswith("_")} - set(NAMES) <= modules


def test_every_name_says_what_it_is() -> None:
    undocumented = [name for name in NAMES if not (getattr(riverrun, name).__doc__ or "").strip()]
    assert undocumented == []


def test_importing_the_root_brings_no_sdk_along() -> None:
    loaded = loaded_by("import riverrun")
    assert "riverrun" in loaded
    assert loaded.isdisjoint({"openai", "xllamacpp", "httpx", "anthropic", "google", "sqlalchemy", "numpy"})


def test_importing_the_bridge_and_the_models_brings_no_sdk_along() -> None:
    loaded = loaded_by("import riverrun.sync, riverrun.models, riverrun.models.names, riverrun.agent")
    assert loaded.isdisjoint({"openai", "xllamacpp", "httpx"})


def test_importing_prints_nothing() -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import riverrun"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        check=True,
    )
    assert (ended.stdout, ended.stderr) == ("", "")
