"""Names of models, and what is said to one that is none."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun import ConfigError
from riverrun.errors import MissingKeyError
from riverrun.models import ScriptedModel, resolve_model


def test_a_model_is_given_back_as_it_is() -> None:
    model = ScriptedModel([])
    assert resolve_model(model) is model


@pytest.mark.parametrize("name", ["openai/gpt-5-mini", "openai-chat/gpt-5-mini", "openai-chat/org/model:tag"])
def test_a_name_gives_the_providers_model(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    model = resolve_model(name)
    assert model.model_id == name.partition("/")[2]
    assert callable(model.stream)


def test_a_provider_without_its_key_says_which_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(MissingKeyError, match="OPENAI_API_KEY") as raised:
        resolve_model("openai-chat/gpt-5-mini")
    assert raised.value.variable == "OPENAI_API_KEY"


@pytest.mark.parametrize(
    "name", ["", "gpt-5", "openai", "openai/", "/gpt-5", "nobody/gpt-5", "OpenAI/gpt-5", " openai/x"]
)
def test_a_name_that_is_none_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        resolve_model(name)
    message = str(raised.value)
    assert f"unknown model '{name}'" in message
    for known in ("openai/…", "openai-chat/…", "local/…"):
        assert known in message


@pytest.mark.parametrize("model", [None, 5, [], {"model": "openai/gpt-5"}, object()])
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(ConfigError, match="a model is a name or has stream, model_id and provider"):
        resolve_model(model)
