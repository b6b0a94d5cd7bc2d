"""The agreement oracle: each kind of difference is found, named, and silenced only by its quirk."""

from __future__ import annotations

import pytest

from wirefence.oracles.agreement import Reading, check_agreement
from wirefence.targets.records import Outcome

GOOD = Reading("", b"one")
BAD = Reading("json-syntax", b"")
PLAIN: frozenset[str] = frozenset()


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
    found = check_agreement(named, BAD, frozenset({"nan", "syntax", "non-ascii"}), quirks)
    assert [(f.target, f.rule) for f in found] == [
        ("parser:q", "agree-accept"),
        ("parser:p", "agree-escape"),
    ]


def test_a_quirk_is_known_by_the_group_of_a_trait() -> None:
    named = [("p", Outcome("reject", error="E"))]
    quirks = {"p": frozenset({"rejects: big-integer"})}
    assert check_agreement(named, GOOD, frozenset({"int>2^53", "int>=2^63"}), quirks) == []
    assert check_agreement(named, GOOD, frozenset({"overflow-exp"}), quirks) != []
    plain = {"p": frozenset({"rejects: plain"})}
    assert check_agreement(named, GOOD, frozenset({"non-ascii"}), plain) == []
    assert check_agreement(named, GOOD, frozenset({"non-ascii", "nul-escape"}), plain) != []


def signature(outcome: Outcome, expect: Reading, *traits: str) -> str:
    (finding,) = check_agreement([("p", outcome)], expect, frozenset(traits), {})
    return finding.signature


ACCEPT, REJECT = Outcome("accept", b"1"), Outcome("reject", error="E")


@pytest.mark.parametrize(
    ("outcome", "expect", "traits", "name"),
    [
        (ACCEPT, BAD, ("nan", "syntax"), "parser:p|agree-accept|nan"),
        (REJECT, GOOD, ("int>2^53", "int>=2^63"), "parser:p|agree-accept:rejects|int>=2^63"),
        (REJECT, GOOD, (), "parser:p|agree-accept:rejects|plain"),
        (ACCEPT, GOOD, ("fraction", "exponent"), "parser:p|agree-value|exponent"),
        (Outcome("escape", error="E"), BAD, ("depth", "unclosed"), "parser:p|agree-escape:E|depth"),
        (Outcome("death", error="SIGSEGV"), GOOD, ("depth",), "parser:p|agree-death|depth"),
        # What is no JSON is accepted because of what JSON cannot have.
        (ACCEPT, BAD, ("lone-hi", "int>2^53", "unclosed"), "parser:p|agree-accept|unclosed"),
        # The strict profile rejects valid JSON too.
        (ACCEPT, BAD, ("int>2^53", "fraction"), "parser:p|agree-accept|int>2^53"),
    ],
)
def test_a_signature_is_target_effect_and_first_trait(
    outcome: Outcome, expect: Reading, traits: tuple[str, ...], name: str
) -> None:
    assert signature(outcome, expect, *traits) == name


def test_equal_faults_have_equal_signatures_and_others_do_not() -> None:
    one = signature(ACCEPT, BAD, "nan")
    assert one == signature(Outcome("accept", b"2"), BAD, "nan", "syntax", "non-ascii")
    assert one != signature(ACCEPT, BAD, "bom")
    assert one != signature(Outcome("escape", error="E"), BAD, "nan")
    escapes = (signature(Outcome("escape", error=error), BAD, "nan") for error in ("A", "B"))
    assert len(set(escapes)) == 2
