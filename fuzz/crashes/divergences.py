"""Find how all parsers split over a document: a finding for each effect and first trait.

Which parsers differ is no part of a signature, so a reproducer is known where one is not installed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from wirefence.fuzz.examination.examiner import Examiner, agrees_with_judge, make_reading
from wirefence.oracles.agreement import effect_of, make_disagreement, name_cause
from wirefence.oracles.document import judge_document
from wirefence.oracles.records import Finding
from wirefence.oracles.traits import find_traits
from wirefence.strategies.records import Case
from wirefence.targets.parsers.configs import CONFIGS

__all__ = ["PARSERS", "Divergence", "divergences", "find_divergences"]

PARSERS = "parsers"
"""The target of a finding that says how all parsers split over a document, quirks included."""

_GRAVITY = ("agree-death", "agree-escape", "agree-accept", "agree-value")
"""The order in which findings of one document are listed and filed."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """One finding of target ``parsers``, with what is no part of its signature.

    ``effects`` are pairs of effect and parser.
    """

    finding: Finding
    effects: tuple[tuple[str, str], ...]
    traits: frozenset[str]


def divergences(case: Case) -> list[Finding]:
    """How the parsers split over each line of ``case``: a finding for each effect and first trait.

    Its summary has the groups of parsers that took the line alike and not as the judge does
    (profile ``spec``). Strict configurations agree with the judge.
    """
    found = (each.finding for raw in case.data.split(b"\n") for each in find_divergences(raw))
    return list({each.signature: each for each in found}.values())


def find_divergences(raw: bytes) -> list[Divergence]:
    """Return how the parsers split over one document, by signature; the gravest first."""
    expect = make_reading(judge_document(raw, profile="spec"))
    traits = find_traits(raw)
    groups: dict[str, dict[tuple[str, bytes], list[str]]] = defaultdict(lambda: defaultdict(list))
    for config, outcome in Examiner(CONFIGS, ()).run_parsers(raw):
        if not config.strict and not agrees_with_judge(outcome, expect, typed=config.typed):
            effect = effect_of(outcome, expect)
            signature = make_disagreement(PARSERS, effect, traits, "").signature
            groups[signature][effect, outcome.value].append(config.name)
    found = (_make_divergence(alike, traits) for alike in groups.values())
    return sorted(found, key=lambda each: (_GRAVITY.index(each.finding.rule), -len(each.effects)))


def _make_divergence(
    alike: dict[tuple[str, bytes], list[str]], traits: frozenset[str]
) -> Divergence:
    """Return the divergence of parsers that have one signature, in groups of equal outcomes."""
    effects = tuple((effect, name) for (effect, _), names in alike.items() for name in names)
    first = effects[0][0]
    split = "; ".join(sorted(f"{effect}={','.join(who)}" for (effect, _), who in alike.items()))
    cause = name_cause(first, traits)
    plural = "parsers differ" if len(effects) > 1 else "parser differs"
    summary = f"{len(effects)} {plural} over {cause}: {split}"
    return Divergence(make_disagreement(PARSERS, first, traits, summary), effects, traits)
