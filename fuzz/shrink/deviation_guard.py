"""Hold what is wrong with a case while it is minimized: an edit adds no deviation.

A target may show the same finding for another reason, and a smaller input may be wrong in two ways.
So a candidate keeps its finding only if nothing is wrong with it that was right before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from wirefence.oracles.deviation_table import NONE
from wirefence.oracles.deviations import find_deviation
from wirefence.oracles.session import judge_session
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case

__all__ = ["DeviationGuard", "list_deviations"]


def list_deviations(case: Case, terms: Contract | None = None) -> frozenset[str]:
    """Return what is wrong with the frames of a session, sound frames left out.

    ``terms`` are those of the session, whatever their version and policy; else the default ones.
    """
    contract = replace(terms or Contract(), version=case.version, policy="continue")
    frames = judge_session(case.data, contract).frames
    return frozenset(find_deviation(case.data, frame, contract) for frame in frames) - {NONE}


@dataclass(frozen=True, slots=True)
class DeviationGuard:
    """The deviations of a case before it was minimized, and the terms by which it was judged."""

    allowed: frozenset[str]
    terms: Contract | None

    @classmethod
    def of(cls, case: Case, terms: Contract | None = None) -> DeviationGuard:
        """Return the guard of a case."""
        return cls(list_deviations(case, terms), terms)

    def narrow(self, case: Case) -> DeviationGuard:
        """Return the guard of a smaller case: what it is rid of does not come back."""
        return replace(self, allowed=list_deviations(case, self.terms))

    def permits(self, case: Case) -> bool:
        """Whether nothing is wrong with ``case`` that was right in the case of the guard."""
        return list_deviations(case, self.terms) <= self.allowed

    def screen(
        self, cases: Sequence[Case], keeps: Callable[[Sequence[Case]], Sequence[bool]]
    ) -> list[bool]:
        """Return what ``keeps`` says of each permitted case; the others are not run."""
        fit = [self.permits(case) for case in cases]
        some = [case for case, good in zip(cases, fit, strict=True) if good]
        kept = iter(keeps(some) if some else ())
        return [good and next(kept) for good in fit]
