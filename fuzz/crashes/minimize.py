"""Minimize a reproducer: find the smallest case that shows the same fault of the same target.

The best case so far is on disk at any moment. So an interrupt or kill loses only the time since the
last improvement.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from wirefence.fuzz.crashes.divergences import PARSERS
from wirefence.fuzz.crashes.rerun import CaseRunners, make_subject
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.shrink.deviation_guard import DeviationGuard
from wirefence.fuzz.shrink.ordering import simplicity_key
from wirefence.fuzz.shrink.pauses import (
    Cuts,
    move_pauses,
    pause_after_every_byte,
    reduce_pauses,
    without_pauses,
)
from wirefence.fuzz.shrink.shrinker import ShrinkResult, shrink_input
from wirefence.fuzz.store.metadata import Metadata
from wirefence.fuzz.store.scan import Entry
from wirefence.fuzz.store.status import is_moved_aside
from wirefence.fuzz.store.store import Store, case_from_bytes, locate_finding
from wirefence.oracles.records import Finding
from wirefence.strategies.contract import Contract
from wirefence.strategies.records import Case

if TYPE_CHECKING:
    from wirefence.fuzz.crashes.warm_server import WarmServer

__all__ = ["LIMIT", "MinimizeLimits", "MinimizeResult", "minimize_reproducer"]

LIMIT = 5_000
"""Inputs that one reduction may run: ten times what a frame of a kilobyte needs."""

_NO_SESSION = ("agreement", "compare", "client")
"""Oracles whose findings are not about the frames of a session."""

_RECORDING_OPTIONS = {"attack", "cause"}
"""Options of the gate that define how a case is made; its bytes then only record one run."""

_WIDTH = 16
"""Inputs that are sent to a warm server at a time."""

_TRIALS = 3
"""Runs that show whether a fault is steady."""
_FLAKY_TRIALS = 10
"""Runs of each input for an unsteady fault."""
_SAVE_INTERVAL = 1.0
"""Seconds between two writes of the best case."""

Tell = Callable[[int, int], None]
"""Called with the number of inputs run and the size (bytes) of the best so far."""


@dataclass(frozen=True, slots=True)
class MinimizeLimits:
    """Limits of a reduction (seconds, inputs), and the number of processes.

    ``patience`` (seconds) bounds one run.
    """

    seconds: float | None = None
    workers: int = 1
    limit: int = LIMIT
    patience: float = 60.0


@dataclass(frozen=True, slots=True)
class MinimizeResult:
    """The result for a reproducer.

    ``state`` is ``done``, ``early`` (out of time or inputs), ``whole`` (an attack or a way of
    starting, whose bytes only record a run) or ``gone`` (it does not show its finding any more). In
    the last two it is unchanged. ``shown`` of ``trials`` runs showed it at first. ``merged`` is
    true if its smallest form is a fault that was stored already.
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
    """One reproducer being reduced: what must be kept, and the best case so far.

    ``split`` is the summary of a divergence, which names the parsers that show it here. They are no
    part of the fault, but an input that other parsers take is no smaller form. ``guard`` rules out
    inputs with which more is wrong.
    """

    entry: Entry
    store: Store
    runners: CaseRunners
    tell: Tell
    repeat: int = 1
    living: WarmServer | None = None
    deadline: float | None = None
    cuts_of: Callable[[bytes], Cuts] = without_pauses
    split: str = ""
    guard: DeviationGuard | None = None
    best: Case = field(init=False)
    executions: int = 0
    saved: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.best = self.entry.case
        metadata = self.entry.metadata
        if metadata.oracle not in _NO_SESSION and self.best.direction == "client-to-server":
            spec = metadata.target.endswith("/spec") or metadata.options.get("profile") == "spec"
            self.guard = DeviationGuard.of(
                self.best, Contract(profile="spec" if spec else "strict")
            )

    def make_case(self, data: bytes, cuts: Cuts) -> Case:
        return case_from_bytes(
            data, protocol=self.best.version, cuts=list(cuts), direction=self.best.direction
        )

    def run_cases(self, cases: Sequence[Case]) -> list[Finding | None]:
        """Return the wanted finding, or an equal one, of each case; unsteady ones get several
        runs.
        """
        again = [case for case in cases for _ in range(self.repeat)]
        self.executions += len(again)
        found = self.runners.run_cases(again)
        hits = [next(filter(self._is_wanted, each), None) for each in found]
        steps = range(0, len(hits), self.repeat)
        return [next(filter(None, hits[at : at + self.repeat]), None) for at in steps]

    def _is_wanted(self, found: Finding) -> bool:
        wanted = self.entry.metadata.signature
        return found.signature == wanted and self.split in ("", found.summary)

    def keeps_many(self, batch: Sequence[bytes]) -> list[bool]:
        cases = [self.make_case(data, self.cuts_of(data)) for data in batch]
        return self.guard.screen(cases, self._keep) if self.guard else self._keep(cases)

    def _keep(self, cases: Sequence[Case]) -> list[bool]:
        if self.living is not None:
            return self._keep_first(self.living, cases)
        return [hit is not None for hit in self.run_cases(cases)]

    def _keep_first(self, living: WarmServer, cases: Sequence[Case]) -> list[bool]:
        """Return whether each case may keep the finding; the first that does was run in a fresh
        process.

        Cases that the warm server rules out are not run. Those after the first hit are undecided.
        """
        likely = living.screen_cases(cases, self.best, self.deadline)
        self.executions += sum(each is not None for each in likely)
        kept = [each is not False for each in likely]
        places = [place for place, each in enumerate(kept) if each]
        for at in range(0, len(places), self.runners.count):
            some = [] if self._is_late() else places[at : at + self.runners.count]
            hits = self.run_cases([cases[place] for place in some])
            for place in places[at : at + self.runners.count]:
                kept[place] = bool(some) and hits[some.index(place)] is not None
            if any(hits):
                break
        return kept

    def _is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def record_best(self, data: bytes) -> None:
        self.best = self.make_case(data, self.cuts_of(data))
        self.guard = self.guard and self.guard.narrow(self.best)
        self.tell(self.executions, len(data))
        if time.monotonic() - self.saved > _SAVE_INTERVAL:
            self.save_best()

    def save_best(self) -> None:
        """Write the best case so far in place of the reproducer, under its old name."""
        self.store.write_reproducer(_make_metadata(self.entry.metadata, self.best), self.best.data)
        self.saved = time.monotonic()


def _make_metadata(metadata: Metadata, case: Case, found: Finding | None = None) -> Metadata:
    shown = found or metadata.to_finding()
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


def minimize_reproducer(
    entry: Entry, store: Store, terms: MinimizeLimits, tell: Tell
) -> MinimizeResult:
    """Minimize a reproducer in place, keeping its finding; ``store`` contains it.

    Ctrl-C and any error leave the best so far on disk and are raised. Raises UsageError and
    TargetError if the target cannot be run, UsageError for a fixed one that was moved aside.
    """
    if is_moved_aside(entry):
        raise UsageError(
            f"{entry.id} is fixed, and the fault that returned has its place",
            f"where it fails again, wirefence crashes mark {entry.id} open first",
        )
    subject = make_subject(entry.metadata)
    with CaseRunners(subject, max(1, terms.workers), terms.patience) as runners:
        session = _Session(entry, store, runners, tell)
        shown = _count_trials(session)
        if not shown:
            return MinimizeResult(entry, len(entry.case.data), "gone", session.executions)
        if _RECORDING_OPTIONS & entry.metadata.options.keys():
            return MinimizeResult(entry, len(entry.case.data), "whole", session.executions, shown)
        session.repeat = 1 if shown == _TRIALS else _FLAKY_TRIALS
        try:
            reduced = _shrink_case(session, terms)
        finally:
            session.save_best()
        return _save_result(session, reduced, shown)


def _count_trials(session: _Session) -> int:
    found = session.run_cases([session.entry.case] * _TRIALS)
    hits = [hit for hit in found if hit is not None]
    if hits:
        if session.entry.metadata.target == PARSERS:
            session.split = hits[0].summary
        return len(hits)
    # Unsteady faults get more runs before they count as gone.
    session.repeat = _FLAKY_TRIALS
    return int(session.run_cases([session.entry.case])[0] is not None)


def _shrink_case(session: _Session, terms: MinimizeLimits) -> ShrinkResult:
    case = session.entry.case
    session.deadline = None if terms.seconds is None else time.monotonic() + terms.seconds
    session.cuts_of = _choose_pauses(session, case)
    session.best = session.make_case(case.data, session.cuts_of(case.data))
    with _start_warm_server(session) as living:
        session.living = living
        reduced = shrink_input(
            case.data,
            lambda _start: True,  # the trials have shown it
            limit=terms.limit,
            deadline=session.deadline,
            better=session.record_best,
            keeps_many=session.keeps_many,
            width=max(_WIDTH if living else 1, terms.workers),
        )
    session.living = None
    if reduced.finished and session.best.cuts:
        data = session.best.data
        cuts = reduce_pauses(
            session.best.cuts,
            lambda each: session.run_cases([session.make_case(data, each)])[0] is not None,
        )
        session.best = session.make_case(data, cuts)
    return reduced


@contextmanager
def _start_warm_server(session: _Session) -> Iterator[WarmServer | None]:
    """Yield a warm server that shows the finding too, or ``None``."""
    subject, wanted = session.runners.subject, session.entry.metadata.to_finding()
    if subject.launch is None or session.best.cuts or session.repeat > 1:
        yield None
        return
    # Importing the gate is slow, and only servers need it.
    from wirefence.fuzz.crashes.warm_server import WarmServer  # noqa: PLC0415

    with WarmServer(subject, wanted) as living:
        session.executions += 1
        (likely,) = living.screen_cases([session.best], session.best)
        yield living if likely else None


def _choose_pauses(session: _Session, case: Case) -> Callable[[bytes], Cuts]:
    """Return the simplest rule for pauses with which the case shows its finding."""
    if not case.cuts:
        return without_pauses
    for rule in (without_pauses, pause_after_every_byte):
        if session.run_cases([session.make_case(case.data, rule(case.data))])[0] is not None:
            return rule
    return lambda data: move_pauses(session.best.cuts, session.best.data, data)


def _save_result(session: _Session, reduced: ShrinkResult, shown: int) -> MinimizeResult:
    """Save the result under its own signature, which may be shorter than the old one."""
    old, best = session.entry, session.best
    (found,) = session.run_cases([best])
    new = _make_metadata(old.metadata, best, found)
    path = session.store.folder / locate_finding(new.to_finding())
    merged = path != old.path and path.exists()
    if not merged or simplicity_key(best.data) < simplicity_key(path.read_bytes()):
        path = session.store.write_reproducer(new, best.data)
    if path != old.path:
        session.store.delete_finding(old.path)
    state = "done" if reduced.finished else "early"
    return MinimizeResult(
        Entry(path, *session.store.read_finding(path)),
        len(old.case.data),
        state,
        session.executions,
        shown,
        merged=merged,
    )
