"""Model names → models. Importing this module imports no provider SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from riverrun.errors import ConfigError
from riverrun.types import Model


def resolve_model(model: str | Model) -> Model:
    """A model for a name ("provider/model-id", "local:/path/file.gguf"); a model is given back as it is.

    Raises ConfigError for a name that is none, with the ones there are, and for what is no model; MissingExtraError and
    MissingKeyError when the provider's SDK or its key is missing.
    """
    if not isinstance(model, str):
        if not all(hasattr(model, name) for name in ("stream", "model_id", "provider")):
            raise ConfigError(f"a model is a name or has stream, model_id and provider, unlike {model!r:.80}")
        return model
    if model.startswith("local:"):
        return _local(model.removeprefix("local:"))
    provider, slash, model_id = model.partition("/")
    make = _PROVIDERS.get(provider)
    if not slash or not model_id or make is None:
        known = ", ".join(f"{name}/…" for name in _PROVIDERS)
        raise ConfigError(f"unknown model '{model}': a model is named provider/model-id, and the providers are {known}")
    return make(model_id)


def _openai_chat(model_id: str) -> Model:
    from riverrun.models.openai_chat import OpenAIChatModel

    return cast("Model", OpenAIChatModel(model_id))


def _openai_responses(model_id: str) -> Model:
    from riverrun.models.openai_responses import OpenAIResponsesModel

    return cast("Model", OpenAIResponsesModel(model_id))


def _anthropic(model_id: str) -> Model:
    from riverrun.models.anthropic import AnthropicModel

    return cast("Model", AnthropicModel(model_id))


def _google(model_id: str) -> Model:
    from riverrun.models.google import GoogleModel

    return cast("Model", GoogleModel(model_id))


def _local(name: str) -> Model:
    from riverrun.models.local import LocalModel

    return cast("Model", LocalModel(name))


_PROVIDERS: dict[str, Callable[[str], Model]] = {
    "anthropic": _anthropic,
    "google": _google,
    "openai": _openai_responses,
    "openai-chat": _openai_chat,
    "local": _local,
}
