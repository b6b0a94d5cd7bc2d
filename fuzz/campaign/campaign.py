"""The campaign: many cases, several processes, findings on disk before anything goes on.

The key insight: the parent only saves and tells. It holds no case of its own, so killing it, or a
worker, at any moment loses at most the cases in flight.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

from wirefence.fuzz.campaign.worker import UNBEGUN, Batch, Share, give, in_flight, work
from wirefence.fuzz.examination.events import Finished, Found, Listener, Progress, Started, Tally
from wirefence.fuzz.examination.plan import Plan, build, target_names
from wirefence.fuzz.processes.child import START, Failed, end_of, starting, unbegun
from wirefence.fuzz.processes.hang_detector import Patience
from wirefence.fuzz.store.store import Store
from wirefence.oracles.records import Finding, finding
from wirefence.strategies.records import Case
from wirefence.targets.command.memory import peak_of_group
from wirefence.targets.parsers.configs import library_versions
from wirefence.targets.scratch import Scratch

if TYPE_CHECKING:
    from wirefence.fuzz.coverage.driver_scheduler import Guide
    from wirefence.fuzz.coverage.store_watch import Watch

__all__ = ["PATIENCE", "Budget", "campaign"]

PATIENCE = 60.0
"""Seconds that one case may take before its process is ended and the case filed as a hang."""

_TICK = 0.5
_HOPELESS = 16
"""Deaths in a row after which a worker is not replaced: a start costs more than many cases."""
_HOPELESS_HANGS = 4
"""The same where the last of them was a hang, which costs the whole patience."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to go on: seconds, or a number of generated cases; and with how many processes.

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

    def take(self, batch: Batch, peak_bytes: int) -> None:
        self.peak_bytes = max(self.peak_bytes, peak_bytes)
        for each, case in batch.found:
            self.save(each, case)
        self.tally.add(batch.tally)
        self.listener(Progress(time.monotonic() - self.begun, self.tally, self.found))

    def save(self, each: Finding, case: Case) -> None:
        if each.signature in self.known:
            return
        path = self.store.save(each, case, versions=self.versions)
        self.known.add(each.signature)
        self.found += 1
        self.listener(Found(each, case, str(path)))

    def learn(self, found: Sequence[Found]) -> None:
        """Tell of findings that another process has put into the store."""
        for each in found:
            if each.finding.signature not in self.known:
                self.known.add(each.finding.signature)
                self.found += 1
                self.listener(each)


@dataclass(slots=True)
class _Worker:
    share: Share
    process: BaseProcess
    pipe: Connection
    patience: Patience
    at: bytes = UNBEGUN
    hung: bool = False
    resting: bool = False

    def rest(self, *, resting: bool) -> None:
        """Let the process wait behind its case, or go on; what rests does not hang.

        A signal would stop it in the middle of a message, and us in reading that.
        """
        if resting != self.resting:
            self.resting = resting
            self.patience.restart()
            if resting:
                self.share.rest.touch()
            else:
                self.share.rest.unlink(missing_ok=True)

    def stuck(self, patience: float) -> bool:
        """Whether the case in flight has been the same for longer than ``patience`` seconds."""
        at = self.share.marker.read_bytes()
        if at != self.at:
            self.at = at
            self.patience.restart()
        most = patience if at != UNBEGUN else max(START, patience)
        return not self.resting and self.patience.over(most)

    def gone(self) -> bool:
        """Whether the process has ended, even if a child of it still holds the pipe open."""
        return not self.process.is_alive() and not self.pipe.poll()


def campaign(  # noqa: PLR0913 - the whole of a campaign's input, once
    plan: Plan,
    budget: Budget,
    out: Path,
    listener: Listener,
    *,
    given: Sequence[Case] = (),
    known: frozenset[str] = frozenset(),
) -> int:
    """Run ``given`` cases, then generated ones until the budget is spent; return new findings.

    Findings go to ``out``, one for each signature; those already there or in ``known`` are not
    new. Ctrl-C ends the campaign as a spent budget does. Raises UsageError where ``out`` cannot be
    read or written, TargetError where a target cannot be used, StartError where a worker ends
    before its first case, RuntimeError for a fault of ours.
    """
    names = target_names(build(plan))
    store = Store(out)
    store.prepare()
    seen = store.signatures() | known
    state = _State(store, listener, seen, time.monotonic(), library_versions())
    listener(Started(plan.seed, names, budget.workers, len(seen), str(out)))
    with Scratch("campaign") as markers:
        shares = _shares(budget, markers.path, given)
        guided = _guided(plan, budget, store, frozenset(seen), lambda: state.found)
        reason = _Fleet(plan, budget, state, guided).run(shares)
    explored = guided.guide.explored() if guided else ()
    seconds = time.monotonic() - state.begun
    listener(Finished(seconds, state.tally, state.found, reason, explored, state.peak_bytes))
    return state.found


@dataclass(frozen=True, slots=True)
class _Guided:
    """The coverage-guided drivers, and the watch on what their processes find."""

    guide: Guide
    watch: Watch


def _guided(
    plan: Plan, budget: Budget, store: Store, known: frozenset[str], findings: Callable[[], int]
) -> _Guided | None:
    """What joins the grammar where the budget has time for it: never one of cases."""
    if budget.seconds is None:
        return None
    # Counted campaigns are often short, and have no use for what this imports.
    from wirefence.fuzz.coverage import driver_scheduler, store_watch  # noqa: PLC0415

    made = driver_scheduler.guide_for(plan, budget.seconds, store.folder, known, findings)
    return None if made is None else _Guided(made, store_watch.Watch(store))


def _shares(budget: Budget, markers: Path, given: Sequence[Case]) -> list[Share]:
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
class _Fleet:
    """The running workers: takes what they say and replaces those that die."""

    plan: Plan
    budget: Budget
    state: _State
    guided: _Guided | None = None
    hopeless: bool = False
    running: dict[Connection, _Worker] = field(default_factory=dict)

    def run(self, shares: Sequence[Share]) -> str:
        """Serve workers on ``shares`` until all have said their last; return why that was."""
        try:
            for share in shares:
                self._start(share)
            while self.running:
                self._turn()
        except KeyboardInterrupt:
            return "interrupted"
        finally:
            self._stop()
        return "hopeless" if self.hopeless else "done"

    def _start(self, share: Share) -> None:
        context = multiprocessing.get_context("spawn")
        with starting():
            ours, theirs = context.Pipe(duplex=False)
            orders = give(self.plan, share)
            process = context.Process(target=work, args=(orders, theirs), daemon=True)
            process.start()
            self.running[ours] = _Worker(share, process, ours, Patience(process.pid or 0))
        theirs.close()

    def _stop(self) -> None:
        """End every worker at once: what they found is on disk, what they do is not wanted."""
        if self.guided is not None:
            self.guided.guide.close()
            self.state.learn(self.guided.watch.new())
        for worker in self.running.values():
            worker.process.kill()
        for worker in self.running.values():
            worker.process.join()

    def _share(self, guided: _Guided) -> None:
        """Let the last worker rest while a process of the guide has its place."""
        ours = guided.guide.turn()
        self.state.learn(guided.watch.new())
        workers = list(self.running.values())
        for worker in workers:
            worker.rest(resting=not ours and worker is workers[-1])

    def _turn(self) -> None:
        if self.guided is not None:
            self._share(self.guided)
        ready = wait(list(self.running), _TICK)
        for worker in list(self.running.values()):
            if worker.pipe in ready:
                self._hear(worker)
            elif worker.gone():
                self._bury(worker)
            elif worker.stuck(self.budget.patience):
                worker.hung = True
                worker.process.kill()

    def _hear(self, worker: _Worker) -> None:
        try:
            said: Batch | Failed = worker.pipe.recv()
        except (EOFError, OSError):  # OSError: it died in the middle of a message
            self._bury(worker)
            return
        if isinstance(said, Failed):
            raise said.raised()
        self.state.take(said, peak_of_group(worker.process.pid or 0))
        if said.last:
            del self.running[worker.pipe]
            end_of(worker.process)  # a thread that a target left behind may not let it go

    def _bury(self, worker: _Worker) -> None:
        """File the case that a worker died of, and start another one behind it."""
        del self.running[worker.pipe]
        worker.pipe.close()
        end = end_of(worker.process)
        victim = in_flight(self.plan, worker.share)
        if victim is None:
            raise unbegun(end)
        case, rest = victim
        self.state.save(self._death(worker, end), case)
        if rest.deaths >= (_HOPELESS_HANGS if worker.hung else _HOPELESS):
            self.hopeless = True
        elif rest.deadline is None or time.monotonic() < rest.deadline:
            self._start(rest)

    def _death(self, worker: _Worker, end: str) -> Finding:
        # Which of several targets it was, nobody is left to say.
        names = self.plan.targets
        name = names[0] if len(names) == 1 else "process"
        if worker.hung:
            summary = f"no end of the case within {self.budget.patience:g} s"
            return finding("liveness", "live-hang", name, "process", summary)
        return finding("liveness", "live-crash", name, end, f"the process died ({end})")
