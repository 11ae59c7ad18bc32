"""SystemPromptScrubber: keeps the developer's instructions out of the answer."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, Unpack

from riverrun.chunks import SystemMessage
from riverrun.chunks.envelope import is_list
from riverrun.processors.context import ProcessorContext
from riverrun.processors.judged.guardrail import Finding, Guardrail, GuardrailOptions
from riverrun.processors.judged.judge import JudgeError, Question, object_schema
from riverrun.processors.judged.passages import without_passages
from riverrun.processors.places import Place
from riverrun.types import Model, ModelRequest, Source

_OUTPUT: tuple[Place, ...] = ("output",)

MARK = "[SYSTEM PROMPT]"


class SystemPromptScrubber(Guardrail):
    """Acts on passages of the answer that give away the instructions of the model call.

    The instructions are those of the request; the judge is told them. "redact" puts a mark in place of each passage.
    """

    strategies = ("block", "warn", "filter", "redact")

    def __init__(
        self,
        judge: Source | Model,
        *,
        strategy: Literal["block", "warn", "filter", "redact"] = "redact",
        on: Collection[Place] = _OUTPUT,
        **options: Unpack[GuardrailOptions],
    ) -> None:
        """Raises ConfigError for options that there cannot be."""
        super().__init__(judge, strategy=strategy, on=on, **options)

    def process_llm_request(self, request: ModelRequest, ctx: ProcessorContext) -> None:
        system = [message.content for message in request.messages if isinstance(message, SystemMessage)]
        ctx.state["instructions"] = "\n\n".join(system)

    async def find(self, text: str, ctx: ProcessorContext) -> Finding | None:
        instructions: str = ctx.state.get("instructions", "")
        if not instructions.strip():
            return None
        passages = _passages(await self.ask(_question(instructions), text, ctx))
        if not passages:
            return None
        return Finding(
            reason="The text gives away the system prompt",
            metadata={"passages": len(passages)},
            text=without_passages(text, dict.fromkeys(passages, MARK)) if self.strategy == "redact" else None,
        )


def _question(instructions: str) -> Question:
    return Question(
        task=(
            "An assistant works under the secret instructions below. List every passage of a text that gives them "
            "away: quotes, translations, or retellings close enough to rebuild a part of them. Quote each passage of "
            "the text letter for letter. What follows from the instructions without telling them does not count.\n\n"
            f"The secret instructions:\n{instructions}\n(end of the secret instructions)"
        ),
        example={"leaked": ["letter for letter"]},
        schema=object_schema({"leaked": {"type": "array", "items": {"type": "string"}}}),
    )


def _passages(answer: dict[str, Any]) -> list[str]:
    leaked = answer.get("leaked")
    if not is_list(leaked) or not all(isinstance(passage, str) for passage in leaked):
        raise JudgeError("the judge's answer has no list of what leaked")
    return leaked
