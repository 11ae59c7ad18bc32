"""Names of models, and what is said to one that is none."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from riverrun import ConfigError
from riverrun.errors import MissingKeyError
from riverrun.models import ScriptedModel, resolve_model


def test_a_model_is_given_back_as_it_is() -> None:
    model = ScriptedModel([])
    assert resolve_model(model) is model


KEYS = {
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GEMINI_API_KEY",
}
"""Where each provider's key is looked for."""


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS.values(), "GOOGLE_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("openai/gpt-5-mini", "OpenAIResponsesModel"),
        ("openai-chat/org/model:tag", "OpenAIChatModel"),
        ("anthropic/claude-sonnet-5", "AnthropicModel"),
        ("google/gemini-3-flash", "GoogleModel"),
    ],
)
def test_a_name_gives_the_providers_model(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    provider, _, model_id = name.partition("/")
    monkeypatch.setenv(KEYS[provider], "key")
    model = resolve_model(name)
    assert (type(model).__name__, model.provider, model.model_id) == (kind, provider, model_id)


@pytest.mark.parametrize("provider", KEYS)
def test_a_provider_without_its_key_says_which_one(provider: str) -> None:
    with pytest.raises(MissingKeyError, match=r"(OPENAI|ANTHROPIC|GOOGLE|GEMINI)_API_KEY") as raised:
        resolve_model(f"{provider}/some-model")
    assert raised.value.variable in str(raised.value)


@pytest.mark.parametrize(
    "name", ["", "gpt-5", "openai", "openai/", "/gpt-5", "nobody/gpt-5", "OpenAI/gpt-5", " openai/x"]
)
def test_a_name_that_is_none_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        resolve_model(name)
    message = str(raised.value)
    assert f"unknown model '{name}'" in message
    for known in ("anthropic/…", "google/…", "openai/…", "openai-chat/…", "local/…"):
        assert known in message


@pytest.mark.parametrize("model", [None, 5, [], {"model": "openai/gpt-5"}, object()])
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(ConfigError, match="a model is a name or has stream, model_id and provider"):
        resolve_model(model)


@pytest.mark.parametrize("kind", ["openai_chat.OpenAIChatModel", "openai_responses.OpenAIResponsesModel"])
@pytest.mark.parametrize("url", ["localhost:8000", "ftp://server"])
def test_a_base_url_that_names_no_server_is_refused_where_it_is_given(kind: str, url: str) -> None:
    refused(kind, url)


@pytest.mark.parametrize("kind", ["anthropic.AnthropicModel", "google.GoogleModel"])
def test_so_is_that_of_other_providers(kind: str) -> None:
    refused(kind, "localhost:8000")


def refused(kind: str, url: str) -> None:
    module, _, name = kind.partition(".")
    model = getattr(import_module(f"riverrun.models.{module}"), name)
    with pytest.raises(ConfigError, match="http:// or https://"):
        model("m", base_url=url, api_key="key")
