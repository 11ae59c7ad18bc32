"""Anthropic's Messages API, and every server that speaks it: request → body; model → bytes; stream → chunks."""

from riverrun.models.anthropic.model import AnthropicModel
from riverrun.models.anthropic.stream import StreamDecoder

__all__ = ["AnthropicModel", "StreamDecoder"]
