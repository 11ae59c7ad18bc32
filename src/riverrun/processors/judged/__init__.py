"""Guardrails: processors that ask a model for its judgement."""

from riverrun.processors.judged.guardrail import Finding, Guardrail, GuardrailOptions
from riverrun.processors.judged.judge import Judge, JudgeError, Question
from riverrun.processors.judged.language import LanguageDetector
from riverrun.processors.judged.moderation import Moderation
from riverrun.processors.judged.pii import PIIDetector
from riverrun.processors.judged.prompt_injection import PromptInjectionDetector
from riverrun.processors.judged.system_prompt_scrubber import SystemPromptScrubber

__all__ = [
    "Finding",
    "Guardrail",
    "GuardrailOptions",
    "Judge",
    "JudgeError",
    "LanguageDetector",
    "Moderation",
    "PIIDetector",
    "PromptInjectionDetector",
    "Question",
    "SystemPromptScrubber",
]
