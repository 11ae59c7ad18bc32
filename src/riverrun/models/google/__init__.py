"""Google's Gemini (generateContent): request → body; model → bytes; stream → chunks."""

from riverrun.models.google.model import GoogleModel
from riverrun.models.google.stream import StreamDecoder

__all__ = ["GoogleModel", "StreamDecoder"]
