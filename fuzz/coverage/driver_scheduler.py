"""Coverage-guided targets as one driver of a campaign, beside the grammar.

The key insight: a stopped process costs nothing and forgets nothing. All drivers of a campaign's
shared place are therefore kept alive, and one of them runs at a time; which one, is decided every
few seconds by what each has lately brought.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wirefence.fuzz.coverage.explore import Pool, Request
from wirefence.fuzz.coverage.process import Process
from wirefence.fuzz.examination.events import Explored
from wirefence.fuzz.examination.plan import Plan
from wirefence.fuzz.extras import has_extra
from wirefence.targets.errors import TargetError

__all__ = ["GRAMMAR", "Fruit", "Guide", "guide_for", "names_for"]

GRAMMAR = "grammar"
"""The driver that a campaign has anyway: its own worker on the shared place."""

SLICE = 3.0
"""Seconds that a driver runs before the next choice."""

_SHORTEST = 20.0
_START = 30.0
_MEMORY = 0.6
_FINDING = 1.0
_INPUT = 0.02
_HOPE = {GRAMMAR: 0.5}
_LITTLE_HOPE = 0.1


@dataclass(slots=True)
class Fruit:
    """What each driver has brought of late, in findings for each slice; old slices fade."""

    names: Sequence[str]
    source: random.Random
    lately: dict[str, float] = field(default_factory=dict)

    def weight(self, name: str) -> float:
        """How often ``name`` is chosen, relative to others: never 0, as fruit may yet come."""
        return _HOPE.get(name, _LITTLE_HOPE) + self.lately.get(name, 0.0)

    def choose(self) -> str:
        """The driver of the next slice."""
        weights = [self.weight(name) for name in self.names]
        return self.source.choices(self.names, weights)[0]

    def harvest(self, name: str, findings: int, inputs: int) -> None:
        """A slice of ``name`` brought new findings and new inputs of the corpus."""
        brought = _FINDING * findings + min(_INPUT * inputs, _FINDING)
        self.lately[name] = _MEMORY * self.lately.get(name, 0.0) + (1 - _MEMORY) * brought


@dataclass(slots=True)
class Guide:
    """The libFuzzer targets of one campaign, of which at most one runs.

    ``pools`` are started at their first slice. ``deadline`` is by ``time.monotonic``; behind it the
    grammar has the place for good. ``findings`` gives the number of new findings so far.
    """

    requests: dict[str, Request]
    deadline: float
    findings: Callable[[], int]
    fruit: Fruit
    pools: dict[str, Pool] = field(default_factory=dict)
    current: str = GRAMMAR
    spent: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.monotonic)
    _until: float = 0.0
    _closed: bool = False
    _before: tuple[int, int] = (0, 0)

    def turn(self) -> bool:
        """Do what is due; true where the place now belongs to the grammar. Call it often."""
        now = time.monotonic()
        pool = self.pools.get(self.current)
        if pool is not None:
            self._look(pool)
        if now >= self.deadline:
            self.close()
        elif now >= self._until and not self._starting(now):
            self._reap(now)
            self._give(self.fruit.choose(), now)
        return self.current == GRAMMAR

    def _starting(self, now: float) -> bool:
        """Whether who has the place has not come to its first input, which is no slice yet."""
        begun = any(process.progress.sighting.begun for process in self._processes(self.current))
        if self.current == GRAMMAR or begun or now - self._since > _START:
            return False
        self._until = now + SLICE
        return True

    def _look(self, pool: Pool) -> None:
        """Bury the dead; a target that dies of everything has no more slices."""
        try:
            pool.look()
        except TargetError:
            self.fruit.names = [name for name in self.fruit.names if name != self.current]

    def _reap(self, now: float) -> None:
        """Count what the slice brought and stop who had it."""
        name = self.current
        findings, inputs = self._before
        self.spent[name] = self.spent.get(name, 0.0) + now - self._since
        self.fruit.harvest(name, self.findings() - findings, self._inputs(name) - inputs)
        for process in self._processes(name):
            process.pause()

    def _give(self, name: str, now: float) -> None:
        self.current, self._since, self._until = name, now, now + SLICE
        if name != GRAMMAR and name not in self.pools:
            pool = self.pools[name] = Pool(self.requests[name])
            pool.start()
        for process in self._processes(name):
            process.resume()
        self._before = self.findings(), self._inputs(name)

    def _processes(self, name: str) -> Sequence[Process]:
        return self.pools[name].running if name in self.pools else ()

    def _inputs(self, name: str) -> int:
        return sum(process.progress.corpus for process in self._processes(name))

    def explored(self) -> tuple[Explored, ...]:
        """The figures of every target that had a slice."""
        return tuple(pool.explored(self.spent.get(n, 0.0), 0) for n, pool in self.pools.items())

    def close(self) -> None:
        """End every process; the place is the grammar's. Twice does no harm."""
        self.current = GRAMMAR
        if not self._closed:
            self._closed = True
            for pool in self.pools.values():
                pool.close()


def names_for(targets: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The libFuzzer targets for a plan's targets, each with the targets that it is given."""
    gateways = tuple(name for name in targets if name == "gateway" or ":" in name)
    parsers = tuple(name for name in targets if name not in gateways)
    found: dict[str, tuple[str, ...]] = {}
    if parsers:
        found["fuzz_parsers"] = parsers
    if gateways:
        found |= dict.fromkeys(("fuzz_gateway", "fuzz_session"), gateways)
    if "gateway" in gateways:
        found |= {"fuzz_judge": (), "fuzz_transcript": ()}
    return found


def guide_for(
    plan: Plan, seconds: float | None, out: Path, known: frozenset[str], findings: Callable[[], int]
) -> Guide | None:
    """The guide of a campaign; ``None`` where it has no time for one, or what it needs is missing.

    A campaign by the number of cases is a function of its seed, which coverage is not.
    """
    if seconds is None or seconds < _SHORTEST or not has_extra("coverage"):
        return None
    corpora = (out.parent if out.name == "findings" else out) / "corpus"
    requests = {
        name: Request(
            name, corpora / name, out, targets, seed=1 + plan.seed % 1_000_000, known=known
        )
        for name, targets in names_for(plan.targets).items()
    }
    fruit = Fruit((GRAMMAR, *requests), random.Random(plan.seed))
    return Guide(requests, time.monotonic() + seconds, findings, fruit)
