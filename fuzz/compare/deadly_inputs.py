"""Inputs that end processes: enough of them is enough.

The key insight: a death costs what ten thousand other inputs cost, and the tenth of its kind says
nothing that the first did not. So what has killed a side again and again is left out from then on,
by depth or by traits, and the report says how much that was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from wirefence.fuzz.compare.traits import traits

__all__ = ["Lethal"]

_DEEP, _DEATHS = 900, 2
"""Inputs of so many brackets may die of depth; so many deaths of one shape are enough."""
_ALIKE, _ENOUGH = 3, 6
"""Deaths with the same traits, and deaths that share some, which are enough."""
_CAREFUL = 128


@dataclass(slots=True)
class Lethal:
    """What has killed a side so far."""

    depths: dict[bytes, list[int]] = field(default_factory=dict)
    kinds: Counter[frozenset[str]] = field(default_factory=Counter)

    def learn(self, dead: Iterable[bytes]) -> None:
        """Remember inputs that killed a side."""
        for raw in dead:
            depth = _brackets(raw)
            if depth > _DEEP:
                self.depths.setdefault(_shape(raw), []).append(depth)
            else:
                self.kinds[traits(raw)] += 1

    def spared(self, inputs: Sequence[bytes]) -> Sequence[bytes]:
        """The inputs without those like the ones that have killed often enough."""
        if self.depths:
            inputs = [raw for raw in inputs if not self._too_deep(raw)]
        often = self._often()
        if often:
            inputs = [raw for raw in inputs if not any(_like(raw, kind) for kind in often)]
        return inputs

    def _too_deep(self, raw: bytes) -> bool:
        """Whether shallower inputs of the same shape have killed often enough."""
        depths = self.depths.get(_shape(raw), ())
        return len(depths) >= _DEATHS and _brackets(raw) >= min(depths)

    def _often(self) -> list[frozenset[str]]:
        """Traits to keep away from: what all dead inputs share, else what some of them did."""
        shared = frozenset.intersection(*self.kinds) if self.kinds else frozenset()
        if shared and self.kinds.total() >= _ENOUGH:
            return [shared]
        return [kind for kind, deaths in self.kinds.items() if deaths >= _ALIKE]

    def pieces(self, inputs: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
        """The inputs in pieces: small ones once something has died, to learn soon of the next."""
        size = _CAREFUL if self.kinds else max(1, len(inputs))
        for start in range(0, max(1, len(inputs)), size):
            yield inputs[start : start + size]


def _like(raw: bytes, kind: frozenset[str]) -> bool:
    """Whether an input has all traits of a kind; the kind without traits is only like itself."""
    found = traits(raw)
    return kind <= found if kind else not found


def _shape(raw: bytes) -> bytes:
    """What tells one way of nesting from another: each has a limit of its own."""
    return raw[:2] + raw[-1:]


def _brackets(raw: bytes) -> int:
    return raw.count(b"[") + raw.count(b"{")
