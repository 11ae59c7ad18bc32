"""LanguageDetector: which language a text is in, and what to do about others than one's own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, Unpack

from riverrun.errors import ConfigError
from riverrun.processors.context import ProcessorContext
from riverrun.processors.judged.guardrail import Finding, Guardrail, GuardrailOptions
from riverrun.processors.judged.judge import JudgeError, Question, object_schema
from riverrun.processors.judged.scores import as_score, checked_threshold
from riverrun.processors.places import Place
from riverrun.types import Model, Source

_INPUT: tuple[Place, ...] = ("input",)

SHORTEST = 10
"""Characters: shorter texts could be of any language and are not judged."""


class LanguageDetector(Guardrail):
    """Acts on texts in none of `languages`, given as codes ("en", "pt").

    "detect" only tells: a chunk `data-language` {processorId, language, confidence} for each text. "translate" puts the
    judge's translation into the first of the languages in the text's place. A language of which the judge is less sure
    than `threshold` counts as one of them.
    """

    strategies = ("detect", "translate", "block", "warn")

    def __init__(
        self,
        judge: Source | Model,
        *,
        languages: Sequence[str] = ("en",),
        strategy: Literal["detect", "translate", "block", "warn"] = "detect",
        threshold: float = 0.7,
        on: Collection[Place] = _INPUT,
        **options: Unpack[GuardrailOptions],
    ) -> None:
        """Raises ConfigError for options that there cannot be."""
        super().__init__(judge, strategy=strategy, on=on, **options)
        if isinstance(languages, str) or not languages:
            raise ConfigError("LanguageDetector: languages is a list of codes, as in ['en', 'fr']")
        self.languages = tuple(languages)
        self.threshold = checked_threshold(threshold)
        self._question = _question(self.languages[0] if strategy == "translate" else None)

    async def find(self, text: str, ctx: ProcessorContext) -> Finding | None:
        if len(text.strip()) < SHORTEST:
            return None
        answer = await self.ask(self._question, text, ctx)
        language, confidence = _language(answer)
        if self.strategy == "detect":
            told = {"processorId": self.id, "language": language, "confidence": confidence}
            ctx.emit("language", told, transient=True)
            return None
        if confidence < self.threshold or _family(language) in map(_family, self.languages):
            return None
        translation = answer.get("translation")
        return Finding(
            reason=f"The text is in another language than {', '.join(self.languages)}: {language}",
            metadata={"language": language, "confidence": confidence},
            text=translation if isinstance(translation, str) else None,
        )


def _question(target: str | None) -> Question:
    example: dict[str, Any] = {"language": "de", "confidence": 0.9}
    if target is not None:
        example["translation"] = f'the text in the language with the code "{target}"'
    kinds = {"language": "string", "confidence": "number", "translation": "string"}
    return Question(
        task=(
            "Say in which language a text is written, as a code of ISO 639-1, and how sure you are, from 0 to 1. "
            "Names, code and quotes do not count."
            + ("" if target is None else " Translate it faithfully, without adding or leaving out anything.")
        ),
        example=example,
        schema=object_schema({name: {"type": kinds[name]} for name in example}),
    )


def _language(answer: dict[str, Any]) -> tuple[str, float]:
    language = answer.get("language")
    if not isinstance(language, str) or not 1 <= len(language) <= 20:
        raise JudgeError("the judge names no language")
    return language, as_score(answer.get("confidence"))


def _family(language: str) -> str:
    """ "pt-BR" is Portuguese."""
    return language.replace("_", "-").split("-")[0].lower()
