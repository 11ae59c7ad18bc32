"""riverrun: a streaming agent runtime. An agent's run is one ordered stream of typed chunks (`riverrun.chunks`)."""

from riverrun.agent import (
    Agent,
    Iteration,
    Memory,
    Run,
    StepChanges,
    StepInfo,
    Verdict,
    has_tool_call,
    step_count_is,
)
from riverrun.app import App
from riverrun.chunks import Result
from riverrun.errors import ConfigError, ModelError, RiverrunError, RunError
from riverrun.structured import StructuredOutput
from riverrun.tools import Tool, ToolContext, client_tool, provider_tool, tool
from riverrun.types import Model, ModelRequest, NamedTool, Settings, Source, Timeout

__all__ = [
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
