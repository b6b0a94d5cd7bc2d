"""Events that a campaign emits while it runs.

The engine emits events and knows no listener. Terminal output, reports and files are small
functions of the same events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case

__all__ = [
    "CoverageProgress",
    "Event",
    "Finished",
    "Found",
    "Listener",
    "Progress",
    "Started",
    "Tally",
]


@dataclass(slots=True)
class Tally:
    """Counts of what was exercised: cases, frames, documents, and cases by name.

    ``given`` counts cases that were given, not generated. ``rules`` counts frames by the rule that
    they break (``accepted`` for none), ``operators`` cases by damage, ``targets`` cases by target.
    Tallies add up with :meth:`add`.
    """

    cases: int = 0
    given: int = 0
    frames: int = 0
    documents: int = 0
    comparisons: int = 0
    effects: int = 0
    rules: dict[str, int] = field(default_factory=dict)
    operators: dict[str, int] = field(default_factory=dict)
    targets: dict[str, int] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Add another tally to this one."""
        self.cases += other.cases
        self.given += other.given
        self.frames += other.frames
        self.documents += other.documents
        self.comparisons += other.comparisons
        self.effects += other.effects
        for mine, theirs in (
            (self.rules, other.rules),
            (self.operators, other.operators),
            (self.targets, other.targets),
        ):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count


@dataclass(frozen=True, slots=True)
class Started:
    """The campaign starts: its seed, its targets, and the number of known findings."""

    seed: int
    targets: tuple[str, ...]
    workers: int
    known: int
    out: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress so far: seconds since the start, what was exercised, and the number of new
    findings.
    """

    seconds: float
    tally: Tally
    found: int


@dataclass(frozen=True, slots=True)
class Found:
    """A new finding, already on disk at ``path``."""

    finding: Finding
    case: Case
    path: str


@dataclass(frozen=True, slots=True)
class CoverageProgress:
    """Figures of one coverage-guided target so far, over all its processes.

    ``seconds`` is the time that it ran. Of the ``executions``, ``valid`` counts inputs that were
    JSON, ``calls`` those with an accepted call. ``edges``, ``features`` and ``corpus`` (inputs) are
    libFuzzer's figures.
    """

    target: str
    seconds: float
    executions: int
    valid: int
    calls: int
    edges: int
    features: int
    corpus: int
    found: int

    @property
    def rate(self) -> float:
        """Inputs run for each second."""
        return self.executions / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Finished:
    """The campaign has ended; ``reason`` is ``done``, ``interrupted`` or ``hopeless``.

    ``hopeless``: case after case killed its process, and the rest was skipped. ``explored`` holds
    the last figures of each coverage-guided target. ``peak_bytes`` is the most resident memory of a
    worker with its children; 0 if unknown.
    """

    seconds: float
    tally: Tally
    found: int
    reason: str = "done"
    explored: tuple[CoverageProgress, ...] = ()
    peak_bytes: int = 0


Event = Started | Progress | CoverageProgress | Found | Finished
Listener = Callable[[Event], None]
