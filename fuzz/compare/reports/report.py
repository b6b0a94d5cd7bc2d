"""The report as records: the content of every format.

The verdict counts classes, never messages or spellings, and names how far the search went.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wirefence.fuzz.compare.class_table import ClassEntry
from wirefence.fuzz.compare.classes import explain_effect, explain_writing_effect
from wirefence.fuzz.compare.inputs.exhaustive import summarize_claims
from wirefence.fuzz.compare.inputs.seeds import FAMILIES
from wirefence.fuzz.compare.reports.notation import format_hex, format_readable
from wirefence.fuzz.compare.run import Comparison, Pair, Tally
from wirefence.fuzz.compare.serialization import WritingClass, WritingResult
from wirefence.fuzz.compare.speed import Speed
from wirefence.fuzz.compare.values import format_value
from wirefence.targets.environments import Observation, Usage

__all__ = ["Compared", "Found", "Report", "SideFacts", "format_verdict"]

_COVERED = {family.name: len(family.covers) for family in FAMILIES}


@dataclass(frozen=True, slots=True)
class Found:
    """One class of differences between two sides.

    ``input`` is the smallest one, as a Python expression, and ``spelled`` the same for ``--input``;
    it is empty for differences in writing, where ``input`` is the value. ``count`` is the number of
    inputs that showed it, ``traffic`` that of the user's.
    """

    name: str
    effect: str
    why: str
    input: str
    spelled: str
    size: int
    old: str
    new: str
    count: int
    traffic: int
    forms: tuple[str, ...]
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sides: their classes, and what is counted separately.

    The messages of ``sampled`` rejections were compared. ``unlooked`` differing inputs were too
    many of one kind, and are in no class's count.
    """

    old: str
    new: str
    libraries: tuple[str, str]
    found: tuple[Found, ...]
    messages: int
    sampled: int
    unlooked: int
    unsteady: int
    message_example: str
    values: int
    respelled: int

    @property
    def changed(self) -> tuple[Found, ...]:
        """Classes that are not accepted."""
        return tuple(each for each in self.found if not each.accepted)


@dataclass(frozen=True, slots=True)
class SideFacts:
    """One side: its name, versions, cost and speed."""

    name: str
    label: str
    library: str
    versions: dict[str, str]
    context: dict[str, int]
    usage: Usage
    speed: Speed | None


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a comparison."""

    sides: tuple[SideFacts, ...]
    pairs: tuple[Compared, ...]
    tally: Tally
    seed: int
    command: str
    forms: tuple[str, ...]

    @property
    def different(self) -> bool:
        """Whether any pair shows a class that is not accepted."""
        return any(pair.changed for pair in self.pairs)

    def with_pairs(self, pairs: Sequence[Compared]) -> Report:
        """Return the report with other pairs."""
        return replace(self, pairs=tuple(pairs))


def make_compared(explorer: Comparison, pair: Pair, writings: WritingResult | None) -> Compared:
    """Return the results of one pair as a record."""
    sides = explorer.team.sides
    old, new = sides[pair.old].name, sides[pair.new].name
    found = [_make_found(entry, old, new) for entry in pair.ledger.sort_classes()]
    if writings is not None:
        found += [_make_writing_found(each, old, new) for each in writings.classes.values()]
    example = pair.ledger.message_item
    return Compared(
        old,
        new,
        (sides[pair.old].facts.library, sides[pair.new].facts.library),
        tuple(found),
        pair.ledger.messages,
        pair.sampled,
        pair.unlooked,
        pair.ledger.unsteady,
        "" if example is None else format_readable(example.raw),
        0 if writings is None else writings.values,
        0 if writings is None else writings.spelled,
    )


def _make_found(entry: ClassEntry, old: str, new: str) -> Found:
    raw = entry.item.raw
    return Found(
        entry.name,
        entry.effect,
        _explain_entry(entry, old, new),
        format_readable(raw),
        format_hex(raw),
        len(raw),
        format_outcome(entry.old),
        format_outcome(entry.new),
        entry.count,
        entry.traffic,
        tuple(sorted(entry.forms)),
    )


def _explain_entry(entry: ClassEntry, old: str, new: str) -> str:
    if entry.effect == "error-type" and entry.old.error in entry.new.bases:
        held = f"{entry.new.error} is a {entry.old.error}"
        return f"Except clauses for {old}'s error still hold, as {held}; those for {new}'s don't."
    return explain_effect(entry.effect, entry.needed, old, new)


def _make_writing_found(found: WritingClass, old: str, new: str) -> Found:
    return Found(
        found.name,
        found.effect,
        explain_writing_effect(found.effect, found.what, old, new),
        format_value(found.value),
        "",
        len(found.value),
        format_outcome(found.old, text=found.what == "writing"),
        format_outcome(found.new, text=found.what == "writing"),
        found.count,
        0,
        ("value",),
    )


def format_outcome(seen: Observation, *, text: bool = False) -> str:
    """Return one outcome in a few words; with ``text``, an accepted value is text as written."""
    if seen.kind == "accept":
        return format_readable(seen.value) if text else format_value(seen.value)
    verb = {
        "reject": "rejects",
        "escape": "escapes",
        "death": "dies of",
        "hang": "hangs:",
        "memory": "out of memory:",
    }[seen.kind]
    return f"{verb} {seen.error}"


def format_verdict(report: Report) -> str:
    """Return the first line: whether behaviour changed, over how many inputs."""
    tally = report.tally
    cut = " (interrupted)" if tally.interrupted else ""
    reach = summarize_claims(tally.claims)
    known_classes = sum(_COVERED[name] for name in tally.families)
    said = [f"exhaustive to {reach}"] if reach else []
    said += [f"{known_classes} classes of known divergence"] if known_classes else []
    reached = f" ({'; '.join(said)})" if said else ""
    inputs = "1 input" if tally.inputs == 1 else f"{tally.inputs:,} inputs"
    over = f"over {inputs}{reached}"
    if len(report.pairs) > 1:
        same = sum(not pair.changed for pair in report.pairs)
        return f"{same} of {len(report.pairs)} pairs show no semantic difference {over}{cut}."
    (pair,) = report.pairs
    changed, accepted = len(pair.changed), len(pair.found) - len(pair.changed)
    known = f", {accepted} accepted {_pluralize('class', accepted)} aside" if accepted else ""
    if not changed:
        return f"No semantic difference {over}{known}{cut}."
    return f"Behaviour changed in {changed} {_pluralize('class', changed)} {over}{known}{cut}."


def _pluralize(word: str, count: int) -> str:
    return word if count == 1 else f"{word}es"


def format_ratio(speeds: Sequence[Speed | None], at: int) -> str:
    """Return the speed of side ``at`` relative to the first."""
    first, mine = speeds[0], speeds[at]
    if first is None or mine is None or at == 0:
        return ""
    return f"{mine.rate / first.rate:.2f}x"
