"""Run several processes of one libFuzzer target with one corpus: ``wirefence fuzz``.

The processes save their findings themselves. So this process only reads new findings from disk,
records deaths and hangs, and replaces dead processes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wirefence.fuzz.coverage.checks import make_check
from wirefence.fuzz.coverage.corpus import prepare_corpus
from wirefence.fuzz.coverage.death_reports import diagnose_death, make_death_finding
from wirefence.fuzz.coverage.inflight_marker import Sighting
from wirefence.fuzz.coverage.process import FuzzProcess, Job, find_seeds
from wirefence.fuzz.coverage.store_watch import StoreWatch
from wirefence.fuzz.coverage.target_settings import TargetSettings
from wirefence.fuzz.examination.events import CoverageProgress, Finished, Listener, Started, Tally
from wirefence.fuzz.store.store import Store
from wirefence.oracles.liveness import make_hang
from wirefence.oracles.records import Finding
from wirefence.targets.errors import TargetError
from wirefence.targets.parsers.configs import library_versions

__all__ = ["FuzzRequest", "FuzzRun", "ProcessPool", "run_fuzz_target"]

_TICK = 0.25
"""Seconds between two checks of the processes."""
_REPORT_INTERVAL = 1.0
"""Seconds between two progress reports."""
_GRACE = 10.0
_MAX_EARLY_DEATHS = 3
"""Deaths in a row, before any input has finished, after which a target counts as broken."""


@dataclass(frozen=True, slots=True)
class FuzzRequest:
    """The options of ``wirefence fuzz``.

    ``corpus`` is read and extended; ``out`` is the store; ``known`` are signatures that are not
    new. ``patience`` (seconds) bounds one input. ``variables`` are changes of the environment.
    """

    name: str
    corpus: Path
    out: Path
    targets: tuple[str, ...] = ()
    seconds: float = 60.0
    workers: int = 1
    seed: int = 1
    patience: float = 60.0
    known: frozenset[str] = frozenset()
    seeds: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)

    def make_job(self, number: int) -> Job:
        """Return what worker ``number`` runs."""
        orders = TargetSettings(str(self.out), "", self.targets, tuple(sorted(self.known)))
        seeds = (find_seeds(self.name),) if self.seeds and find_seeds(self.name).is_dir() else ()
        return Job(
            self.name, orders, self.corpus, seeds, self.seed + number, variables=self.variables
        )


@dataclass(slots=True)
class ProcessPool:
    """The processes of one request. Call :meth:`replace_dead` regularly."""

    request: FuzzRequest
    running: list[FuzzProcess] = field(default_factory=list)
    gone: Sighting = field(default_factory=Sighting)
    """The figures of processes that have ended."""
    _early: int = 0
    _started: int = 0

    def start_process(self) -> None:
        """Start one more process."""
        self.running.append(FuzzProcess(self.request.make_job(self._started)))
        self._started += 1

    def replace_dead(self) -> list[Finding]:
        """Detect dead and hanging processes and replace them; return the findings that were
        saved.
        """
        found = []
        for process in list(self.running):
            process.read_progress()
            if process.code is None and process.is_hanging(self.request.patience):
                process.kill()
                found += self._handle_death(process, hung=True)
            elif process.code is not None:
                found += self._handle_death(process, hung=False)
        return found

    def _handle_death(self, process: FuzzProcess, *, hung: bool) -> list[Finding]:
        progress, log, code = process.read_progress(), process.text, process.code or 0
        victim = process.find_deadly_input()
        self.gone = _add_sightings((self.gone, progress.sighting))
        self.running.remove(process)
        process.close()
        found = (
            []
            if victim is None
            else self._save_finding(self._make_finding(log, code, hung=hung), victim)
        )
        self._check_start(code, log, begun=progress.sighting.ended > 1)
        self.start_process()
        return found

    def _make_finding(self, log: str, code: int, *, hung: bool) -> Finding:
        """Return the finding of a death; with several targets it cannot name which one it was."""
        targets = self.request.targets
        target = targets[0] if len(targets) == 1 else self.request.name
        if hung:
            return make_hang(target, self.request.patience)
        return make_death_finding(target, diagnose_death(log, code))

    def _check_start(self, code: int, log: str, *, begun: bool) -> None:
        """Raise TargetError for a process that cannot start, or that dies before it has done
        anything.
        """
        self._early = 0 if begun else self._early + 1
        if code == 2 or self._early >= _MAX_EARLY_DEATHS:
            said = log.strip().splitlines() or [f"exit {code}"]
            cause = said[-1].removeprefix("wirefence: ")
            raise TargetError(
                f"{self.request.name} does not run ({cause})", "run its file directly"
            )

    def _save_finding(self, each: Finding, victim: bytes) -> list[Finding]:
        request, store = self.request, Store(self.request.out)
        _delete_from_corpus(request.corpus, victim)
        if each.signature in request.known | store.read_signatures():
            return []
        check = make_check(request.name, request.targets, lambda _: None)
        store.save_finding(each, check.make_case(victim), versions=library_versions())
        return [each]

    def kill_all(self) -> None:
        """Kill every process; their figures stay."""
        for process in self.running:
            process.kill()
            process.read_progress()

    def close(self) -> None:
        """Kill every process and remove its files."""
        self.kill_all()
        for process in self.running:
            process.close()

    def sum_progress(self, seconds: float, found: int) -> CoverageProgress:
        """Return the figures of all processes together."""
        all_of = [process.progress for process in self.running]
        seen = _add_sightings((self.gone, *(each.sighting for each in all_of)))
        return CoverageProgress(
            target=self.request.name,
            seconds=seconds,
            executions=seen.ended,
            valid=seen.valid,
            calls=seen.calls,
            edges=max((each.edges for each in all_of), default=0),
            features=max((each.features for each in all_of), default=0),
            corpus=max((each.corpus for each in all_of), default=0),
            found=found,
        )


def _add_sightings(seen: Sequence[Sighting]) -> Sighting:
    """Return the figures of several processes added up."""
    return Sighting(
        begun=sum(each.begun for each in seen),
        ended=sum(each.ended for each in seen),
        valid=sum(each.valid for each in seen),
        calls=sum(each.calls for each in seen),
    )


def _delete_from_corpus(corpus: Path, victim: bytes) -> None:
    """Delete a deadly input from the corpus: it is saved, and every start would die of it."""
    for path in corpus.iterdir() if corpus.is_dir() else ():
        if path.is_file() and path.stat().st_size == len(victim) and path.read_bytes() == victim:
            path.unlink()


@dataclass(slots=True)
class FuzzRun:
    """One run of a pool: emits events of findings and progress."""

    request: FuzzRequest
    listener: Listener
    found: int = 0
    last: CoverageProgress | None = None
    _told: float = 0.0

    def run(self) -> str:
        """Fuzz until the time is over; return why it ended."""
        watch = StoreWatch(Store(self.request.out))
        pool, begun = ProcessPool(self.request), time.monotonic()
        reason = "done"
        try:
            self._run_processes(pool, watch, begun)
        except KeyboardInterrupt:
            reason = "interrupted"
        finally:
            pool.kill_all()
            self.last = pool.sum_progress(time.monotonic() - begun, self.found)
            pool.close()
        self._report_findings(watch)
        self.listener(replace(self.last, found=self.found))
        return reason

    def _run_processes(self, pool: ProcessPool, watch: StoreWatch, begun: float) -> None:
        for _ in range(self.request.workers):
            pool.start_process()
        while (spent := time.monotonic() - begun) < self.request.seconds:
            time.sleep(min(_TICK, self.request.seconds - spent))
            pool.replace_dead()
            self._report_progress(pool, watch, time.monotonic() - begun)

    def _report_progress(self, pool: ProcessPool, watch: StoreWatch, spent: float) -> None:
        self._report_findings(watch)
        if spent - self._told >= _REPORT_INTERVAL:
            self._told = spent
            self.last = pool.sum_progress(spent, self.found)
            self.listener(self.last)

    def _report_findings(self, watch: StoreWatch) -> None:
        for event in watch.read_new():
            self.found += 1
            self.listener(event)


def run_fuzz_target(request: FuzzRequest, listener: Listener) -> int:
    """Run a libFuzzer target; return the number of new findings.

    Raises UsageError and TargetError for what cannot be used.
    """
    make_check(request.name, request.targets, lambda _: None)
    store = Store(request.out)
    store.check_writable()
    prepare_corpus(request.corpus)
    known = store.read_signatures() | request.known
    names: Sequence[str] = request.targets or (request.name,)
    listener(Started(request.seed, tuple(names), request.workers, len(known), str(request.out)))
    begun = time.monotonic()
    explorer = FuzzRun(replace(request, known=frozenset(known)), listener)
    reason = explorer.run()
    explored = (explorer.last,) if explorer.last else ()
    seconds = time.monotonic() - begun
    listener(Finished(seconds, Tally(), explorer.found, reason, explored))
    return explorer.found
