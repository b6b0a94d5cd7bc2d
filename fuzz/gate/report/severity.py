"""Which findings come first, and what they come to in one line.

The key insight: a maintainer reads the first screen. Whether bytes that had to be rejected acted is
asked before whether the server can still be used, and both before anything that is merely untidy.
"""

from __future__ import annotations

from collections.abc import Iterable

from wirefence.fuzz.gate.records import Flaw
from wirefence.fuzz.gate.server.startup import variant_of
from wirefence.fuzz.gate.server.verdicts import ACTING, UNUSABLE

__all__ = ["sort_by_severity", "summarize_counts"]

_ORDER = ("non-action", "client", "session", "liveness", "reply", "transcript", "smoke")
_UNTIDY = len(_ORDER)


def sort_by_severity(flaws: Iterable[Flaw]) -> tuple[Flaw, ...]:
    """Findings by what they mean; equal ones as they were found; those of starts come last."""
    return tuple(sorted(flaws, key=_severity_key))


def _severity_key(flaw: Flaw) -> tuple[int, bool]:
    oracle = flaw.finding.oracle
    place = _ORDER.index(oracle) if oracle in _ORDER else _UNTIDY
    return (
        _UNTIDY + 1 if variant_of(flaw.finding) else place,
        # A result for a rejected frame is graver than a wrong code for a good one.
        flaw.finding.rule not in (*ACTING, *UNUSABLE),
    )


def summarize_counts(flaws: Iterable[Flaw]) -> str:
    """New findings in one look: how many acted, how many left the server unusable, how many else.

    A client acts where it takes what it had to reject. Starts never count: nothing bad was sent.
    """
    new = [flaw for flaw in flaws if not flaw.known]
    if not new:
        return "nothing found"
    acted = sum(f.finding.rule in ACTING or f.finding.oracle == "client" for f in new)
    unusable = sum(flaw.finding.rule in UNUSABLE and not variant_of(flaw.finding) for flaw in new)
    other = len(new) - acted - unusable
    counts = ((acted, "acted"), (unusable, "unusable"), (other, "other"))
    total = "1 finding" if len(new) == 1 else f"{len(new)} findings"
    return f"{total}: {', '.join(f'{number} {name}' for number, name in counts)}"
