"""Which trials a budget buys, in which order.

The key insight: time may run out at any trial, so what is known to go wrong comes first, wherever
it stands in a session and whether it needs a process of its own or not; after that each family has
its turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, zip_longest
from pathlib import Path
from typing import TypeVar

from wirefence.fuzz.gate.records import Budget, Trial
from wirefence.fuzz.gate.trials.generate import Maker
from wirefence.fuzz.gate.trials.startup_variants import CAUSES, TOGETHER, Cause

__all__ = ["CLASSIC", "Cold", "Plan", "Stage", "in_turn", "is_classic", "plan", "warm_turns"]

Cold = Trial | Cause
"""What needs a fresh process: a trial, or a start under other circumstances."""

_T = TypeVar("_T", bound=Cold)
_FIRST_CAUSES = ("talkative", "verbose", "eof-at-once", "stderr-merged", "no-configuration")
"""The starts that clients and packagers meet first; after them come those that cost no wait."""
CLASSIC = "ugly"
"""The family of inputs without which a run is no pass."""
_COLD_TURNS, _WARM_TURNS = 8, 4
"""Turns of the vocabulary in a living server for an eighth of one in fresh processes."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Trials for a living server, and what needs fresh ones, each in the order of its turn."""

    warm: tuple[Trial, ...] | Iterator[Trial]
    cold: tuple[Cold, ...]

    def __len__(self) -> int:
        return len(self.cold) + (len(self.warm) if isinstance(self.warm, tuple) else 0)

    def all_cold(self) -> list[Cold]:
        """All of it in fresh processes: for servers that serve one trial each."""
        return _by_worth([*self.cold, *self.warm])


@dataclass(frozen=True, slots=True)
class Plan:
    """The classic inputs, everything else, and stages for the time that is left."""

    classic: Stage
    rest: Stage
    more: Iterator[Stage] | tuple[()] = ()

    def __len__(self) -> int:
        return len(self.classic) + len(self.rest)


def in_turn(items: Iterable[_T]) -> list[_T]:
    """One of each family after the other; starts are a family of their own."""
    families: dict[str, list[_T]] = {}
    for item in items:
        family = item.family if isinstance(item, Trial) else "startup"
        families.setdefault(family, []).append(item)
    rows = zip_longest(*families.values())
    return [item for row in rows for item in row if item is not None]


def plan(maker: Maker, budget: Budget, numbers: Iterator[int], crashes: Path) -> Plan:
    """The trials of one budget. Raises UsageError for a committed case that can't be read.

    What shares a process in the quick one has its own in the others.
    """
    quick = budget == "quick"
    classic = [*maker.ugly(numbers), *maker.dangerous(numbers), *maker.gates(numbers)]
    classic += maker.versions(numbers, shared=quick)
    rest = [*maker.reproducers(crashes, numbers), *maker.damage(numbers)]
    elsewhere = in_turn(maker.elsewhere(numbers)) if not quick else []
    rest += elsewhere[::2] if budget == "release" else elsewhere
    if not quick:
        rest += _other_versions(maker, numbers)
    more = _turns(maker, numbers) if budget == "nightly" else ()
    return Plan(_stage(classic, _causes(shared=quick)), _stage(rest), more)


def _causes(*, shared: bool) -> list[Cause]:
    """Every cause, alone or in the start that it shares, in the order of their worth."""
    alone = [each for each in CAUSES if not shared or each not in TOGETHER.parts]
    every = [TOGETHER, *alone] if shared else alone
    return sorted(every, key=lambda each: (each.name not in _FIRST_CAUSES, each.idle))


def _stage(trials: Iterable[Trial], causes: Sequence[Cause] = ()) -> Stage:
    every = in_turn(trials)
    warm = tuple(trial for trial in every if trial.warm)
    cold = [trial for trial in every if not trial.warm]
    return Stage(warm, tuple(_by_worth([*cold, *causes])))


def is_classic(item: Cold) -> bool:
    """Whether a run is no pass without it."""
    return isinstance(item, Trial) and item.family == CLASSIC


def _by_worth(items: Iterable[Cold]) -> list[Cold]:
    """The classic inputs, then each family in its turn."""
    first: list[Cold] = []
    others: list[Cold] = []
    for item in items:
        (first if is_classic(item) else others).append(item)
    return [*first, *in_turn(others)]


def _other_versions(maker: Maker, numbers: Iterator[int]) -> Iterator[Trial]:
    """The classic inputs in every other version that the server speaks, each in its own session."""
    for version in maker.facts.versions:
        if version != maker.version:
            other = replace(maker, version=version)
            for trial in chain(other.ugly(numbers), other.dangerous(numbers)):
                yield replace(trial, warm=False, opening=0)


def _turns(maker: Maker, numbers: Iterator[int]) -> Iterator[Stage]:
    """The vocabulary again and again, each time with other choices; megabytes come once."""
    yield _stage(replace(t, warm=False, opening=0) for t in maker.damage(numbers, heavy=True))
    for turn in count(1):
        again = replace(maker, seed=maker.seed + turn)
        cold = again.elsewhere(numbers, every=_COLD_TURNS, first=turn % _COLD_TURNS)
        yield Stage(warm_turns(maker, turn, numbers), tuple(_by_worth(cold)))


def warm_turns(maker: Maker, turn: int, numbers: Iterator[int]) -> Iterator[Trial]:
    """What a living server gets through in no time, made while it does.

    Pauses in the middle of a frame take as long as a thousand other trials: they are made in the
    first turn of a few.
    """
    for part in range(_WARM_TURNS):
        again = replace(maker, seed=maker.seed + turn * _WARM_TURNS + part)
        for trial in again.damage(numbers):
            if trial.warm and not (part and trial.case.cuts):
                yield trial
