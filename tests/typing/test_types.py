"""Both type checkers agree with the files in this folder, in which a wrong use is marked and must stay wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(str(path) for path in Path(__file__).parent.glob("*.py") if not path.name.startswith(("test_", "_")))


def checked(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        capture_output=True,
        text=True,
        timeout=110,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT / "src"), "NO_COLOR": "1"},
        check=False,
    )


def test_there_are_files_to_check() -> None:
    assert len(FILES) >= 3


def test_mypy_agrees() -> None:
    result = checked("mypy", "--strict", "--config-file", "", "--python-executable", sys.executable, *FILES)
    assert result.returncode == 0, result.stdout + result.stderr


def test_pyright_agrees() -> None:
    """Each file says in a comment that an `ignore` without a fault is a fault."""
    result = checked("pyright", "--pythonpath", sys.executable, "--outputjson", *FILES)
    summary = json.loads(result.stdout)["summary"]
    assert (summary["errorCount"], summary["filesAnalyzed"]) == (0, len(FILES)), result.stdout
