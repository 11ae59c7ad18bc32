"""Rounds: processes are started, killed and frozen as the seed says, until all orders of the round are done."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from tests.kill.databases import Database
from tests.kill.inspection import Findings, inspected
from tests.kill.shop import LEASE, Order
from tests.kill.worker import Job, work

CRUEL_WAVES = 4
"""How often a round's processes are hindered. Those of the wave after that are left alone and have to get all done."""
PATIENCE = 20.0
"""Seconds for that."""
LIFE = 0.35
"""Seconds in which processes that nobody hinders are busy with a round."""
STATEMENTS = 200
"""About how many statements and commits such a process makes."""

_fork = multiprocessing.get_context("fork")


class Fault(Exception):
    """Something was lost, done twice or left undone; the message says what, and how to see it again."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to a process: killed after so many seconds, killed before that many of its statements, or frozen
    after so many seconds for `length` seconds.
    """

    kind: Literal["killed", "dies", "frozen", "spared"]
    when: float = 0
    length: float = 0

    def __str__(self) -> str:
        match self.kind:
            case "killed":
                return f"killed after {self.when:.3f} s"
            case "dies":
                return f"dies at statement {self.when}"
            case "frozen":
                return f"frozen after {self.when:.3f} s for {self.length:.3f} s"
            case "spared":
                return "spared"


def play(database: Database, number: int, seed: int, scratch: Path) -> list[list[Fate]]:
    """Play a round; the fates of its processes, wave by wave. Raises Fault."""
    random = Random(f"{seed}/{number}")
    name = f"round{number}"
    orders = [Order(f"{name}-{place}", f"{name}-{thread}") for place, thread in enumerate("aab")]
    reports = scratch / f"{name}.reports"
    reports.touch()
    played: list[list[Fate]] = []
    faults: list[str] = []
    for fates in _fates(random):
        played.append(fates)
        fault = _wave([_job(database, orders, reports, place, fate) for place, fate in enumerate(fates)], fates)
        database.settle()
        findings = _inspected(database.url, orders, reports.read_text().splitlines())
        faults = [*([fault] if fault else []), *findings.faults]
        if faults:
            break
        if findings.is_over:
            return played
    told = "; ".join(" and ".join(map(str, fates)) for fates in played)
    raise Fault("\n".join([f"round {number} of seed {seed}: {told}", *(faults or ["not done"])]))


def _job(database: Database, orders: Sequence[Order], reports: Path, place: int, fate: Fate) -> Job:
    dies_at = int(fate.when) if fate.kind == "dies" else 0
    return Job(url=database.url, orders=orders, reports=reports, starts=place == 0, dies_at=dies_at)


def _fates(random: Random) -> Iterator[list[Fate]]:
    for _ in range(CRUEL_WAVES):
        yield _overtaken(random) if random.random() < 0.4 else [_fate(random), _fate(random)]
    yield [Fate("spared"), Fate("spared")]


def _overtaken(random: Random) -> list[Fate]:
    """One is frozen, the other takes its runs over, and meanwhile the one goes on as if nothing had happened."""
    fates = [Fate("frozen", random.uniform(0, LIFE), random.uniform(0.7, 1.5) * LEASE), Fate("spared")]
    random.shuffle(fates)
    return fates


def _fate(random: Random) -> Fate:
    if random.random() < 0.1:
        return Fate("spared")
    if random.random() < 0.5:
        return Fate("killed", random.uniform(0, LIFE))
    return Fate("dies", random.randint(1, STATEMENTS))


def _wave(jobs: Sequence[Job], fates: Sequence[Fate]) -> str | None:
    """Let processes do their jobs and meet their fates. What went wrong with them, if anything did."""
    processes = [_fork.Process(target=work, args=(job,)) for job in jobs]
    begin = time.monotonic()
    try:
        for process in processes:
            process.start()
        for when, process, sent in sorted(_signals(processes, fates), key=lambda each: each[0]):
            time.sleep(max(0.0, begin + when - time.monotonic()))
            if process.is_alive():
                os.kill(process.pid or 0, sent)
        for process in processes:
            process.join(PATIENCE)
            if process.exitcode is None:
                return f"a process goes on after {PATIENCE} s"
            if process.exitcode not in (0, -signal.SIGKILL):
                return "a process has failed, see above"
        return None
    finally:
        for process in processes:
            process.kill()
            process.join()


def _signals(
    processes: Sequence[multiprocessing.context.ForkProcess], fates: Sequence[Fate]
) -> Iterator[tuple[float, multiprocessing.context.ForkProcess, signal.Signals]]:
    for process, fate in zip(processes, fates, strict=True):
        if fate.kind == "killed":
            yield fate.when, process, signal.SIGKILL
        elif fate.kind == "frozen":
            yield fate.when, process, signal.SIGSTOP
            yield fate.when + fate.length, process, signal.SIGCONT


def _inspected(url: str, orders: Sequence[Order], reports: Sequence[str]) -> Findings:
    """How the orders stand, told by a process of its own: a fork of this one is to find no thread and no connection."""
    receiving, sending = _fork.Pipe(duplex=False)

    def inspect() -> None:
        sending.send(inspected(url, orders, reports))

    process = _fork.Process(target=inspect)
    process.start()
    sending.close()
    try:
        findings: Findings = receiving.recv()
    except EOFError:
        findings = Findings(["the inspection has failed, see above"], is_over=False)
    process.join()
    return findings
