"""Agents and their runs."""

from riverrun.agent.agent import Agent, RunOptions
from riverrun.agent.completion import Candidate, Score, Scorer, TaskComplete
from riverrun.agent.delegate import delegate
from riverrun.agent.hooks import Iteration, Verdict, has_tool_call, step_count_is
from riverrun.agent.keeping import Memory
from riverrun.agent.run import Run
from riverrun.agent.source_tool import source_tool
from riverrun.processors.step import StepChanges, StepInfo

__all__ = [
    "Agent",
    "Candidate",
    "Iteration",
    "Memory",
    "Run",
    "RunOptions",
    "Score",
    "Scorer",
    "StepChanges",
    "StepInfo",
    "TaskComplete",
    "Verdict",
    "delegate",
    "has_tool_call",
    "source_tool",
    "step_count_is",
]
