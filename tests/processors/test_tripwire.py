"""How the stream tells of a tripwire."""

from __future__ import annotations

from riverrun.chunks import to_value
from riverrun.processors import TripwireError, retry_feedback, tripwire_chunk


def test_the_chunk_has_what_is_known_and_its_origin() -> None:
    tripwire = TripwireError("no", processor_id="guard", retry=True, metadata={"cat": "x"})
    assert to_value(tripwire_chunk(tripwire, run_id="run-1")) == {
        "type": "tripwire",
        "runId": "run-1",
        "from": "AGENT",
        "payload": {"reason": "no", "retry": True, "metadata": {"cat": "x"}, "processorId": "guard"},
    }


def test_members_that_say_nothing_are_left_out() -> None:
    chunk = tripwire_chunk(TripwireError("no", processor_id="guard"), run_id="run-1")
    assert to_value(chunk)["payload"] == {"reason": "no", "processorId": "guard"}


def test_the_model_is_told_why_it_has_to_try_again() -> None:
    assert retry_feedback(TripwireError("Step rejected", processor_id="step")) == (
        "[Processor Feedback] Your previous response was not accepted: Step rejected. "
        "Please try again with the feedback in mind."
    )
