"""Select findings to commit: one file for each fault, and none that is on file already.

Minimized findings are about one thing each, so a fault is read off effect and deviation alone
(:mod:`oracles.faults`). Of a fault the gravest finding stands for all, among equals the simplest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.status import is_fixed
from wirefence.oracles.faults import name_faults, rank_finding
from wirefence.oracles.records import Finding

__all__ = ["Refusal", "Show", "select_findings"]

Show = Callable[[Entry], Collection[Finding] | str]
"""What an entry shows in a fresh process, or why it does not show its finding there."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A finding that is not committed, and why."""

    entry: Entry
    why: str


@dataclass(slots=True)
class _Selection:
    """What is on file or selected so far.

    ``fixed`` is on file too, yet a fault that comes back by other bytes is news. ``faults`` names
    the fault of each signature; it is empty where every signature counts.
    """

    taken: list[Entry]
    fixed: Sequence[Entry]
    show: Show
    faults: Mapping[str, str]

    def find_objection(self, entry: Entry) -> str:
        """Why an entry is not taken; ``""`` where it is."""
        return (
            self._find_known(entry)
            or self._find_fixed(entry)
            or self._find_same_fault(entry)
            or self._find_unshown(entry)
        )

    def _find_known(self, entry: Entry) -> str:
        signature = entry.metadata.signature
        other = next((each for each in self.taken if each.metadata.signature == signature), None)
        return f"is known already, as {other.id} ({other.metadata.status})" if other else ""

    def _find_fixed(self, entry: Entry) -> str:
        target = entry.metadata.target
        for other in self.fixed:
            if other.case == entry.case and other.metadata.target == target:
                again = f"wirefence crashes mark {other.id} open"
                return f"has the bytes of {other.id} (fixed): if that fails again, {again}"
        return ""

    def _find_same_fault(self, entry: Entry) -> str:
        fault = self.faults.get(entry.metadata.signature)
        for other in self.taken:
            if fault and self.faults.get(other.metadata.signature) == fault:
                return f"shows the same fault as {other.id} ({fault})"
        return ""

    def _find_unshown(self, entry: Entry) -> str:
        found = self.show(entry)
        return found if isinstance(found, str) else ""


def select_findings(
    entries: Collection[Entry], known: Sequence[Entry], show: Show, *, each: bool = False
) -> tuple[list[Entry], list[Refusal]]:
    """Divide minimized findings into one for each fault, and those refused.

    With ``each``, every signature is taken that is not known. What is known as ``fixed`` and shows
    again is taken.
    """
    fixed = [entry for entry in known if is_fixed(entry)]
    known = [entry for entry in known if not is_fixed(entry)]
    every = [entry.metadata.to_finding() for entry in (*known, *entries)]
    selection = _Selection(list(known), fixed, show, {} if each else name_faults(every))
    refused = []
    for entry in sorted(entries, key=_gravest_first):
        if why := selection.find_objection(entry):
            refused.append(Refusal(entry, why))
        else:
            selection.taken.append(entry)
    return selection.taken[len(known) :], refused


def _gravest_first(entry: Entry) -> tuple[int, int, tuple[int, bytes]]:
    oracle, rule, _ = rank_finding(entry.metadata.to_finding())
    return oracle, rule, simplicity_key(entry.case.data)
