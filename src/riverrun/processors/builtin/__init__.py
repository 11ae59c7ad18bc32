"""Processors that need no model."""

from riverrun.processors.builtin.batch_parts import BatchParts
from riverrun.processors.builtin.lru import LruCache
from riverrun.processors.builtin.regex_filter import RegexFilter
from riverrun.processors.builtin.response_cache import ResponseCache
from riverrun.processors.builtin.rules import Preset, Rule
from riverrun.processors.builtin.smooth_stream import SmoothStream
from riverrun.processors.builtin.stream_error_retry import StreamErrorRetry
from riverrun.processors.builtin.token_limiter import TokenLimiter
from riverrun.processors.builtin.tool_call_filter import ToolCallFilter
from riverrun.processors.builtin.unicode_normalizer import UnicodeNormalizer

__all__ = [
    "BatchParts",
    "LruCache",
    "Preset",
    "RegexFilter",
    "ResponseCache",
    "Rule",
    "SmoothStream",
    "StreamErrorRetry",
    "TokenLimiter",
    "ToolCallFilter",
    "UnicodeNormalizer",
]
