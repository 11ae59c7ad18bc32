"""`riverrun pull`: fetch weights, with a bar on stderr; the file's path is what goes to stdout."""

from __future__ import annotations

import os
import sys

from riverrun.cli.phrases import size_text
from riverrun.cli.progress import Progress
from riverrun.cli.terminal import BOLD, color_wanted, one_line, paint, width_of, writer
from riverrun.models.local.pull import PullProgress, pull
from riverrun.models.local.weights import DEFAULT_WEIGHTS, WEIGHTS, weights_directory


def pull_weights(name: str | None) -> int:
    """Fetch the weights (None: the ones that `riverrun chat` takes by itself) and print where they lie; the exit code.

    Raises ConfigError when they cannot be had; what was fetched until then is kept for the next time.
    """
    wanted = (name or DEFAULT_WEIGHTS).removeprefix("local/")
    screen = _Screen(wanted)
    try:
        path = pull(wanted, progress=screen.show)
    finally:
        screen.close()
    writer(sys.stdout)(f"{path}\n")
    return 0


def list_weights(*, color: bool = True) -> int:
    """Print which weights there are, one a line; the exit code."""
    write = writer(sys.stdout)
    colored = color_wanted(sys.stdout, no_color=not color)
    longest = max(map(len, WEIGHTS))
    for weights in WEIGHTS.values():
        path = weights_directory() / weights.file
        name = weights.name.ljust(longest)
        where = str(path) if path.is_file() else "not here"
        default = " (default)" if weights.name == DEFAULT_WEIGHTS else ""
        size = size_text(weights.size).rjust(8)
        write(f"{paint(name, BOLD) if colored else name}  {size}  {weights.licence}  {where}{default}\n")
    return 0


class _Screen:
    """What a person sees of a pull."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._write = writer(sys.stderr)
        live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._bar = Progress(self._write, live=live, width=width_of(sys.stderr))
        self._source = ""

    def show(self, progress: PullProgress) -> None:
        """Take what the pull reports."""
        if progress.note or progress.source != self._source:
            self._bar.close()
            self._write(one_line(progress.note or f"{self._name}: {_whence(progress.source)}") + "\n")
            self._source = progress.source
        if progress.source != "cache":
            self._bar.update(progress.done, progress.total)

    def close(self) -> None:
        """The pull is over, one way or the other."""
        self._bar.close()


def _whence(source: str) -> str:
    words = {"cache": "already here, and whole", "hub": "from the model hub", "packages": "from package wheels"}
    return words.get(source, f"from {source}")
