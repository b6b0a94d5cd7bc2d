"""Which of many gateways run a case: a share of them, chosen by the number of the case.

Damage operators take turns by the number of the case as well. So a turn here is a multiple of an
irrational number, which no period of theirs divides: every operator meets every gateway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from wirefence.strategies.contract import Profile

__all__ = ["Turns"]

_SPEC_SHARE = 1 / 3
"""Of the cases that a gateway of profile ``strict`` runs, those that one of ``spec`` runs too: most
of what is rejected, both profiles reject.
"""
_GOLDEN = 0x9E3779B97F4A7C15
_ROOT_OF_TWO = 0x6A09E667F3BCC909
_WHOLE = 1 << 64


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def profile(self) -> Profile: ...


T = TypeVar("T", bound=_Named)


class Turns(Generic[T]):
    """Takes one group of each profile in turn.

    A group holds the variants of a family, each under all its policies. The families of a profile
    have equal shares of the cases, however many variants they have. ``spec`` runs in one case of
    three if there are groups of ``strict`` beside it.
    """

    def __init__(self, groups: Sequence[Sequence[T]]) -> None:
        self._strict = _sort_by_family(groups, "strict")
        self._spec = _sort_by_family(groups, "spec")
        self._all = [target for group in groups for target in group]

    def select(self, index: int | None) -> Sequence[T]:
        """Return the targets that run case number ``index``; all of them without a number."""
        if index is None:
            return self._all
        share = (index * _ROOT_OF_TWO) % _WHOLE / _WHOLE
        strict = _take_turn(self._strict, (index * _GOLDEN) % _WHOLE / _WHOLE)
        if not strict:
            return _take_turn(self._spec, share)
        beside = share < _SPEC_SHARE
        return [*strict, *_take_turn(self._spec, share / _SPEC_SHARE)] if beside else strict


def _sort_by_family(groups: Sequence[Sequence[T]], profile: Profile) -> list[list[Sequence[T]]]:
    """Return the groups of a profile, those of one family together."""
    families: dict[str, list[Sequence[T]]] = {}
    for group in groups:
        if group and group[0].profile == profile:
            families.setdefault(group[0].name.partition("/")[0], []).append(group)
    return list(families.values())


def _take_turn(families: Sequence[Sequence[Sequence[T]]], share: float) -> Sequence[T]:
    """Return the group at ``share`` of all, ``0 <= share < 1``; none if there are no groups."""
    if not families:
        return ()
    family = int(share * len(families))
    groups = families[family]
    return groups[int((share * len(families) - family) * len(groups))]
