"""StreamErrorRetry: which errors are worth another try, how many, and after how long."""

from __future__ import annotations

from typing import Any

import pytest

from riverrun.errors import ConfigError, ModelError, TimeoutExceeded
from riverrun.processors import StreamErrorRetry
from tests.agent.scripts import noted_sleeps
from tests.processors.streams import Running


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every sleep of some length takes no time and is noted here."""
    return noted_sleeps(monkeypatch)


OVERLOADED = ModelError("overloaded", status=529, retryable=True)
CUT_OFF = ModelError("cut off", code="truncated")


@pytest.mark.parametrize("error", [OVERLOADED, CUT_OFF])
async def test_an_error_that_may_pass_is_worth_one_more_try(naps: list[float], error: ModelError) -> None:
    pipeline = Running(StreamErrorRetry()).pipeline
    assert [await pipeline.process_api_error(error) for _ in range(2)] == [True, False]
    assert naps == [1.0]


@pytest.mark.parametrize("error", [ModelError("bad key", status=401), ValueError("bug"), TimeoutExceeded("step", 1)])
async def test_another_error_is_not(naps: list[float], error: Exception) -> None:
    assert not await Running(StreamErrorRetry()).pipeline.process_api_error(error)
    assert naps == []


async def test_the_wait_doubles_up_to_a_minute(naps: list[float]) -> None:
    pipeline = Running(StreamErrorRetry(max_retries=8)).pipeline
    assert all([await pipeline.process_api_error(OVERLOADED) for _ in range(8)])
    assert naps == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_a_provider_that_says_how_long_is_waited_for_and_not_for_ever(naps: list[float]) -> None:
    soon = ModelError("later", retryable=True, retry_after=7)
    tomorrow = ModelError("later", retryable=True, retry_after=86_400)
    pipeline = Running(StreamErrorRetry(max_retries=2)).pipeline
    assert await pipeline.process_api_error(soon)
    assert not await pipeline.process_api_error(tomorrow)
    assert naps == [7]


async def test_each_run_has_tries_of_its_own(naps: list[float]) -> None:
    retry = StreamErrorRetry(delay=0.25)
    for _ in range(2):
        assert await Running(retry).pipeline.process_api_error(OVERLOADED)
    assert naps == [0.25, 0.25]


async def test_what_is_worth_a_try_can_be_said(naps: list[float]) -> None:
    retry = StreamErrorRetry(retries=lambda error: "prefill" in str(error))
    assert await Running(retry).pipeline.process_api_error(ModelError("no prefill, please"))
    assert not await Running(retry).pipeline.process_api_error(OVERLOADED)
    assert naps == [1.0]


@pytest.mark.parametrize("options", [{"max_retries": -1}, {"max_retries": "x"}, {"delay": -0.5}, {"delay": "x"}])
def test_numbers_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="max_retries and delay are numbers from 0 on"):
        StreamErrorRetry(**options)
