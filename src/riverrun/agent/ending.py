"""How a run ends that does not come to its own end: it was cancelled, it failed, or a processor stopped it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass

from riverrun.agent.cancellation import Cancellation
from riverrun.agent.inputs import answer_messages, sealed
from riverrun.agent.keeping import Keeper
from riverrun.agent.plan import Plan
from riverrun.agent.step import Answer
from riverrun.agent.transcript import Transcript
from riverrun.chunks import AbortChunk, AbortPayload, ChunkType, ErrorChunk, ErrorPayload, Message
from riverrun.errors import StoreError, TimeoutExceeded, TripwireError
from riverrun.processors import Pipeline, tripwire_chunk
from riverrun.streams import GRACE, Log, uncancelled

_logger = logging.getLogger("riverrun")

PATIENCE = 10.0
"""Seconds that the store gets to keep what was said in a run that was cut off."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Ends one run: keeps what is to be kept of it, within bounded time, and tells the end. Never raises."""

    plan: Plan
    log: Log[ChunkType]
    cancellation: Cancellation
    keeper: Keeper
    pipeline: Pipeline
    transcript: Transcript

    async def trip(self, tripwire: TripwireError) -> None:
        """A processor stopped the run: nothing follows, and nothing is kept of it."""
        self.cancellation.event.set()
        try:
            async with asyncio.timeout(PATIENCE):
                await self.keeper.forget()
        except Exception as error:
            _logger.error("what was saved of run %s could not be taken back", self.plan.run_id, exc_info=error)
        self.log.write(tripwire_chunk(tripwire, run_id=self.plan.run_id))

    async def give_back(self, answer: Answer | None) -> None:
        """The program ends, which nobody wanted of the run: when it was resumed, it waits on."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(PATIENCE):
                await self.keeper.give_back()
        await self.stop(answer)

    async def stop(self, answer: Answer | None) -> None:
        """The run was cancelled, or took too long; `answer` is the one under way."""
        if self.cancellation.timed_out:
            await self.fail(TimeoutExceeded("total", self.plan.timeout.total or 0.0), answer)
            return
        fault = await self._leave(answer, failed=False)
        if fault is None:
            self._tell(AbortChunk(AbortPayload(), run_id=self.plan.run_id, from_="AGENT"), "tripwire", answer)
        else:
            self._tell_error(fault, answer)

    async def fail(self, error: Exception, answer: Answer | None) -> None:
        """Something went wrong."""
        fault = await self._leave(answer, failed=True)
        if fault is not None:
            error.add_note(f"what was said could not be kept: {fault}")
        self._tell_error(error, answer)

    def _tell_error(self, error: Exception, answer: Answer | None) -> None:
        self._tell(ErrorChunk(ErrorPayload(error=error), run_id=self.plan.run_id, from_="AGENT"), "error", answer)

    def _tell(self, ending: ChunkType, reason: str, answer: Answer | None) -> None:
        self.log.write(ending)
        self.log.write(self.transcript.cut_off(reason, answer))

    async def _leave(self, answer: Answer | None, *, failed: bool) -> Exception | None:
        """Keep what there is of the run. Gives the error of a store that cannot."""
        self.cancellation.event.set()  # for tools in threads, which nothing else can stop
        said = [] if answer is None else answer_messages(answer.fold.content())
        left = await self._left([*self.transcript.answers, *said])
        self.transcript.answers = sealed(left or [])
        try:
            if self.keeper.is_lost:
                return None
            async with asyncio.timeout(PATIENCE):
                if left is None:
                    await self.keeper.forget()
                else:
                    await self.keeper.finish(self.transcript.worth_keeping(left, failed=failed))
        except TimeoutError:
            return StoreError(f"the store gave no answer within {PATIENCE:g} s")
        except Exception as error:
            return error
        return None

    async def _left(self, messages: list[Message]) -> list[Message] | None:
        """What processors leave of the messages. None: nothing, also when they fail or take too long."""
        if not messages or not self.pipeline.has("process_output_result"):
            return messages
        try:
            async with asyncio.timeout(GRACE):
                return [*await uncancelled(self.pipeline.process_output_result(messages))]
        except TripwireError:
            return None
        except Exception as error:
            _logger.error("nothing is kept of run %s, since a processor failed", self.plan.run_id, exc_info=error)
            return None
