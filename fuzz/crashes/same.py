"""When two findings are the same fault, and what a divergence of parsers is called.

The key insight: a signature names what distinguishes faults. Where it lists the features of the
input that may explain a difference, fewer features are a better explanation of the same fault, so
that a reduction may shed features but never gain one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Set

from wirefence.fuzz.examination.examiner import Examiner, agrees_with_judge, make_reading
from wirefence.oracles.agreement import effect_of
from wirefence.oracles.document import judge_document
from wirefence.oracles.records import Finding
from wirefence.oracles.traits import find_groups
from wirefence.strategies.records import Case
from wirefence.targets.parsers.configs import BY_NAME, CONFIGS

__all__ = ["PARSERS", "divergences", "elsewhere", "same"]

PARSERS = "parsers"
"""The target of a finding that says how all parsers split over a document, quirks included."""

_RULES = {"value": "agree-value", "accepts": "agree-accept", "rejects": "agree-accept"}


def same(wanted: Finding) -> Callable[[Finding], bool]:
    """A test for findings of the same fault as ``wanted``."""
    if wanted.oracle not in ("agreement", "compare"):
        return lambda found: found.signature == wanted.signature
    head, names = _split(wanted.signature)

    def explains(found: Finding) -> bool:
        other, fewer = _split(found.signature)
        return other == head and fewer <= names

    return explains


def elsewhere(wanted: Finding) -> Callable[[Finding], bool]:
    """A test for findings of the same fault in any target."""
    tail = wanted.signature.partition("|")[2]
    test = same(_signed(wanted, tail))
    return lambda found: test(_signed(found, found.signature.partition("|")[2]))


def _signed(found: Finding, signature: str) -> Finding:
    return Finding(found.oracle, found.rule, found.target, signature, found.summary)


def _split(signature: str) -> tuple[str, frozenset[str]]:
    """What must stay, and the features that may become fewer.

    Parsers that are not installed here are left out of what must stay.
    """
    head, _, names = signature.rpartition(": ")
    if head.startswith(f"{PARSERS}|"):
        before, _, groups = head.rpartition("|")
        oracle = before.rpartition("|")[0]  # the rule goes: the groups that are here decide it
        head = f"{oracle}|{'; '.join(sorted(filter(None, map(_installed, groups.split('; ')))))}"
    return head, frozenset(names.split("+"))


def _installed(group: str) -> str:
    effect, _, names = group.partition("=")
    kept = [name for name in names.split(",") if name in BY_NAME]
    return f"{effect}={','.join(kept)}" if kept else ""


def divergences(case: Case) -> list[Finding]:
    """How the parsers split over each line of ``case``: a finding for each line that divides them.

    Its signature has the groups of parsers that took the line alike and not as the judge does
    (profile ``spec``), and what the line holds. Strict configurations agree with the judge.
    """
    examiner = Examiner(CONFIGS, ())
    found = (_divergence(raw, examiner) for raw in case.data.split(b"\n"))
    return list({each.signature: each for each in found if each}.values())


def _divergence(raw: bytes, examiner: Examiner) -> Finding | None:
    expect = make_reading(judge_document(raw, profile="spec"))
    groups: dict[tuple[str, bytes], list[str]] = defaultdict(list)
    for config, outcome in examiner.run_parsers(raw):
        if not config.strict and not agrees_with_judge(outcome, expect, typed=config.typed):
            groups[effect_of(outcome, expect), outcome.value].append(config.name)
    if not groups:
        return None
    return _named(groups, find_groups(raw))


def _named(groups: dict[tuple[str, bytes], list[str]], names: Set[str]) -> Finding:
    effects = [effect for effect, _ in groups]
    rule = next((_rule(e) for e in effects if e not in _RULES), "") or _rule(sorted(effects)[0])
    split = "; ".join(sorted(f"{effect}={','.join(who)}" for (effect, _), who in groups.items()))
    kind = "+".join(sorted(names))
    signature = f"{PARSERS}|agreement|{rule}|{split}: {kind}"
    count = sum(map(len, groups.values()))
    return Finding("agreement", rule, PARSERS, signature, f"{count} parsers differ over {kind}")


def _rule(effect: str) -> str:
    if effect in _RULES:
        return _RULES[effect]
    return "agree-escape" if effect.startswith("escapes") else "agree-death"
