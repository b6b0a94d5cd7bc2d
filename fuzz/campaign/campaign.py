"""Run a campaign: many cases in several worker processes; save findings; replace dead workers.

The parent only saves and reports. It holds no case, so killing it, or a worker, at any moment loses
at most the cases in flight.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wirefence.fuzz.campaign.worker import (
    UNBEGUN,
    Batch,
    Share,
    find_case_in_flight,
    run_worker,
    write_orders,
)
from wirefence.fuzz.examination.events import Finished, Found, Listener, Progress, Started, Tally
from wirefence.fuzz.examination.plan import Plan, build_examiner, target_names
from wirefence.fuzz.processes.child import make_early_death_error, start_children, wait_for_exit
from wirefence.fuzz.processes.hang_detector import HangTimer
from wirefence.fuzz.processes.supervisor import Child, Ended, kill_children, poll_children
from wirefence.fuzz.store.store import Store
from wirefence.oracles.liveness import make_death, make_hang
from wirefence.oracles.records import Finding
from wirefence.strategies.records import Case
from wirefence.targets.command.memory import peak_of_group
from wirefence.targets.parsers.configs import library_versions
from wirefence.targets.scratch import Scratch

if TYPE_CHECKING:
    from wirefence.fuzz.coverage.driver_scheduler import DriverScheduler
    from wirefence.fuzz.coverage.store_watch import StoreWatch

__all__ = ["PATIENCE", "Budget", "run_campaign"]

PATIENCE = 60.0
"""Seconds that one case may take before its process is killed and the case is saved as a hang."""

_MAX_DEATHS = 16
"""Deaths in a row after which a worker is not replaced: a start costs more than many cases."""
_MAX_DEATHS_WITH_HANG = 4
"""The same if the last of them was a hang, which costs the whole patience."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to run (seconds, or a number of generated cases), and with how many processes.

    ``patience`` (seconds) bounds one case, so a campaign ends at most that much after ``seconds``.
    """

    seconds: float | None = None
    cases: int | None = None
    workers: int = 1
    patience: float = PATIENCE


@dataclass(slots=True)
class _State:
    store: Store
    listener: Listener
    known: set[str]
    begun: float
    versions: dict[str, str]
    tally: Tally = field(default_factory=Tally)
    found: int = 0
    peak_bytes: int = 0

    def record_batch(self, batch: Batch, peak_bytes: int) -> None:
        self.peak_bytes = max(self.peak_bytes, peak_bytes)
        for each, case in batch.found:
            self.save_finding(each, case)
        self.tally.add(batch.tally)
        self.listener(Progress(time.monotonic() - self.begun, self.tally, self.found))

    def save_finding(self, each: Finding, case: Case) -> None:
        if each.signature in self.known:
            return
        path = self.store.save_finding(each, case, versions=self.versions)
        self.known.add(each.signature)
        self.found += 1
        self.listener(Found(each, case, str(path)))

    def record_found(self, found: Sequence[Found]) -> None:
        """Report findings that another process has written to the store."""
        for each in found:
            if each.finding.signature not in self.known:
                self.known.add(each.finding.signature)
                self.found += 1
                self.listener(each)


class _Worker(Child):
    """A process with a share. It hangs if one case takes longer than ``patience`` seconds."""

    def __init__(self, plan: Plan, share: Share, patience: float) -> None:
        orders = write_orders(plan, share)
        super().__init__(run_worker, orders, method="spawn", patience=patience)
        self.share, self.at, self.resting = share, UNBEGUN, False
        self.timer = HangTimer(self.process.pid or 0)

    def set_resting(self, *, resting: bool) -> None:
        """Pause the process after its current case, or let it continue; a resting worker cannot
        hang.

        A signal would stop it in the middle of a message, and block the parent that reads it.
        """
        if resting != self.resting:
            self.resting = resting
            self.timer.restart()
            if resting:
                self.share.pause_file.touch()
            else:
                self.share.pause_file.unlink(missing_ok=True)

    def has_hung(self) -> bool:
        """Return whether the case in flight has run for too long."""
        at = self.share.marker.read_bytes()
        if at != self.at:
            self.at, self.begun = at, True
            self.timer.restart()
        return not self.resting and self.timer.has_hung(self.limit)


def run_campaign(  # noqa: PLR0913 - all input of a campaign
    plan: Plan,
    budget: Budget,
    out: Path,
    listener: Listener,
    *,
    given: Sequence[Case] = (),
    known: frozenset[str] = frozenset(),
) -> int:
    """Run ``given`` cases, then generated ones until the budget is spent; return new findings.

    Findings go to ``out``, one for each signature; those already there or in ``known`` are not new.
    Ctrl-C ends the campaign like a spent budget. Raises UsageError if ``out`` cannot be read or
    written, TargetError if a target cannot be used, StartError if a worker ends before its first
    case, RuntimeError for an internal error.
    """
    names = target_names(build_examiner(plan))
    store = Store(out)
    store.check_writable()
    seen = store.read_signatures() | known
    state = _State(store, listener, seen, time.monotonic(), library_versions())
    listener(Started(plan.seed, names, budget.workers, len(seen), str(out)))
    with Scratch("campaign") as markers:
        shares = _split_shares(budget, markers.path, given)
        guided = _make_guided(plan, budget, store, frozenset(seen), lambda: state.found)
        reason = _WorkerPool(plan, budget, state, guided).run_shares(shares)
    explored = guided.guide.report_progress() if guided else ()
    seconds = time.monotonic() - state.begun
    listener(Finished(seconds, state.tally, state.found, reason, explored, state.peak_bytes))
    return state.found


@dataclass(frozen=True, slots=True)
class _Guided:
    """The coverage-guided drivers, and the watch on findings of their processes."""

    guide: DriverScheduler
    watch: StoreWatch


def _make_guided(
    plan: Plan, budget: Budget, store: Store, known: frozenset[str], findings: Callable[[], int]
) -> _Guided | None:
    """Return the coverage-guided drivers; none for a budget of cases, whose results depend on the
    seed.
    """
    if budget.seconds is None:
        return None
    # Campaigns by number of cases are often short, and do not need these imports.
    from wirefence.fuzz.coverage import driver_scheduler, store_watch  # noqa: PLC0415

    made = driver_scheduler.make_scheduler(plan, budget.seconds, store.folder, known, findings)
    return None if made is None else _Guided(made, store_watch.StoreWatch(store))


def _split_shares(budget: Budget, markers: Path, given: Sequence[Case]) -> list[Share]:
    deadline = None if budget.seconds is None else time.monotonic() + budget.seconds
    count = max(1, budget.workers)
    return [
        Share(
            first=place,
            step=count,
            marker=markers / f"worker-{place}",
            limit=budget.cases,
            deadline=deadline,
            given=tuple(given[place::count]),
            given_at=place,
        )
        for place in range(count)
    ]


@dataclass(slots=True)
class _WorkerPool:
    """The running workers: receives their batches, and replaces those that die or hang."""

    plan: Plan
    budget: Budget
    state: _State
    guided: _Guided | None = None
    hopeless: bool = False
    running: list[_Worker] = field(default_factory=list)

    def run_shares(self, shares: Sequence[Share]) -> str:
        """Run workers on ``shares`` until all have sent their last batch; return why they ended."""
        try:
            for share in shares:
                self._start_worker(share)
            while self.running:
                self._poll_workers()
        except KeyboardInterrupt:
            return "interrupted"
        finally:
            self._kill_workers()
        return "hopeless" if self.hopeless else "done"

    def _start_worker(self, share: Share) -> None:
        with start_children():  # Ctrl-C waits until the worker is known, and can be killed
            self.running.append(_Worker(self.plan, share, self.budget.patience))

    def _kill_workers(self) -> None:
        """Kill every worker at once: their findings are on disk."""
        if self.guided is not None:
            self.guided.guide.close()
            self.state.record_found(self.guided.watch.read_new())
        kill_children(self.running)

    def _share_processor(self, guided: _Guided) -> None:
        """Pause the last worker while a coverage-guided process uses its processor."""
        ours = guided.guide.poll()
        self.state.record_found(guided.watch.read_new())
        for worker in self.running:
            worker.set_resting(resting=not ours and worker is self.running[-1])

    def _poll_workers(self) -> None:
        if self.guided is not None:
            self._share_processor(self.guided)
        for worker, said in poll_children(self.running):
            if isinstance(said, Ended):
                self.running.remove(worker)
                self._replace_worker(worker.share, said)
            else:
                self._record_batch(worker, said)

    def _record_batch(self, worker: _Worker, batch: Batch) -> None:
        self.state.record_batch(batch, peak_of_group(worker.process.pid or 0))
        if batch.last:
            self.running.remove(worker)
            wait_for_exit(worker.process)  # a thread left by a target may keep it alive

    def _replace_worker(self, share: Share, ended: Ended) -> None:
        """Save the case that killed a worker, and start another worker after that case."""
        victim = find_case_in_flight(self.plan, share)
        if victim is None:
            raise make_early_death_error(ended.how)
        case, rest = victim
        self.state.save_finding(self._make_death_finding(ended), case)
        if rest.deaths >= (_MAX_DEATHS_WITH_HANG if ended.hung else _MAX_DEATHS):
            self.hopeless = True
        elif rest.deadline is None or time.monotonic() < rest.deadline:
            self._start_worker(rest)

    def _make_death_finding(self, ended: Ended) -> Finding:
        # With several targets, the dead process cannot say which one it was.
        names = self.plan.targets
        name = names[0] if len(names) == 1 else "process"
        if ended.hung:
            return make_hang(name, self.budget.patience)
        return make_death(name, ended.how)
