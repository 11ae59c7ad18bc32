"""How far a download is, with a clock that the test winds."""

from __future__ import annotations

from riverrun.cli.progress import Progress

MB = 1_000_000


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def play(updates: list[tuple[float, int, int | None]], *, live: bool, width: int = 80) -> str:
    written: list[str] = []
    clock = Clock()
    progress = Progress(written.append, live=live, width=width, clock=clock)
    for clock.now, done, total in updates:
        progress.update(done, total)
    progress.close()
    return "".join(written)


def test_the_bar_tells_bytes_percent_speed_and_time_left() -> None:
    shown = play([(0, 0, 100 * MB), (2, 40 * MB, 100 * MB), (5, 100 * MB, 100 * MB)], live=True)
    empty, part, full = shown.removeprefix("\r").split("\r")
    assert empty == "░" * 30 + "   0%  0 bytes of 100.0 MB"
    assert part.rstrip() == "█" * 12 + "░" * 18 + "  40%  40.0 MB of 100.0 MB  20.0 MB/s  0:03 left"
    assert full.rstrip(" ").startswith("█" * 30 + " 100%  100.0 MB of 100.0 MB  20.0 MB/s")
    assert shown.endswith("\n")


def test_a_shorter_line_covers_a_longer_one() -> None:
    shown = play([(0, 0, 100), (100, 1, 100), (101, 100, 100)], live=True)
    _, longer, shorter = shown.removeprefix("\r").rstrip("\n").split("\r")
    assert len(shorter) == len(longer)


def test_the_bar_fits_a_narrow_terminal() -> None:
    shown = play([(0, 0, 100 * MB), (1, 50 * MB, 100 * MB)], live=True, width=30)
    assert all(len(line) < 30 for line in shown.rstrip("\n").split("\r"))


def test_the_bar_is_not_drawn_for_every_update() -> None:
    shown = play([(number / 1000, number, 2000) for number in range(1000)], live=True)
    assert shown.count("\r") <= 11


def test_lines_come_every_ten_percent_where_nothing_can_be_redrawn() -> None:
    shown = play([(percent, percent * MB, 100 * MB) for percent in range(101)], live=False)
    lines = shown.splitlines()
    assert len(lines) == 11
    assert lines[0] == "  0%  0 bytes of 100.0 MB"
    assert lines[5] == " 50%  50.0 MB of 100.0 MB  1.0 MB/s  0:50 left"
    assert lines[-1] == "100%  100.0 MB of 100.0 MB  1.0 MB/s"


def test_a_download_that_goes_on_counts_its_speed_from_where_it_was() -> None:
    shown = play([(0, 60 * MB, 100 * MB), (1, 70 * MB, 100 * MB), (2, 80 * MB, 100 * MB)], live=False)
    assert shown.splitlines() == [
        " 70%  70.0 MB of 100.0 MB  10.0 MB/s  0:03 left",
        " 80%  80.0 MB of 100.0 MB  10.0 MB/s  0:02 left",
    ]


def test_without_a_total_the_bytes_are_told() -> None:
    assert play([(0, 0, None), (1, 10 * MB, None), (5, 60 * MB, None)], live=False) == "0 bytes\n60.0 MB  12.0 MB/s\n"
    assert play([(0, 1000, None)], live=True) == "\r1.0 kB\n"


def test_hours_are_told_too() -> None:
    assert "2:46:39 left" in play([(0, 0, 10_000 * MB), (1, MB, 10_000 * MB)], live=True)
