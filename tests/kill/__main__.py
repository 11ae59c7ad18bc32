"""`python -m tests.kill sqlite|postgres`: play rounds, and end with 1 at the first fault."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.kill.databases import DATABASES
from tests.kill.rounds import Fault, play


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kill", description=__doc__)
    parser.add_argument("database", choices=list(DATABASES))
    parser.add_argument("--rounds", type=int, default=200, help="how many (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of what happens to the processes (%(default)s)")
    asked = parser.parse_args()
    met: Counter[str] = Counter()
    begin = time.monotonic()
    with DATABASES[asked.database]() as database, tempfile.TemporaryDirectory() as scratch:
        for number in range(asked.first, asked.first + asked.rounds):
            try:
                waves = play(database, number, asked.seed, Path(scratch))
            except Fault as fault:
                print(fault)
                print(f"again: python -m tests.kill {asked.database} --seed {asked.seed} --first {number} --rounds 1")
                return 1
            met.update(fate.kind for wave in waves for fate in wave)
    fates = ", ".join(f"{count} {kind}" for kind, count in sorted(met.items()))
    print(f"{asked.database}: {asked.rounds} rounds in {time.monotonic() - begin:.0f} s, processes: {fates}; no fault")
    return 0


if __name__ == "__main__":
    sys.exit(main())
