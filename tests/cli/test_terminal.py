"""Text made harmless, measured and set in paragraphs."""

from __future__ import annotations

import io
import json

import pytest

from riverrun.cli.terminal import Lines, Page, color_wanted, columns, escape, fit, one_line, paint, sanitize, writer


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("hostile", "harmless"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "]0;titletext"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("\x9b31mred", "31mred"),
        ("\x1b[\x1b[31m31mtwice", "[31mtwice"),
        ("over\rwritten\x08\x7f", "overwritten"),
        ("line\r\nline\ttab\n", "line\nline\ttab\n"),
        ("nul\x00 half \ud83d pair", "nul half  pair"),
        ("日本 é ✓ 🙂", "日本 é ✓ 🙂"),
        ("safe\u202egnp.exe\u202c \u2066a\u2069", "safegnp.exe a"),
        ("👩\u200d💻 می\u200cخواهم", "👩\u200d💻 می\u200cخواهم"),
    ],
)
def test_text_loses_what_a_terminal_obeys(hostile: str, harmless: str) -> None:
    assert sanitize(hostile) == harmless


def test_no_control_character_but_newline_and_tab_survives() -> None:
    every = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
    assert sanitize(every) == "\t\n"


def test_nothing_that_turns_the_direction_of_text_survives() -> None:
    every = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    assert sanitize("".join(map(chr, every))) == ""


def test_json_keeps_its_value_when_it_is_escaped() -> None:
    value = "".join(map(chr, [0x1B, *range(0x7E, 0xA1), 0x061C, 0x200F, 0x202E, 0x2066])) + "日本 é"
    shown = escape(json.dumps(value, ensure_ascii=False))
    assert json.loads(shown) == value
    assert "\\u009b" in shown
    assert "日本 é" in shown
    assert sanitize(shown) == shown


def test_an_escape_sequence_cut_in_two_stays_harmless() -> None:
    assert sanitize("a\x1b[3") + sanitize("1mb") == "a[31mb"


def test_one_line_is_one_line() -> None:
    assert one_line(" a\n\n b\t\tc\x1b[1m ") == "a b c"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301" * 5, 5, "e\u0301" * 5),
        ("word word", 6, "word…"),
        ("", 3, ""),
    ],
)
def test_text_that_is_too_wide_ends_in_an_ellipsis(text: str, width: int, shown: str) -> None:
    assert fit(text, width) == shown
    assert columns(shown) <= width


def test_paint_colours_each_line_by_itself() -> None:
    assert paint("a\n\nb", "1", "31") == "\x1b[1;31ma\x1b[0m\n\n\x1b[1;31mb\x1b[0m"


def test_colour_is_for_terminals_that_nobody_forbade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert color_wanted(Terminal())
    assert not color_wanted(io.StringIO())
    assert not color_wanted(Terminal(), no_color=True)
    monkeypatch.setenv("TERM", "dumb")
    assert not color_wanted(Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not color_wanted(Terminal())


def test_a_character_that_the_encoding_lacks_becomes_a_question_mark() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    writer(stream)("→ é ok\n")
    assert raw.getvalue().split() == [b"?", b"?", b"ok"]


def test_paragraphs_have_one_blank_line_between_them() -> None:
    out = io.StringIO()
    page = Page(out.write)
    page.paragraph()
    page.text("one")
    page.paragraph()
    page.text("two\n\n")
    page.paragraph()
    page.fresh_line()
    page.text("three")
    page.fresh_line()
    assert out.getvalue() == "one\n\ntwo\n\nthree\n"


def test_pieces_become_lines_that_fit() -> None:
    lines: list[str] = []
    taker = Lines(lines.append, 10)
    for piece in ("one tw", "o three four", "\n\n", "0123456789", "abcdef\nlast"):
        taker.write(piece)
    taker.close()
    assert lines == ["one two", "three four", "0123456789", "abcdef", "last"]


def test_a_very_long_line_is_broken_in_no_time() -> None:
    lines: list[str] = []
    taker = Lines(lines.append, 40)
    taker.write("日" * 200_000)
    taker.close()
    assert sum(map(len, lines)) == 200_000
    assert all(columns(line) <= 40 for line in lines)
