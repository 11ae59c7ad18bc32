"""Models: strings and objects → something that answers a request with chunks."""

from riverrun.models.names import resolve_model
from riverrun.models.scripted import Call, ScriptedModel, text_call

__all__ = ["Call", "ScriptedModel", "resolve_model", "text_call"]
