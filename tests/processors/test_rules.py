"""Rules: what each preset finds, what it leaves alone, and that it does so in a time that fits the text."""

from __future__ import annotations

import re
import time
from typing import cast, get_args

import pytest

from riverrun.errors import ConfigError
from riverrun.processors import Preset, RegexFilter, Rule
from riverrun.processors.builtin.rules import PRESETS, find, rules_of

KEY = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"  # no key of anything

FOUND = {
    "email": ["ann@example.org", "a.b+c@mail.example.co.uk", "ünal@bücher.example"],
    "phone": ["+49 30 1234567", "+1 (555) 123-4567", "(555) 123-4567", "555-123-4567", "+33 6 12 34 56 78"],
    "credit_card": ["4111 1111 1111 1111", "4111111111111111", "5500-0000-0000-0004", "378282246310005"],
    "iban": ["DE89 3704 0044 0532 0130 00", "DE89370400440532013000", "BE68 5390 0754 7034", "GB82WEST12345698765432"],
    "ssn": ["123-45-6789"],
    "ipv4": ["192.168.0.1", "8.8.8.8", "255.255.255.255"],
    "ipv6": ["2001:db8::1", "fe80::1ff:fe23:4567:890a", "2001:0db8:85a3:0000:0000:8a2e:0370:7334", "::1"],
    "url": ["https://example.org/a?b=c#d", "http://localhost:8080", "www.example.org"],
    "api_key": [
        f"sk-{KEY}",
        f"sk_live_{KEY}",
        "AKIA" + "A1B2C3D4E5F6G7H8",
        f"ghp_{KEY}",
        f"github_pat_{KEY}",
        f"glpat-{KEY}",
        f"xoxb-{KEY}",
        f"AIza{KEY}",
        f"hf_{KEY}",
        f"npm_{KEY}",
        f"eyJ{KEY}.eyJ{KEY}.{KEY}",
        f"-----BEGIN PRIVATE KEY-----\n{KEY}\n{KEY}=\n-----END PRIVATE KEY-----",
    ],
}

LEFT_ALONE = {
    "email": ["@example.org", "ann@localhost", "a @ b.org"],
    "phone": ["12345", "2024-01-02", "+1", "3.14159"],
    "credit_card": ["4111 1111 1111 1112", "0000 0000 0000 0000", "1234567890123456", "411111111111111111111"],
    "iban": ["DE88 3704 0044 0532 0130 00", "AB12 WORD", "DE89"],
    "ssn": ["000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567", "123-45-0000", "1123-45-6789", "123-45-67890"],
    "ipv4": ["256.1.1.1", "1.2.3", "1.2.3.4.5", "v1.2.3.456"],
    "ipv6": ["12:30:45", "std::vector", "::", "a:b", "note: this"],
    "url": ["example.org", "ftp://example.org", "xhttps://example.org"],
    "api_key": ["sk-short", "task-" + KEY, "-----BEGIN PUBLIC KEY-----"],
}


def found(preset: str, text: str) -> list[str]:
    return [text[item.begin : item.end] for item in find([PRESETS[preset]], text)]


@pytest.mark.parametrize(("preset", "text"), [(preset, text) for preset, texts in FOUND.items() for text in texts])
def test_a_preset_finds_its_kind_whole_and_nothing_around_it(preset: str, text: str) -> None:
    assert found(preset, text) == [text]
    assert found(preset, f"It is {text} and so on.") == [text]
    assert found(preset, f"({text}), {text}!") == [text, text]


@pytest.mark.parametrize(("preset", "text"), [(preset, text) for preset, texts in LEFT_ALONE.items() for text in texts])
def test_a_preset_leaves_alone_what_only_looks_like_its_kind(preset: str, text: str) -> None:
    assert found(preset, text) == []
    assert found(preset, f"It is {text} and so on.") == []


def test_every_preset_is_tried() -> None:
    assert set(FOUND) == set(LEFT_ALONE) == set(get_args(Preset)) == set(PRESETS)


def test_a_number_is_found_also_when_other_numbers_stand_beside_it() -> None:
    assert found("credit_card", "12 4111 1111 1111 1111 123") == ["4111 1111 1111 1111"]
    assert found("iban", "IBAN BE68 5390 0754 7034 IS MINE") == ["BE68 5390 0754 7034"]


@pytest.mark.parametrize("preset", get_args(Preset))
@pytest.mark.parametrize(
    "text",
    [
        "1" * 8_000,
        "a" * 8_000,
        "a." * 4_000,
        "1 " * 4_000,
        "+1" * 4_000,
        "eyJ" * 3_000,
        ":" * 8_000,
        "A1 B2 " * 1_500,
    ],
    ids=lambda text: text[:4],
)
def test_no_text_takes_a_preset_long(preset: str, text: str) -> None:
    begun = time.process_time()
    found(preset, text)
    assert time.process_time() - begun < 2.0


def test_a_private_key_that_was_cut_off_is_found_with_all_that_may_belong_to_it() -> None:
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n{KEY[:5]}... and so on"
    assert found("api_key", text) == [text.partition("...")[0]]


def test_what_overlaps_is_taken_whole_under_the_name_of_the_first() -> None:
    text = "see https://example.org/ann@example.org/x now"
    both = find(rules_of(["email", "url"]), text)
    assert [(text[item.begin : item.end], item.rule.name) for item in both] == [
        ("https://example.org/ann@example.org/x", "url")
    ]
    longer = find([Rule("a", "abc"), Rule("b", "cde")], "abcde")
    assert [(item.begin, item.end, item.rule.name) for item in longer] == [(0, 5, "a")]


def test_a_rule_of_ones_own_has_a_pattern_a_mark_and_a_check() -> None:
    rule = Rule("order", re.compile(r"ORD-\d+"), replacement="<order>", check=lambda text: text != "ORD-0")
    assert [item.begin for item in rule.find("ORD-0 ORD-1")] == [6]
    assert (rule.mark, Rule("order", "x").mark, Rule("order", "x", replacement="").mark) == ("<order>", "[ORDER]", "")


def test_a_pattern_that_may_find_nothing_at_a_place_does_not_hang() -> None:
    finds = Rule("word", r"(?<=a)b*").find("ab aabb a")
    assert [(item.begin, item.end) for item in finds] == [(1, 2), (5, 7)]


def test_rules_that_cannot_work_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"rule 'x': the pattern cannot be read: missing \)"):
        Rule("x", "(")
    with pytest.raises(ConfigError, match="rule 'x': the pattern finds the empty text"):
        Rule("x", "a*")
    with pytest.raises(ConfigError, match="there is no preset 'emial'; there are email, phone, credit_card, "):
        rules_of([cast("Preset", "emial")])
    with pytest.raises(ConfigError, match="a filter needs at least one rule"):
        RegexFilter([])
