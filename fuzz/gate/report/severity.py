"""Order findings by severity, and summarize them in one line.

A maintainer reads the first screen. Rejected bytes that acted come first, then servers that became
unusable, then everything else.
"""

from __future__ import annotations

from collections.abc import Iterable

from wirefence.fuzz.gate.records import Flaw
from wirefence.fuzz.gate.report.faults import group_flaws
from wirefence.fuzz.gate.server.startup import variant_of
from wirefence.fuzz.gate.server.verdicts import ACTING
from wirefence.oracles.replies import UNUSABLE

__all__ = ["sort_by_severity", "summarize_counts"]

_SEVERITY_ORDER = ("non-action", "client", "session", "liveness", "reply", "transcript", "smoke")
_LEAST_SEVERE = len(_SEVERITY_ORDER)


def sort_by_severity(flaws: Iterable[Flaw]) -> tuple[Flaw, ...]:
    """Return findings by severity, equal ones in order of discovery; those of starts last."""
    return tuple(sorted(flaws, key=_severity_key))


def _severity_key(flaw: Flaw) -> tuple[int, bool]:
    oracle = flaw.finding.oracle
    place = _SEVERITY_ORDER.index(oracle) if oracle in _SEVERITY_ORDER else _LEAST_SEVERE
    return (
        _LEAST_SEVERE + 1 if variant_of(flaw.finding) else place,
        # A result for a rejected frame is more severe than a wrong code for a good one.
        flaw.finding.rule not in (*ACTING, *UNUSABLE),
    )


def summarize_counts(flaws: Iterable[Flaw]) -> str:
    """Return the counts of new faults, each by its gravest finding: acted, unusable, other.

    A client acts where it accepts what it must reject. Starts never count as acted or unusable:
    nothing bad was sent.
    """
    new = [fault.title for fault in group_flaws(tuple(flaws), known=False)]
    if not new:
        return "nothing found"
    acted = sum(f.finding.rule in ACTING or f.finding.oracle == "client" for f in new)
    unusable = sum(flaw.finding.rule in UNUSABLE and not variant_of(flaw.finding) for flaw in new)
    other = len(new) - acted - unusable
    counts = ((acted, "acted"), (unusable, "unusable"), (other, "other"))
    total = "1 fault" if len(new) == 1 else f"{len(new)} faults"
    return f"{total}: {', '.join(f'{number} {name}' for number, name in counts)}"
