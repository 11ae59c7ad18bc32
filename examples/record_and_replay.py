"""A run written to a file as it streams, checked, and played again without a model.

python examples/record_and_replay.py
"""

import asyncio
import tempfile
from pathlib import Path

from riverrun import Agent
from riverrun.chunks import TextDeltaChunk, fold
from riverrun.testing import Recording, assert_well_formed, record

agent = Agent("poet", model="local/qwen2.5-coder-0.5b", instructions="Answer in one sentence.")


async def main(path: Path) -> None:
    print("live:   ", end="")
    async for chunk in record(agent.stream("What is a river?"), path):
        if isinstance(chunk, TextDeltaChunk):
            print(chunk.payload.text, end="", flush=True)

    recording = Recording(path)
    chunks = [chunk async for chunk in recording.stream("the input does not matter")]
    assert_well_formed(chunks)
    print(f"\nreplay: {fold(chunks).text}")
    print(f"({len(chunks)} chunks; `riverrun lint {path.name}` would say the same)")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder) / "run.jsonl"))
