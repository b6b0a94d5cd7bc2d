"""Skip inputs like those that have killed a side often enough.

A death costs as much as ten thousand other inputs, and further deaths of one kind show nothing new.
So inputs with the same depth or traits are skipped from then on, and the report counts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from wirefence.fuzz.compare.repetitions import find_input_traits

__all__ = ["DeadlyInputs"]

_DEEP, _DEATHS = 900, 2
"""Inputs of so many brackets may die of depth; so many deaths of one shape are enough."""
_ALIKE, _ENOUGH = 3, 6
"""Deaths with the same traits, and deaths that share some, which are enough."""
_CAREFUL = 128
"""Inputs of a batch after a death, so that the next one is detected soon."""


@dataclass(slots=True)
class DeadlyInputs:
    """The inputs that have killed a side so far."""

    depths: dict[bytes, list[int]] = field(default_factory=dict)
    kinds: Counter[frozenset[str]] = field(default_factory=Counter)

    def add_dead(self, dead: Iterable[bytes]) -> None:
        """Record inputs that killed a side."""
        for raw in dead:
            depth = _count_brackets(raw)
            if depth > _DEEP:
                self.depths.setdefault(_nesting_shape(raw), []).append(depth)
            else:
                self.kinds[find_input_traits(raw)] += 1

    def skip_deadly(self, inputs: Sequence[bytes]) -> Sequence[bytes]:
        """Return the inputs without those like the ones that have killed often enough."""
        if self.depths:
            inputs = [raw for raw in inputs if not self._is_too_deep(raw)]
        often = self._find_deadly_traits()
        if often:
            inputs = [raw for raw in inputs if not any(_has_traits(raw, kind) for kind in often)]
        return inputs

    def _is_too_deep(self, raw: bytes) -> bool:
        """Return whether shallower inputs of the same shape have killed often enough."""
        depths = self.depths.get(_nesting_shape(raw), ())
        return len(depths) >= _DEATHS and _count_brackets(raw) >= min(depths)

    def _find_deadly_traits(self) -> list[frozenset[str]]:
        """Return sets of traits to skip: what all dead inputs share, else what several of them
        had.
        """
        shared = frozenset.intersection(*self.kinds) if self.kinds else frozenset()
        if shared and self.kinds.total() >= _ENOUGH:
            return [shared]
        return [kind for kind, deaths in self.kinds.items() if deaths >= _ALIKE]

    def split_inputs(self, inputs: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
        """Yield the inputs in parts; small ones after a death, to detect the next one soon."""
        size = _CAREFUL if self.kinds else max(1, len(inputs))
        for start in range(0, max(1, len(inputs)), size):
            yield inputs[start : start + size]


def _has_traits(raw: bytes, kind: frozenset[str]) -> bool:
    """Return whether an input has all traits of a set; an empty set matches only inputs without
    any.
    """
    found = find_input_traits(raw)
    return kind <= found if kind else not found


def _nesting_shape(raw: bytes) -> bytes:
    """Return what distinguishes one way of nesting from another; each has its own limit."""
    return raw[:2] + raw[-1:]


def _count_brackets(raw: bytes) -> int:
    return raw.count(b"[") + raw.count(b"{")
