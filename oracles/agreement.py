"""Oracle *agreement*: every parser gives the same outcome, and the outcome that the judge gives.

Parsers are not voted on. Each is compared with the judge, whose verdict comes from the rules. A
difference is named by its effect and by the first trait of the document, and a difference that the
parser is known to show (a *quirk*) is no news. Quirks are stored by groups of traits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache

from wirefence.oracles.records import Finding
from wirefence.oracles.traits import TRAITS, first_trait, groups_of
from wirefence.targets.records import Outcome

__all__ = [
    "ANY_VALUE",
    "Reading",
    "check_agreement",
    "effect_of",
    "is_known",
    "make_difference",
    "make_disagreement",
    "name_cause",
    "name_divergence",
]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the judge makes of one document.

    ``value`` is its typed encoding: empty if rejected, :data:`ANY_VALUE` where the judge keeps none
    (nested or long beyond its bounds), so that there is nothing to differ from.
    """

    rule: str
    value: bytes


ANY_VALUE = b"?"

_LABELS = {
    "accepts": "agree-accept",
    "rejects": "agree-accept:rejects",
    "value": "agree-value",
    "escapes": "agree-escape",
    "dies": "agree-death",
}
"""What a signature says of an effect: the rule, and how it was broken."""


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


def name_divergence(effect: str, groups: Set[str]) -> str:
    """The name under which a quirk is stored: its effect, and the groups of its input."""
    return f"{effect}: {'+'.join(sorted(groups))}"


@lru_cache(maxsize=4096)
def _split_quirk(quirk: str) -> tuple[str, frozenset[str]]:
    effect, _, names = quirk.partition(": ")
    return effect, frozenset(names.split("+"))


def is_known(effect: str, groups: Set[str], quirks: Iterable[str]) -> bool:
    """Whether a quirk of the same effect needs no more than what the input holds."""
    return any(effect == known and needed <= groups for known, needed in map(_split_quirk, quirks))


def check_agreement(
    named: Iterable[tuple[str, Outcome]],
    reading: Reading,
    traits: Set[str],
    quirks: Mapping[str, Set[str]],
) -> list[Finding]:
    """Return a finding for each parser whose difference from ``reading`` is no quirk of its.

    ``traits`` are those of the document. ``quirks`` maps a parser's name to the divergences it is
    known to show. A strict parser has none.
    """
    findings = []
    groups = groups_of(traits)
    for name, outcome in named:
        effect = effect_of(outcome, reading)
        if not effect or is_known(effect, groups, quirks.get(name, ())):
            continue
        summary = f"{name} {effect}: {name_cause(effect, traits)}"
        findings.append(make_disagreement(f"parser:{name}", effect, traits, summary))
    return findings


def name_cause(effect: str, traits: Set[str]) -> str:
    """Return the first trait of a document that can explain an effect.

    Where a parser accepts what is no JSON, that is one which valid JSON cannot have.
    """
    invalid = {name for name in traits if not TRAITS[name].valid} if effect == "accepts" else ()
    return first_trait(invalid or traits)


def make_disagreement(target: str, effect: str, traits: Set[str], summary: str) -> Finding:
    """Return a finding whose signature is target, effect and first trait.

    The effect is the rule, with ``:rejects`` where valid JSON is rejected, and with the type of an
    error that escapes.
    """
    word, _, error = effect.partition(" ")
    label = f"{_LABELS[word]}:{error}" if word == "escapes" else _LABELS[word]
    rule = label.partition(":")[0]
    signature = f"{target}|{label}|{name_cause(effect, traits)}"
    return Finding("agreement", rule, target, signature, summary)


def make_difference(
    target: str, effect: str, outcomes: str, traits: Set[str], summary: str
) -> Finding:
    """Return a finding about two sides of a comparison, neither of which is the judge.

    Its signature is target, effect with what each side said (``outcomes``), and first trait.
    """
    said = outcomes.replace("|", "/")
    signature = f"{target}|{effect}:{said}|{first_trait(traits)}"
    return Finding("compare", effect, target, signature, summary)
