"""Group findings into faults: what people read, count and mend.

A signature tells what was seen: effect and deviation. One mistake shows in several of them. A
reader that takes trailing commas acts on them, answers them, and does not close after them: one
fault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass

from wirefence.oracles.deviation_table import NONE, leniency_of
from wirefence.oracles.records import Finding
from wirefence.oracles.rules import ORACLE_RULES

__all__ = ["ANY", "TAKES", "Fault", "group_findings", "name_faults", "rank_finding"]

TAKES = frozenset(
    {
        *("act-rejected", "act-unauthorized", "reply-to-rejected"),
        *("reply-code:result", "client-accepts"),
    }
)
"""Effects which say that a target took what it must refuse: together they are one leniency."""

ANY = "any rejected frame"
"""What brings a fault about that follows frames of many rules."""

_LATE = ("act-after-close", "reply-to-rejected:late")
"""Effects which say that a target went on after the close: together they are one fault."""

_MANY = 3
"""Rules at which an effect that is no leniency is one fault, whatever is rejected: a target that
answers each of them wrongly, or loses what follows, does so for one reason."""

_INTACT = frozenset({"live-crash", "smoke-tool", "smoke-exit", "client-association", "client-deaf"})
"""Rules whose findings are named by what happened, and group by that alone."""

_GRAVITY = (
    "non-action",
    "client",
    "session",
    "liveness",
    "reply",
    "transcript",
    "smoke",
    "agreement",
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Findings that have one cause, the gravest first. ``name`` is equal for equal faults."""

    name: str
    findings: tuple[Finding, ...]


def rank_finding(finding: Finding) -> tuple[int, int, str]:
    """Return the key that sorts findings by gravity: oracle, rule, signature."""
    oracle = finding.oracle
    place = _GRAVITY.index(oracle) if oracle in _GRAVITY else len(_GRAVITY)
    rules = list(ORACLE_RULES.get(oracle, ()))
    rule = rules.index(finding.rule) if finding.rule in rules else len(rules)
    return place, rule, finding.signature


def group_findings(findings: Iterable[Finding]) -> list[Fault]:
    """Return the faults of some findings, the gravest first."""
    every = sorted(findings, key=rank_finding)
    names = name_faults(every)
    groups: dict[str, dict[str, Finding]] = defaultdict(dict)
    for each in every:
        groups[names[each.signature]].setdefault(each.signature, each)
    return [Fault(name, tuple(group.values())) for name, group in groups.items()]


def name_faults(findings: Collection[Finding]) -> dict[str, str]:
    """Return the name of the fault that each of some findings shows, by signature.

    Findings are named together. Whatever a target does with a deviation that it takes belongs to
    that leniency; an effect that follows frames of :data:`_MANY` rules is one fault; a reader that
    takes anything against a rule takes what comes near as well.
    """
    taken: dict[str, set[str]] = defaultdict(set)
    for each in findings:
        if each.effect in TAKES:
            taken[each.family].add(leniency_of(each.deviation))
    rules: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in findings:
        if _may_follow_any(each) and leniency_of(each.deviation) not in taken[each.family]:
            rules[each.family, _name_group(each)].add(each.deviation.partition(":")[0])
    for each in findings:  # it goes on after some deviations only: it takes them
        if each.effect in _LATE and len(rules[each.family, _LATE[0]]) < _MANY:
            taken[each.family].add(leniency_of(each.deviation))
    return {
        each.signature: _name_fault(each, taken[each.family], rules[each.family, _name_group(each)])
        for each in findings
    }


def _name_group(finding: Finding) -> str:
    """Return the rule under which an effect is grouped that is no leniency."""
    return _LATE[0] if finding.effect in _LATE else finding.rule


def _may_follow_any(finding: Finding) -> bool:
    if finding.effect in TAKES or finding.rule in _INTACT or finding.deviation == NONE:
        return False
    return finding.oracle in ("session", "reply", "liveness", "non-action")


def _name_fault(finding: Finding, taken: Set[str], rules: Set[str]) -> str:
    family, effect, deviation = finding.family, finding.effect, finding.deviation
    if finding.oracle in ("agreement", "compare") or finding.rule in _INTACT:
        return finding.signature
    leniency, rule = leniency_of(deviation), deviation.partition(":")[0]
    if effect in TAKES or (_may_follow_any(finding) and leniency in taken):
        return f"{family}|takes|{rule if rule in taken else leniency}"
    if finding.rule == "act-unauthorized":
        return f"{family}|{effect}"
    if _may_follow_any(finding):
        return f"{family}|{_name_group(finding)}|{ANY if len(rules) >= _MANY else rule}"
    return f"{family}|{effect}|{deviation}"
