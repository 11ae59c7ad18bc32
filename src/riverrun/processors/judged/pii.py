"""PIIDetector: finds personal data that no pattern describes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, Unpack

from riverrun.chunks.envelope import is_list, is_object
from riverrun.errors import ConfigError
from riverrun.processors.context import ProcessorContext
from riverrun.processors.judged.guardrail import Finding, Guardrail, GuardrailOptions
from riverrun.processors.judged.judge import JudgeError, Question, object_schema
from riverrun.processors.judged.passages import without_passages
from riverrun.processors.places import Place
from riverrun.types import Model, Source

KINDS = ("name", "address", "email", "phone", "date_of_birth", "id_number", "bank_account", "credit_card", "health")


class PIIDetector(Guardrail):
    """Acts on texts with personal data of the given `kinds`.

    "redact" puts a mark ([NAME]) in place of each passage that the judge quotes, and of nothing else. What was found is
    never told, only of which kind it is. RegexFilter finds what has a fixed form faster, and for sure.
    """

    strategies = ("block", "warn", "filter", "redact")

    def __init__(
        self,
        judge: Source | Model,
        *,
        strategy: Literal["block", "warn", "filter", "redact"] = "redact",
        kinds: Sequence[str] = KINDS,
        on: Collection[Place] = ("input", "output"),
        **options: Unpack[GuardrailOptions],
    ) -> None:
        """Raises ConfigError for options that there cannot be."""
        super().__init__(judge, strategy=strategy, on=on, **options)
        if isinstance(kinds, str) or not kinds:
            raise ConfigError("PIIDetector: kinds is a list of words, as in ['name', 'address']")
        self.kinds = tuple(kinds)
        self._question = _question(self.kinds)

    async def find(self, text: str, ctx: ProcessorContext) -> Finding | None:
        answer = await self.ask(self._question, text, ctx)
        passages = _passages(answer, self.kinds)
        if not passages:
            return None
        kinds = sorted(set(passages.values()))
        marks = {passage: f"[{kind.upper()}]" for passage, kind in passages.items()}
        return Finding(
            reason=f"The text holds personal data: {', '.join(kinds)}",
            metadata={"kinds": kinds},
            text=without_passages(text, marks) if self.strategy == "redact" else None,
        )


def _question(kinds: Sequence[str]) -> Question:
    found = object_schema({"kind": {"type": "string", "enum": [*kinds]}, "passage": {"type": "string"}})
    return Question(
        task=(
            "You protect people's privacy. List every passage of a text that tells who somebody is, how to reach them "
            f"or something private about them, of one of these kinds: {', '.join(kinds)}. Quote each passage letter "
            "for letter and no longer than it must be. Invented or public figures and companies do not count."
        ),
        example={"found": [{"kind": kinds[0], "passage": "letter for letter"}]},
        schema=object_schema({"found": {"type": "array", "items": found}}),
    )


def _passages(answer: dict[str, Any], kinds: Sequence[str]) -> dict[str, str]:
    """Passage → kind. Raises JudgeError for an answer of another form."""
    found = answer.get("found")
    if not is_list(found):
        raise JudgeError("the judge's answer has no list of what it found")
    passages: dict[str, str] = {}
    for item in found:
        if not is_object(item) or not isinstance(item.get("passage"), str) or not isinstance(item.get("kind"), str):
            raise JudgeError("the judge found something without a passage or a kind")
        if item["kind"] in kinds:
            passages[item["passage"]] = item["kind"]
    return passages
