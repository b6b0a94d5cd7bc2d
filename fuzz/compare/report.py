"""The report as records: what every format shows, and nothing of how.

The key insight: a verdict is counted from classes, never from messages or spellings, and says how
far the search went, so that "none" can be weighed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wirefence.fuzz.compare.class_table import Entry
from wirefence.fuzz.compare.classes import why, why_written
from wirefence.fuzz.compare.exhaustive import in_short
from wirefence.fuzz.compare.notation import readable, spelled
from wirefence.fuzz.compare.run import Explorer, Pair, Tally
from wirefence.fuzz.compare.seeds import FAMILIES
from wirefence.fuzz.compare.serialization import Writings, Written
from wirefence.fuzz.compare.speed import Speed
from wirefence.fuzz.compare.values import shown
from wirefence.targets.environments import Observation, Usage

__all__ = ["Compared", "Found", "Report", "SideFacts", "verdict"]

_COVERED = {family.name: len(family.covers) for family in FAMILIES}


@dataclass(frozen=True, slots=True)
class Found:
    """One class of differences between two sides.

    ``input`` is the smallest found, as a Python expression, and ``spelled`` the same for
    ``--input``; empty for differences in writing, where ``input`` is the value. ``count`` is how
    many inputs showed it, ``traffic`` how many of the user's.
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
    """Two sides: classes, and what is counted apart.

    ``sampled`` refusals had their messages compared; ``unlooked`` differing inputs came in floods
    of their like and are in no class's count.
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
        """Classes that no reviewer has accepted."""
        return tuple(each for each in self.found if not each.accepted)


@dataclass(frozen=True, slots=True)
class SideFacts:
    """One side: what it is, what it is made of, what it cost, how fast it is."""

    name: str
    label: str
    library: str
    versions: dict[str, str]
    context: dict[str, int]
    usage: Usage
    speed: Speed | None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a comparison has to say."""

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
        """The same report over other pairs."""
        return replace(self, pairs=tuple(pairs))


def compared(explorer: Explorer, pair: Pair, writings: Writings | None) -> Compared:
    """What is known of one pair, as records."""
    sides = explorer.team.sides
    old, new = sides[pair.old].name, sides[pair.new].name
    found = [_found(entry, old, new) for entry in pair.ledger.ordered()]
    if writings is not None:
        found += [_writing(each, old, new) for each in writings.classes.values()]
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
        "" if example is None else readable(example.raw),
        0 if writings is None else writings.values,
        0 if writings is None else writings.spelled,
    )


def _found(entry: Entry, old: str, new: str) -> Found:
    raw = entry.item.raw
    return Found(
        entry.name,
        entry.effect,
        _why(entry, old, new),
        readable(raw),
        spelled(raw),
        len(raw),
        outcome_text(entry.old),
        outcome_text(entry.new),
        entry.count,
        entry.traffic,
        tuple(sorted(entry.forms)),
    )


def _why(entry: Entry, old: str, new: str) -> str:
    if entry.effect == "error-type" and entry.old.error in entry.new.bases:
        held = f"{entry.new.error} is a {entry.old.error}"
        return f"Except clauses for {old}'s error still hold, as {held}; those for {new}'s don't."
    return why(entry.effect, entry.needed, old, new)


def _writing(found: Written, old: str, new: str) -> Found:
    return Found(
        found.name,
        found.effect,
        why_written(found.effect, found.what, old, new),
        shown(found.value),
        "",
        len(found.value),
        outcome_text(found.old, text=found.what == "writing"),
        outcome_text(found.new, text=found.what == "writing"),
        found.count,
        0,
        ("value",),
    )


def outcome_text(seen: Observation, *, text: bool = False) -> str:
    """One outcome in a few words; ``text`` tells that what was accepted is a text as written."""
    if seen.kind == "accept":
        return readable(seen.value) if text else shown(seen.value)
    verb = {
        "reject": "rejects",
        "escape": "escapes",
        "death": "dies of",
        "hang": "hangs:",
        "memory": "out of memory:",
    }[seen.kind]
    return f"{verb} {seen.error}"


def verdict(report: Report) -> str:
    """The first line: whether behaviour changed, over how much."""
    tally = report.tally
    cut = " (interrupted)" if tally.interrupted else ""
    reach = in_short(tally.claims)
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
    known = f", {accepted} accepted {_plural('class', accepted)} aside" if accepted else ""
    if not changed:
        return f"No semantic difference {over}{known}{cut}."
    return f"Behaviour changed in {changed} {_plural('class', changed)} {over}{known}{cut}."


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}es"


def ratio(speeds: Sequence[Speed | None], at: int) -> str:
    """How fast side ``at`` is in comparison to the first, in words."""
    first, mine = speeds[0], speeds[at]
    if first is None or mine is None or at == 0:
        return ""
    return f"{mine.rate / first.rate:.2f}x"
