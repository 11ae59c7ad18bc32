"""OpenAI's responses, and every server that speaks them: request → body; model → bytes; stream → chunks."""

from riverrun.models.openai_responses.model import OpenAIResponsesModel
from riverrun.models.openai_responses.stream import StreamDecoder

__all__ = ["OpenAIResponsesModel", "StreamDecoder"]
