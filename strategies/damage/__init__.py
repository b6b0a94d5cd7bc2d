"""Damage: the named ways in which a good session is spoiled before it is sent.

The names are the vocabulary of every report, so an operator does one thing, says
where it was learnt, and says whether its result must be rejected, must be accepted, or depends.
"""

from __future__ import annotations

from collections.abc import Sequence

from wirefence.strategies.damage import (
    absence,
    banner,
    chunking,
    concatenation,
    confusion,
    encoding,
    kinds,
    lifecycle,
    numbers,
    resource,
    responses,
    shapes,
    structure,
    terms,
    truncation,
    whitespace,
)
from wirefence.strategies.damage.base import (
    FAMILIES,
    Damaged,
    Expect,
    Family,
    Operator,
    Scene,
    table,
)
from wirefence.strategies.damage.hosts import CALL
from wirefence.strategies.records import Frame, Version
from wirefence.strategies.source import Source

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
    kinds.OPERATORS,
    terms.OPERATORS,
    responses.OPERATORS,
    shapes.OPERATORS,
    absence.OPERATORS,
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
_WEIGHTS: dict[Family, int] = {
    "structure": 14,
    "type-confusion": 4,
    "number-spelling": 3,
    "encoding": 3,
    "resource": 1,
}
"""By the number of their operators, 2 for the others. What takes long waits for its turn."""

_FAMILIES: list[tuple[int, Family]] = [(_WEIGHTS.get(family, 2), family) for family in FAMILIES]
_TRIES = 8
_PLACES = 4


def apply_damage(
    source: Source,
    frames: Sequence[Frame],
    version: Version,
    operator: Operator | None = None,
) -> tuple[list[Frame], tuple[int, ...], tuple[str, ...]]:
    """Damage a good session in one place, sometimes in two.

    Gives the frames, the cuts of ``Case.cuts`` and the names of session-wide damage. With
    ``operator``, the only damage is that one, if the version has any message that it fits. Heavy
    damage comes about once in 2,000 calls. A session without frames is given back as it is.
    """
    damaged = Damaged(tuple(frames))
    names: list[str] = []
    for _ in range(2 if operator is None and source.chance(1, 8) else 1):
        # Cuts count bytes, so nothing may move the bytes after they are set.
        if not damaged.frames or damaged.cuts:
            break
        damaged, name = _apply_one(source.split(), damaged, version, operator)
        names += [name] if name else []
    return list(damaged.frames), damaged.cuts, tuple(dict.fromkeys(names))


def _apply_one(
    source: Source, before: Damaged, version: Version, wanted: Operator | None
) -> tuple[Damaged, str]:
    for _ in range(_TRIES):
        operator = wanted or _pick_operator(source)
        everywhere = wanted is not None
        after = _apply_to_some_frame(source, before, version, operator, everywhere=everywhere)
        if everywhere or operator.host is not None:
            after = after or _apply_to_added_frame(source, before, version, operator)
        if after is not None:
            return after, operator.name if operator.session else ""
        wanted = None
    return before, ""


def _apply_to_some_frame(
    source: Source, before: Damaged, version: Version, operator: Operator, *, everywhere: bool
) -> Damaged | None:
    """Try a few places, or all: some damage fits one kind of frame only."""
    count = len(before.frames)
    first = source.integer(0, count - 1) if everywhere else 0
    for place in range(count if everywhere else _PLACES):
        at = (first + place) % count if everywhere else source.integer(0, count - 1)
        after = operator.apply(source, Scene(before.frames, at, version))
        if after is not None:
            return after
    return None


def _apply_to_added_frame(
    source: Source, before: Damaged, version: Version, operator: Operator
) -> Damaged | None:
    """Bring a message that the damage fits.

    It comes before the last message of the session. Whether one without an answer was accepted
    shows in what follows.
    """
    count = len(before.frames)
    name = f"host-{count}"
    line = (operator.host or CALL)(version, name)
    if line is None:
        return None
    host = Frame(line + b"\n", name if b'"action"' in line else "")
    at = count - 1
    frames = (*before.frames[:at], host, *before.frames[at:])
    return operator.apply(source, Scene(frames, at, version))


def _pick_operator(source: Source) -> Operator:
    if source.chance(1, 2_000):
        return source.choice(_HEAVY)
    return source.choice(_LIGHT[source.weighted(_FAMILIES)])
