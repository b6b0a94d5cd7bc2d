"""Oracle *agreement*: every parser gives the same outcome, and the outcome that the judge gives.

Parsers are not voted on. Each is compared with the judge, whose verdict comes from
the rules; a difference is named by its effect and by the features of the input, and a difference
that the parser is known to show (a *quirk*) is no news.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache

from wirefence.oracles.records import Finding
from wirefence.targets.records import Outcome

__all__ = ["ANY_VALUE", "Reading", "check_agreement", "effect_of", "is_known", "name_divergence"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the judge makes of one document.

    ``value`` is its typed encoding: empty if rejected, :data:`ANY_VALUE` where the judge keeps none
    (nested or long beyond its bounds), so that there is nothing to differ from.
    """

    rule: str
    value: bytes


ANY_VALUE = b"?"

_RULES = {"accepts": "agree-accept", "rejects": "agree-accept", "value": "agree-value"}


def effect_of(outcome: Outcome, reading: Reading) -> str:
    """Say how an outcome differs from the judge's reading; ``""`` where it does not.

    ``accepts``, ``rejects``, ``value``, ``escapes TYPE`` or ``dies of SIGNAL``. An escaped error on
    a document that had to be rejected is a difference too: the caller does not catch it.
    """
    if outcome.kind == "accept":
        if reading.rule:
            return "accepts"
        return "" if reading.value in (outcome.value, ANY_VALUE) else "value"
    if outcome.kind == "reject":
        return "" if reading.rule else "rejects"
    verb = "escapes" if outcome.kind == "escape" else "dies of"
    return f"{verb} {outcome.error}"


def name_divergence(effect: str, features: Set[str]) -> str:
    """The name under which a difference is known: its effect, and what the input holds."""
    return f"{effect}: {'+'.join(sorted(features))}"


@lru_cache(maxsize=4096)
def _split_quirk(quirk: str) -> tuple[str, frozenset[str]]:
    effect, _, names = quirk.partition(": ")
    return effect, frozenset(names.split("+"))


def is_known(effect: str, features: Set[str], quirks: Iterable[str]) -> bool:
    """Whether a quirk of the same effect needs no more than what the input holds."""
    return any(
        effect == known and needed <= features for known, needed in map(_split_quirk, quirks)
    )


def check_agreement(
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
        if is_known(effect, features, quirks.get(name, ())):
            continue
        findings.append(_make_finding(name, effect, features))
    return findings


def _make_finding(name: str, effect: str, features: Set[str]) -> Finding:
    word = effect.partition(" ")[0]
    rule = {"escapes": "agree-escape", "dies": "agree-death"}.get(word) or _RULES[word]
    kind = name_divergence(effect, features)
    signature = f"parser:{name}|agreement|{rule}|{kind}"
    return Finding("agreement", rule, f"parser:{name}", signature, f"{name} {kind}")
