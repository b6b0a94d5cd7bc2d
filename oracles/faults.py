"""Group findings into faults: what people read, count and mend.

A signature tells what was seen: effect and deviation. One mistake shows in several of them. A
reader that takes trailing commas acts on them, answers them, and does not close after them: one
fault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from wirefence.oracles.deviation_table import NONE, leniency_of
from wirefence.oracles.records import Finding
from wirefence.oracles.rules import BY_ID, ORACLE_RULES, RULES

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

_ANSWERS = "reply-to-rejected"
"""The effect by which a target takes a frame that asks for no action."""

_AFTER = ("session-resync", "session-state")
"""Effects which say that a good request after a rejected frame is not served as it must be."""

_REFUSED = "reply-code:refused"
"""The effect of a good request that got an error: after a rejected frame, one of those."""

_LATE = ("act-after-close", "reply-to-rejected:late")
"""Effects which say that a target went on after the close: together they are one fault."""

_MANY = 3
"""Rules at which an effect that is no leniency is one fault, whatever is rejected: a target that
answers each of them wrongly, or loses what follows, does so for one reason."""

_MANY_ANSWERED = 5
"""Rules of frames that get a result although nothing else shows that they are taken: a target that
answers each of them so does not look at what it answers."""

_REFUSALS = frozenset(rule.id for rule in RULES if not rule.closes)
"""Rules of requests that are refused by an answer."""

_UNTERMINATED = "frame-unterminated:whole"
_IMPLIED = {
    "json-syntax:trailing": (
        *("json-syntax:nul", "json-syntax:control-character", "json-syntax:other-white-space"),
    ),
    "json-syntax:control-in-string": ("json-syntax:nul-in-string",),
    "utf8-invalid:invalid-utf8": ("utf8-invalid:surrogate-bytes",),
    "life-not-initialized": ("life-not-ready",),
}
"""Leniencies that follow from a wider one. A reader that accepts any text behind a value accepts
blank characters there; one that accepts control characters accepts NUL; a decoder that accepts any
bytes accepts surrogates; a server that needs no ``initialize`` needs no
``notifications/initialized`` either."""

_CROSSED = frozenset({"reply-missing", "reply-twice", "reply-code"})
"""Rules of which several show at sound requests where replies go to other requests."""

_INTACT = frozenset({"live-crash", "smoke-tool", "smoke-exit", "client-association", "client-deaf"})
"""Rules whose findings are named by what happened, and group by that alone."""

_MALFORMED = "malformed-result"
"""The rule of findings that what was sent has no part in."""

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

    The findings of a family are named together, by what all of them show:

    - Whatever a target does with a deviation that it takes belongs to that leniency, and so does
      what comes near it in the same rule.
    - An effect that shows where nothing is wrong is not due to what is wrong elsewhere.
    - An effect that follows frames of many rules follows any rejected frame.
    - What a target does with frames of one rule only, it does for one reason.
    """
    families: dict[str, list[Finding]] = defaultdict(list)
    for each in findings:
        families[each.family].append(each)
    names: dict[str, str] = {}
    for family, some in families.items():
        shown = _summarize_findings(some)
        names.update((each.signature, f"{family}|{_name_fault(each, shown)}") for each in some)
    return names


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the findings of one family show together.

    ``taken`` are leniencies; those in ``answered`` show by nothing but a result for a rejected
    frame, those in ``granted`` by nothing but a result for a refused request. ``rules`` are the
    rules of frames that the effects of a group follow, leniencies left out, ``groups`` are the
    groups of effects that follow frames of a rule, the gravest first. ``sound`` are the effects of
    replies to sound frames, and ``after`` is the gravest effect of a session on good requests after
    rejected frames.
    """

    taken: Set[str]
    answered: Set[str]
    granted: Set[str]
    rules: Mapping[str, Set[str]]
    groups: Mapping[str, Sequence[str]]
    sound: Set[str]
    after: str

    @property
    def is_crossed(self) -> bool:
        """Whether replies to sound requests went to others: they are missing here, too many there,
        or under another id.
        """
        rules = {each.partition(":")[0] for each in self.sound}
        return "reply-id" in rules or len(rules & _CROSSED) > 1


def _summarize_findings(findings: Collection[Finding]) -> _Shown:
    takes = [each for each in findings if each.effect in TAKES]
    taken = {leniency_of(each.deviation) for each in takes}
    late = [each for each in findings if each.effect in _LATE]
    if len({rule_of_deviation(each) for each in late if not _find_leniency(each, taken)}) < _MANY:
        # A target that goes on after few kinds of bad frames only did not reject those.
        taken |= {leniency_of(each.deviation) for each in late}
        takes += late
    answered = _find_only(takes, _ANSWERS)
    granted = _find_only(takes, "reply-code")
    after = next((each for each in _AFTER if each in {f.rule for f in findings}), "")
    rules: dict[str, set[str]] = defaultdict(set)
    groups: dict[str, list[str]] = defaultdict(list)
    for each in sorted(findings, key=rank_finding):
        if _may_follow_any(each) and not _find_leniency(each, taken):
            group, rule = _name_group(each, after), rule_of_deviation(each)
            rules[group].add(rule)
            groups[rule].append(group)
    sound = {each.effect for each in findings if _is_reply_to_sound(each)}
    return _Shown(taken, answered, granted, rules, groups, sound, after)


def _find_only(takes: Iterable[Finding], rule: str) -> Set[str]:
    """Return the leniencies that show by effects of one rule alone."""
    rules: dict[str, set[str]] = defaultdict(set)
    for each in takes:
        rules[leniency_of(each.deviation)].add(each.rule)
    return {leniency for leniency, some in rules.items() if some == {rule}}


def rule_of_deviation(finding: Finding) -> str:
    """Return the rule that the input of a finding breaks."""
    return finding.deviation.partition(":")[0]


def _find_leniency(finding: Finding, taken: Set[str]) -> str:
    """Return the leniency among some that explains a finding; ``""`` where none does."""
    own, rule = leniency_of(finding.deviation), rule_of_deviation(finding)
    if own == NONE and finding.effect not in TAKES:
        return ""
    wider = (each for each, implied in _IMPLIED.items() if each in taken and own in implied)
    known = (each for each in (rule, own) if each in taken)
    if found := next(wider, "") or next(known, ""):
        return found
    near = [each for each in taken if each.partition(":")[0] == rule]
    return near[0] if len(near) == 1 and finding.effect not in TAKES else ""


def _name_group(finding: Finding, after: str) -> str:
    """Return the name under which an effect is grouped that is no leniency."""
    if finding.effect in _LATE:
        return _LATE[0]
    if after and finding.effect in (*_AFTER, _REFUSED) and finding.deviation != NONE:
        return after
    return finding.rule


def _may_follow_any(finding: Finding) -> bool:
    if finding.effect in TAKES or finding.rule in (*_INTACT, _MALFORMED):
        return False
    if finding.deviation == NONE:
        return False
    return finding.oracle in ("session", "reply", "liveness", "non-action")


def _is_reply_to_sound(finding: Finding) -> bool:
    return finding.oracle == "reply" and finding.deviation == NONE and finding.effect not in TAKES


def _name_fault(finding: Finding, shown: _Shown) -> str:
    """Return the name of the fault of a finding, without the family."""
    effect, deviation = finding.effect, finding.deviation
    # One part of a server makes a member of its results, with all that is in it.
    named = leniency_of(deviation) if finding.rule == _MALFORMED else deviation
    own = f"{effect}|{named}"
    if finding.oracle in ("agreement", "compare") or finding.rule in _INTACT:
        return own
    many = len({each.partition(":")[0] for each in shown.answered}) >= _MANY_ANSWERED
    leniency = _find_leniency(finding, shown.taken)
    if effect == "act-early" and _UNTERMINATED in shown.taken:
        leniency = _UNTERMINATED  # a reader that needs no LF does not wait for one
    elif finding.oracle == "transcript":
        rule = effect.partition(":")[2]  # a reply that repeats what was taken
        leniency = min((each for each in shown.taken if each.partition(":")[0] == rule), default="")
        leniency = min(shown.answered) if many and rule in BY_ID else leniency
    if shown.is_crossed and leniency in shown.granted:
        return f"reply-id|{NONE}"
    if leniency:
        return f"{_ANSWERS}|{ANY}" if many and leniency in shown.answered else f"takes|{leniency}"
    if finding.rule == "act-unauthorized":
        return effect
    if not (_may_follow_any(finding) or _is_reply_to_sound(finding)):
        return own
    return _name_effect(finding, shown)


def _name_effect(finding: Finding, shown: _Shown) -> str:
    """Return the name of a fault that is no leniency."""
    group, rule = _name_group(finding, shown.after), rule_of_deviation(finding)
    if sound := _find_sound(finding, group, shown):
        return f"{sound}|{NONE}"
    rules = shown.rules[group]
    if shown.after and len(shown.rules[shown.after]) >= _MANY and rules <= _REFUSALS:
        # A target that loses good requests after rejected frames loses refused ones as well.
        return f"{shown.after}|{ANY}"
    if len(rules) >= _MANY:
        return f"{group}|{ANY}"
    few = (each for each in shown.groups[rule] if len(shown.rules[each]) < _MANY)
    return f"{next(few, group)}|{rule}"


def _find_sound(finding: Finding, group: str, shown: _Shown) -> str:
    """Return the effect on sound frames that explains a finding; ``""`` where none does."""
    replies = finding.oracle == "reply" or group == shown.after
    if replies and shown.is_crossed:
        # A reply under a wrong id is missing for its request, and one too many for another.
        return "reply-id"
    if finding.deviation == NONE:  # a leak is one, whatever leaks
        return finding.rule if finding.rule == "reply-leak" else finding.effect
    lost = group == shown.after or finding.rule == "reply-missing"
    known = (each for each in sorted(shown.sound) if lost and each.startswith("reply-missing"))
    return next(known, finding.rule if finding.rule in shown.sound else "")
