"""Where the writer pauses, for an input that is getting shorter.

The key insight: most faults do not care for pauses, and most that do are as well shown by a pause
after every byte. Both are rules, not places, so they survive any edit of the bytes.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Cuts", "after_every_byte", "fewest", "moved", "none"]

Cuts = tuple[int, ...]


def none(_data: bytes) -> Cuts:
    """No pause: everything in one write."""
    return ()


def after_every_byte(data: bytes) -> Cuts:
    """A write for each byte."""
    return tuple(range(1, len(data)))


def moved(cuts: Cuts, old: bytes, new: bytes) -> Cuts:
    """The places in ``new`` of cuts in ``old``, of which it is an edit."""
    head = _common(old, new)
    tail = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    shift = len(new) - len(old)
    places = {
        cut if cut <= head else cut + shift if cut >= len(old) - tail else head for cut in cuts
    }
    return tuple(sorted(place for place in places if 0 < place < len(new)))


def _common(one: bytes, other: bytes) -> int:
    """Length of the common beginning, by bisection: comparing slices is what bytes do fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def fewest(cuts: Cuts, keeps: Callable[[Cuts], bool]) -> Cuts:
    """Leave out runs of cuts, long ones first, as long as ``keeps`` holds."""
    size = len(cuts)
    while size:
        place = 0
        while place < len(cuts):
            fewer = cuts[:place] + cuts[place + size :]
            if keeps(fewer):
                cuts = fewer
            else:
                place += size
        size //= 2
    return cuts
