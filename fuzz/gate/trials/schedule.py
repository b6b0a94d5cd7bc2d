"""Schedule the trials of each budget, in order.

The time budget may be spent at any trial. So inputs known to break servers come first, at every
place of a session, and after them each family in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, zip_longest
from pathlib import Path
from typing import TypeVar

from wirefence.fuzz.gate.records import Budget, Trial
from wirefence.fuzz.gate.trials.generate import TrialMaker
from wirefence.fuzz.gate.trials.startup_variants import TOGETHER, VARIANTS, StartupVariant

__all__ = [
    "CLASSIC",
    "FreshItem",
    "Plan",
    "Stage",
    "interleave_families",
    "is_classic",
    "make_warm_trials",
    "plan_trials",
]

FreshItem = Trial | StartupVariant
"""What needs a fresh process: a trial, or a startup variant."""

_T = TypeVar("_T", bound=FreshItem)
_FIRST_VARIANTS = ("talkative", "verbose", "eof-at-once", "stderr-merged", "no-configuration")
"""Startup variants that users meet first; after them those that need no wait."""
CLASSIC = "ugly"
"""The family of inputs without which a run is no pass."""
_COLD_TURNS, _WARM_TURNS = 8, 4
"""Each later round runs an eighth of the vocabulary in fresh processes, which are slow, and four
turns of all of it pipelined."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Trials for a pipelined server, and items for fresh processes, each in order."""

    warm: tuple[Trial, ...] | Iterator[Trial]
    cold: tuple[FreshItem, ...]

    def __len__(self) -> int:
        return len(self.cold) + (len(self.warm) if isinstance(self.warm, tuple) else 0)

    def all_cold(self) -> list[FreshItem]:
        """Return all items, for fresh processes: for servers that serve one trial each."""
        return _by_worth([*self.cold, *self.warm])


@dataclass(frozen=True, slots=True)
class Plan:
    """The classic inputs, everything else, and stages for the remaining time."""

    classic: Stage
    rest: Stage
    more: Iterator[Stage] | tuple[()] = ()

    def __len__(self) -> int:
        return len(self.classic) + len(self.rest)


def interleave_families(items: Iterable[_T]) -> list[_T]:
    """Return one item of each family after the other; startup variants are one family."""
    families: dict[str, list[_T]] = {}
    for item in items:
        family = item.family if isinstance(item, Trial) else "startup"
        families.setdefault(family, []).append(item)
    rows = zip_longest(*families.values())
    return [item for row in rows for item in row if item is not None]


def plan_trials(maker: TrialMaker, budget: Budget, numbers: Iterator[int], crashes: Path) -> Plan:
    """Return the trials of one budget. Raises UsageError for a committed case that cannot be read.

    The quick budget shares processes where the others use one for each item.
    """
    quick = budget == "quick"
    classic = [
        *maker.make_ugly(numbers),
        *maker.make_dangerous(numbers),
        *maker.make_rejected_handshakes(numbers),
    ]
    classic += maker.make_version_trials(numbers, shared=quick)
    rest = [*maker.load_reproducers(crashes, numbers), *maker.make_damaged(numbers)]
    rest += maker.make_shaped(numbers)
    elsewhere = interleave_families(maker.make_damaged_handshakes(numbers)) if not quick else []
    rest += elsewhere[::2] if budget == "release" else elsewhere
    if not quick:
        rest += _other_versions(maker, numbers)
    more = _make_later_stages(maker, numbers) if budget == "nightly" else ()
    return Plan(_make_stage(classic, _order_variants(shared=quick)), _make_stage(rest), more)


def _order_variants(*, shared: bool) -> list[StartupVariant]:
    """Return every startup variant, alone or in the start that it shares, the likeliest first."""
    alone = [each for each in VARIANTS if not shared or each not in TOGETHER.parts]
    every = [TOGETHER, *alone] if shared else alone
    return sorted(every, key=lambda each: (each.name not in _FIRST_VARIANTS, each.idle))


def _make_stage(trials: Iterable[Trial], variants: Sequence[StartupVariant] = ()) -> Stage:
    every = interleave_families(trials)
    warm = tuple(trial for trial in every if trial.warm)
    cold = [trial for trial in every if not trial.warm]
    return Stage(warm, tuple(_by_worth([*cold, *variants])))


def is_classic(item: FreshItem) -> bool:
    """Whether a run without the item is no pass."""
    return isinstance(item, Trial) and item.family == CLASSIC


def _by_worth(items: Iterable[FreshItem]) -> list[FreshItem]:
    """Return the classic inputs, then the families in turn."""
    first: list[FreshItem] = []
    others: list[FreshItem] = []
    for item in items:
        (first if is_classic(item) else others).append(item)
    return [*first, *interleave_families(others)]


def _other_versions(maker: TrialMaker, numbers: Iterator[int]) -> Iterator[Trial]:
    """Yield the classic inputs in every other version that the server speaks.

    Each runs in its own session.
    """
    for version in maker.facts.versions:
        if version != maker.version:
            other = replace(maker, version=version)
            for trial in chain(other.make_ugly(numbers), other.make_dangerous(numbers)):
                yield replace(trial, warm=False, opening=0)


def _make_later_stages(maker: TrialMaker, numbers: Iterator[int]) -> Iterator[Stage]:
    """Yield the vocabulary again and again with other seeds; heavy operators only once."""
    yield _make_stage(
        replace(t, warm=False, opening=0) for t in maker.make_damaged(numbers, heavy=True)
    )
    for turn in count(1):
        again = replace(maker, seed=maker.seed + turn, varied=True)
        cold = again.make_damaged_handshakes(numbers, every=_COLD_TURNS, first=turn % _COLD_TURNS)
        yield Stage(make_warm_trials(maker, turn, numbers), tuple(_by_worth(cold)))


def make_warm_trials(maker: TrialMaker, turn: int, numbers: Iterator[int]) -> Iterator[Trial]:
    """Yield trials for a pipelined server, generated while it runs.

    A pause within a frame takes as long as a thousand other trials: only the first turn has pauses.
    """
    for part in range(_WARM_TURNS):
        again = replace(maker, seed=maker.seed + turn * _WARM_TURNS + part, varied=True)
        for trial in again.make_damaged(numbers):
            if trial.warm and not (part and trial.case.cuts):
                yield trial
