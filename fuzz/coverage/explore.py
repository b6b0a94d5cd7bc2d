"""Several processes of one libFuzzer target over one corpus: ``wirefence fuzz``.

The key insight: the processes save what they find by themselves, so this one only watches: it reads
what is new on disk, names the deaths, and puts a new process where one has died.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wirefence.fuzz.coverage.checks import check_of
from wirefence.fuzz.coverage.corpus import prepare
from wirefence.fuzz.coverage.death_reports import diagnose, finding_of
from wirefence.fuzz.coverage.inflight_marker import Sighting
from wirefence.fuzz.coverage.process import Job, Process, seeds_of
from wirefence.fuzz.coverage.store_watch import Watch
from wirefence.fuzz.coverage.target_settings import Orders
from wirefence.fuzz.examination.events import Explored, Finished, Listener, Started, Tally
from wirefence.fuzz.store.store import Store
from wirefence.oracles.records import Finding, finding
from wirefence.targets.errors import TargetError
from wirefence.targets.parsers.configs import library_versions

__all__ = ["Explorer", "Pool", "Request", "explore"]

_TICK = 0.25
_TELL = 1.0
_GRACE = 10.0
_HOPELESS = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What ``wirefence fuzz`` was asked for.

    ``corpus`` is read and added to; ``out`` is the store; ``known`` are signatures that are no
    news. ``patience`` (seconds) bounds one input. ``variables`` are changes of the environment.
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

    def job(self, number: int) -> Job:
        """What worker ``number`` runs."""
        orders = Orders(str(self.out), "", self.targets, tuple(sorted(self.known)))
        seeds = (seeds_of(self.name),) if self.seeds and seeds_of(self.name).is_dir() else ()
        return Job(
            self.name, orders, self.corpus, seeds, self.seed + number, variables=self.variables
        )


@dataclass(slots=True)
class Pool:
    """The processes of one request. :meth:`look` must be called now and then."""

    request: Request
    running: list[Process] = field(default_factory=list)
    gone: Sighting = field(default_factory=Sighting)
    """The figures of processes that are gone."""
    _early: int = 0
    _started: int = 0

    def start(self) -> None:
        """Start one more process."""
        self.running.append(Process(self.request.job(self._started)))
        self._started += 1

    def look(self) -> list[Finding]:
        """Bury the dead and replace them; return deaths that were filed."""
        found = []
        for process in list(self.running):
            process.look()
            if process.code is None and process.stuck(self.request.patience):
                process.kill()
                found += self._bury(process, hung=True)
            elif process.code is not None:
                found += self._bury(process, hung=False)
        return found

    def _bury(self, process: Process, *, hung: bool) -> list[Finding]:
        progress, log, code = process.look(), process.text, process.code or 0
        victim = process.victim()
        self.gone = _together((self.gone, progress.sighting))
        self.running.remove(process)
        process.close()
        found = [] if victim is None else self._file(self._cause(log, code, hung=hung), victim)
        self._check_start(code, log, begun=progress.sighting.ended > 1)
        self.start()
        return found

    def _cause(self, log: str, code: int, *, hung: bool) -> Finding:
        """The finding of a death; which of several targets it was, nobody is left to say."""
        targets = self.request.targets
        target = targets[0] if len(targets) == 1 else self.request.name
        if hung:
            summary = f"no end of an input within {self.request.patience:g} s"
            return finding("liveness", "live-hang", target, "process", summary)
        return finding_of(target, diagnose(log, code))

    def _check_start(self, code: int, log: str, *, begun: bool) -> None:
        """Raise TargetError for what cannot start, or dies before it has done anything."""
        self._early = 0 if begun else self._early + 1
        if code == 2 or self._early >= _HOPELESS:
            said = log.strip().splitlines() or [f"exit {code}"]
            cause = said[-1].removeprefix("wirefence: ")
            raise TargetError(
                f"{self.request.name} does not run ({cause})", "try its file by itself"
            )

    def _file(self, each: Finding, victim: bytes) -> list[Finding]:
        request, store = self.request, Store(self.request.out)
        _forget(request.corpus, victim)
        if each.signature in request.known | store.signatures():
            return []
        check = check_of(request.name, request.targets, lambda _: None)
        store.save(each, check.case(victim), versions=library_versions())
        return [each]

    def stop(self) -> None:
        """End every process; their figures stay."""
        for process in self.running:
            process.kill()
            process.look()

    def close(self) -> None:
        """End every process and remove its files."""
        self.stop()
        for process in self.running:
            process.close()

    def explored(self, seconds: float, found: int) -> Explored:
        """The figures of all processes together."""
        all_of = [process.progress for process in self.running]
        seen = _together((self.gone, *(each.sighting for each in all_of)))
        return Explored(
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


def _together(seen: Sequence[Sighting]) -> Sighting:
    """The figures of several processes as if it were one."""
    return Sighting(
        begun=sum(each.begun for each in seen),
        ended=sum(each.ended for each in seen),
        valid=sum(each.valid for each in seen),
        calls=sum(each.calls for each in seen),
    )


def _forget(corpus: Path, victim: bytes) -> None:
    """Take a deadly input out of the corpus: it is filed, and every start would die of it."""
    for path in corpus.iterdir() if corpus.is_dir() else ():
        if path.is_file() and path.stat().st_size == len(victim) and path.read_bytes() == victim:
            path.unlink()


@dataclass(slots=True)
class Explorer:
    """A pool, and what it tells: events of findings and figures."""

    request: Request
    listener: Listener
    found: int = 0
    last: Explored | None = None
    _told: float = 0.0

    def run(self) -> str:
        """Fuzz until the time is over; return why it ended."""
        watch = Watch(Store(self.request.out))
        pool, begun = Pool(self.request), time.monotonic()
        reason = "done"
        try:
            self._loop(pool, watch, begun)
        except KeyboardInterrupt:
            reason = "interrupted"
        finally:
            pool.stop()
            self.last = pool.explored(time.monotonic() - begun, self.found)
            pool.close()
        self._tell_found(watch)
        self.listener(replace(self.last, found=self.found))
        return reason

    def _loop(self, pool: Pool, watch: Watch, begun: float) -> None:
        for _ in range(self.request.workers):
            pool.start()
        while (spent := time.monotonic() - begun) < self.request.seconds:
            time.sleep(min(_TICK, self.request.seconds - spent))
            pool.look()
            self._tell(pool, watch, time.monotonic() - begun)

    def _tell(self, pool: Pool, watch: Watch, spent: float) -> None:
        self._tell_found(watch)
        if spent - self._told >= _TELL:
            self._told = spent
            self.last = pool.explored(spent, self.found)
            self.listener(self.last)

    def _tell_found(self, watch: Watch) -> None:
        for event in watch.new():
            self.found += 1
            self.listener(event)


def explore(request: Request, listener: Listener) -> int:
    """Run a libFuzzer target as ``request`` says; return the number of new findings.

    Raises UsageError and TargetError for what cannot be used.
    """
    check_of(request.name, request.targets, lambda _: None)
    store = Store(request.out)
    store.prepare()
    prepare(request.corpus)
    known = store.signatures() | request.known
    names: Sequence[str] = request.targets or (request.name,)
    listener(Started(request.seed, tuple(names), request.workers, len(known), str(request.out)))
    begun = time.monotonic()
    explorer = Explorer(replace(request, known=frozenset(known)), listener)
    reason = explorer.run()
    explored = (explorer.last,) if explorer.last else ()
    seconds = time.monotonic() - begun
    listener(Finished(seconds, Tally(), explorer.found, reason, explored))
    return explorer.found
