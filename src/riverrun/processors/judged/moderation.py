"""Moderation: keeps out what a product does not want to hear or to say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Unpack

from riverrun.errors import ConfigError
from riverrun.processors.context import ProcessorContext
from riverrun.processors.judged.guardrail import Finding, Guardrail, GuardrailOptions
from riverrun.processors.judged.scores import checked_threshold, findings, flagged, scores_question
from riverrun.processors.places import Place
from riverrun.types import Model, Source

CATEGORIES = ("hate", "harassment", "violence", "self_harm", "sexual", "sexual_minors", "illicit_advice")


class Moderation(Guardrail):
    """Acts on texts for which the judge gives one of `categories` a score of `threshold` or more."""

    strategies = ("block", "warn", "filter")

    def __init__(
        self,
        judge: Source | Model,
        *,
        strategy: Literal["block", "warn", "filter"] = "block",
        categories: Sequence[str] = CATEGORIES,
        threshold: float = 0.5,
        on: Collection[Place] = ("input", "output"),
        **options: Unpack[GuardrailOptions],
    ) -> None:
        """Raises ConfigError for options that there cannot be."""
        super().__init__(judge, strategy=strategy, on=on, **options)
        if isinstance(categories, str) or not categories:
            raise ConfigError("Moderation: categories is a list of words, as in ['hate', 'violence']")
        self.categories = tuple(categories)
        self.threshold = checked_threshold(threshold)
        self._question = scores_question(_TASK, self.categories)

    async def find(self, text: str, ctx: ProcessorContext) -> Finding | None:
        answer = await self.ask(self._question, text, ctx)
        scores = flagged(answer, self.categories, self.threshold)
        if not scores:
            return None
        return Finding(reason=f"The text is flagged: {', '.join(scores)}", metadata=findings(answer, scores))


_TASK = (
    "You moderate a chat. Score how strongly a text falls into each of the categories that the form below names, from "
    "0 (not at all) to 1 (certainly). Sober talk about a subject, as in news, science and fiction, scores low."
)
