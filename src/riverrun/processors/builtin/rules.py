"""Rules: what a RegexFilter looks for. The presets know the usual kinds of personal data and secrets."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from riverrun.errors import ConfigError

Preset: TypeAlias = Literal["email", "phone", "credit_card", "iban", "ssn", "ipv4", "ipv6", "url", "api_key"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A named pattern. What it finds counts when `check` says so, whole or up to one of its spaces and hyphens.

    `replacement` is what stands for it where it is hidden: "[NAME]" unless it is given. Raises ConfigError for a
    pattern that is none, or that finds the empty text.
    """

    name: str
    pattern: str | re.Pattern[str]
    replacement: str | None = None
    check: Callable[[str], bool] | None = None
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            compiled = re.compile(self.pattern)
        except re.error as error:
            raise ConfigError(f"rule '{self.name}': the pattern cannot be read: {error}") from error
        if compiled.search(""):
            raise ConfigError(f"rule '{self.name}': the pattern finds the empty text, so it would find it everywhere")
        object.__setattr__(self, "_compiled", compiled)

    @property
    def mark(self) -> str:
        """What stands for a hidden text."""
        return f"[{self.name.upper()}]" if self.replacement is None else self.replacement

    def find(self, text: str, at: int = 0) -> Iterator[Found]:
        """What the rule finds from `at` on; it sees what stands before."""
        while at < len(text) and (match := self._compiled.search(text, at)) is not None:
            begin, end = match.span()
            end = self._counted(text, begin, end)
            if end > begin:
                yield Found(begin, end, self)
            at = max(end, begin + 1)

    def _counted(self, text: str, begin: int, end: int) -> int:
        """Where the longest part of a find ends that counts; its beginning when none does."""
        check = self.check
        while end > begin and check is not None and not check(text[begin:end]):
            cut = max(text.rfind(" ", begin, end), text.rfind("-", begin, end))
            shorter = self._compiled.match(text, begin, cut) if cut > begin else None
            end = shorter.end() if shorter else begin
        return end


@dataclass(frozen=True, slots=True)
class Found:
    """A stretch of text that a rule found."""

    begin: int
    end: int
    rule: Rule


def find(rules: Sequence[Rule], text: str, at: int = 0) -> list[Found]:
    """What the rules find from `at` on, in order. Where they overlap, the first takes the whole stretch."""
    every = [found for rule in rules for found in rule.find(text, at)]
    every.sort(key=lambda found: (found.begin, -found.end))
    apart: list[Found] = []
    for found in every:
        if apart and found.begin < apart[-1].end:
            first = apart[-1]
            apart[-1] = Found(first.begin, max(first.end, found.end), first.rule)
        else:
            apart.append(found)
    return apart


def rules_of(given: Sequence[Preset | Rule]) -> list[Rule]:
    """Presets by their names, and rules. Raises ConfigError for an unknown name and for none at all."""
    rules: list[Rule] = []
    for item in given:
        if isinstance(item, Rule):
            rules.append(item)
        elif item in PRESETS:
            rules.append(PRESETS[item])
        else:
            raise ConfigError(f"there is no preset {item!r:.40}; there are {', '.join(get_args(Preset))}, and Rule(…)")
    if not rules:
        raise ConfigError("a filter needs at least one rule, as in ['email', Rule('order', r'ORD-\\d+')]")
    return rules


# -- checks


def _is_card_number(text: str) -> bool:
    """Luhn's check digit."""
    digits = [int(character) for character in text if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 and any(digits)


def _is_iban(text: str) -> bool:
    """Check digits of ISO 13616: the number read with its head at the end is 1 modulo 97."""
    plain = text.replace(" ", "")
    turned = "".join(str(int(character, 36)) for character in plain[4:] + plain[:4])
    return 15 <= len(plain) <= 34 and int(turned) % 97 == 1


def _is_phone_number(text: str) -> bool:
    return 7 <= sum(character.isdigit() for character in text) <= 15


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6 and any(character.isalnum() for character in text)
    except ValueError:
        return False


# -- presets: each finds its kind early, so that a short window is enough, and then takes all that belongs to it

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_API_KEYS = (
    r"sk-[A-Za-z0-9_-]{20,}",
    r"[spr]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"A[KS]IA[0-9A-Z]{16}",
    r"gh[oprsu]_[A-Za-z0-9]{30,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)?",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s]*(?:-----END [A-Z ]*PRIVATE KEY-----)?",
)

PRESETS: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("email", r"(?<![\w.+%-])[\w.+%-]{1,64}+@(?:[\w-]{1,63}\.)+[^\W\d_]{2,63}"),
        Rule(
            "phone",
            r"(?<![\w+])(?:\+[0-9]{1,3}[ .-]?(?:\(?[0-9]{1,4}\)?[ .-]?){1,5}[0-9]{2,4}"
            r"|(?:\([0-9]{3}\) ?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4})(?![\w-])",
            check=_is_phone_number,
        ),
        Rule("credit_card", r"(?<![0-9])(?:[0-9][ -]?){12,18}[0-9](?![0-9])", check=_is_card_number),
        Rule(
            "iban",
            r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}"
            r"(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)(?![A-Za-z0-9])",
            check=_is_iban,
        ),
        Rule("ssn", r"(?<![0-9-])(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![0-9-])"),
        Rule("ipv4", rf"(?<![0-9.])(?:{_OCTET}\.){{3}}{_OCTET}(?![0-9]|\.[0-9])"),
        Rule(
            "ipv6",
            r"(?<![\w:.])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{1,36}(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3})?(?![\w:])",
            check=_is_ipv6,
        ),
        Rule("url", r"(?<!\w)(?:https?://|www\.)[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}]"),
        Rule("api_key", rf"(?<![A-Za-z0-9])(?:{'|'.join(_API_KEYS)})"),
    )
}
