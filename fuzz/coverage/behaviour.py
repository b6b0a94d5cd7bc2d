"""Behaviour as coverage: what a target was seen to do becomes a counter of libFuzzer's.

The key insight: compiled parsers have no edges that anyone could count, but they answer. A tuple of
answers that was never seen together is as good as a new edge, and better at finding differences.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable

__all__ = ["COUNTERS", "Behaviours", "Note"]

COUNTERS = 4_096
"""So many behaviours are told apart; more share counters, which bounds the corpus."""

_REMEMBERED = 65_536

Note = Callable[[Hashable], None]
"""Tells libFuzzer of one behaviour, any value whose ``repr`` is the same in every process."""


class Behaviours:
    """Counts behaviours once it has counters (:meth:`ready`); before, they are not heard.

    The counter of a behaviour is a function of its ``repr``: two processes that share a corpus, or
    one that merges it, mean the same by the same counter. ``hit`` gives the function that
    increments one; it is asked now and then, since atheris replaces it when fuzzing starts.
    """

    __slots__ = ("_hit", "_hit_now", "_ids", "_known")

    def __init__(self, hit: Callable[[], Callable[[int], object]]) -> None:
        self._hit_now = hit
        self._hit: Callable[[int], object] = _unheard
        self._ids: list[int] = []
        self._known: dict[Hashable, int] = {}

    def ready(self, reserve: Callable[[], int]) -> None:
        """Take counters, by numbers that ``reserve`` gives."""
        self._ids = [reserve() for _ in range(COUNTERS)]

    def note(self, behaviour: Hashable) -> None:
        """Count ``behaviour`` once more for the input that runs."""
        counter = self._known.get(behaviour)
        if counter is None:
            counter = self._learn(behaviour)
        self._hit(counter)

    def _learn(self, behaviour: Hashable) -> int:
        if not self._ids:
            return 0
        self._hit = self._hit_now()
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        counter = self._ids[zlib.crc32(repr(behaviour).encode()) % COUNTERS]
        self._known[behaviour] = counter
        return counter


def _unheard(_: int) -> None:
    """Nobody counts yet."""
