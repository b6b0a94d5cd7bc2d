"""The campaign: many cases, several processes, findings on disk before anything goes on.

The key insight: the parent only saves and tells. It holds no case of its own, so killing it, or a
worker, at any moment loses at most the cases in flight.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from fuzz.errors import UsageError
from fuzz.events import Finished, Found, Listener, Progress, Started, Tally
from fuzz.plan import Plan, build, target_names
from fuzz.store import Store
from fuzz.worker import Batch, Share, in_flight, work
from oracles.records import Finding, finding
from strategies.records import Case
from targets.parsers.configs import library_versions

__all__ = ["Budget", "campaign"]

_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to go on: seconds, or a number of generated cases; and with how many processes."""

    seconds: float | None = None
    cases: int | None = None
    workers: int = 1


@dataclass(slots=True)
class _State:
    store: Store
    listener: Listener
    known: set[str]
    begun: float
    versions: dict[str, str]
    tally: Tally = field(default_factory=Tally)
    found: int = 0

    def take(self, batch: Batch) -> None:
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


@dataclass(slots=True)
class _Worker:
    share: Share
    process: BaseProcess
    pipe: Connection


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
    new. Raises UsageError where a target cannot be made or ``out`` cannot be written.
    """
    names = target_names(build(plan))
    store = Store(out)
    try:
        (out / "in-flight").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write to {out}: {error.strerror}", "choose another --out"
        ) from error
    seen = store.signatures() | known
    state = _State(store, listener, seen, time.monotonic(), library_versions())
    listener(Started(plan.seed, names, budget.workers, len(seen), str(out)))
    reason = "done"
    workers = [_start(plan, share) for share in _shares(budget, out, given)]
    try:
        _serve(plan, state, workers)
    except KeyboardInterrupt:
        reason = "interrupted"
    finally:
        for each in workers:
            each.process.terminate()
            each.process.join()
    listener(Finished(time.monotonic() - state.begun, state.tally, state.found, reason))
    return state.found


def _shares(budget: Budget, out: Path, given: Sequence[Case]) -> list[Share]:
    deadline = None if budget.seconds is None else time.monotonic() + budget.seconds
    count = max(1, budget.workers)
    shares = []
    for place in range(count):
        marker = out / "in-flight" / f"worker-{place}"
        marker.write_bytes(bytes(16))
        mine = tuple(given[place::count])
        shares.append(Share(place, count, marker, 0, budget.cases, deadline, mine))
    return shares


def _start(plan: Plan, share: Share) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(plan, share, theirs), daemon=True)
    process.start()
    theirs.close()
    return _Worker(share, process, ours)


def _serve(plan: Plan, state: _State, workers: list[_Worker]) -> None:
    """Take batches until every worker has said its last; replace workers that die."""
    running = {worker.pipe: worker for worker in workers}
    while running:
        for ready in wait(list(running)):
            worker = running[ready]  # type: ignore[index]
            try:
                batch: Batch = worker.pipe.recv()
            except EOFError:
                del running[worker.pipe]
                again = _bury(plan, state, worker)
                if again is not None:
                    running[again.pipe] = again
                    workers.append(again)
                continue
            state.take(batch)
            if batch.last:
                del running[worker.pipe]


def _bury(plan: Plan, state: _State, worker: _Worker) -> _Worker | None:
    """File the case that a worker died of, and start another one behind it."""
    worker.process.join(_PATIENCE)
    code = worker.process.exitcode
    if code is not None and code > 0:
        raise RuntimeError(f"a worker ended with exit code {code}; its traceback is on stderr")
    victim = in_flight(plan, worker.share)
    if victim is None:
        raise RuntimeError(f"a worker died at its start (exit code {code})")
    case, rest = victim
    summary = f"the process died with exit code {code}"
    state.save(finding("liveness", "live-crash", "process", f"exit {code}", summary), case)
    return _start(plan, rest)
