"""StreamErrorRetry: another try after an error that may pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from riverrun.errors import ConfigError, ModelError
from riverrun.numbers import is_number, is_whole
from riverrun.processors.context import ProcessorContext
from riverrun.processors.processor import Processor

LONGEST_WAIT = 60.0
"""Seconds: a provider that asks for a longer wait is not asked again."""


def is_transient(error: Exception) -> bool:
    """Whether the same call may succeed later: the provider says so, or its stream was cut off."""
    return isinstance(error, ModelError) and (error.retryable or error.code == "truncated")


class StreamErrorRetry(Processor):
    """Has a failed model call made again up to `max_retries` times a run, also when its answer had begun.

    It waits as long as the provider asks for, otherwise `delay` seconds, twice as long each time. `retries` says which
    errors are worth it.
    """

    def __init__(
        self,
        *,
        max_retries: int = 1,
        delay: float = 1.0,
        retries: Callable[[Exception], bool] = is_transient,
        id: str | None = None,
    ) -> None:
        """Raises ConfigError for a number that there cannot be."""
        super().__init__(id=id)
        if not is_whole(max_retries, least=0) or not (is_number(delay) and delay >= 0):
            raise ConfigError("StreamErrorRetry: max_retries and delay are numbers from 0 on")
        self.max_retries = max_retries
        self.delay = delay
        self.retries = retries

    async def process_api_error(self, error: Exception, ctx: ProcessorContext) -> bool:
        tries: int = ctx.state.get("tries", 0)
        asked = error.retry_after if isinstance(error, ModelError) else None
        pause = asked if asked is not None else min(LONGEST_WAIT, self.delay * 2**tries)
        if tries >= self.max_retries or pause > LONGEST_WAIT or not self.retries(error):
            return False
        ctx.state["tries"] = tries + 1
        await asyncio.sleep(pause)
        return True
