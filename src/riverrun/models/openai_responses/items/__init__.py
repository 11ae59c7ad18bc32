"""The items of a response's output, each in a class of its kind: events → chunks."""

from riverrun.models.openai_responses.items.table import Items

__all__ = ["Items"]
