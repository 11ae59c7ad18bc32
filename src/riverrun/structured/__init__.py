"""Structured output: what an answer is to be, and the object that is read out of it while it comes."""

from riverrun.errors import StructuredOutputError
from riverrun.structured.elements import Elements
from riverrun.structured.output_type import OutputType
from riverrun.structured.reader import ObjectReader, Outcome
from riverrun.structured.settings import ErrorStrategy, PromptInjection, StructuredOutput

__all__ = [
    "Elements",
    "ErrorStrategy",
    "ObjectReader",
    "Outcome",
    "OutputType",
    "PromptInjection",
    "StructuredOutput",
    "StructuredOutputError",
]
