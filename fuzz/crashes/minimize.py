"""Minimizing a reproducer: the smallest case that shows the same fault of the same target.

The key insight: the best so far is always on disk. A reduction that is interrupted, or killed, has
lost nothing but the time since the last improvement.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from wirefence.fuzz.crashes.rerun import Runners, subject_of
from wirefence.fuzz.crashes.same import same
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.shrink.ordering import order
from wirefence.fuzz.shrink.pauses import Cuts, after_every_byte, fewest, moved, none
from wirefence.fuzz.shrink.shrinker import Reduced, reduce
from wirefence.fuzz.store.metadata import Metadata
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.status import is_aside
from wirefence.fuzz.store.store import Store, case_from_bytes, place_of
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case

if TYPE_CHECKING:
    from wirefence.fuzz.crashes.warm_server import Living

__all__ = ["LIMIT", "Minimized", "Terms", "minimize"]

LIMIT = 5_000
"""Inputs that one reduction may run: ten times what a frame of a kilobyte needs."""

_PLAYS = {"attack", "cause"}
"""Options of the gate that say how a case is made; its bytes are then the record of one run."""

_WIDTH = 16
"""Inputs that a living server is asked about at once."""

_TRIALS = 3
_FLAKY_TRIALS = 10
_EVERY = 1.0

Tell = Callable[[int, int], None]
"""Is told the number of inputs run and the size (bytes) of the best so far."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a reduction may go on (seconds, inputs), with how many processes.

    ``patience`` (seconds) bounds one run.
    """

    seconds: float | None = None
    workers: int = 1
    limit: int = LIMIT
    patience: float = 60.0


@dataclass(frozen=True, slots=True)
class Minimized:
    """What became of a reproducer.

    ``state`` is ``done``, ``early`` (out of time or inputs), ``whole`` (it is a play of an attack
    or a way of starting, of which the bytes are only a record) or ``gone`` (it does not show its
    finding any more). In the last two it is left as it was. ``shown`` of ``trials`` runs showed it
    at first. ``merged`` is true where its smallest form is a fault that was on file already.
    """

    entry: Entry
    before: int
    state: str
    executions: int = 0
    shown: int = 0
    trials: int = _TRIALS
    merged: bool = False


@dataclass(slots=True)
class _Session:
    """One reproducer being reduced: what must be kept, and the best that kept it."""

    entry: Entry
    store: Store
    runners: Runners
    tell: Tell
    repeat: int = 1
    living: Living | None = None
    deadline: float | None = None
    cuts_of: Callable[[bytes], Cuts] = none
    best: Case = field(init=False)
    executions: int = 0
    saved: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.best = self.entry.case

    def case(self, data: bytes, cuts: Cuts) -> Case:
        return case_from_bytes(
            data, protocol=self.best.version, cuts=list(cuts), direction=self.best.direction
        )

    def shown(self, cases: Sequence[Case]) -> list[Finding | None]:
        """The wanted finding, or the like, of each case; flaky ones get several runs."""
        wanted = same(self.entry.metadata.finding())
        again = [case for case in cases for _ in range(self.repeat)]
        self.executions += len(again)
        found = self.runners.run(again)
        hits = [next(filter(wanted, each), None) for each in found]
        steps = range(0, len(hits), self.repeat)
        return [next(filter(None, hits[at : at + self.repeat]), None) for at in steps]

    def keeps_many(self, batch: Sequence[bytes]) -> list[bool]:
        cases = [self.case(data, self.cuts_of(data)) for data in batch]
        if self.living is None:
            return [hit is not None for hit in self.shown(cases)]
        return self._first(self.living, cases)

    def _first(self, living: Living, cases: Sequence[Case]) -> list[bool]:
        """Whether each case may keep the finding: the first that does was seen in a fresh process.

        What a living server does not show is not run. Those behind the first are as good as open.
        """
        likely = living.shown(cases, self.best, self.deadline)
        self.executions += sum(each is not None for each in likely)
        kept = [each is not False for each in likely]
        places = [place for place, each in enumerate(kept) if each]
        for at in range(0, len(places), self.runners.count):
            some = [] if self._late() else places[at : at + self.runners.count]
            hits = self.shown([cases[place] for place in some])
            for place in places[at : at + self.runners.count]:
                kept[place] = bool(some) and hits[some.index(place)] is not None
            if any(hits):
                break
        return kept

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def better(self, data: bytes) -> None:
        self.best = self.case(data, self.cuts_of(data))
        self.tell(self.executions, len(data))
        if time.monotonic() - self.saved > _EVERY:
            self.save()

    def save(self) -> None:
        """Put the best so far in place of the reproducer, under its old name."""
        self.store.put(_of(self.entry.metadata, self.best), self.best.data)
        self.saved = time.monotonic()


def _of(metadata: Metadata, case: Case, found: Finding | None = None) -> Metadata:
    shown = found or metadata.finding()
    return replace(
        metadata,
        rule=shown.rule,
        signature=shown.signature,
        summary=shown.summary,
        cuts=case.cuts,
        size=len(case.data),
        sha256=hashlib.sha256(case.data).hexdigest(),
        replaces="",
    )


def minimize(entry: Entry, store: Store, terms: Terms, tell: Tell) -> Minimized:
    """Reduce a reproducer in place, keeping its finding; ``store`` is where it lies.

    Ctrl-C and any error leave the best so far on disk and are raised. Raises UsageError and
    TargetError where the target cannot be run, UsageError for a fixed one whose place is taken.
    """
    if is_aside(entry):
        raise UsageError(
            f"{entry.id} is fixed, and its place is that of what came back",
            f"where it fails again, wirefence crashes mark {entry.id} open first",
        )
    subject = subject_of(entry.metadata)
    with Runners(subject, max(1, terms.workers), terms.patience) as runners:
        session = _Session(entry, store, runners, tell)
        shown = _trials(session)
        if not shown:
            return Minimized(entry, len(entry.case.data), "gone", session.executions)
        if _PLAYS & entry.metadata.options.keys():
            return Minimized(entry, len(entry.case.data), "whole", session.executions, shown)
        session.repeat = 1 if shown == _TRIALS else _FLAKY_TRIALS
        try:
            reduced = _reduce(session, terms)
        finally:
            session.save()
        return _settle(session, reduced, shown)


def _trials(session: _Session) -> int:
    found = session.shown([session.entry.case] * _TRIALS)
    shown = sum(hit is not None for hit in found)
    if shown:
        return shown
    # Rare ones get a second chance before they are called gone.
    session.repeat = _FLAKY_TRIALS
    return int(session.shown([session.entry.case])[0] is not None)


def _reduce(session: _Session, terms: Terms) -> Reduced:
    case = session.entry.case
    session.deadline = None if terms.seconds is None else time.monotonic() + terms.seconds
    session.cuts_of = _cutting(session, case)
    session.best = session.case(case.data, session.cuts_of(case.data))
    with _living(session) as living:
        session.living = living
        reduced = reduce(
            case.data,
            lambda _start: True,  # the trials have shown it
            limit=terms.limit,
            deadline=session.deadline,
            better=session.better,
            keeps_many=session.keeps_many,
            width=max(_WIDTH if living else 1, terms.workers),
        )
    session.living = None
    if reduced.finished and session.best.cuts:
        data = session.best.data
        cuts = fewest(
            session.best.cuts, lambda each: session.shown([session.case(data, each)])[0] is not None
        )
        session.best = session.case(data, cuts)
    return reduced


@contextmanager
def _living(session: _Session) -> Iterator[Living | None]:
    """A living server that shows the finding too, where there can be one."""
    subject, wanted = session.runners.subject, session.entry.metadata.finding()
    if subject.launch is None or session.best.cuts or session.repeat > 1:
        yield None
        return
    # Servers need much that nothing else here does.
    from wirefence.fuzz.crashes.warm_server import Living  # noqa: PLC0415

    with Living(subject, wanted.oracle, same(wanted)) as living:
        session.executions += 1
        (likely,) = living.shown([session.best], session.best)
        yield living if likely else None


def _cutting(session: _Session, case: Case) -> Callable[[bytes], Cuts]:
    """The simplest rule for pauses under which the case shows its finding."""
    if not case.cuts:
        return none
    for rule in (none, after_every_byte):
        if session.shown([session.case(case.data, rule(case.data))])[0] is not None:
            return rule
    return lambda data: moved(session.best.cuts, session.best.data, data)


def _settle(session: _Session, reduced: Reduced, shown: int) -> Minimized:
    """File the result under the name of what it shows, which may say less than the old one."""
    old, best = session.entry, session.best
    (found,) = session.shown([best])
    new = _of(old.metadata, best, found)
    path = session.store.folder / place_of(new.finding())
    merged = path != old.path and path.exists()
    if not merged or order(best.data) < order(path.read_bytes()):
        path = session.store.put(new, best.data)
    if path != old.path:
        session.store.drop(old.path)
    state = "done" if reduced.finished else "early"
    return Minimized(
        Entry(path, *session.store.get(path)),
        len(old.case.data),
        state,
        session.executions,
        shown,
        merged=merged,
    )
