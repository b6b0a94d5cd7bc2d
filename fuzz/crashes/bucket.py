"""One file for each fault: which findings are symptoms of the same one.

The key insight: a gateway that takes one kind of frame that it must reject acts, answers, and goes
on where it should have closed: three rules broken, one fault. Findings of one cause are one; and
so is what shows together in a smallest case, until one of them is mended and the other still shows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from wirefence.fuzz.crashes.asker import Asker, Run, family, faults_of, is_server, without_kind
from wirefence.fuzz.crashes.same import same
from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.status import is_fixed
from wirefence.oracles.records import Finding
from wirefence.oracles.transcript_kinds import manner_of

__all__ = ["Asker", "Refusal", "Run", "Show", "faults_of", "sort"]

Show = Callable[[Entry], Collection[Finding] | str]
"""What an entry shows in a fresh process, or why it does not show its finding there."""

_GRAVITY = ("non-action", "session", "liveness", "reply", "transcript", "agreement")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A finding that is not committed, and why."""

    entry: Entry
    why: str


@dataclass(slots=True)
class _Desk:
    """What is taken so far, and what each of that shows.

    ``fixed`` is on file too, yet a fault that comes back by other bytes is news.
    """

    taken: list[Entry]
    fixed: Sequence[Entry]
    show: Show
    faults: Mapping[str, str]
    asker: Asker | None
    seen: dict[str, set[str]] = field(default_factory=dict)

    def refuses(self, entry: Entry) -> str:
        """Why an entry is not taken; ``""`` where it is."""
        return (
            self._known(entry)
            or self._mended(entry)
            or self._symptom(entry)
            or self._unshown(entry)
        )

    def _known(self, entry: Entry) -> str:
        test = same(entry.metadata.to_finding())
        other = next((each for each in self.taken if test(each.metadata.to_finding())), None)
        return f"is known already, as {other.id} ({other.metadata.status})" if other else ""

    def _mended(self, entry: Entry) -> str:
        target = entry.metadata.target
        for other in self.fixed:
            if other.case == entry.case and other.metadata.target == target:
                again = f"wirefence crashes mark {other.id} open"
                return f"has the bytes of {other.id} (fixed): if that fails again, {again}"
        return ""

    def _symptom(self, entry: Entry) -> str:
        fault = self.faults.get(entry.metadata.signature)
        for other in self.taken:
            if fault and self.faults.get(other.metadata.signature) == fault:
                return f"is another symptom of the fault of {other.id} ({fault})"
        return ""

    def _unshown(self, entry: Entry) -> str:
        found = self.show(entry)
        if isinstance(found, str):
            return found
        signature = entry.metadata.signature
        self.seen[signature] = {each.signature for each in found} | {signature}
        for other in self.taken:
            if self.faults and (why := self._together(entry, other)):
                del self.seen[signature]
                return why
        return ""

    def _together(self, entry: Entry, other: Entry) -> str:
        """Whether two show together: both in the smallest case of each.

        Where the input explains neither, one case is enough, unless what shows there shows in good
        sessions too.
        """
        if self.asker is None or family(entry) != family(other) or not is_server(entry):
            return ""
        mine, its = entry.metadata.signature, other.metadata.signature
        if _written_otherwise(self.faults[mine], self.faults[its]):
            return ""
        always = self.asker.always(entry)
        needs = self._holding(self.seen[mine], its)
        shows = self._holding(self.seen.get(its, set()), mine)
        bare = self._bare(mine) and self._bare(its)
        if (needs and shows) or (bare and needs - always):
            return f"cannot be had without the fault of {other.id}"
        if bare and shows - always:
            return f"shows in the reproducer of {other.id} too"
        return ""

    def _bare(self, name: str) -> bool:
        return _of_rule(self.faults[name], name)

    def _holding(self, signatures: set[str], name: str) -> set[str]:
        """Those of some signatures that are of the same fault as another."""
        fault = self.faults[name]
        return {
            each
            for each in signatures
            if self.faults.get(each) == fault or (each not in self.faults and _of_rule(fault, each))
        }


def _written_otherwise(one: str, other: str) -> bool:
    """Whether two faults are of what is written, in kinds that no one way of writing makes."""
    if not all("|transcript|" in fault for fault in (one, other)):
        return False
    kinds = (fault.rpartition("|")[2].partition(" in place of ")[0] for fault in (one, other))
    return len(set(map(manner_of, kinds))) == 2


def _of_rule(fault: str, signature: str) -> bool:
    """Whether a fault is called by the rule that a finding breaks."""
    return fault.startswith(without_kind(signature))


def sort(
    entries: Collection[Entry],
    known: Sequence[Entry],
    show: Show,
    run: Run | None,
) -> tuple[list[Entry], list[Refusal]]:
    """Divide minimized findings into one for each fault, and those refused.

    Without ``run`` every signature is taken that is not known. The gravest stands for a fault,
    among equals the simplest. What is known as ``fixed`` and shows again is taken.
    """
    fixed = [each for each in known if is_fixed(each)]
    known = [each for each in known if not is_fixed(each)]
    faults: Mapping[str, str] = {}
    asker = Asker(run) if run else None
    if asker is not None:
        families = {family(each) for each in entries if is_server(each)}
        asked = [each for each in [*known, *entries] if family(each) in families]
        faults = faults_of(asked, asker)
    desk = _Desk(list(known), fixed, show, faults, asker)
    refused = []
    for entry in sorted(entries, key=_gravest_first):
        if why := desk.refuses(entry):
            refused.append(Refusal(entry, why))
        else:
            desk.taken.append(entry)
    return desk.taken[len(known) :], refused


def _gravest_first(entry: Entry) -> tuple[int, tuple[int, bytes]]:
    oracle = entry.metadata.oracle
    grave = _GRAVITY.index(oracle) if oracle in _GRAVITY else len(_GRAVITY)
    return grave, simplicity_key(entry.case.data)
