"""Show findings as faults: the gravest finding of each as its title, and a line for each other.

A baseline works on signatures, so a fault may have findings that it accepts and others. Only the
others are shown in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirefence.fuzz.gate.records import Flaw
from wirefence.oracles.deviation_table import NONE
from wirefence.oracles.faults import name_faults, rank_finding

__all__ = ["FaultLine", "ReportedFault", "group_flaws", "list_crash_lines"]


@dataclass(frozen=True, slots=True)
class FaultLine:
    """One line below the title of a fault: what the target did, with what, and who showed it.

    ``effect`` is ``""`` for what was sent before a crash that is the title.
    """

    effect: str
    deviation: str
    trial: str

    def describe_line(self) -> str:
        """Return the line as text."""
        return f"{self.effect or 'sent'} {self.deviation} ({self.trial})"


@dataclass(frozen=True, slots=True)
class ReportedFault:
    """Findings with one cause, the gravest first. ``name`` is equal for equal faults."""

    name: str
    flaws: tuple[Flaw, ...]

    @property
    def title(self) -> Flaw:
        """The gravest finding."""
        return self.flaws[0]

    def list_lines(self) -> Iterator[FaultLine]:
        """Yield a line for each further finding; of a crash, one for each deviation sent."""
        yield from list_crash_lines(self.title)
        for flaw in self.flaws[1:]:
            found = flaw.finding
            yield FaultLine(found.effect, found.deviation, flaw.trial)


def list_crash_lines(flaw: Flaw) -> Iterator[FaultLine]:
    """Yield what was sent before a crash: each deviation with the first trial that had it."""
    if flaw.finding.rule == "live-crash":
        first: dict[str, str] = {}
        for trial, deviation in zip(flaw.trials, flaw.deviations, strict=False):
            first.setdefault(deviation, trial)
        if list(first) != [NONE]:
            yield from (FaultLine("", deviation, trial) for deviation, trial in first.items())


def group_flaws(flaws: Sequence[Flaw], *, known: bool | None = None) -> list[ReportedFault]:
    """Return faults in the order of their first findings.

    With ``known``, only those findings which a baseline accepts, or only the others. Faults are
    named from all findings, so that a name does not depend on the baseline.
    """
    names = name_faults([flaw.finding for flaw in flaws])
    groups: dict[str, list[Flaw]] = {}
    for flaw in flaws:
        if known is None or flaw.known == known:
            groups.setdefault(names[flaw.finding.signature], []).append(flaw)
    return [
        ReportedFault(name, tuple(sorted(each, key=lambda flaw: rank_finding(flaw.finding))))
        for name, each in groups.items()
    ]
