"""LocalModel: an answer from weights on this machine.

request → body → the engine's process → events → chunks. A model keeps nothing between calls but its hold on the
engine, and may be used from one event loop after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from riverrun.chunks import ChunkType, StepStartChunk, StepStartPayload
from riverrun.errors import ConfigError, ModelError
from riverrun.models.local.engine import (
    Engine,
    EngineOptions,
    release_engine,
    require_engine,
    shared_engine,
    usable_threads,
)
from riverrun.models.local.request import PROVIDER, local_request
from riverrun.models.local.stream import StreamDecoder
from riverrun.models.local.weights import DEFAULT_WEIGHTS, Weights, find_weights
from riverrun.types import ModelRequest

_NO_SUCH_CALL = "does not match the expected"
"""What llama.cpp says of an answer that it cannot read: in practice, of a call to a tool that there is not."""


class LocalModel:
    """A model that llama.cpp runs on this machine.

    `name_or_path` is a name of the catalogue (see weights.py) or the path of a GGUF file. `context` is how many tokens
    one conversation may have, its answer included; `slots` how many are answered side by side, each with memory of its
    own; `threads` the CPU threads (None: one for each core); `chat_template` is Jinja text that replaces the usual one.
    Models with equal options share one engine, which is started by the first call. Catalogue weights answer at
    temperature 0 unless told otherwise.
    Raises ConfigError when the weights are not there, MissingExtraError without the engine's package.
    """

    def __init__(
        self,
        name_or_path: str | Path = DEFAULT_WEIGHTS,
        *,
        context: int = 4096,
        slots: int = 2,
        threads: int | None = None,
        chat_template: str | None = None,
    ) -> None:
        if context < 1 or slots < 1:
            raise ConfigError("context and slots must be 1 or more")
        require_engine()
        path, weights = find_weights(name_or_path)
        if weights is not None and chat_template is not None:  # what the catalogue says goes with its template
            weights = replace(weights, template=None, answers_after_tools=False)
        self._weights = weights
        self._model_id = weights.name if weights else path.stem
        self._options = EngineOptions(
            path=str(path.absolute()),
            context=context,
            slots=slots,
            threads=usable_threads(threads),
            template=chat_template or _template(weights),
        )

    @property
    def provider(self) -> str:
        """The provider's name, as in model strings."""
        return PROVIDER

    @property
    def model_id(self) -> str:
        """The name of the weights: the catalogue's, or the file's."""
        return self._model_id

    async def load(self) -> None:
        """Load the weights now, so that the first call does not wait for it. Raises ModelError when they cannot be."""
        await self._engine().load()

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        """Call the model. Leaving the stream stops it. Raises ModelError when the call fails.

        When the model calls a tool that there is not, it is asked once more, without tools.
        """
        call = local_request(request, self._weights)
        engine = self._engine()
        await engine.load()
        payload = StepStartPayload(request={"body": call.body}, warnings=cast("list[Any]", call.warnings))
        yield StepStartChunk(payload, run_id=request.run_id, from_="AGENT")
        bodies = [body for body in (call.body, call.without_tools) if body is not None]
        for body in bodies:
            decoder = StreamDecoder(request.run_id, model_id=self._model_id, include_raw=request.include_raw)
            failure: ModelError | None = None
            async with aclosing(engine.events(body)) as events:
                try:
                    async for event in events:
                        if "error" in event:
                            failure = _model_error(event["error"])
                            break
                        for chunk in decoder.feed(event):
                            yield chunk
                except ModelError as error:
                    failure = error
            for chunk in decoder.finish() if failure is None else decoder.close():
                yield chunk
            if failure is None:
                return
            if body is bodies[-1] or decoder.called or failure.code != "unreadable":
                raise failure

    async def aclose(self) -> None:
        """Let go of the engine; it ends when no other model uses it. The model can be used again."""
        await asyncio.to_thread(release_engine, self._options, self)

    def _engine(self) -> Engine:
        return shared_engine(self._options, self)


def _template(weights: Weights | None) -> str | None:
    if weights is None or weights.template is None:
        return None
    return Path(__file__).with_name(weights.template).read_text(encoding="utf-8")


def _model_error(said: Mapping[str, Any]) -> ModelError:
    """The engine's error object as ModelError, saying what to do where that is known."""
    message = str(said.get("message") or said)
    status = said.get("code")
    if said.get("type") == "exceed_context_size_error":
        message = (
            f"the conversation has {said.get('n_prompt_tokens')} tokens and the model's context {said.get('n_ctx')}: "
            "shorten it, or make the model with a larger context="
        )
        return ModelError(message, status=400, code="context-length")
    if _NO_SUCH_CALL in message:
        return ModelError("the model wrote a tool call that cannot be read", status=500, code="unreadable")
    return ModelError(message, status=status if isinstance(status, int) else None, code=said.get("type"))
