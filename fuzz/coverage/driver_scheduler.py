"""Schedule the drivers of a campaign: the grammar and the coverage-guided targets share a
processor.

A stopped process costs nothing and loses nothing. So all drivers stay alive, one of them runs at a
time, and every few seconds the next one is chosen by its recent results.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wirefence.fuzz.coverage.explore import FuzzRequest, ProcessPool
from wirefence.fuzz.coverage.process import FuzzProcess
from wirefence.fuzz.examination.events import CoverageProgress
from wirefence.fuzz.examination.plan import Plan
from wirefence.fuzz.extras import has_extra
from wirefence.targets.errors import TargetError

__all__ = ["GRAMMAR", "DriverScheduler", "DriverScores", "choose_fuzz_targets", "make_scheduler"]

GRAMMAR = "grammar"
"""The driver that every campaign has: its own worker, which shares the processor with the others.
"""

SLICE = 3.0
"""Seconds that a driver runs before the next choice; a start takes about one."""

_MIN_SECONDS = 20.0
"""Seconds of the shortest campaign with coverage-guided drivers; starting them takes most of
less.
"""
_START_SECONDS = 30.0
"""Seconds that a driver may take to its first input before its slice counts."""
_DECAY = 0.6
"""Share of a driver's score that remains after its next slice."""
_FINDING_SCORE = 1.0
"""Score of one new finding."""
_INPUT_SCORE = 0.02
"""Score of one new input of the corpus; all of a slice count at most as one finding."""
_BASE_WEIGHTS = {GRAMMAR: 0.5}
"""Weight of a driver without any score."""
_MIN_WEIGHT = 0.1
"""The same for all other drivers: always positive, so that every driver is tried again."""
_BUILT_IN = re.compile("(?:gateway|reference)(?:/spec)?")
"""Names of targets that are gateways, beside those with a colon."""


@dataclass(slots=True)
class DriverScores:
    """Recent results of each driver, in findings for each slice; older slices count less."""

    names: Sequence[str]
    source: random.Random
    lately: dict[str, float] = field(default_factory=dict)

    def weigh_driver(self, name: str) -> float:
        """Return the relative probability of ``name``. Always positive, so every driver is tried
        again.
        """
        return _BASE_WEIGHTS.get(name, _MIN_WEIGHT) + self.lately.get(name, 0.0)

    def choose_driver(self) -> str:
        """Choose the driver of the next slice."""
        weights = [self.weigh_driver(name) for name in self.names]
        return self.source.choices(self.names, weights)[0]

    def record_slice(self, name: str, findings: int, inputs: int) -> None:
        """Record the new findings and new corpus inputs of a slice of ``name``."""
        brought = _FINDING_SCORE * findings + min(_INPUT_SCORE * inputs, _FINDING_SCORE)
        self.lately[name] = _DECAY * self.lately.get(name, 0.0) + (1 - _DECAY) * brought


@dataclass(slots=True)
class DriverScheduler:
    """The libFuzzer targets of one campaign, of which at most one runs at a time.

    ``pools`` are started at their first slice. ``deadline`` is by ``time.monotonic``; after it only
    the grammar runs. ``findings`` returns the number of new findings so far.
    """

    requests: dict[str, FuzzRequest]
    deadline: float
    findings: Callable[[], int]
    scores: DriverScores
    pools: dict[str, ProcessPool] = field(default_factory=dict)
    current: str = GRAMMAR
    spent: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)
    _until: float = 0.0
    _closed: bool = False
    _before: tuple[int, int] = (0, 0)

    def poll(self) -> bool:
        """End and start slices that are due; return whether the grammar may run. Call it often."""
        now = time.monotonic()
        pool = self.pools.get(self.current)
        if pool is not None:
            self._replace_dead(pool)
        if now >= self.deadline:
            self.close()
        elif now >= self._until and not self._is_starting(now):
            self._end_slice(now)
            self._start_slice(self.scores.choose_driver(), now)
        return self.current == GRAMMAR

    def _is_starting(self, now: float) -> bool:
        """Return whether the current driver has not run an input yet; its slice then starts
        later.
        """
        begun = any(
            process.progress.sighting.begun for process in self._list_processes(self.current)
        )
        if self.current == GRAMMAR or begun or now - self._since > _START_SECONDS:
            return False
        self._until = now + SLICE
        return True

    def _replace_dead(self, pool: ProcessPool) -> None:
        """Replace dead processes; a target that dies on everything gets no more slices."""
        try:
            pool.replace_dead()
        except TargetError:
            self.scores.names = [name for name in self.scores.names if name != self.current]

    def _end_slice(self, now: float) -> None:
        """Score the slice and stop its driver."""
        name = self.current
        findings, inputs = self._before
        self.spent[name] = self.spent.get(name, 0.0) + now - self._since
        self.scores.record_slice(
            name, self.findings() - findings, self._count_inputs(name) - inputs
        )
        for process in self._list_processes(name):
            process.pause()

    def _start_slice(self, name: str, now: float) -> None:
        self.current, self._since, self._until = name, now, now + SLICE
        if name != GRAMMAR and name not in self.pools:
            pool = self.pools[name] = ProcessPool(self.requests[name])
            pool.start_process()
        for process in self._list_processes(name):
            process.resume()
        self._before = self.findings(), self._count_inputs(name)

    def _list_processes(self, name: str) -> Sequence[FuzzProcess]:
        return self.pools[name].running if name in self.pools else ()

    def _count_inputs(self, name: str) -> int:
        return sum(process.progress.corpus for process in self._list_processes(name))

    def report_progress(self) -> tuple[CoverageProgress, ...]:
        """Return the figures of every target that had a slice."""
        return tuple(pool.sum_progress(self.spent.get(n, 0.0), 0) for n, pool in self.pools.items())

    def close(self) -> None:
        """End every process; only the grammar runs from now on. May be called twice."""
        self.current = GRAMMAR
        if not self._closed:
            self._closed = True
            for pool in self.pools.values():
                pool.close()


def choose_fuzz_targets(targets: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the libFuzzer targets for a plan's targets, each with the targets that it runs."""
    gateways = tuple(name for name in targets if ":" in name or _BUILT_IN.fullmatch(name))
    parsers = tuple(name for name in targets if name not in gateways)
    found: dict[str, tuple[str, ...]] = {}
    if parsers:
        found["fuzz_parsers"] = parsers
    if gateways:
        found |= dict.fromkeys(("fuzz_gateway", "fuzz_session"), gateways)
    if "gateway" in gateways:
        found |= {"fuzz_judge": (), "fuzz_transcript": ()}
    return found


def make_scheduler(
    plan: Plan, seconds: float | None, out: Path, known: frozenset[str], findings: Callable[[], int]
) -> DriverScheduler | None:
    """Return the scheduler of a campaign; ``None`` without atheris or with too little time.

    A campaign by number of cases has none: its results depend on the seed alone.
    """
    if seconds is None or seconds < _MIN_SECONDS or not has_extra("coverage"):
        return None
    corpora = (out.parent if out.name == "findings" else out) / "corpus"
    requests = {
        name: FuzzRequest(
            name, corpora / name, out, targets, seed=1 + plan.seed % 1_000_000, known=known
        )
        for name, targets in choose_fuzz_targets(plan.targets).items()
    }
    fruit = DriverScores((GRAMMAR, *requests), random.Random(plan.seed))
    return DriverScheduler(requests, time.monotonic() + seconds, findings, fruit)
