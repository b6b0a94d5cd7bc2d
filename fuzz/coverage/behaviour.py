"""Report a target's behaviour to libFuzzer as coverage counters.

Compiled parsers have no edges that libFuzzer can count, but they have outcomes. A new combination
of outcomes is as useful as a new edge, and better for finding differences.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable

__all__ = ["COUNTERS", "BehaviourCounters", "Note"]

COUNTERS = 4_096
"""Number of counters. More behaviours share counters, which bounds the corpus."""

_MAX_REMEMBERED = 65_536
"""Behaviours whose counter is cached, to bound memory."""

Note = Callable[[Hashable], None]
"""Reports one behaviour to libFuzzer: any value whose ``repr`` is the same in every process."""


class BehaviourCounters:
    """Counts behaviours, once counters are reserved (:meth:`reserve_counters`).

    The counter of a behaviour is a function of its ``repr``, so all processes that share or merge a
    corpus use the same one. ``hit`` returns the function that increments a counter; it is called
    now and then, because atheris replaces that function when fuzzing starts.
    """

    __slots__ = ("_hit", "_hit_now", "_ids", "_known")

    def __init__(self, hit: Callable[[], Callable[[int], object]]) -> None:
        self._hit_now = hit
        self._hit: Callable[[int], object] = _ignore_counter
        self._ids: list[int] = []
        self._known: dict[Hashable, int] = {}

    def reserve_counters(self, reserve: Callable[[], int]) -> None:
        """Reserve counters, with the numbers that ``reserve`` returns."""
        self._ids = [reserve() for _ in range(COUNTERS)]

    def count_behaviour(self, behaviour: Hashable) -> None:
        """Count ``behaviour`` for the current input."""
        counter = self._known.get(behaviour)
        if counter is None:
            counter = self._assign_counter(behaviour)
        self._hit(counter)

    def _assign_counter(self, behaviour: Hashable) -> int:
        if not self._ids:
            return 0
        self._hit = self._hit_now()
        if len(self._known) >= _MAX_REMEMBERED:
            self._known.clear()
        counter = self._ids[zlib.crc32(repr(behaviour).encode()) % COUNTERS]
        self._known[behaviour] = counter
        return counter


def _ignore_counter(_: int) -> None:
    """Do nothing: no counters are reserved yet."""
