"""Agents and their runs."""

from riverrun.agent.agent import Agent, RunOptions
from riverrun.agent.hooks import (
    Iteration,
    StepChanges,
    StepInfo,
    Verdict,
    has_tool_call,
    step_count_is,
)
from riverrun.agent.run import Run

__all__ = [
    "Agent",
    "Iteration",
    "Run",
    "RunOptions",
    "StepChanges",
    "StepInfo",
    "Verdict",
    "has_tool_call",
    "step_count_is",
]
