"""Damage: the named ways in which a good session is spoiled before it is sent.

The key insight: the names are the vocabulary of every report, so an operator does one thing, says
where it was learnt, and says whether its result must be rejected, must be accepted, or depends.
"""

from __future__ import annotations

from collections.abc import Sequence

from strategies.damage import (
    banner,
    chunking,
    concatenation,
    confusion,
    encoding,
    lifecycle,
    numbers,
    resource,
    structure,
    truncation,
    whitespace,
)
from strategies.damage.base import FAMILIES, Damaged, Expect, Family, Operator, Scene, table
from strategies.records import Frame, Version
from strategies.source import Source

__all__ = [
    "BY_NAME",
    "FAMILIES",
    "OPERATORS",
    "Damaged",
    "Expect",
    "Family",
    "Operator",
    "Scene",
    "apply_damage",
]

OPERATORS: tuple[Operator, ...] = table(
    truncation.OPERATORS,
    concatenation.OPERATORS,
    banner.OPERATORS,
    confusion.OPERATORS,
    structure.OPERATORS,
    encoding.OPERATORS,
    numbers.OPERATORS,
    whitespace.OPERATORS,
    lifecycle.OPERATORS,
    resource.OPERATORS,
    chunking.OPERATORS,
)
BY_NAME: dict[str, Operator] = {operator.name: operator for operator in OPERATORS}

_LIGHT = {
    family: [each for each in OPERATORS if each.family == family and not each.heavy]
    for family in FAMILIES
}
_HEAVY = [operator for operator in OPERATORS if operator.heavy]
_TRIES = 8
_PLACES = 4


def apply_damage(
    source: Source, frames: Sequence[Frame], version: Version
) -> tuple[list[Frame], tuple[int, ...], tuple[str, ...]]:
    """Damage a good session in one place, sometimes in two.

    Gives the frames, the cuts of ``Case.cuts`` and the names of session-wide damage. Megabytes of
    damage come about once in 2,000 calls. A session without frames is given back as it is.
    """
    damaged = Damaged(tuple(frames))
    names: list[str] = []
    for _ in range(2 if source.chance(1, 8) else 1):
        # Cuts count bytes, so nothing may move the bytes after they are set.
        if not damaged.frames or damaged.cuts:
            break
        damaged, name = _once(source, damaged, version)
        names += [name] if name else []
    return list(damaged.frames), damaged.cuts, tuple(dict.fromkeys(names))


def _once(source: Source, before: Damaged, version: Version) -> tuple[Damaged, str]:
    last = len(before.frames) - 1
    for _ in range(_TRIES):
        operator = _pick(source)
        # Some damage fits one kind of frame only: a few places are tried so that it isn't rare.
        for _ in range(_PLACES):
            after = operator.apply(source, Scene(before.frames, source.integer(0, last), version))
            if after is not None:
                return after, operator.name if operator.session else ""
    return before, ""


def _pick(source: Source) -> Operator:
    if source.chance(1, 2_000):
        return source.choice(_HEAVY)
    return source.choice(_LIGHT[source.choice(FAMILIES)])
