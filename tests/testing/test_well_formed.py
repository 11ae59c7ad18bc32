"""assert_well_formed: silent for a good stream, and a report for any other."""

from __future__ import annotations

import pytest

from riverrun.testing import assert_well_formed
from tests.chunks.short_streams import stream


def test_a_good_stream_passes():
    assert_well_formed(stream("start step-start text-start:t text-delta:t text-end:t step-finish finish"))
    assert_well_formed(iter(stream("start step-start step-finish finish")))
    assert_well_formed(stream("step-start text-start:t text-end:t finish"), model=True)


def test_the_report_shows_each_problem_among_its_neighbours():
    chunks = stream("start step-start text-start:t text-end:t text-delta:t tool-call:c step-finish:go")
    with pytest.raises(AssertionError) as raised:
        assert_well_formed(chunks)
    assert str(raised.value) == (
        """\
the stream of 7 chunks is not well formed: 3 errors

chunk 4: error: text-delta of 't', closed at chunk 3; expected it before text-end
        2  text-start id='t'
        3  text-end id='t'
  >     4  text-delta id='t' text='x'
        5  tool-call tool_call_id='c' tool_name='t'
        6  step-finish step_result={'reason': 'stop', 'isContinued': True}

chunk 6: error: step-finish with isContinued true, but tool-call of 'c' (chunk 5) has no outcome
        4  text-delta id='t' text='x'
        5  tool-call tool_call_id='c' tool_name='t'
  >     6  step-finish step_result={'reason': 'stop', 'isContinued': True}

chunk 7: error: the stream ends after step-finish with isContinued true (chunk 6); expected step-start before
        5  tool-call tool_call_id='c' tool_name='t'
        6  step-finish step_result={'reason': 'stop', 'isContinued': True}
  >     7  (end of the stream)"""
    )


def test_warnings_fail_only_when_asked_for():
    chunks = stream("start step-start text-delta:t step-finish finish")
    assert_well_formed(chunks)
    with pytest.raises(AssertionError, match=r"^the stream of 5 chunks is not well formed: 0 errors, 1 warning\n"):
        assert_well_formed(chunks, strict=True)


def test_chunks_without_a_payload_are_shown_by_their_type():
    with pytest.raises(AssertionError, match=r"1 chunk is not well formed: 2 errors\n(.*\n)+  >     0  object\n"):
        assert_well_formed(stream("object"))


def test_an_empty_stream_fails():
    with pytest.raises(AssertionError, match="the stream is empty"):
        assert_well_formed([])


def test_long_values_are_cut():
    chunk = stream("text-delta:" + "t" * 100)
    with pytest.raises(AssertionError, match=r"text-delta id='t{58}… text='x'"):
        assert_well_formed(chunk)
