"""Which trials a budget buys, in which order.

The key insight: time may run out at any trial, so the order takes one of each family in turn, and
the classic inputs come before the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, count, zip_longest
from pathlib import Path

from fuzz.gate.cases import Maker
from fuzz.gate.records import Budget, Trial

__all__ = ["Plan", "in_turn", "plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Trials for a living server, those for fresh ones, and plans for the time that is left."""

    warm: tuple[Trial, ...]
    cold: tuple[Trial, ...]
    more: Iterator[Plan] | tuple[()] = ()


def in_turn(trials: Iterable[Trial]) -> list[Trial]:
    """One of each family after the other."""
    families: dict[str, list[Trial]] = {}
    for trial in trials:
        families.setdefault(trial.family, []).append(trial)
    rows = zip_longest(*families.values())
    return [trial for row in rows for trial in row if trial is not None]


def plan(maker: Maker, budget: Budget, numbers: Iterator[int], crashes: Path) -> Plan:
    """The trials of one budget. Raises UsageError for a committed case that can't be read."""
    classic = [*maker.ugly(numbers), *maker.dangerous(numbers), *maker.gates(numbers)]
    classic += [*maker.versions(numbers), *maker.reproducers(crashes, numbers)]
    damage = in_turn(maker.damage(numbers))
    elsewhere = in_turn(maker.elsewhere(numbers)) if budget != "quick" else []
    if budget == "release":
        elsewhere = elsewhere[::2]
    trials = [*classic, *damage, *elsewhere]
    if budget != "quick":
        trials += _other_versions(maker, numbers)
    more = _turns(maker, numbers) if budget == "nightly" else ()
    return _parted(trials, more)


def _parted(trials: Iterable[Trial], more: Iterator[Plan] | tuple[()] = ()) -> Plan:
    every = list(trials)
    warm = tuple(trial for trial in every if trial.warm)
    return Plan(warm, tuple(in_turn(trial for trial in every if not trial.warm)), more)


def _other_versions(maker: Maker, numbers: Iterator[int]) -> Iterator[Trial]:
    """The classic inputs in every other version that the server speaks, each in its own session."""
    for version in maker.facts.versions:
        if version != maker.version:
            other = replace(maker, version=version)
            for trial in chain(other.ugly(numbers), other.dangerous(numbers)):
                yield replace(trial, warm=False, opening=0)


def _turns(maker: Maker, numbers: Iterator[int]) -> Iterator[Plan]:
    """The vocabulary again and again, each time with other choices; megabytes come once."""
    yield _parted(replace(t, warm=False, opening=0) for t in maker.damage(numbers, heavy=True))
    for turn in count(1):
        again = replace(maker, seed=maker.seed + turn)
        yield _parted(
            [*in_turn(again.damage(numbers)), *in_turn(again.elsewhere(numbers))[turn::8]]
        )
