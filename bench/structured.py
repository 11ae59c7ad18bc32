"""Whether reading an object out of an answer costs the same per text delta, however long the answer is.

    python bench/structured.py [DELTA]

Answers of 1 KB and of 125 KB to 1 MB in deltas of 4 characters: an array of records, and one long text. Prints, for
each, CPU ms in all and µs per delta, how many object chunks came, how much JSON they hold in all, and the ms that the
validation at the end takes.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from riverrun.chunks import ObjectChunk, encode
from riverrun.structured import ObjectReader, StructuredOutput

SIZES = (1_000, 125_000, 250_000, 500_000, 1_000_000)


def records(size: int) -> str:
    """An array of small objects, wrapped as models are asked for it."""
    record = {
        "name": "Ada Lovelace",
        "age": 36,
        "tags": ["poet", "mathematician"],
        "note": 'said "hello"\n',
        "ok": True,
    }
    return json.dumps({"elements": [record] * (size // len(json.dumps(record)))})


def long_text(size: int) -> str:
    """An object with one long text, which has a line break every 60 characters."""
    return json.dumps({"text": ("x" * 58 + "\n") * (size // 60)})


def measure(title: str, settings: StructuredOutput[Any], text: str, delta: int) -> None:
    pieces = [text[at : at + delta] for at in range(0, len(text), delta)]
    reader = ObjectReader(settings, run_id="run")
    begin = time.process_time()
    told = [chunk for piece in pieces for chunk in reader.feed(piece)]
    spent = time.process_time() - begin
    begin = time.process_time()
    outcome = reader.finish("stop")
    at_end = time.process_time() - begin
    assert outcome.status == "valid"
    wire = sum(len(encode(chunk)) for chunk in told if isinstance(chunk, ObjectChunk))
    print(
        f"{title:<10}{len(text):>10,} B {len(pieces):>8,} deltas"
        f"{spent * 1e3:8.1f} ms {spent / len(pieces) * 1e6:6.2f} µs/delta"
        f"{len(told):>7} objects {wire / len(text):6.1f} x the text   end {at_end * 1e3:6.1f} ms"
    )


def main(delta: int) -> None:
    for size in SIZES:
        measure("records", StructuredOutput(list[dict[str, Any]]), records(size), delta)
    for size in SIZES:
        measure("long text", StructuredOutput(dict[str, str]), long_text(size), delta)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
