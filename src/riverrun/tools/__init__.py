"""Tools: Python functions and foreign schemas that a model may call, what they know while they run, and one call."""

from riverrun.tools.call import model_output, run_call
from riverrun.tools.context import ToolContext
from riverrun.tools.suspension import NestedWait
from riverrun.tools.tool import Approval, Tool, client_tool, find_tool, provider_tool, tool

__all__ = [
    "Approval",
    "NestedWait",
    "Tool",
    "ToolContext",
    "client_tool",
    "find_tool",
    "model_output",
    "provider_tool",
    "run_call",
    "tool",
]
