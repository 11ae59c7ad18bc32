"""Processors: what stands between an agent, its model and its readers, and may change or stop what passes.

`Processor` is the class to derive from, `Pipeline` runs an agent's processors in one run, `HoldBack` is for guardrails
that act before text is shown. Those that come with riverrun are in `builtin` (they need no model) and `judged` (they
ask one).
"""

from riverrun.errors import TripwireError
from riverrun.processors.builtin import (
    BatchParts,
    LruCache,
    Preset,
    RegexFilter,
    ResponseCache,
    Rule,
    SmoothStream,
    StreamErrorRetry,
    TokenLimiter,
    ToolCallFilter,
    UnicodeNormalizer,
)
from riverrun.processors.cached import CachedResponse
from riverrun.processors.context import EmitChunk, ProcessorContext
from riverrun.processors.hold_back import Block, HoldBack, held_back
from riverrun.processors.judged import (
    Finding,
    Guardrail,
    GuardrailOptions,
    JudgeError,
    LanguageDetector,
    Moderation,
    PIIDetector,
    PromptInjectionDetector,
    Question,
    SystemPromptScrubber,
)
from riverrun.processors.pipeline import Pipeline
from riverrun.processors.processor import Given, Processor
from riverrun.processors.step import StepChanges, StepInfo
from riverrun.processors.tripwire import retry_feedback, tripwire_chunk, tripwire_payload

__all__ = [
    "BatchParts",
    "Block",
    "CachedResponse",
    "EmitChunk",
    "Finding",
    "Given",
    "Guardrail",
    "GuardrailOptions",
    "HoldBack",
    "JudgeError",
    "LanguageDetector",
    "LruCache",
    "Moderation",
    "PIIDetector",
    "Pipeline",
    "Preset",
    "Processor",
    "ProcessorContext",
    "PromptInjectionDetector",
    "Question",
    "RegexFilter",
    "ResponseCache",
    "Rule",
    "SmoothStream",
    "StepChanges",
    "StepInfo",
    "StreamErrorRetry",
    "SystemPromptScrubber",
    "TokenLimiter",
    "ToolCallFilter",
    "TripwireError",
    "UnicodeNormalizer",
    "held_back",
    "retry_feedback",
    "tripwire_chunk",
    "tripwire_payload",
]
