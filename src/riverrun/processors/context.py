"""What a processor knows of the run, and its ways to stop it and to write into its stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from msgspec import UNSET

from riverrun.chunks import ChunkType, DataChunk
from riverrun.chunks.codec import json_value
from riverrun.errors import TripwireError
from riverrun.types import Model

EmitChunk: TypeAlias = Callable[[ChunkType], None]
"""Puts a chunk into the run's stream."""


@dataclass(slots=True, kw_only=True, eq=False)
class ProcessorContext:
    """One processor in one run; all of its hooks get the same one.

    `state` is the processor's own, for as long as the run goes on. `step_number` counts from 0, `retry_count` the
    tries that processors have asked for so far, `model` is the one that is asked in this step. `deps` is what the
    caller of the run passed for its tools.
    """

    processor_id: str
    run_id: str
    agent_name: str
    emit_chunk: EmitChunk = field(repr=False)
    deps: Any = None
    step_number: int = 0
    retry_count: int = 0
    model: Model | None = None
    state: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def abort(self, reason: str = "", *, retry: bool = False, metadata: object = None) -> NoReturn:
        """Stop the run with a tripwire. `retry` asks for the step again, with the reason told to the model; it is heard
        in `process_output_step` only, when the agent allows retries. `metadata` goes on the chunk.

        Always raises TripwireError.
        """
        raise TripwireError(
            reason or f"Tripwire triggered by {self.processor_id}",
            processor_id=self.processor_id,
            retry=retry,
            metadata=_writable(metadata),
        )

    def emit(self, name: str, data: object = UNSET, *, id: str | None = None, transient: bool = False) -> None:
        """Write a chunk of the program's own before the one in hand: `emit("score", …)` gives `data-score`.

        A name that begins with `data-` is taken as it is. A transient chunk is streamed and never stored. Raises
        TypeError for data without a JSON form.
        """
        value = UNSET if data is UNSET else json_value(data)
        kind = name if name.startswith("data-") else f"data-{name}"
        self.emit_chunk(DataChunk(type=kind, data=value, id=id, transient=transient or None, run_id=self.run_id))

    def warn(self, reason: str, *, metadata: object = None) -> None:
        """Let the run go on and say in its stream what was found: `data-warning` {processorId, reason, metadata?}."""
        told: dict[str, object] = {"processorId": self.processor_id, "reason": reason}
        if metadata is not None:
            told["metadata"] = _writable(metadata)
        self.emit("warning", told, transient=True)


def _writable(metadata: object) -> object:
    """As JSON value, or as text when it has none: what a guardrail adds must not keep it from acting."""
    try:
        return json_value(metadata)
    except TypeError:
        return repr(metadata)
