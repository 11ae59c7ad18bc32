"""Every Python snippet in the documentation runs, on a scripted model in place of a real one."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

import riverrun.agent.agent
from riverrun import Model, ModelRequest
from riverrun.chunks import ChunkType, ToolMessage
from riverrun.models.scripted import ScriptedModel, text_call

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def snippets() -> Iterator[Any]:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        for found in FENCE.finditer(text):
            line = text.count("\n", 0, found.start()) + 2
            yield pytest.param(path, line, found.group(1), id=f"{path.relative_to(ROOT)}:{line}")


class AnyModel:
    """Calls the first tool it is offered, once, and then says a sentence."""

    provider = "docs"
    model_id = "any"

    async def stream(self, request: ModelRequest, /) -> AsyncGenerator[ChunkType, None]:
        answered = any(isinstance(message, ToolMessage) for message in request.messages)
        call: Any = text_call("It is 21 degrees.")
        if request.tools and not answered:
            tool = request.tools[0]
            arguments = dict.fromkeys(tool.input_schema.get("required", []), "Paris")
            call = [
                {"type": "tool-call", "toolCallId": "c1", "toolName": tool.name, "input": arguments},
                {"type": "finish", "finishReason": "tool-calls", "usage": {"inputTokens": 1, "outputTokens": 1}},
            ]
        async for chunk in ScriptedModel([call]).stream(request):
            yield chunk


def any_model(model: str | Model) -> Model:
    return AnyModel() if isinstance(model, str) else model


@pytest.mark.parametrize(("path", "line", "code"), list(snippets()))
def test_a_documented_snippet_runs(
    path: Path, line: int, code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(riverrun.agent.agent, "resolve_model", any_model)
    padded = "\n" * (line - 1) + code  # so that a traceback names the document's line
    exec(compile(padded, str(path), "exec"), {"__name__": "snippet"})
    assert capsys.readouterr().err == ""


def test_the_readme_names_no_file_that_is_not_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"\]\((?!http)([^)#]+)\)|`python ((?:bench|examples)/\S+\.py)", text):
        path = next(part for part in name if part)
        assert (ROOT / path).exists(), path
