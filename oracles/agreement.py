"""Oracle *agreement*: every parser gives the same outcome, and the outcome that the judge gives.

The key insight: parsers are not voted on. Each is compared with the judge, whose verdict comes from
the rules; a difference is named by its effect and by the features of the input, and a difference
that the parser is known to show (a *quirk*) is no news.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from oracles.records import Finding
from targets.records import Outcome

__all__ = ["Reading", "agreement", "divergences", "effect_of"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the judge makes of one document; ``value`` is its typed encoding, empty if rejected."""

    rule: str
    value: bytes
    ambiguous: bool = False
    """True where a name repeats: which member wins is then nobody's fault, only a difference."""


_RULES = {"accepts": "agree-accept", "rejects": "agree-accept", "value": "agree-value"}


def effect_of(outcome: Outcome, reading: Reading) -> str:
    """Say how an outcome differs from the judge's reading; ``""`` where it does not.

    ``accepts``, ``rejects``, ``value``, ``escapes TYPE`` or ``dies of SIGNAL``. An escaped error on
    a document that had to be rejected is a difference too: the caller does not catch it.
    """
    if outcome.kind == "accept":
        if reading.rule:
            return "accepts"
        return "" if outcome.value == reading.value else "value"
    if outcome.kind == "reject":
        return "" if reading.rule else "rejects"
    verb = "escapes" if outcome.kind == "escape" else "dies of"
    return f"{verb} {outcome.error}"


def divergences(effect: str, features: Set[str]) -> list[str]:
    """The names under which a difference can be known: for each feature, and last for all."""
    names = sorted(features)
    singles = [f"{effect}: {name}" for name in names]
    return singles if len(names) == 1 else [*singles, f"{effect}: {'+'.join(names)}"]


def agreement(
    named: Iterable[tuple[str, Outcome]],
    reading: Reading,
    features: Set[str],
    quirks: Mapping[str, Set[str]],
) -> list[Finding]:
    """Return a finding for each parser whose difference from ``reading`` is no quirk of its.

    ``quirks`` maps a parser's name to the divergences it is known to show. A strict parser has
    none. Where several features could explain a new difference the finding names them all.
    """
    findings = []
    for name, outcome in named:
        effect = effect_of(outcome, reading)
        if not effect:
            continue
        known = quirks.get(name, frozenset())
        if known and not known.isdisjoint(divergences(effect, features)):
            continue
        findings.append(_finding(name, effect, features))
    return findings


def _finding(name: str, effect: str, features: Set[str]) -> Finding:
    word = effect.partition(" ")[0]
    rule = {"escapes": "agree-escape", "dies": "agree-death"}.get(word) or _RULES[word]
    kind = f"{effect}: {'+'.join(sorted(features))}"
    signature = f"parser:{name}|agreement|{rule}|{kind}"
    return Finding("agreement", rule, f"parser:{name}", signature, f"{name} {kind}")
