"""The agreement oracle: each kind of difference is found, named, and silenced only by its quirk."""

from __future__ import annotations

import pytest

from wirefence.oracles.agreement import Reading, check_agreement
from wirefence.targets.records import Outcome

GOOD = Reading("", b"one")
BAD = Reading("json-syntax", b"")
PLAIN = frozenset({"plain"})


@pytest.mark.parametrize(
    ("outcome", "expect", "rule"),
    [
        (Outcome("accept", b"one"), BAD, "agree-accept"),
        (Outcome("reject", error="X"), GOOD, "agree-accept"),
        (Outcome("accept", b"two"), GOOD, "agree-value"),
        (Outcome("escape", error="RecursionError"), BAD, "agree-escape"),
        (Outcome("death", error="SIGSEGV"), GOOD, "agree-death"),
    ],
)
def test_a_difference_is_found(outcome: Outcome, expect: Reading, rule: str) -> None:
    (finding,) = check_agreement([("p", outcome)], expect, PLAIN, {})
    assert finding.rule == rule
    assert finding.target == "parser:p"


@pytest.mark.parametrize(
    ("outcome", "expect"), [(Outcome("accept", b"one"), GOOD), (Outcome("reject", error="X"), BAD)]
)
def test_agreement_is_no_finding(outcome: Outcome, expect: Reading) -> None:
    assert check_agreement([("p", outcome)], expect, PLAIN, {}) == []


def test_a_quirk_silences_only_its_own_parser_and_effect() -> None:
    accepts, escapes = Outcome("accept", b"x"), Outcome("escape", error="E")
    quirks = {"p": frozenset({"accepts: nan"})}
    named = [("p", accepts), ("q", accepts), ("p", escapes)]
    found = check_agreement(named, BAD, frozenset({"nan"}), quirks)
    assert [(f.target, f.rule) for f in found] == [
        ("parser:q", "agree-accept"),
        ("parser:p", "agree-escape"),
    ]


def test_equal_faults_have_equal_signatures_and_others_do_not() -> None:
    one = check_agreement([("p", Outcome("accept", b"1"))], BAD, frozenset({"nan"}), {})
    same = check_agreement([("p", Outcome("accept", b"2"))], BAD, frozenset({"nan"}), {})
    other = check_agreement([("p", Outcome("accept", b"2"))], BAD, frozenset({"bom"}), {})
    assert one[0].signature == same[0].signature != other[0].signature
