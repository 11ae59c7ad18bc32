"""OpenAI's chat completions, and every server that speaks them: request → body; model → bytes; stream → chunks."""

from riverrun.models.openai_chat.model import OpenAIChatModel
from riverrun.models.openai_chat.stream import StreamDecoder

__all__ = ["OpenAIChatModel", "StreamDecoder"]
