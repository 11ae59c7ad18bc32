"""A tripwire: a processor's way to stop a run, and the forms in which the stream tells of it."""

from __future__ import annotations

from riverrun.chunks import TripwireChunk, TripwirePayload
from riverrun.errors import TripwireError


def tripwire_payload(tripwire: TripwireError) -> TripwirePayload:
    """What the stream tells of a tripwire."""
    return TripwirePayload(
        reason=tripwire.reason,
        retry=tripwire.retry or None,
        metadata=tripwire.metadata,
        processor_id=tripwire.processor_id,
    )


def tripwire_chunk(tripwire: TripwireError, *, run_id: str) -> TripwireChunk:
    """The chunk that ends a stream that was stopped."""
    return TripwireChunk(tripwire_payload(tripwire), run_id=run_id, from_="AGENT")


def retry_feedback(tripwire: TripwireError) -> str:
    """What the model is told, as a system message, when it is to try again."""
    return (
        f"[Processor Feedback] Your previous response was not accepted: {tripwire.reason}. "
        "Please try again with the feedback in mind."
    )
