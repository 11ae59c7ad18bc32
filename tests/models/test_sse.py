"""Server-sent events: what every reader of them has to bear."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverrun.errors import ModelError
from riverrun.models.sse import Event, SseReader

ANSWER = (
    b": ping\n\n"
    b'data: {"a":1}\n\n'
    b"event: named\nid: 7\nretry: 10\ndata:no space\ndata\ndata:  two\n\n"
    b'data: {"text":"h\xc3\xa9llo \xe4\xb8\x96 \xf0\x9f\x8e\x89 \xe2\x80\xa8 \xc2\x85 \x0b \x0c"}\n\n'
    b'{\n  "error": {\n    "message": "x"\n  }\n}\n\n'
    b"data: [DONE]\n\n"
)
EVENTS = [
    Event(b'{"a":1}'),
    Event(b"no space\n\n two", "named"),
    Event('{"text":"héllo 世 🎉 \u2028 \u0085 \x0b \x0c"}'.encode()),
    Event(b'{\n  "error": {\n    "message": "x"\n  }\n}'),
    Event(b"[DONE]"),
]


def read(*pieces: bytes) -> list[Event]:
    reader = SseReader()
    return [event for piece in pieces for event in reader.feed(piece)] + reader.close()


def test_events_come_whole_when_read_at_once():
    assert read(ANSWER) == EVENTS


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_events_are_the_same_wherever_the_bytes_are_cut(line_end: bytes):
    answer = ANSWER.replace(b"\n", line_end)
    for position in range(len(answer) + 1):
        assert read(answer[:position], answer[position:]) == EVENTS, position


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_events_are_the_same_byte_by_byte(line_end: bytes):
    answer = ANSWER.replace(b"\n", line_end)
    assert read(*(answer[i : i + 1] for i in range(len(answer)))) == EVENTS


def test_an_event_is_given_as_soon_as_its_blank_line_is_there():
    reader = SseReader()
    assert reader.feed(b"data: 1\r\n\r") == [Event(b"1")]
    assert reader.feed(b"\ndata: 2\n\nda") == [Event(b"2")]
    assert reader.feed(b"ta: 3\n") == []
    assert reader.feed(b"\n") == [Event(b"3")]


def test_line_ends_may_be_mixed():
    assert read(b"data: 1\r\n\ndata: 2\r\rdata: 3\n\r\n") == [Event(b"1"), Event(b"2"), Event(b"3")]


def test_no_ghost_line_when_cr_and_lf_come_in_different_reads():
    assert read(b"data: 1\r", b"\ndata: 2\r", b"\n\r", b"\n") == [Event(b"1\n2")]


def test_a_byte_order_mark_is_skipped_also_when_cut():
    assert read(b"\xef", b"\xbb\xbfdata", b": 1\n\n") == [Event(b"1")]


def test_blank_lines_and_comments_alone_give_nothing():
    assert read(b"\n\n\n\n: ping\n\n:\n\n", b"\n") == []


def test_the_last_event_counts_without_a_blank_line():
    assert read(b"data: 1\n\ndata: 2") == [Event(b"1"), Event(b"2")]
    assert read(b"data: 1\n\ndata: 2\n") == [Event(b"1"), Event(b"2")]


def test_an_event_name_without_data_is_dropped():
    assert read(b"event: ping\n\ndata: 1\n\n") == [Event(b"1")]


def test_unknown_fields_and_lines_are_skipped():
    assert read(b" data: 0\nfoo: bar\ndatax: 1\ndata: 2\n\n<html>\n\n") == [Event(b"2")]


def test_only_one_space_after_the_colon_is_cut_and_none_at_the_end():
    assert read(b"data:   a  \n\n") == [Event(b"  a  ")]


def test_json_without_data_is_given_instead_of_a_stream():
    assert read(b'{"error":{"message":"quota"}}') == [Event(b'{"error":{"message":"quota"}}')]


def test_json_without_data_may_hold_blank_lines():
    body = b'{\n\n"error":\n\n{"message": "x"}\n\n}'
    assert read(body + b"\n\ndata: 1\n\n") == [Event(body.replace(b"\n\n", b"\n")), Event(b"1")]


def test_json_without_data_right_after_a_data_line_is_an_event_of_its_own():
    assert read(b'data: 1\n{"error":1}\n\n') == [Event(b"1"), Event(b'{"error":1}')]


def test_each_line_that_is_json_is_an_event():
    assert read(b'{"a":1}\n{"a":2}\n[3]\n') == [Event(b'{"a":1}'), Event(b'{"a":2}'), Event(b"[3]")]


def test_named_events_of_two_lines():
    assert read(b"event: a\ndata: 1\n\nevent: b\ndata: 2\n\n") == [Event(b"1", "a"), Event(b"2", "b")]


def test_json_without_data_that_breaks_off_is_given_as_it_is():
    assert read(b'{"error": {"mess') == [Event(b'{"error": {"mess')]
    assert read(b'[{"error":\n\ndata: 1\n\n') == [Event(b'[{"error":'), Event(b"1")]


def test_a_long_event_in_small_pieces_costs_linear_time():
    """200,000 pieces of one line would take minutes if each were joined to those before."""
    reader = SseReader()
    assert reader.feed(b"data: ") == []
    for _ in range(200_000):
        reader.feed(b"0123456789")
    (event,) = reader.feed(b"\n\n")
    assert len(event.data) == 2_000_000


class Counting(SseReader):
    """Counts the bytes that are joined."""

    joined = 0

    def _with_held(self, piece: bytes) -> bytes:
        text = super()._with_held(piece)
        self.joined += len(text)
        return text


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_a_long_event_of_many_lines_costs_linear_time(line_end: bytes):
    reader = Counting()
    for _ in range(2_000):
        assert reader.feed(b"data: 0123456789" + line_end) == []
    assert reader.joined == 0
    (event,) = reader.feed(line_end + b"data: rest")
    assert len(event.data) == 2_000 * 11 - 1
    assert reader.joined <= 2_000 * 17 + 20


def test_a_byte_is_joined_at_most_twice():
    reader = Counting()
    pieces = [b"ta: 1\n\ndata: 2\n", b"data: 3\n\nda"] * 1_000
    assert len([event for piece in pieces for event in reader.feed(piece)]) == 1_999
    assert reader.joined <= 2 * sum(map(len, pieces))


_BITS = [
    b"\n",
    b"\n\n",
    b"\r",
    b"\r\n",
    b"data: 1",
    b"data:2",
    b"event: a",
    b": ping",
    b"{",
    b"}",
    b'{"a":1}',
    b"\xef\xbb\xbf",
]
_TEXTS = st.lists(st.sampled_from(_BITS), max_size=30).map(b"".join)


@given(text=_TEXTS, cuts=st.lists(st.integers(0, 120), max_size=20))
def test_after_each_piece_the_events_are_those_of_the_bytes_so_far(text: bytes, cuts: list[int]):
    """Where the bytes are cut changes neither which events come nor when: as if all of them were joined each time."""
    reader = SseReader()
    found: list[Event] = []
    last = 0
    for cut in sorted({*cuts, len(text)}):
        found += reader.feed(text[last:cut])
        last = max(last, min(cut, len(text)))
        assert found == SseReader().feed(text[:last])
    assert found + reader.close() == read(text)


def test_blank_lines_after_json_that_is_none_do_not_count_wherever_they_are_cut():
    text = b"data: 1\n{oops\n\n\n\n"
    for cut in range(len(text)):
        assert read(text[:cut], text[cut:]) == [Event(b"1"), Event(b"{oops")]


@pytest.mark.parametrize("piece", [b"x" * 100, b"data: x\n" * 10, b'["x",\n\n' * 10], ids=["line", "lines", "JSON"])
def test_what_never_ends_is_refused(piece: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("riverrun.models.sse._LIMIT", 1000)
    reader = SseReader()
    reader.feed(b"data: 1\n\n" * 200)
    for _ in range(8):
        assert reader.feed(piece) == []
    with pytest.raises(ModelError, match="more than 1000 bytes"):
        _ = [reader.feed(piece) for _ in range(20)]


def test_a_long_stream_of_comments_and_events_is_not_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("riverrun.models.sse._LIMIT", 100)
    reader = SseReader()
    for _ in range(50):
        assert reader.feed(b": ping\n\n") == []
        assert reader.feed(b'{"a":1}\n\nda') == [Event(b'{"a":1}')]
        assert reader.feed(b"ta: 1\n\n") == [Event(b"1")]
